//! A budget of system calls: the most that a traced command may make.

use super::profiles::{Part, ProfileColumn, Span, TOTAL};
use std::fmt;
use std::str::FromStr;

const ERRORS: &str = "errors";

#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// Or `total`, or `errors`.
    pub call: String,
    pub most: u64,
}

#[derive(Debug, PartialEq)]
pub struct Exceeded {
    pub budget: Budget,
    pub calls: Span,
    pub parts: Vec<Part>,
}

impl FromStr for Budget {
    type Err = String;

    fn from_str(text: &str) -> Result<Budget, String> {
        let (call, most) = text
            .split_once('=')
            .ok_or_else(|| format!("'{text}' is not CALL=NUMBER, such as openat=200"))?;
        let most = most
            .parse()
            .map_err(|_| format!("'{most}' is not a number of calls"))?;
        if call.is_empty() {
            return Err(format!(
                "'{text}' names no call: openat=200, total=5000, errors=10"
            ));
        }
        Ok(Budget {
            call: call.to_string(),
            most,
        })
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.call, self.most)
    }
}

impl Budget {
    pub fn is_of_one_call(&self) -> bool {
        ![TOTAL, ERRORS].contains(&self.call.as_str())
    }

    /// If every run makes more; `None` too if the tracer did not count the call.
    pub fn exceeded(&self, column: &ProfileColumn) -> Option<Exceeded> {
        let call = self.is_of_one_call().then_some(self.call.as_str());
        let counts = column.counts(|name| call.is_none_or(|call| call == name));
        let calls = if self.call == ERRORS {
            counts.errors
        } else {
            counts.calls
        };
        let parts = || column.largest(call, self.call == ERRORS);
        (calls.least > self.most).then(|| Exceeded {
            budget: self.clone(),
            calls,
            parts: parts(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::{called, profile};
    use model::{CallCount, Class};

    #[test]
    fn what_exceeds_a_budget_is_told_with_its_largest_classes() {
        let open = |depth, calls, failed: &[(String, u64)]| CallCount {
            class: Class {
                depth: Some(depth),
                ..Class::default()
            },
            errors: failed.iter().cloned().collect(),
            ..called("openat", calls)
        };
        let calls = vec![
            open(1, 20, &[]),
            open(4, 90, &[("ENOENT".to_string(), 60)]),
            called("read", 300),
        ];
        let column = ProfileColumn::new("x", &profile(calls));
        let over = |text: &str| text.parse::<Budget>().unwrap().exceeded(&column);
        for met in ["openat=110", "total=410", "close=0", "errors=60"] {
            assert_eq!(over(met), None);
        }
        let open = over("openat=100").unwrap();
        assert_eq!(
            (
                open.calls.least,
                open.parts[0].class.depth,
                open.parts[0].calls
            ),
            (110, Some(4), 90)
        );
        assert_eq!(over("total=400").unwrap().parts[0].call, "read");
        assert_eq!(
            over("errors=59").unwrap().parts[0].error.as_deref(),
            Some("ENOENT")
        );
    }
}
