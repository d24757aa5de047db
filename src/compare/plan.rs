//! What a comparison could show before it is made: how many runs like the given ones each row needs. Called by
//! `compare --plan`.

use super::column::Column;
use super::machine::case_in;
use super::row::Key;
use super::select::Selection;
use crate::stats::{self, Side, Wanted};
use schemars::JsonSchema;
use serde::Serialize;

/// How many runs a side a change takes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Plan {
    /// The change that is to be found nine times in ten, and what is small enough to ignore, as shares.
    pub change: f64,
    pub margin: f64,
    /// How many runs the scatter was taken from; of a single one it is what its launches let expect.
    pub runs: usize,
    /// Wall time that each of them was given for measuring, in seconds.
    pub budget_s: f64,
    pub rows: Vec<PlannedRow>,
}

/// One row of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct PlannedRow {
    #[serde(flatten)]
    pub key: Key,
    /// Standard deviation of runs relative to the machine as a whole, in percent.
    pub deviation_percent: f64,
    /// Runs a side; `None` if no reasonable number is enough.
    pub runs_a_side: Option<u32>,
}

/// The plan for finding `change` with runs like those of `column`. Rows that failed or depend on the file system's history are
/// left out.
pub fn plan(column: &Column, selection: &Selection, change: f64, margin: f64) -> Plan {
    let asked = column.rows.iter().filter(|row| row.asked && selection.takes(&row.case) && !row.depends_on_history);
    let rows: Vec<(Key, Side)> =
        asked.filter_map(|row| Some((Key::of(&row.case), case_in(column, &row.runs)?))).collect();
    let wanted = Wanted { change, margin, rows: rows.len() };
    let planned = |(key, row): (Key, Side)| PlannedRow {
        key,
        deviation_percent: 100.0 * row.one_run().sd,
        runs_a_side: stats::runs_needed(&row, wanted),
    };
    let rows = rows.into_iter().map(planned).collect();
    Plan { change, margin, runs: column.info.runs, budget_s: column.info.budget_s, rows }
}

impl Plan {
    /// How many rows so many runs a side are enough for.
    pub fn shown_by(&self, runs: u32) -> usize {
        self.rows.iter().filter(|row| row.runs_a_side.is_some_and(|needed| needed <= runs)).count()
    }

    /// The fewest runs a side that are enough for this share of the rows; `None` if no number is.
    pub fn runs_for(&self, share: f64) -> Option<u32> {
        let mut needed: Vec<u32> = self.rows.iter().filter_map(|row| row.runs_a_side).collect();
        needed.sort_unstable();
        let rows = (share * self.rows.len() as f64).ceil() as usize;
        needed.get(rows.checked_sub(1)?).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::column;
    use super::*;
    use crate::model::Outcome;
    use crate::model::fixtures::{record, varying};

    #[test]
    fn rows_that_scatter_need_more_runs() {
        let mut records =
            vec![record("file.stat", 100_000), varying("file.open", |block| 100_000 + 4_000 * (block / 4))];
        for (record, sd) in records.iter_mut().zip([0.001, 0.002]) {
            let Outcome::Measured(measurement) = &mut record.outcome else { unreachable!() };
            measurement.earlier = vec![1.0, 1.0 + sd, 1.0, 1.0 - sd];
        }
        let plan = plan(&column("a", records), &Selection::default(), 0.05, 0.005);
        let [steady, wild] = &plan.rows[..] else { panic!("{plan:?}") };
        assert!(steady.runs_a_side < wild.runs_a_side && steady.deviation_percent < wild.deviation_percent, "{plan:?}");
        assert_eq!((plan.runs, plan.shown_by(steady.runs_a_side.unwrap())), (1, 1));
        assert_eq!((plan.runs_for(0.5), plan.runs_for(1.0)), (steady.runs_a_side, wild.runs_a_side));
    }

    #[test]
    fn an_empty_plan_needs_nothing() {
        let empty = plan(&column("a", vec![]), &Selection::default(), 0.02, 0.0);
        assert_eq!((empty.rows.len(), empty.runs_for(0.9)), (0, None));
    }
}
