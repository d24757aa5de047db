//! A budget of system calls: the most that a traced command may make.

use super::profiles::{
    PROCESSES, PROGRAMS, Part, ProfileColumn, Span, TOTAL, section_of, section_row,
};
use std::fmt;
use std::str::FromStr;

const ERRORS: &str = "errors";
const NO_CALLS: [&str; 4] = [TOTAL, ERRORS, PROCESSES, PROGRAMS];

#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// The most is per iteration then.
    pub section: Option<String>,
    /// Or `total`, `errors`, `processes` or `programs`.
    pub call: String,
    pub most: u64,
}

#[derive(Debug, PartialEq)]
pub struct Exceeded {
    pub budget: Budget,
    pub calls: Span,
    pub parts: Vec<Part>,
}

/// `openat=200,total=5000`, or of a section `parse: openat=2,processes=1`.
#[derive(Clone, Debug, PartialEq)]
pub struct Budgets(pub Vec<Budget>);

impl FromStr for Budgets {
    type Err = String;

    fn from_str(text: &str) -> Result<Budgets, String> {
        let (section, limits) = match text.rsplit_once(": ") {
            Some((section, _)) if section.contains('=') => {
                return Err(format!(
                    "'{text}' has several sections: repeat --budget for each"
                ));
            }
            Some((section, limits)) => (Some(section.to_string()), limits),
            None => (None, text),
        };
        limits
            .split(',')
            .map(|limit| {
                Ok(Budget {
                    section: section.clone(),
                    ..limit.trim().parse()?
                })
            })
            .collect::<Result<_, _>>()
            .map(Budgets)
    }
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
            section: None,
            call: call.to_string(),
            most,
        })
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(section) = &self.section {
            write!(f, "{section}: ")?;
        }
        write!(f, "{}={}", self.call, self.most)
    }
}

impl Budget {
    /// Whether the budget limits a single system call, and not a sum.
    pub fn is_of_one_call(&self) -> bool {
        !NO_CALLS.contains(&self.call.as_str())
    }

    /// The excess if every run makes more calls than allowed; `None` too if the tracer did not count the call. For a section, `column` is that
    /// by section.
    pub fn exceeded(&self, column: &ProfileColumn) -> Option<Exceeded> {
        let is_sum = [TOTAL, ERRORS].contains(&self.call.as_str());
        let section = self.section.as_deref();
        let name = section.map_or_else(
            || self.call.clone(),
            |section| section_row(section, &self.call),
        );
        // Processes and programs are rows of a section, but not calls in its total.
        let starts = [PROCESSES, PROGRAMS].map(|what| format!(": {what}"));
        let call = (!is_sum).then_some(name.as_str());
        let counts = column.counts(call, |row| {
            section_of(row) == section && !starts.iter().any(|what| row.ends_with(what))
        });
        let calls = match (section, self.call.as_str()) {
            (None, PROCESSES) => column.started(|usage| usage.processes),
            (None, PROGRAMS) => column.started(|usage| usage.programs),
            (_, ERRORS) => counts.errors,
            _ => counts.calls,
        };
        if calls.least > self.most {
            Some(Exceeded {
                budget: self.clone(),
                calls,
                parts: match section {
                    Some(_) => Vec::new(),
                    None => column.largest(call, self.call == ERRORS),
                },
            })
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::{called, profile};
    use model::{CallCount, Class};

    #[test]
    fn what_exceeds_a_budget_is_told_with_its_largest_classes() {
        fn open(depth: u64, calls: u64, failed: &[(String, u64)]) -> CallCount {
            CallCount {
                class: Class {
                    depth: Some(depth),
                    ..Class::default()
                },
                errors: failed.iter().cloned().collect(),
                ..called("openat", calls)
            }
        }

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

    #[test]
    fn sections_processes_and_programs_have_budgets() {
        let mut profile = profile(vec![called("read", 3)]);
        (profile.usage.processes, profile.usage.programs) = (Some(4), Some(5));
        profile.sections = vec![model::Section {
            name: "a: b".into(),
            iterations: 10,
            processes: 20,
            programs: 9,
            calls: vec![called("stat", 30), called("read", 1)],
            ..model::Section::default()
        }];
        let whole = ProfileColumn::new("x", &profile);
        let by_section = whole.by_section().unwrap();
        fn over(text: &str, whole: &ProfileColumn, by_section: &ProfileColumn) -> Vec<String> {
            let Budgets(budgets) = text.parse().unwrap();
            let over = budgets.iter().filter_map(|budget| {
                let column = if budget.section.is_some() {
                    by_section
                } else {
                    whole
                };
                budget.exceeded(column)
            });
            over.map(|over| over.budget.to_string()).collect()
        }

        let kept = "a: b: stat=3, read=0, processes=2, programs=1, total=3, errors=0";
        assert!(over(kept, &whole, &by_section).is_empty());
        assert!(over("processes=4,programs=5,total=3", &whole, &by_section).is_empty());
        assert_eq!(
            over("a: b: stat=2, processes=1, total=2", &whole, &by_section),
            ["a: b: stat=2", "a: b: processes=1", "a: b: total=2"]
        );
        assert_eq!(
            over("processes=3,programs=4", &whole, &by_section),
            ["processes=3", "programs=4"]
        );
        for wrong in ["a: ", "a: b", "a: stat=x", "=3", ""] {
            assert!(wrong.parse::<Budgets>().is_err(), "{wrong}");
        }
    }
}
