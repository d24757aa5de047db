//! How fast the machine was in a run, by the panel of cheap operations that every run measures.

use super::warning::FEW_CALM;
use model::{Case, Measurement, NATIVE, PANEL, PANEL_IN_USER_MODE, Run, SPIN};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{BETWEEN_RUNS, Calm, Deviation, FEWEST_MEMBERS, Launches, Side};
use std::collections::BTreeMap;

/// The machine's speed as documents report it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MachineSpeed {
    /// Geometric mean of what the members of the panel cost, in nanoseconds: the unit of relative costs.
    pub panel_ns: f64,
    /// How many members the panel had.
    pub members: usize,
    /// The share of the run's rounds that were undisturbed, in percent.
    pub undisturbed_percent: f64,
    /// Standard deviation of whole runs on this machine, in percent.
    pub between_runs_percent: f64,
    /// The number of runs that `between_runs_percent` was learned from; `None` if it is assumed.
    pub learned_from_runs: Option<u32>,
}

impl MachineSpeed {
    /// How far the machine's speed in the next run may be from the expected one, 95 times in 100, in percent.
    pub fn next_run_percent(&self) -> f64 {
        let machine = Side::from_machine(
            &[],
            deviation(Some(self.between_runs_percent), self.learned_from_runs),
        );
        machine.next_run().percent()
    }
}

pub struct Panel<'a> {
    pub members: Vec<(&'a Case, &'a Measurement)>,
    pub calm: Calm,
    /// How much slower everything was, if the run was disturbed all the time; else 0.
    pub disturbed_ln: f64,
    pub costs_ns: BTreeMap<String, f64>,
    /// The scatter of its members' launches, as a standard deviation of logarithms.
    pub launch_scatter: f64,
}

impl<'a> Panel<'a> {
    /// The panel of a run, in the native environment if the run has it.
    pub fn new(run: &'a Run) -> Panel<'a> {
        let environment = environment(run);
        let members: Vec<(&Case, &Measurement)> = PANEL
            .iter()
            .filter_map(|operation| {
                run.records
                    .iter()
                    .filter(|r| r.case.is_plain(operation) && r.case.environment == environment)
                    .find_map(|record| Some((&record.case, record.outcome.measurement()?)))
            })
            .collect();
        let measurements: Vec<&Measurement> = members.iter().map(|(_, m)| *m).collect();
        let calm = Calm::by_panel(&measurements);
        let levels: BTreeMap<String, Launches> = members
            .iter()
            .filter_map(|(case, m)| {
                let yardsticks = yardsticks(&members, in_user_mode(case), case);
                let launches = stats::launches(m, &calm, &yardsticks)?;
                Some((case.operation.clone(), launches))
            })
            .collect();
        // No neighbour slows everything a hundred times: the file is wrong.
        let shares = run.host.disturbed_percent.map(|percent| percent / 100.0);
        let disturbed = shares.filter(|share| (0.0..100.0).contains(share));
        Panel {
            members,
            calm,
            disturbed_ln: disturbed.unwrap_or(0.0).ln_1p(),
            launch_scatter: stats::scatter_of_launches(levels.values()),
            costs_ns: levels
                .into_iter()
                .map(|(operation, launches)| (operation, launches.level_ns))
                .collect(),
        }
    }

    /// The launches of a case in undisturbed rounds, each relative to the members other than `case` itself.
    pub(super) fn launches(&self, case: &Case, m: &Measurement, user: bool) -> Option<Launches> {
        let yardsticks = yardsticks(&self.members, user, case);
        let launches = stats::launches(m, &self.calm, &yardsticks)?;
        let is_short = self
            .calm
            .share()
            .is_some_and(|share| 100.0 * share < FEW_CALM);
        Some(Launches {
            launch_scatter: self.launch_scatter,
            disturbed_ln: self.disturbed_ln,
            is_disturbed: is_short || launches.rounds < FEWEST_ROUNDS,
            ..launches
        })
    }

    pub fn is_native(&self) -> bool {
        self.members
            .iter()
            .all(|(case, _)| case.environment == NATIVE)
    }

    /// Geometric mean in nanoseconds; `None` with too few members.
    pub fn mean_ns(&self) -> Option<f64> {
        if self.costs_ns.len() < FEWEST_MEMBERS {
            return None;
        }
        stats::geometric_mean(self.costs_ns.values().copied())
    }

    /// The unit of relative costs in nanoseconds. For cases in user mode it is one member that the clock alone moves: the others have two
    /// costs, depending on where their code lies.
    pub fn unit_ns(&self, in_user_mode: bool) -> Option<f64> {
        if in_user_mode {
            self.costs_ns.get(SPIN).copied()
        } else {
            self.mean_ns()
        }
    }
}

// The median of fewer is one of them.
/// From fewer undisturbed rounds a case is not known.
const FEWEST_ROUNDS: usize = 5;

fn in_user_mode(case: &Case) -> bool {
    PANEL[..PANEL_IN_USER_MODE]
        .iter()
        .any(|operation| case.is_plain(operation))
}

fn yardsticks(members: &[(&Case, &Measurement)], user: bool, without: &Case) -> Vec<usize> {
    (0..members.len())
        .filter(|i| in_user_mode(members[*i].0) == user && members[*i].0 != without)
        .collect()
}

/// One for all members: the native one if the run has it, else that of the first.
fn environment(run: &Run) -> &str {
    let members = run.records.iter();
    let members = members.filter(|r| r.outcome.counted().is_none() && r.case.is_in_panel());
    let mut environments = members.map(|r| r.case.environment.as_str());
    let first = environments.clone().next();
    let native = environments.find(|name| *name == NATIVE);
    native.or(first).unwrap_or(NATIVE)
}

/// `None` with too few members.
pub fn machine_speed(run: &Run, panel: &Panel) -> Option<MachineSpeed> {
    let host = &run.host;
    Some(MachineSpeed {
        panel_ns: panel.mean_ns()?,
        members: panel.members.len(),
        undisturbed_percent: 100.0 * panel.calm.share()?,
        between_runs_percent: 100.0 * run_deviation(run).sd,
        learned_from_runs: host.run_scatter_percent.and(host.run_scatter_runs),
    })
}

/// On the log scale: learned from earlier runs, or assumed.
pub fn run_deviation(run: &Run) -> Deviation {
    let runs = run.host.run_scatter_runs;
    deviation(runs.and(run.host.run_scatter_percent), runs)
}

/// The assumed one if it was not learned from any runs.
fn deviation(percent: Option<f64>, runs: Option<u32>) -> Deviation {
    let learned = percent
        .filter(|percent| percent.is_finite() && *percent >= 0.0)
        .zip(runs);
    learned.map_or(BETWEEN_RUNS, |(percent, runs)| Deviation {
        sd: (percent / 100.0).max(f64::EPSILON),
        degrees: f64::from(runs.saturating_sub(1).max(1)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::ModeSamples;
    use model::fixtures::{counted, run, varying};

    fn panel_of(members: usize, ns: impl Fn(u64) -> u64 + Copy) -> Run {
        run(PANEL[..members]
            .iter()
            .map(|operation| varying(operation, ns))
            .collect())
    }

    #[test]
    fn costs_are_relative_to_the_panels_mean() {
        let run = panel_of(12, |block| if block < 6 { 1000 } else { 1100 });
        let panel = Panel::new(&run);
        let speed = machine_speed(&run, &panel).unwrap();
        assert_eq!((speed.members, speed.learned_from_runs), (12, None));
        assert!((speed.panel_ns / 1000.0 - 1.0).abs() < 0.002, "{speed:?}");
        assert_eq!(speed.undisturbed_percent, 50.0);
        assert_eq!(speed.between_runs_percent, 100.0 * BETWEEN_RUNS.sd);
        let small = panel_of(4, |_| 1000);
        assert_eq!(machine_speed(&small, &Panel::new(&small)), None);
    }

    /// The costs of another build are other ones, and would look like another speed of the machine.
    #[test]
    fn all_members_are_of_one_environment() {
        let mut both = panel_of(12, |_| 5000);
        both.records
            .iter_mut()
            .for_each(|record| record.case.environment = "m32".to_string());
        let other = Panel::new(&both);
        assert!(other.members.len() == 12 && !other.is_native());
        both.records.extend(panel_of(12, |_| 1000).records);
        let native = Panel::new(&both);
        assert!(native.is_native() && (native.mean_ns().unwrap() - 1000.0).abs() < 1e-6);
    }

    #[test]
    fn the_scatter_of_runs_is_what_the_file_says() {
        let mut run = panel_of(12, |_| 1000);
        (run.host.run_scatter_percent, run.host.run_scatter_runs) = (Some(0.5), Some(9));
        let speed = machine_speed(&run, &Panel::new(&run)).unwrap();
        assert_eq!(
            (speed.between_runs_percent, speed.learned_from_runs),
            (0.5, Some(9))
        );
        run.host.run_scatter_percent = Some(f64::NAN);
        assert_eq!(run_deviation(&run), BETWEEN_RUNS);
    }

    #[test]
    fn what_moves_the_machine_between_runs_is_not_the_rows_own() {
        fn one(ns: u64) -> Run {
            let mut run = panel_of(12, |_| ns);
            run.records.push(varying("file.stat", |_| 7 * ns));
            // The samples of its mode do not matter, which chance moves over any limit.
            run.records.push(model::Record {
                mode_samples: Some(ModeSamples {
                    user: 50,
                    system: 6,
                }),
                ..counted(varying("call.malloc", |_| 3 * ns), &[])
            });
            run
        }

        let whole = Run {
            repeats: vec![one(110_000), one(121_000)],
            ..one(100_000)
        };
        let summary = super::super::summarize(&whole);
        for (operation, in_user_mode) in [("file.stat", false), ("call.malloc", true)] {
            let mut rows = summary.rows.iter();
            let row = rows.find(|row| row.case.operation == operation).unwrap();
            let cost = row.cost().unwrap();
            assert_eq!(cost.relative.unwrap().in_user_mode, in_user_mode);
            assert!(cost.relative_percent() < Some(4.0), "{cost:?}");
            assert!(cost.next_run_percent() > Some(30.0), "{cost:?}");
        }
    }
}
