//! What a row says of its case: a time or a number of instructions. The type keeps one from being taken for the other.

use super::cost::RowCost;
use crate::model::{Counted, Unit};
use crate::stats::{self, Interval, Quantity, Ranged};
use schemars::JsonSchema;
use serde::Serialize;

/// The result of a case.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
#[expect(clippy::large_enum_variant, reason = "nearly all rows are times")]
pub enum RowFigure {
    Time(RowCost),
    Instructions(Instructions),
}

/// How many instructions one operation took in an emulated machine, in user and kernel mode together. It is no time: caches,
/// TLB misses, switches of page tables and the pipeline are not in it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Instructions {
    /// The median of the repeats.
    #[serde(rename = "instructions")]
    pub per_operation: f64,
    /// The smallest and the largest repeat; equal if all agree.
    #[serde(rename = "instructions_low")]
    pub low: f64,
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
    /// The figure with its interval within this run, or with the range of its repeats.
    pub fn quantity(&self) -> Quantity {
        match self {
            RowFigure::Time(cost) => cost.value().in_unit(Unit::Nanoseconds),
            RowFigure::Instructions(count) => {
                Ranged { value: count.per_operation, low_high: Some((count.low, count.high)) }
                    .in_unit(Unit::Instructions)
            }
        }
    }

    /// The same, a time with where that of the next run will be.
    pub fn next_run(&self) -> Quantity {
        let low_high = match self {
            RowFigure::Time(cost) => cost.next_run.map(Interval::ends),
            RowFigure::Instructions(count) => Some((count.low, count.high)),
        };
        Quantity { low_high, ..self.quantity() }
    }

    /// The time; `None` for a number of instructions.
    pub fn cost(&self) -> Option<&RowCost> {
        match self {
            RowFigure::Time(cost) => Some(cost),
            RowFigure::Instructions(_) => None,
        }
    }

    /// The number of instructions; `None` for a time.
    pub fn instructions(&self) -> Option<&Instructions> {
        match self {
            RowFigure::Instructions(instructions) => Some(instructions),
            RowFigure::Time(_) => None,
        }
    }
}

impl Instructions {
    /// What was counted, less `empty_loop`; `None` if nothing was.
    pub(super) fn of(counted: &Counted, empty_loop: Option<f64>) -> Option<Instructions> {
        let per_operation = counted.per_operation()?;
        let (low, high) = counted.range()?;
        let net = empty_loop.map(|empty| per_operation - empty);
        Some(Instructions { per_operation, low, high, net, repeats: counted.batches.len() })
    }

    /// The same over several runs: the median of theirs, and the range of all repeats. `None` without runs.
    pub fn over(runs: &[Instructions]) -> Option<Instructions> {
        let net: Option<Vec<f64>> = runs.iter().map(|run| run.net).collect();
        Some(Instructions {
            per_operation: stats::median(runs.iter().map(|run| run.per_operation).collect())?,
            low: runs.iter().map(|run| run.low).fold(f64::INFINITY, f64::min),
            high: runs.iter().map(|run| run.high).fold(f64::NEG_INFINITY, f64::max),
            net: net.and_then(stats::median),
            repeats: runs.iter().map(|run| run.repeats).fold(0, usize::saturating_add),
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
    use super::*;
    use crate::model::Run;
    use crate::model::fixtures::{instructions, record, run};

    #[test]
    fn a_counted_row_has_instructions_and_no_time() {
        let counted = |environment: &str, loop_: u64, each: &[u64]| {
            vec![instructions("file.stat", environment, each), instructions("call.empty_loop", environment, &[loop_])]
        };
        let mut records = counted("linux-a", 10, &[1000, 1004, 1001]);
        records.extend(counted("linux-b", 20, &[500]));
        records.push(record("file.stat", 300));
        let summary = summarize(&run(records));
        let [first, _, second, _, native] = &summary.rows[..] else { panic!("{:?}", summary.rows) };
        let expected = Instructions { per_operation: 1001.0, low: 1000.0, high: 1004.0, net: Some(991.0), repeats: 3 };
        assert_eq!((first.instructions(), first.cost(), first.failure()), (Some(&expected), None, None));
        assert_eq!(second.instructions().map(|found| (found.net, found.is_exact())), Some((Some(480.0), true)));
        assert!(native.cost().is_some() && native.instructions().is_none() && native.versus.is_none());
        let versus = second.versus.as_ref().map(|versus| (versus.environment.as_str(), versus.ratio.value));
        assert_eq!((versus, first.versus.is_none()), (Some(("linux-a", 500.0 / 1001.0)), true));
        assert_eq!([summary.unit("linux-a"), summary.unit("native")], [Unit::Instructions, Unit::Nanoseconds]);
        let document = serde_json::to_value(first).unwrap();
        assert_eq!((&document["instructions"], &document["net_instructions"]), (&1001.0.into(), &991.0.into()));
        let time = |name: &&String| name.ends_with("_ns") || *name == "error" || *name == "samples";
        assert_eq!(document.as_object().unwrap().keys().find(time), None);
    }

    #[test]
    fn runs_are_counted_together() {
        let one = |each: &[u64]| run(vec![instructions("file.stat", "linux-a", each)]);
        let whole = Run { repeats: vec![one(&[110]), one(&[90, 91])], ..one(&[100]) };
        let row = summarize(&whole).rows.remove(0);
        let found = row.instructions().unwrap();
        assert_eq!((found.per_operation, found.low, found.high, found.repeats), (100.0, 90.0, 110.0, 4));
        assert_eq!((row.warnings.len(), row.over_runs), (1, None), "its kernel entries are not known");
    }
}
