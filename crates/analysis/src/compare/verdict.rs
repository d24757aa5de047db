//! How a cell compares with the baseline's: a ratio with its interval and mark, or why there is none.

use model::Entries;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::Ranged;

/// One column of a row compared with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum Verdict {
    /// The column is the baseline.
    Baseline,
    /// At least one of the two is a single value without samples: the ratio has no interval.
    OneFigure(PlainRatio),
    /// The cost of one or both depends on earlier file system activity: the ratio is not a sign of a change.
    DependsOnHistory(PlainRatio),
    /// One of the two, and not the other, was measured under a tracer of system calls: the ratio is the tracer's.
    Traced(PlainRatio),
    /// One of the two runs was disturbed all the time: the ratio may be the disturbance's.
    Disturbed(PlainRatio),
    /// The kernel entries of the two differ.
    DifferentWork(Difference),
    /// One of the two is missing or failed.
    Missing,
    /// One is a time and the other a number of instructions: there is nothing to compare.
    OtherUnit,
    /// The mark is the verdict.
    #[serde(untagged)]
    Ratio(Ratio),
}

/// A ratio without interval and mark.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlainRatio {
    pub ratio: f64,
    /// The ratio divided by that of the reference call; `None` if either run lacks it.
    #[serde(rename = "relative_to_reference")]
    pub relative: Option<f64>,
}

/// Kernel entries that differ between two cells.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Difference {
    #[serde(rename = "own")]
    pub entries: Entries,
    pub base: Entries,
}

/// A figure over the baseline's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Ratio {
    /// A ratio of times is relative to the machine as a whole if `rows_are_relative`.
    pub ratio: f64,
    /// The ends of the 95% confidence interval, for this row alone; of instructions the least and the greatest ratio of any two
    /// repeats, equal if all repeats agree.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    #[serde(flatten)]
    pub kind: RatioOf,
    /// The verdict; of the marks of a column, at most 5% are expected to be wrong. Those on instructions are certain, since the range of
    /// the repeats is all the noise there is.
    #[serde(rename = "verdict")]
    pub mark: Mark,
}

/// The unit that a ratio compares.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum RatioOf {
    Time {
        /// The ratio of the costs that are shown.
        as_measured: f64,
        /// The ratio divided by that of the reference call; `None` if either run lacks it.
        #[serde(rename = "relative_to_reference")]
        relative: Option<f64>,
    },
    /// Instructions of an emulated machine.
    Instructions {
        /// Instructions per operation minus the baseline's.
        #[serde(rename = "difference_instructions")]
        difference: f64,
    },
}

/// The verdict on a ratio of times or, with `fewer` and `more`, of counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// Certainly within the margin.
    Equal,
    /// The runs do not decide it.
    NotKnown,
    /// Certainly less, and by the estimate by more than the margin.
    Faster,
    Fewer,
    /// Certainly more, and by the estimate by more than the margin.
    Slower,
    More,
}

impl RatioOf {
    pub fn time(as_measured: f64) -> RatioOf {
        RatioOf::Time {
            as_measured,
            relative: None,
        }
    }
}

impl Mark {
    /// On a ratio of times from the same rounds; `None` without an interval.
    pub fn on(ratio: Ranged, margin: f64) -> Option<Mark> {
        let (low, high) = ratio.low_high?;
        let (least, most) = (1.0 / (1.0 + margin), 1.0 + margin);
        Some(if low > 1.0 && ratio.value > most {
            Mark::Slower
        } else if high < 1.0 && ratio.value < least {
            Mark::Faster
        } else if low >= least && high <= most {
            Mark::Equal
        } else {
            Mark::NotKnown
        })
    }

    /// Certainly another figure.
    pub fn is_change(self) -> bool {
        self.is_better() || self.is_worse()
    }

    /// Certainly slower, or more.
    pub fn is_worse(self) -> bool {
        matches!(self, Mark::Slower | Mark::More)
    }

    pub fn is_better(self) -> bool {
        matches!(self, Mark::Faster | Mark::Fewer)
    }
}

impl Verdict {
    pub fn interval(&self) -> Option<&Ratio> {
        match self {
            Verdict::Ratio(ratio) => Some(ratio),
            _ => None,
        }
    }

    fn plain(&self) -> Option<&PlainRatio> {
        match self {
            Verdict::OneFigure(plain)
            | Verdict::DependsOnHistory(plain)
            | Verdict::Traced(plain)
            | Verdict::Disturbed(plain) => Some(plain),
            _ => None,
        }
    }

    pub fn ratio(&self) -> Option<f64> {
        let plain = self.plain().map(|plain| plain.ratio);
        plain.or_else(|| Some(self.interval()?.ratio))
    }

    pub fn is_refused(&self) -> bool {
        self.plain().is_some() && !matches!(self, Verdict::OneFigure(_))
    }

    pub fn as_measured(&self) -> Option<f64> {
        match self {
            Verdict::Ratio(Ratio {
                kind: RatioOf::Time { as_measured, .. },
                ..
            }) => Some(*as_measured),
            _ => self.ratio(),
        }
    }

    /// `None` if it is not a sign of a change.
    pub fn ranked_ratio(&self) -> Option<f64> {
        if self.is_refused() {
            return None;
        }
        self.ratio()
    }

    pub fn relative(&self) -> Option<f64> {
        match self {
            Verdict::Ratio(Ratio {
                kind: RatioOf::Time { relative, .. },
                ..
            }) => *relative,
            _ => self.plain()?.relative,
        }
    }

    /// The ends of the 95% interval.
    pub fn low_high(&self) -> Option<(f64, f64)> {
        self.interval().map(|ratio| (ratio.low, ratio.high))
    }

    /// The difference in instructions per operation; `None` for times.
    pub fn difference(&self) -> Option<f64> {
        match self.interval()?.kind {
            RatioOf::Instructions { difference } => Some(difference),
            _ => None,
        }
    }

    pub fn mark(&self) -> Option<Mark> {
        self.interval().map(|ratio| ratio.mark)
    }
}
