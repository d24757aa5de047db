//! What a run keeps of its study: enough to show the same again from the result file alone.

use super::Case;
use schemars::JsonSchema;
use serde::Serialize;

/// A study as its run remembers it; the cases are the run's records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct StudyView {
    /// The name that it was asked for by, e.g. `locking`.
    pub name: String,
    /// One line above its table.
    pub title: String,
    /// What it wants to know; empty for nothing.
    pub question: String,
    /// What its author found, shown below the table; empty for nothing.
    pub answer: String,
    /// How it is shown, e.g. `table`, in this order.
    pub views: Vec<String>,
    /// Further rows, made of two cases each.
    #[serde(skip)]
    pub derived: Vec<Derived>,
    /// How costs are shown beside nanoseconds.
    pub scales: Vec<Scale>,
}

/// A row that is made of two others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Derived {
    /// What stands in the table, e.g. `lstat - fstat`.
    pub name: String,
    pub combination: Combination,
    /// Names of the two cases.
    pub of: [String; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Combination {
    /// The first minus the second, in nanoseconds.
    Difference,
    /// The first divided by the second.
    Ratio,
}

/// A cost as the time of so many calls.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Scale {
    /// How many.
    pub calls: u64,
    /// `ns`, `us`, `ms`, `s` or `min`.
    pub unit: String,
    /// The names of the cases that it is for; empty for all that no other names.
    pub cases: Vec<String>,
}

/// Units of time by name, in nanoseconds.
const UNITS: [(&str, f64); 5] = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9)];

impl Scale {
    /// The names that `unit` may have.
    pub fn units() -> Vec<&'static str> {
        UNITS.iter().map(|(name, _)| *name).collect()
    }

    /// The time of all calls, in `unit`, where one takes `ns`.
    pub fn time(&self, ns: f64) -> f64 {
        let unit = UNITS.iter().find(|(name, _)| *name == self.unit).map_or(1.0, |(_, ns)| *ns);
        ns * self.calls as f64 / unit
    }
}

impl StudyView {
    /// The scale for the case called `name`.
    pub fn scale(&self, name: &str) -> Option<&Scale> {
        let own = self.scales.iter().find(|scale| scale.cases.iter().any(|case| case == name));
        own.or_else(|| self.scales.iter().find(|scale| scale.cases.is_empty()))
    }
}

impl Case {
    /// What studies call it: its name, or the operation's id.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_has_its_own_scale_or_that_of_all() {
        let scale = |calls, cases: &[&str]| Scale {
            calls,
            unit: "s".into(),
            cases: cases.iter().map(|c| c.to_string()).collect(),
        };
        let study = StudyView { scales: vec![scale(1 << 26, &[]), scale(1 << 16, &["fork"])], ..StudyView::default() };
        assert_eq!(study.scale("fork").unwrap().calls, 1 << 16);
        assert!((study.scale("stat").unwrap().time(100.0) - 6.7108864).abs() < 1e-9);
    }
}
