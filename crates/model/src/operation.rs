//! Operations as the probe declares them: its row in the catalogue and its kernel entries.

use super::Entries;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

/// One operation of the probe's catalogue.
#[derive(Default, Serialize, JsonSchema)]
pub struct Operation {
    /// Its name: area, dot, name within the area.
    pub id: String,
    /// One iteration, in one line.
    pub what: String,
    /// Kernel entries per timed iteration, written `openat x1 close x1`; empty for none.
    #[schemars(with = "String")]
    pub enters: Expectation,
    /// Kernel entries per iteration that the untimed preparation makes.
    #[schemars(with = "String")]
    pub prepares: Expectation,
    /// The parameters that it takes.
    pub params: Vec<Parameter>,
    /// The systems that support it: `posix`, `linux`, `linux/x86_64`, ...
    pub systems: String,
    /// Operations of one family are variants of each other.
    pub family: Option<String>,
    pub traits: Traits,
    /// Most iterations a batch may have; null for any number.
    pub limit: Option<u64>,
    /// Whether the system that the probe was built on supports it.
    pub available: bool,
}

impl Operation {
    pub fn area(&self) -> &str {
        self.id.split('.').next().unwrap_or(&self.id)
    }
}

/// A parameter with its default.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Parameter {
    /// Its name.
    pub name: String,
    /// Its value where none is given.
    pub default: u64,
    /// In words.
    pub what: String,
}

/// Properties of an operation that sampling and reports must know.
#[derive(Clone, Copy, Debug, Default, Serialize, JsonSchema)]
pub struct Traits {
    /// The iteration itself blocks or switches threads: context switches are part of it.
    pub switches: bool,
    /// CPU time is spent in children.
    pub children: bool,
    /// The cost depends on a device, not only on kernel code.
    pub machine: bool,
    /// It enters the kernel by faults, which mode samples cannot distinguish from user mode.
    pub faults: bool,
    /// The cost depends on earlier changes to the file system.
    pub history: bool,
}

/// How often a declared kernel entry is made per iteration.
#[derive(Clone, Debug, PartialEq)]
pub enum Count {
    /// `x1`, `x1/4096`
    Exactly(f64),
    /// The value of the parameter: `x{procs}`.
    Parameter(String),
    /// `x?`: not fixed.
    Any,
}

/// With so few entries per iteration, such as those of a buffer that is refilled once in a while, a cost moves with the clock and not with
/// the kernel.
pub const SELDOM: f64 = 0.001;

/// The name of a call that the vDSO may answer in user mode.
const VDSO: &str = "vdso";

/// Possible names on different systems.
#[derive(Clone, Debug)]
pub struct Expected {
    pub names: Vec<String>,
    pub count: Count,
}

/// Written `openat x1 close x1`; empty for none.
#[derive(Clone, Debug, Default)]
pub struct Expectation(pub Vec<Expected>);

impl Expectation {
    /// Per iteration, with the values of parameters.
    pub fn matches(&self, counted: &Entries, params: &BTreeMap<String, u64>) -> bool {
        // An entry that is not declared is as wrong as one that is missing.
        let unknown = counted.names().any(|name| self.find(name).is_none());
        !unknown
            && self
                .0
                .iter()
                .all(|expected| expected.matches(counted, params))
    }

    /// Fixed ones per iteration, under every name that an entry may have.
    pub fn exact_counts(&self, params: &BTreeMap<String, u64>) -> BTreeMap<&str, f64> {
        let mut fixed = BTreeMap::new();
        for expected in &self.0 {
            if let Some(count) = expected.count.fixed(params) {
                fixed.extend(expected.names.iter().map(|name| (name.as_str(), count)));
            }
        }
        fixed
    }

    /// Whether there may be none, or next to none: the vDSO may answer, or a buffer is refilled once in a while.
    pub fn may_be_none(&self) -> bool {
        self.0.iter().all(|expected| {
            let is_seldom = matches!(expected.count, Count::Exactly(count) if count <= SELDOM);
            is_seldom || expected.may_stay_in_user_mode()
        })
    }

    fn find(&self, name: &str) -> Option<&Expected> {
        self.0
            .iter()
            .find(|expected| expected.names.iter().any(|n| n == name))
    }
}

impl Count {
    /// `None` if any number may be.
    fn fixed(&self, params: &BTreeMap<String, u64>) -> Option<f64> {
        match self {
            Count::Exactly(count) => Some(*count),
            Count::Parameter(name) => params.get(name).map(|value| *value as f64),
            Count::Any => None,
        }
    }
}

impl Expected {
    fn matches(&self, counted: &Entries, params: &BTreeMap<String, u64>) -> bool {
        let sum: f64 = self.names.iter().map(|name| counted.get(name)).sum();
        let is_close =
            |count: f64| close(sum, count) || (self.may_stay_in_user_mode() && sum < count);
        self.count == Count::Any || self.count.fixed(params).is_some_and(is_close)
    }

    /// Whether the vDSO may answer. A call that it passes on may enter the kernel once in a while only.
    fn may_stay_in_user_mode(&self) -> bool {
        self.names.iter().any(|name| name == VDSO)
    }
}

/// Counts are differences of whole numbers divided by whole numbers.
fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

impl FromStr for Expectation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let words: Vec<&str> = text.split_whitespace().collect();
        if !words.len().is_multiple_of(2) {
            return Err(format!(
                "kernel entries '{text}' are not pairs of a name and a count"
            ));
        }
        let pairs = words.chunks(2).map(|pair| {
            Ok(Expected {
                names: pair[0].split('/').map(str::to_string).collect(),
                count: pair[1].parse()?,
            })
        });
        Ok(Expectation(pairs.collect::<Result<_, String>>()?))
    }
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("count '{text}' is not of the form x1, x1/4096, x{{parameter}} or x?");
        let value = text.strip_prefix('x').ok_or_else(bad)?;
        if value == "?" {
            return Ok(Count::Any);
        }
        if let Some(name) = value.strip_prefix('{').and_then(|v| v.strip_suffix('}')) {
            return Ok(Count::Parameter(name.to_string()));
        }
        let (numerator, denominator) = value.split_once('/').unwrap_or((value, "1"));
        // Declarations may group the digits of a large number.
        let number = |text: &str| text.replace(',', "").parse::<f64>().map_err(|_| bad());
        Ok(Count::Exactly(number(numerator)? / number(denominator)?))
    }
}

impl fmt::Display for Expectation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, expected) in self.0.iter().enumerate() {
            let space = if i > 0 { " " } else { "" };
            let or_none = if expected.may_stay_in_user_mode() {
                "/vdso"
            } else {
                ""
            };
            write!(
                f,
                "{space}{}{or_none} x{}",
                expected.names[0], expected.count
            )?;
        }
        Ok(())
    }
}

impl Serialize for Expectation {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Count::Any => write!(f, "?"),
            Count::Parameter(name) => write!(f, "{{{name}}}"),
            Count::Exactly(count) if *count > 0.0 && *count < 1.0 => {
                write!(f, "1/{}", (1.0 / count).round())
            }
            Count::Exactly(count) => write!(f, "{count}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(pairs: &[(&str, f64)]) -> Entries {
        pairs
            .iter()
            .map(|(name, count)| (name.to_string(), *count))
            .collect()
    }

    #[test]
    fn expectation_reads_names_alternatives_fractions_and_parameters() {
        let text = "newfstatat/stat x1 read x1/4096 step x{procs} futex x?";
        let declared: Expectation = text.parse().unwrap();
        assert_eq!(
            declared.to_string(),
            "newfstatat x1 read x1/4096 step x{procs} futex x?"
        );
        let params = BTreeMap::from([("procs".to_string(), 3)]);
        let counted = entries(&[
            ("stat", 1.0),
            ("read", 1.0 / 4096.0),
            ("step", 3.0),
            ("futex", 0.5),
        ]);
        assert!(declared.matches(&counted, &params));
        assert!(!declared.matches(
            &entries(&[("stat", 1.0), ("read", 1.0), ("step", 3.0)]),
            &params
        ));
        assert!("openat".parse::<Expectation>().is_err());
        assert!("openat 1".parse::<Expectation>().is_err());
    }

    #[test]
    fn the_vdso_may_answer_instead() {
        let declared: Expectation = "clock_gettime/clock_gettime64/vdso x1".parse().unwrap();
        assert_eq!(declared.to_string(), "clock_gettime/vdso x1");
        let counts = [0.0, 1e-4, 1.0, 2.0];
        let matches = counts.map(|count| {
            let counted = entries(&[("clock_gettime64", count)]);
            declared.matches(&counted, &BTreeMap::new())
        });
        assert_eq!(matches, [true, true, true, false]);
        assert!(!declared.matches(&entries(&[("gettimeofday", 1.0)]), &BTreeMap::new()));
    }

    #[test]
    fn an_undeclared_entry_does_not_match() {
        let none = Expectation::default();
        assert!(none.matches(&entries(&[]), &BTreeMap::new()));
        assert!(!none.matches(&entries(&[("getpid", 1.0)]), &BTreeMap::new()));
    }
}
