//! What can be said of two cells: a ratio with its interval and mark, or why there is none. Plain data; `judge` fills it in.

use crate::model::Entries;
use schemars::JsonSchema;
use serde::Serialize;

/// One column of a row against the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// It is the baseline.
    Baseline,
    /// At least one of the two is a figure without samples: a ratio that nothing is known of.
    OneFigure {
        ratio: f64,
        /// Divided by that of the reference call; `None` where either run lacks it.
        #[serde(rename = "relative_to_reference")]
        relative: Option<f64>,
    },
    /// Their kernel entries differ.
    DifferentWork(Difference),
    /// One of the two is not there, or failed.
    Missing,
    /// The mark is the verdict.
    #[serde(untagged)]
    Ratio(Ratio),
}

/// Kernel entries that two cells do not have alike.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    pub own: Entries,
    pub base: Entries,
}

/// Cost over the baseline's cost, without a unit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ratio {
    pub ratio: f64,
    /// Interval of 95% confidence, for this row alone.
    pub low: f64,
    pub high: f64,
    /// Divided by that of the reference call; `None` where either run lacks it.
    #[serde(rename = "relative_to_reference")]
    pub relative: Option<f64>,
    /// What holds with 95% confidence for all marks of the column together.
    #[serde(rename = "verdict")]
    pub mark: Mark,
}

/// What can be said of a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Certainly within the margin.
    Unchanged,
    /// The runs cannot tell.
    Inconclusive,
    /// Certainly less, by more than the margin.
    Faster,
    /// Certainly more, by more than the margin.
    Slower,
}

impl Verdict {
    /// The ratio, whether anything is known of it or not.
    pub fn ratio(&self) -> Option<f64> {
        match self {
            Verdict::Ratio(Ratio { ratio, .. }) | Verdict::OneFigure { ratio, .. } => Some(*ratio),
            _ => None,
        }
    }

    /// The ratio divided by that of the reference call.
    pub fn relative(&self) -> Option<f64> {
        match self {
            Verdict::Ratio(Ratio { relative, .. }) | Verdict::OneFigure { relative, .. } => *relative,
            _ => None,
        }
    }

    pub fn low_high(&self) -> Option<(f64, f64)> {
        match self {
            Verdict::Ratio(ratio) => Some((ratio.low, ratio.high)),
            _ => None,
        }
    }

    pub fn mark(&self) -> Option<Mark> {
        match self {
            Verdict::Ratio(ratio) => Some(ratio.mark),
            _ => None,
        }
    }
}
