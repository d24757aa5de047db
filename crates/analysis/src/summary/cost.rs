//! The cost of a case.

use model::Nanos;
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Deviation, Interval, Ranged, Side, UserShare};

/// The cost of a case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct RowCost {
    /// The median over all batches, per iteration.
    #[serde(rename = "median_ns")]
    pub median: Nanos,
    /// The smallest sample; `None` for a published result.
    #[serde(rename = "best_ns")]
    pub best: Option<Nanos>,
    /// Interval of the median within this run; `None` with too few time blocks, and for a published result.
    #[serde(rename = "interval_ns")]
    pub interval: Option<Interval>,
    /// The interval for the median of the next run; `None` for a published result, for a cold one, and if the cost depends on the
    /// file system's history.
    #[serde(rename = "next_run_ns")]
    pub next_run: Option<Interval>,
    /// The cost in units of the panel's mean; `None` without a panel.
    pub relative: Option<Relative>,
    #[serde(skip)]
    pub moves: Option<Moves>,
    /// Batches used; 0 for a published result.
    pub samples: usize,
    /// Median minus that of the empty loop; `None` without one. Never clamped.
    #[serde(rename = "net_ns")]
    pub net: Option<Nanos>,
    /// Net cost of single cold calls in units of that of warm batches; `None` for rows that are not cold, without the warm row
    /// or the empty loops to subtract, and if a net cost is indistinguishable from zero.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cold_over_warm: Option<Ranged>,
    /// Median in units of that of `id.getppid` in the same environment, a bare system call; `None` without one, and for cold calls.
    pub times_getppid: Option<f64>,
    /// User mode's share of the CPU time; `None` if it is not known well enough.
    pub user_share: Option<UserShare>,
}

impl RowCost {
    pub fn value(&self) -> Ranged {
        Ranged {
            value: self.median.0,
            low_high: self.interval.map(Interval::ends),
        }
    }

    /// Half the width within this run, of the median.
    pub fn half_width_percent(&self) -> Option<f64> {
        self.interval?.half_width_percent(self.median)
    }

    /// Half the width, of the median.
    pub fn next_run_percent(&self) -> Option<f64> {
        self.next_run?.half_width_percent(self.median)
    }

    /// Relative to the machine, half the width; that of the median without a panel.
    pub fn relative_percent(&self) -> Option<f64> {
        match self.relative {
            Some(relative) => relative.next_run?.half_width_percent(Nanos(relative.value)),
            None => self.next_run_percent(),
        }
    }
}

/// A cost relative to the machine's speed in the same time blocks: steadier from run to run than nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Relative {
    /// In units of the geometric mean of the panel, or of its member `call.spin`.
    pub value: f64,
    /// Whether in units of the latter, since the case stays in user mode: what moves the kernel does not move it.
    pub in_user_mode: bool,
    /// The interval for the next run; `None` if the value is not a cost.
    pub next_run: Option<Interval>,
}

/// The sources of scatter from run to run: the case alone, and the machine with all cases.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moves {
    pub case: Side,
    pub machine: Side,
}

impl Moves {
    pub(super) fn next_run(&self, median_ns: f64) -> Option<Interval> {
        let both = Deviation::sum([self.case.next_run(), self.machine.next_run()]);
        both.interval(self.case.expected(median_ns))
    }
}
