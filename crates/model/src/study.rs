//! The part of a study that is stored with a run: enough to show it again from the result file alone.

use super::Case;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A study as stored with its run; the cases are the run's records.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StudyView {
    /// The name that it was asked for by, e.g. `locking`.
    #[schemars(length(min = 1))]
    pub name: String,
    /// One line above its table.
    pub title: String,
    /// The question that it answers; empty for none.
    #[serde(default)]
    pub question: String,
    /// Its author's answer, shown below the table; empty for none.
    #[serde(default)]
    pub answer: String,
    /// The views that it is shown in, in this order: `table`, `cmpthese`.
    #[serde(default)]
    pub views: Vec<String>,
    /// Additional rows, each derived from two cases.
    #[serde(default)]
    pub derived: Vec<Derived>,
    /// How costs are shown in addition to nanoseconds.
    #[serde(default)]
    pub scales: Vec<Scale>,
}

/// A row that is derived from two others.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Derived {
    /// The row's name.
    #[schemars(length(min = 1))]
    pub name: String,
    /// How it is made from the two.
    #[serde(rename = "kind")]
    pub combination: Combination,
    /// Names of the two cases (ids of operations without one).
    #[serde(rename = "of")]
    pub pair: [String; 2],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Combination {
    /// The first minus the second.
    Difference,
    /// The first divided by the second.
    Ratio,
}

/// Shows a cost as the time of a given number of calls.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Scale {
    /// The number of calls.
    #[schemars(range(min = 1))]
    pub calls: u64,
    /// The unit that their time is shown in: `ns`, `us`, `ms`, `s` or `min`.
    pub unit: String,
    /// The names of the cases that use this scale; empty for all cases that no other scale names.
    #[serde(default)]
    pub cases: Vec<String>,
}

/// Names of units and what they are in nanoseconds.
const UNITS: [(&str, f64); 5] = [
    ("ns", 1.0),
    ("us", 1e3),
    ("ms", 1e6),
    ("s", 1e9),
    ("min", 60e9),
];

impl Scale {
    pub fn units() -> Vec<&'static str> {
        UNITS.iter().map(|(name, _)| *name).collect()
    }

    /// The time of the scale's calls in its unit, if one takes `ns` nanoseconds.
    pub fn time(&self, ns: f64) -> f64 {
        let unit = UNITS
            .iter()
            .find(|(name, _)| *name == self.unit)
            .map_or(1.0, |(_, ns)| *ns);
        ns * self.calls as f64 / unit
    }
}

impl StudyView {
    /// One that names it, else one for all cases.
    pub fn scale(&self, name: &str) -> Option<&Scale> {
        self.scales
            .iter()
            .find(|scale| scale.cases.iter().any(|case| case == name))
            .or_else(|| self.scales.iter().find(|scale| scale.cases.is_empty()))
    }
}

impl Case {
    /// The name given by a study, else the operation.
    pub fn label(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.operation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_has_its_own_scale_or_that_of_all() {
        fn scale(calls: u64, cases: &[&str]) -> Scale {
            Scale {
                calls,
                unit: "s".into(),
                cases: cases.iter().map(|c| c.to_string()).collect(),
            }
        }

        let study = StudyView {
            scales: vec![scale(1 << 26, &[]), scale(1 << 16, &["fork"])],
            ..StudyView::default()
        };
        assert_eq!(study.scale("fork").unwrap().calls, 1 << 16);
        assert!((study.scale("stat").unwrap().time(100.0) - 6.7108864).abs() < 1e-9);
    }
}
