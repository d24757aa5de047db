//! Learns from earlier runs on the same machine how much whole runs scatter, and each case relative to the machine.

use crate::runner;
use analysis::summary::{self, Panel};
use itertools::Itertools;
use model::{Case, Host, Outcome, PANEL, Run, SPIN};
use stats::{Deviation, FEWEST_MEMBERS, change_points};
use std::collections::BTreeMap;
use store::levels::Level;
use store::lines;
use sys::Sources;

/// A run in which the members of the panel cost this much more or less than in the fastest known run on average, relative to the
/// machine, was disturbed all the time. A clock that is slower slows all alike.
const APART: f64 = 0.05;
const LATEST: usize = 20;

/// Adds to `run`, which came to its end, how much runs on its machine scatter and what its cases cost in them, or that it was
/// disturbed all the time, and keeps its own level for later runs if it `teaches`. A run whose panel was not measured natively
/// neither learns nor teaches: its level is that of another build.
pub fn learn(run: &mut Run, teaches: bool) {
    forget(run);
    let Some(this_level) = level(run) else {
        return;
    };
    // Without a safe place there is no history, and no warning: a first run has none either.
    let Some(directory) = runner::state_directory() else {
        return;
    };
    let earlier: Vec<Level> = lines::read(&directory);
    let latest = comparable(&earlier, &this_level);
    let known = Known::beside(&latest, &this_level);
    match known.disturbed {
        Some(slower) => run.host.disturbed_percent = Some(100.0 * slower.exp_m1()),
        None => known.teach(run),
    }
    // A failure is not reported: later runs only know less. A disturbed run teaches too: once the faster ones are too old to count, it
    // was the machine that changed.
    if teaches {
        let _ = lines::add(&directory, &[this_level]);
    }
}

/// Removes the facts that the same samples may have learned from other earlier runs.
fn forget(run: &mut Run) {
    let host = &mut run.host;
    (
        host.disturbed_percent,
        host.run_scatter_percent,
        host.run_scatter_runs,
    ) = (None, None, None);
    for record in &mut run.records {
        if let Outcome::Measured(measurement) = &mut record.outcome {
            measurement.earlier.clear();
        }
    }
}

struct Known<'a> {
    /// The undisturbed ones, this one first and then the latest, with ln of how much slower the panel's members were than in this
    /// one, in units of the panel's mean: one odd member moves the mean and not this.
    runs: Vec<(&'a Level, f64)>,
    /// ln of how much slower than the fastest known run, if it was disturbed all the time.
    disturbed: Option<f64>,
}

impl<'a> Known<'a> {
    fn beside(latest: &[&'a Level], level: &'a Level) -> Known<'a> {
        let all: Vec<&Level> = [level].into_iter().chain(latest.iter().copied()).collect();
        let members = members(&all);
        let shifts =
            stats::run_shifts(&members, FEWEST_MEMBERS).unwrap_or_else(|| vec![0.0; all.len()]);
        let fastest = (0..all.len())
            .min_by(|a, b| all[*a].panel_ns.total_cmp(&all[*b].panel_ns))
            .unwrap_or(0);
        let disturbed: Vec<bool> = (0..all.len())
            .map(|run| distance(&members, &shifts, run, fastest) > APART)
            .collect();
        Known {
            disturbed: disturbed[0].then(|| (all[0].panel_ns / all[fastest].panel_ns).ln()),
            runs: (0..all.len())
                .filter(|run| !disturbed[*run])
                .map(|run| (all[run], shifts[run] - shifts[0]))
                .collect(),
        }
    }

    fn teach(&self, run: &mut Run) {
        let levels_ln: Vec<f64> = self
            .runs
            .iter()
            .map(|(level, _)| level.panel_ns.ln())
            .collect();
        if let Some(machine) = Deviation::known(&levels_ln) {
            run.host.run_scatter_percent = Some(100.0 * machine.sd);
            run.host.run_scatter_runs = u32::try_from(levels_ln.len()).ok();
        }
        for record in &mut run.records {
            let in_user_mode = summary::in_user_mode(record);
            let key = key(&record.case, in_user_mode);
            if let Outcome::Measured(measurement) = &mut record.outcome {
                measurement.earlier = since_change(self.costs(&key, in_user_mode));
            }
        }
    }

    /// A case's costs in the earlier runs, in units of the panel, the latest first.
    fn costs(&self, key: &str, in_user_mode: bool) -> Vec<f64> {
        self.runs
            .iter()
            .skip(1)
            .filter_map(|(level, slower_ln)| {
                // The unit in user mode is one member.
                let slower_ln = if in_user_mode { 0.0 } else { *slower_ln };
                Some(level.cases.get(key)? / slower_ln.exp())
            })
            .collect()
    }
}

/// How far the members of two runs are apart on average, in ln units, after each run's shift.
fn distance(members: &[Vec<f64>], shifts: &[f64], run: usize, other: usize) -> f64 {
    members
        .iter()
        .map(|member| ((member[run] - shifts[run]) - (member[other] - shifts[other])).abs())
        .sum::<f64>()
        / members.len() as f64
}

/// ln of costs in units of the panel's mean, for members that all runs have: by member and run.
fn members(runs: &[&Level]) -> Vec<Vec<f64>> {
    PANEL
        .iter()
        .filter_map(|operation: &&str| -> Option<Vec<f64>> {
            runs.iter()
                .map(|run| {
                    run.members
                        .get(*operation)
                        .map(|ns| (ns / run.panel_ns).ln())
                })
                .collect()
        })
        .collect()
}

/// Latest first, since they last changed for good: earlier ones say nothing about the next run.
fn since_change(mut costs: Vec<f64>) -> Vec<f64> {
    let ln: Vec<f64> = costs.iter().rev().map(|cost| cost.ln()).collect();
    if let Some(changed) = change_points(&ln).last() {
        costs.truncate(ln.len() - changed);
    }
    costs
}

fn level(run: &Run) -> Option<Level> {
    let panel = Panel::new(run);
    panel.is_native().then_some(())?;
    let panel_ns = panel.mean_ns()?;
    Some(Level {
        host: machine(&run.host)?,
        cpu: format!(
            "{} {}",
            run.host.cpu.as_deref().unwrap_or_default(),
            run.host.measuring_cpu.map_or(-1, i64::from)
        ),
        // A new kernel, boot parameter or mitigation changes the cost of all calls for good.
        kernel: [
            run.host.kernel.as_deref().unwrap_or_default(),
            run.host.command_line.as_deref().unwrap_or_default(),
            &run.host.mitigations.join(", "),
        ]
        .join("; "),
        build: format!(
            "{}, {}",
            run.host.architecture.as_deref().unwrap_or_default(),
            run.tool.compiler
        ),
        started_unix_s: run.started_unix_s,
        panel_ns,
        members: panel.costs_ns.clone(),
        cases: cases(run, &panel),
    })
}

/// The machine's identity: its name, or in a container, which may have a new one each time, the boot of its kernel.
fn machine(host: &Host) -> Option<String> {
    match host.container {
        Some(_) => Sources::default().text("proc/sys/kernel/random/boot_id"),
        None => host.name.clone(),
    }
}

fn cases(run: &Run, panel: &Panel) -> BTreeMap<String, f64> {
    run.records
        .iter()
        .filter_map(|record| {
            let launches = summary::launches(record, panel)?;
            let key = key(&record.case, launches.in_user_mode);
            Some((key, launches.relative?))
        })
        // Long snippets are hardly ever run twice, and would fill the history.
        .filter(|(key, _)| key.len() < LONGEST)
        .collect()
}

/// The same for the same case of another run, with the unit of its cost.
fn key(case: &Case, in_user_mode: bool) -> String {
    let Case {
        environment,
        language,
        prelude,
        setup,
        operation,
        ..
    } = case;
    let unit = if in_user_mode { SPIN } else { "" };
    let language = language.as_deref().unwrap_or_default();
    let params = case
        .effective_params()
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .join(" ");
    [
        unit,
        environment,
        language,
        prelude,
        setup,
        operation,
        &params,
    ]
    .join(" ")
    .split_whitespace()
    .join(" ")
}

const LONGEST: usize = 200;

fn comparable<'a>(earlier: &'a [Level], level: &Level) -> Vec<&'a Level> {
    earlier
        .iter()
        .rev()
        .filter(|other| {
            (&other.host, &other.cpu, &other.kernel, &other.build)
                == (&level.host, &level.cpu, &level.kernel, &level.build)
                && other.members.keys().eq(level.members.keys())
        })
        .take(LATEST - 1)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run with members that cost 1, 2, 3 ... ns times `speed`, and `odd` times as much for every other one.
    fn level_at(speed: f64, odd: f64) -> Level {
        fn text(text: &str) -> String {
            text.to_string()
        }

        let members = PANEL.iter().enumerate().map(|(i, name)| {
            (
                text(name),
                speed * (i + 1) as f64 * if i.is_multiple_of(2) { odd } else { 1.0 },
            )
        });
        let members: BTreeMap<String, f64> = members.collect();
        Level {
            host: text("here"),
            cpu: text("cpu"),
            kernel: text("6.18"),
            build: text("x86_64, cc"),
            started_unix_s: 1,
            panel_ns: stats::geometric_mean(members.values().copied()).unwrap(),
            members,
            cases: BTreeMap::from([("native file.stat".to_string(), 2.5)]),
        }
    }

    #[test]
    fn what_was_before_a_change_is_forgotten() {
        fn noise(i: u32) -> f64 {
            1.0 + 0.001 * f64::from(i * 7 % 5)
        }

        let costs: Vec<f64> = (0..18)
            .map(|i| noise(i) * if i < 6 { 1.3 } else { 1.0 })
            .collect();
        assert_eq!(since_change(costs.clone()), costs[..6]);
        assert_eq!(since_change(costs[6..].to_vec()), costs[6..]);
        assert_eq!(since_change(Vec::new()), Vec::<f64>::new());
    }

    #[test]
    fn a_run_in_other_proportions_than_the_fastest_was_disturbed() {
        let (fast, slow_clock, neighbour) =
            (level_at(1.0, 1.0), level_at(1.2, 1.0), level_at(1.0, 1.4));
        let known = Known::beside(&[&neighbour, &fast], &slow_clock);
        assert_eq!((known.runs.len(), known.disturbed), (2, None));
        let known = Known::beside(&[&slow_clock, &fast], &neighbour);
        let slower = known.disturbed.unwrap();
        assert!((slower - 1.4f64.ln() / 2.0).abs() < 1e-9, "{slower}");
    }

    /// One member in another state moves the panel's mean, and no row's history.
    #[test]
    fn costs_are_relative_to_what_most_members_are() {
        let mut odd = level_at(1.0, 1.0);
        let factor = 1.3f64;
        *odd.members.get_mut("call.direct").unwrap() *= factor;
        odd.panel_ns *= factor.powf(1.0 / 12.0);
        odd.cases
            .values_mut()
            .for_each(|cost| *cost /= factor.powf(1.0 / 12.0));
        let level = level_at(1.0, 1.0);
        let costs = Known::beside(&[&odd], &level).costs("native file.stat", false);
        assert!((costs[0] - 2.5).abs() < 1e-9, "{costs:?}");
    }

    #[test]
    fn runs_on_the_same_machine_count() {
        let level = level_at(10.0, 1.0);
        let elsewhere = Level {
            host: "there".to_string(),
            ..level_at(30.0, 1.0)
        };
        let mut fewer = level_at(30.0, 1.0);
        fewer.members.pop_last();
        let translated = Level {
            build: "aarch64, clang".to_string(),
            ..level_at(30.0, 1.0)
        };
        let earlier = [
            level_at(9.0, 1.0),
            elsewhere,
            fewer,
            translated,
            level_at(11.0, 1.0),
        ];
        assert_eq!(comparable(&earlier, &level), [&earlier[4], &earlier[0]]);
        assert_eq!(
            comparable(&vec![level_at(9.0, 1.0); 90], &level).len(),
            LATEST - 1
        );
    }
}
