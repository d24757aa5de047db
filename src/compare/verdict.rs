//! How a cell compares with the baseline's: a ratio with its interval and mark, or why there is none. Plain data;
//! `judge` fills it in.

use crate::model::Entries;
use schemars::JsonSchema;
use serde::Serialize;

/// One column of a row compared with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The column is the baseline.
    Baseline,
    /// At least one of the two is a single value without samples: the ratio has no interval.
    OneFigure {
        ratio: f64,
        /// The ratio divided by that of the reference call; `None` if either run lacks it.
        #[serde(rename = "relative_to_reference")]
        relative: Option<f64>,
    },
    /// The cost of one or both depends on earlier file system activity: the ratio is no sign of a change.
    DependsOnHistory {
        ratio: f64,
        /// The ratio divided by that of the reference call; `None` if either run lacks it.
        #[serde(rename = "relative_to_reference")]
        relative: Option<f64>,
    },
    /// Their kernel entries differ.
    DifferentWork(Difference),
    /// One of the two is missing or failed.
    Missing,
    /// One is a time and the other a number of instructions: there is nothing to compare.
    OtherUnit,
    /// Both are numbers of instructions; the mark is the verdict.
    #[serde(untagged)]
    Counts(CountRatio),
    /// The mark is the verdict.
    #[serde(untagged)]
    Ratio(Ratio),
}

/// Kernel entries that differ between two cells.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    pub own: Entries,
    pub base: Entries,
}

/// Cost over the baseline's cost, without a unit; relative to the machine as a whole where it says so.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Ratio {
    pub ratio: f64,
    /// The ends of the 95% confidence interval, for this row alone.
    pub low: f64,
    pub high: f64,
    /// The ratio of the costs that are shown.
    pub as_measured: f64,
    /// That ratio divided by that of the reference call; `None` if either run lacks it.
    #[serde(rename = "relative_to_reference")]
    pub relative: Option<f64>,
    /// The verdict; with 95% confidence, all marks of the column are right.
    #[serde(rename = "verdict")]
    pub mark: Mark,
}

/// Instructions over the baseline's. They have no noise but what the repeats show.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CountRatio {
    pub ratio: f64,
    /// The least and the greatest ratio of any two repeats; equal if all repeats agree.
    pub low: f64,
    pub high: f64,
    /// Instructions per operation minus the baseline's.
    #[serde(rename = "difference_instructions")]
    pub difference: f64,
    /// The verdict; certain, since the range of the repeats is all the noise there is.
    #[serde(rename = "verdict")]
    pub mark: MetricMark,
}

/// The verdict on a ratio of counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MetricMark {
    /// Certainly within the margin.
    Unchanged,
    /// The runs do not decide it.
    Inconclusive,
    /// Certainly fewer, by more than the margin.
    Fewer,
    /// Certainly more, by more than the margin.
    More,
}

/// The verdict on a ratio.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Certainly within the margin.
    Unchanged,
    /// The runs do not decide it.
    Inconclusive,
    /// Certainly less, by more than the margin.
    Faster,
    /// Certainly more, by more than the margin.
    Slower,
}

impl Verdict {
    /// The ratio to the baseline, with or without an interval.
    pub fn ratio(&self) -> Option<f64> {
        match self {
            Verdict::Ratio(Ratio { ratio, .. })
            | Verdict::OneFigure { ratio, .. }
            | Verdict::DependsOnHistory { ratio, .. } => Some(*ratio),
            Verdict::Counts(counts) => Some(counts.ratio),
            _ => None,
        }
    }

    /// The ratio of the costs that are shown, whatever the machine as a whole did.
    pub fn as_measured(&self) -> Option<f64> {
        match self {
            Verdict::Ratio(ratio) => Some(ratio.as_measured),
            _ => self.ratio(),
        }
    }

    /// The ratio, for means and ranks: `None` where it says nothing about a change.
    pub fn ranked_ratio(&self) -> Option<f64> {
        self.ratio().filter(|_| !matches!(self, Verdict::DependsOnHistory { .. }))
    }

    /// The ratio divided by that of the reference call.
    pub fn relative(&self) -> Option<f64> {
        match self {
            Verdict::Ratio(Ratio { relative, .. })
            | Verdict::OneFigure { relative, .. }
            | Verdict::DependsOnHistory { relative, .. } => *relative,
            _ => None,
        }
    }

    /// The ends of the ratio's 95% interval, or of the range of counts; `None` without samples.
    pub fn low_high(&self) -> Option<(f64, f64)> {
        match self {
            Verdict::Ratio(ratio) => Some((ratio.low, ratio.high)),
            Verdict::Counts(counts) => Some((counts.low, counts.high)),
            _ => None,
        }
    }

    /// The ratio of numbers of instructions; `None` for anything else.
    pub fn counts(&self) -> Option<&CountRatio> {
        match self {
            Verdict::Counts(counts) => Some(counts),
            _ => None,
        }
    }

    /// Whether it is certainly slower, or takes more instructions.
    pub fn is_worse(&self) -> bool {
        self.mark() == Some(Mark::Slower) || self.counts().is_some_and(|counts| counts.mark == MetricMark::More)
    }

    /// Whether it is certainly faster, or takes fewer instructions.
    pub fn is_better(&self) -> bool {
        self.mark() == Some(Mark::Faster) || self.counts().is_some_and(|counts| counts.mark == MetricMark::Fewer)
    }

    /// The mark of a ratio of times with an interval; `None` for anything else.
    pub fn mark(&self) -> Option<Mark> {
        match self {
            Verdict::Ratio(ratio) => Some(ratio.mark),
            _ => None,
        }
    }
}
