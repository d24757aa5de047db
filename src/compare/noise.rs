//! How far a machine moves by itself, from run to run and within a run, how often it disturbs, and which differences can be told
//! from that. Pure; `doctor --noise` measures the runs.

use super::column::Column;
use super::machine::{case_in, shifts_in};
use crate::model::{Measurement, Outcome, Run};
use crate::stats::{self, Deviation, Side};
use crate::summary::{self, Panel};
use schemars::JsonSchema;
use serde::Serialize;
use std::ops::Range;

/// What short runs of the panel show of a machine. Percentages of what runs do not show are null.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Noise {
    pub runs: usize,
    /// Wall time over all runs.
    pub seconds: f64,
    /// How far the machine as a whole will be in the next run from one of these, 95 times in 100; null for fewer than three runs.
    pub next_run_percent: Option<f64>,
    /// Standard deviation of whole runs.
    pub between_runs_percent: Option<f64>,
    /// Standard deviation of the machine's speed over the time blocks of a run: the median over the runs.
    pub within_run_percent: Option<f64>,
    pub disturbed: Disturbed,
    /// The least change of a cost that so many runs a side find nine times in ten, relative to the machine.
    pub finds: Vec<Finds>,
}

/// How often something disturbed the runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Disturbed {
    pub blocks: usize,
    /// Time blocks in which the machine was over 3% slower than usual in its run, or its kernel in another state.
    pub blocks_percent: f64,
    /// Batches that were preempted.
    pub preempted_percent: f64,
    /// Runs in which the kernel's state changed.
    pub state_changes: usize,
    /// Share of CPU time that the hypervisor took: the mean over the runs.
    pub stolen_percent: Option<f64>,
    /// CPUs that other programs kept busy: the mean over the runs.
    pub busy_cpus: Option<f64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finds {
    pub runs_a_side: u32,
    /// The median over the panel's members; null without any.
    pub change_percent: Option<f64>,
}

/// A time block is disturbed if the machine was slower by more than this share.
const SLOWER: f64 = 0.03;
/// Runs a side that a comparison may have.
const RUNS_A_SIDE: [u32; 2] = [1, 5];

/// The noise that `run` and its repeats show, all of them of the panel.
pub fn noise(run: &Run) -> Noise {
    let column = Column::new("", run);
    let shifts = shifts_in(&column);
    let between = Deviation::known(&shifts);
    let next_run = |between| Side::of_machine(&[], between).next_run().percent();
    let within = run.runs().filter_map(|one| {
        let panel = Panel::of(one, &summary::steady_range(one).0);
        Some(summary::machine_speed(one, &panel)?.within_run_percent)
    });
    Noise {
        runs: run.runs().count(),
        seconds: run.runs().map(|one| one.elapsed_s).sum(),
        next_run_percent: between.map(next_run),
        between_runs_percent: between.map(|between| 100.0 * between.sd),
        within_run_percent: stats::median(within.collect()),
        disturbed: disturbed(run),
        finds: RUNS_A_SIDE.map(|runs_a_side| finds(&column, runs_a_side)).into(),
    }
}

fn finds(column: &Column, runs_a_side: u32) -> Finds {
    let members = column.rows.iter().filter(|row| row.case.is_in_panel());
    let sides = members.filter_map(|row| case_in(column, &row.runs));
    let changes = sides.map(|side| 100.0 * stats::least_change(&side, runs_a_side));
    Finds { runs_a_side, change_percent: stats::median(changes.collect()) }
}

fn disturbed(run: &Run) -> Disturbed {
    let ranges: Vec<_> = run.runs().map(summary::steady_range).collect();
    let blocks: Vec<(usize, usize)> =
        run.runs().zip(&ranges).map(|(one, (range, _))| disturbed_blocks(one, range)).collect();
    let (all, bad) = blocks.iter().fold((0, 0), |(all, bad), own| (all + own.0, bad + own.1));
    let batches = |m: &Measurement| m.blocks.iter().flat_map(|block| &block.slots).map(Vec::len).sum::<usize>();
    let (mut kept, mut preempted) = (0, 0);
    for m in measurements(run) {
        (kept, preempted) = (kept + batches(m), preempted + m.preempted_ns.len());
    }
    let percent = |part: usize, whole: usize| if whole > 0 { 100.0 * part as f64 / whole as f64 } else { 0.0 };
    Disturbed {
        blocks: all,
        blocks_percent: percent(bad, all),
        preempted_percent: percent(preempted, kept + preempted),
        state_changes: ranges.iter().filter(|(_, change)| change.is_some()).count(),
        stolen_percent: mean(run.runs().filter_map(|one| one.host.steal_percent).collect()),
        busy_cpus: mean(run.runs().filter_map(|one| one.host.busy_cpus).collect()),
    }
}

/// All time blocks of a run, and those that were disturbed.
fn disturbed_blocks(run: &Run, steady: &Range<usize>) -> (usize, usize) {
    let panel = Panel::of(run, steady);
    let blocks = panel.members.iter().map(|(_, m)| m.blocks.len()).max().unwrap_or(0);
    let is_bad = |block: &usize| !steady.contains(block) || panel.speed.slower_ln(*block) > SLOWER.ln_1p();
    (blocks, (0..blocks).filter(is_bad).count())
}

/// Of what does not wait by itself.
fn measurements(run: &Run) -> impl Iterator<Item = &Measurement> {
    run.runs().flat_map(|one| &one.records).filter_map(|record| match &record.outcome {
        Outcome::Measured(measurement) if !measurement.switches => Some(measurement),
        _ => None,
    })
}

fn mean(values: Vec<f64>) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::PANEL;
    use crate::model::fixtures::{run, varying};

    fn panel(ns: impl Fn(u64) -> u64 + Copy) -> Run {
        run(PANEL.iter().map(|operation| varying(operation, ns)).collect())
    }

    /// Runs that are slower than each other by these percentages.
    fn runs(slower: &[u64]) -> Run {
        let mut all = slower.iter().map(|percent| panel(move |block| 100_000 + 1_000 * percent + block % 3));
        Run { repeats: all.clone().skip(1).collect(), ..all.next().unwrap() }
    }

    #[test]
    fn a_machine_that_moves_finds_no_less_in_its_rows() {
        let found = noise(&runs(&[0, 2, 1, 3, 0]));
        assert_eq!((found.runs, found.finds.len(), found.disturbed.blocks_percent), (5, 2, 0.0));
        let between = found.between_runs_percent.unwrap();
        assert!((1.0..2.0).contains(&between) && found.next_run_percent.unwrap() > 2.0 * between, "{found:?}");
        let [one, five] = [0, 1].map(|i| found.finds[i].change_percent.unwrap());
        assert!(five <= one && one < 20.0, "{found:?}");
    }

    #[test]
    fn two_runs_do_not_show_how_far_the_machine_moves() {
        let found = noise(&runs(&[0, 2]));
        assert_eq!((found.next_run_percent, found.between_runs_percent), (None, None));
    }

    #[test]
    fn slow_blocks_and_preempted_batches_are_disturbances() {
        let mut found = panel(|block| if block == 3 { 110_000 } else { 100_000 });
        for record in &mut found.records {
            let Outcome::Measured(measurement) = &mut record.outcome else { unreachable!() };
            measurement.preempted_ns = vec![9; 2];
        }
        let disturbed = noise(&found).disturbed;
        assert!((disturbed.blocks_percent - 100.0 / disturbed.blocks as f64).abs() < 1e-9, "{disturbed:?}");
        assert!(disturbed.preempted_percent > 0.0 && disturbed.state_changes == 0, "{disturbed:?}");
    }
}
