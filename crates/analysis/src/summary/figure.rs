//! A time or a number of instructions: the type keeps one from being taken for the other.

use super::cost::RowCost;
use model::{Counted, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Interval, Quantity, Ranged};

/// The result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "nearly all rows are times")]
pub enum RowFigure {
    Time(RowCost),
    Instructions(Instructions),
}

/// How many instructions one operation took in an emulated machine, in user and kernel mode together. Not a time: caches,
/// TLB misses, switches of page tables and the pipeline are not in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Instructions {
    /// The median of the repeats.
    #[serde(rename = "instructions")]
    pub per_operation: f64,
    /// The smallest repeat.
    #[serde(rename = "instructions_low")]
    pub low: f64,
    /// The largest repeat; equal if all agree.
    #[serde(rename = "instructions_high")]
    pub high: f64,
    /// Less those of the empty loop in the same environment; `None` without one. Never clamped.
    #[serde(rename = "net_instructions")]
    pub net: Option<f64>,
    /// How often it was counted.
    #[serde(rename = "instruction_repeats")]
    pub repeats: usize,
}

impl RowFigure {
    /// The value, with its interval within this run or the range of its repeats.
    pub fn quantity(&self) -> Quantity {
        match self {
            RowFigure::Time(cost) => cost.value().in_unit(Unit::Nanoseconds),
            RowFigure::Instructions(count) => Ranged {
                value: count.per_operation,
                low_high: Some((count.low, count.high)),
            }
            .in_unit(Unit::Instructions),
        }
    }

    /// The value, with the interval for the next run.
    pub fn next_run(&self) -> Quantity {
        let low_high = match self {
            RowFigure::Time(cost) => cost.next_run.map(Interval::ends),
            RowFigure::Instructions(count) => Some((count.low, count.high)),
        };
        Quantity {
            low_high,
            ..self.quantity()
        }
    }

    pub fn cost(&self) -> Option<&RowCost> {
        match self {
            RowFigure::Time(cost) => Some(cost),
            RowFigure::Instructions(_) => None,
        }
    }

    pub fn instructions(&self) -> Option<&Instructions> {
        match self {
            RowFigure::Instructions(instructions) => Some(instructions),
            RowFigure::Time(_) => None,
        }
    }
}

impl Instructions {
    pub(super) fn new(counted: &Counted, empty_loop: Option<f64>) -> Option<Instructions> {
        let per_operation = counted.per_operation()?;
        let (low, high) = counted.range()?;
        Some(Instructions {
            per_operation,
            low,
            high,
            net: empty_loop.map(|empty| per_operation - empty),
            repeats: counted.batches.len(),
        })
    }

    /// Several runs as one: the median of their medians, and the range of all repeats. `None` without runs.
    pub fn over(runs: &[Instructions]) -> Option<Instructions> {
        let net: Option<Vec<f64>> = runs.iter().map(|run| run.net).collect();
        Some(Instructions {
            per_operation: stats::median(runs.iter().map(|run| run.per_operation).collect())?,
            low: runs.iter().map(|run| run.low).fold(f64::INFINITY, f64::min),
            high: runs
                .iter()
                .map(|run| run.high)
                .fold(f64::NEG_INFINITY, f64::max),
            net: net.and_then(stats::median),
            repeats: runs.iter().map(|run| run.repeats).sum(),
        })
    }

    /// Whether all repeats agree.
    pub fn is_exact(&self) -> bool {
        self.low == self.high
    }
}

#[cfg(test)]
mod tests {
    use super::super::summarize;
    use model::Run;
    use model::fixtures::{instructions, run};

    #[test]
    fn runs_are_counted_together() {
        fn one(each: &[u64]) -> Run {
            run(vec![instructions("file.stat", "linux-a", each)])
        }

        let whole = Run {
            repeats: vec![one(&[110]), one(&[90, 91])],
            ..one(&[100])
        };
        let row = summarize(&whole).rows.remove(0);
        let count = row.instructions().unwrap();
        assert_eq!(
            (count.per_operation, count.low, count.high, count.repeats),
            (100.0, 90.0, 110.0, 4)
        );
        assert_eq!(
            (row.warnings.len(), row.over_runs),
            (1, None),
            "its kernel entries are not known"
        );
    }
}
