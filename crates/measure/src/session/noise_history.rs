//! Learns from earlier runs on the same machine how much whole runs scatter, and each case relative to the machine.

use crate::runner;
use analysis::summary::{self, Panel};
use model::{Case, Host, Outcome, Record, Run};
use stats::{Deviation, change_points};
use std::collections::BTreeMap;
use store::levels::Level;
use store::lines;
use sys::Sources;

/// Only runs under similar load are evidence for this one: others kept as many CPUs busy, within this share of all.
const SIMILAR: f64 = 0.25;
const LATEST: usize = 20;

/// Adds to `run`, which came to its end, how much runs on its machine scatter and what its cases cost in them, and keeps its
/// own level for later runs if it `teaches`. A run whose panel was not measured natively neither learns nor teaches: its level is
/// that of another build.
pub fn apply(run: &mut Run, teaches: bool) {
    let Some(own) = level(run) else { return };
    let Some(directory) = runner::state_directory() else {
        return;
    };
    let earlier: Vec<Level> = lines::read(&directory);
    let latest = comparable(&earlier, &own, run.host.cpus);
    let levels_ln: Vec<f64> = latest
        .iter()
        .chain([&&own])
        .map(|level| level.panel_ns.ln())
        .collect();
    if let Some(machine) = Deviation::known(&levels_ln) {
        run.host.run_scatter_percent = Some(100.0 * machine.sd);
        run.host.run_scatter_runs = u32::try_from(levels_ln.len()).ok();
    }
    for record in &mut run.records {
        let key = key(&record.case, summary::in_user_mode(record));
        if let Outcome::Measured(measurement) = &mut record.outcome {
            measurement.earlier = since_change(
                latest
                    .iter()
                    .filter_map(|level| level.cases.get(&key).copied())
                    .collect(),
            );
        }
    }
    // Without its line, later runs only know less.
    if teaches {
        let _ = lines::add(&directory, &[own]);
    }
}

/// The costs, latest first, since they last changed for good: what was before says nothing of the next run.
fn since_change(mut costs: Vec<f64>) -> Vec<f64> {
    let ln: Vec<f64> = costs.iter().rev().map(|cost| cost.ln()).collect();
    if let Some(changed) = change_points(&ln).last() {
        costs.truncate(ln.len() - changed);
    }
    costs
}

fn level(run: &Run) -> Option<Level> {
    let (range, _) = summary::steady_range(run);
    let panel = Panel::of(run, &range);
    panel.is_native().then_some(())?;
    let panel_ns = panel.mean_ns()?;
    Some(Level {
        host: machine(&run.host)?,
        cpu: format!(
            "{} {}",
            run.host.cpu.as_deref().unwrap_or_default(),
            run.host.measuring_cpu.map_or(-1, i64::from)
        ),
        kernel: run.host.kernel.clone().unwrap_or_default(),
        build: format!(
            "{}, {}",
            run.host.architecture.as_deref().unwrap_or_default(),
            run.tool.compiler
        ),
        started_unix_s: run.started_unix_s,
        panel_ns,
        members: panel.members.len(),
        busy_cpus: run.host.busy_cpus?,
        cases: cases(run, &panel),
    })
}

/// What identifies the machine: its name, or in a container, which may have a new one each time, the boot of its kernel.
fn machine(host: &Host) -> Option<String> {
    match host.container {
        Some(_) => Sources::default().text("proc/sys/kernel/random/boot_id"),
        None => host.name.clone(),
    }
}

/// What each case cost in units of the panel's mean.
fn cases(run: &Run, panel: &Panel) -> BTreeMap<String, f64> {
    let cost = |record: &Record| {
        let launches = summary::launches(record, &panel.range, &panel.speed)?;
        Some((
            key(&record.case, launches.in_user_mode),
            launches.median_ns / panel.unit_ns(launches.in_user_mode)?,
        ))
    };
    run.records
        .iter()
        .filter_map(cost)
        .filter(|(key, _)| key.len() < LONGEST)
        .collect()
}

/// What is the same for the same case of another run, with the unit of its cost.
fn key(case: &Case, in_user_mode: bool) -> String {
    let Case {
        environment,
        language,
        prelude,
        setup,
        operation,
        ..
    } = case;
    let unit = if in_user_mode { "user" } else { "" };
    let language = language.as_deref().unwrap_or_default();
    let params: Vec<String> = case
        .effective_params()
        .iter()
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    [
        unit,
        environment,
        language,
        prelude,
        setup,
        operation,
        &params.join(" "),
    ]
    .join(" ")
    .split_whitespace()
    .collect::<Vec<_>>()
    .join(" ")
}

const LONGEST: usize = 200;

/// The latest levels that can be compared with `own` on a machine with so many CPUs, the latest first.
fn comparable<'a>(earlier: &'a [Level], own: &Level, cpus: Option<u32>) -> Vec<&'a Level> {
    let cpus = f64::from(cpus.unwrap_or(1));
    let same = |level: &&Level| {
        (&level.host, &level.cpu, &level.kernel, &level.build)
            == (&own.host, &own.cpu, &own.kernel, &own.build)
            && level.members == own.members
            && (level.busy_cpus - own.busy_cpus).abs() <= SIMILAR * cpus
    };
    earlier.iter().rev().filter(same).take(LATEST - 1).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(panel_ns: f64, busy_cpus: f64) -> Level {
        let text = |text: &str| text.to_string();
        let (host, cpu, kernel, build) =
            (text("here"), text("cpu"), text("6.18"), text("x86_64, cc"));
        let cases = BTreeMap::from([("native file.stat".to_string(), 2.5)]);
        Level {
            host,
            cpu,
            kernel,
            build,
            started_unix_s: 1,
            panel_ns,
            members: 12,
            busy_cpus,
            cases,
        }
    }

    #[test]
    fn what_was_before_a_change_is_forgotten() {
        let noise = |i: u32| 1.0 + 0.001 * f64::from(i * 7 % 5);
        let costs: Vec<f64> = (0..18)
            .map(|i| noise(i) * if i < 6 { 1.3 } else { 1.0 })
            .collect();
        assert_eq!(since_change(costs.clone()), costs[..6]);
        assert_eq!(since_change(costs[6..].to_vec()), costs[6..]);
        assert_eq!(since_change(Vec::new()), Vec::<f64>::new());
    }

    #[test]
    fn runs_on_the_same_machine_under_similar_load_count() {
        let own = at(10.0, 0.1);
        let elsewhere = Level {
            host: "there".to_string(),
            ..at(30.0, 0.1)
        };
        let fewer = Level {
            members: 11,
            ..at(30.0, 0.1)
        };
        let translated = Level {
            build: "aarch64, clang".to_string(),
            ..at(30.0, 0.1)
        };
        let earlier = [
            at(9.0, 0.0),
            elsewhere,
            at(40.0, 1.9),
            fewer,
            translated,
            at(11.0, 0.2),
        ];
        assert_eq!(
            comparable(&earlier, &own, Some(2)),
            [&at(11.0, 0.2), &at(9.0, 0.0)]
        );
        assert_eq!(
            comparable(&vec![at(9.0, 0.0); 90], &own, None).len(),
            LATEST - 1
        );
    }
}
