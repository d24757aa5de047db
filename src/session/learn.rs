//! Learns from earlier runs on the same machine how much whole runs scatter.

use crate::model::Run;
use crate::runner;
use crate::stats::run_scatter;
use crate::store::levels::{self, Level};
use crate::summary::{self, Panel};

/// Only runs under similar load are evidence for this one: others kept at least this many CPUs busy, or fewer.
const LOADED: f64 = 0.5;
/// The latest runs count.
const LATEST: usize = 20;
/// Fewer runs, this one included, teach nothing.
const FEWEST: usize = 3;

/// Adds to `run`, which came to its end, how much runs on its machine scatter, and keeps its level for later runs. A run whose
/// panel was not measured natively neither learns nor teaches: its level is that of another build.
pub fn learn(run: &mut Run) {
    let Some(own) = level(run) else { return };
    let Some(directory) = runner::state_directory() else { return };
    let earlier = levels::read(&directory);
    let levels_ln = comparable(&earlier, &own);
    if levels_ln.len() >= FEWEST {
        run.host.run_scatter_percent = Some(100.0 * run_scatter(&levels_ln));
        run.host.run_scatter_runs = u32::try_from(levels_ln.len()).ok();
    }
    // Without its line, later runs only know less.
    let _ = levels::add(&directory, &earlier, &own);
}

fn level(run: &Run) -> Option<Level> {
    let (range, _) = summary::steady_range(run);
    let panel = Panel::of(run, &range);
    panel.is_native().then_some(())?;
    Some(Level {
        host: run.host.name.clone()?,
        cpu: run.host.cpu.clone().unwrap_or_default(),
        kernel: run.host.kernel.clone().unwrap_or_default(),
        build: format!("{}, {}", run.host.architecture.as_deref().unwrap_or_default(), run.tool.compiler),
        started_unix_s: run.started_unix_s,
        panel_ns: panel.mean_ns()?,
        members: panel.members.len(),
        busy_cpus: run.host.busy_cpus?,
    })
}

/// The logarithms of the latest levels that can be compared with `own`, and its own.
fn comparable(earlier: &[Level], own: &Level) -> Vec<f64> {
    let same = |level: &&Level| {
        (&level.host, &level.cpu, &level.kernel, &level.build) == (&own.host, &own.cpu, &own.kernel, &own.build)
            && level.members == own.members
            && (level.busy_cpus >= LOADED) == (own.busy_cpus >= LOADED)
    };
    let latest = earlier.iter().rev().filter(same).take(LATEST - 1);
    latest.chain([own]).map(|level| level.panel_ns.ln()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(panel_ns: f64, busy_cpus: f64) -> Level {
        let text = |text: &str| text.to_string();
        let (host, cpu, kernel, build) = (text("here"), text("cpu"), text("6.18"), text("x86_64, cc"));
        Level { host, cpu, kernel, build, started_unix_s: 1, panel_ns, members: 12, busy_cpus }
    }

    #[test]
    fn runs_on_the_same_machine_under_similar_load_count() {
        let own = at(10.0, 0.1);
        let elsewhere = Level { host: "there".to_string(), ..at(30.0, 0.1) };
        let fewer = Level { members: 11, ..at(30.0, 0.1) };
        let translated = Level { build: "aarch64, clang".to_string(), ..at(30.0, 0.1) };
        let earlier = [at(9.0, 0.0), elsewhere, at(40.0, 1.9), fewer, translated, at(11.0, 0.2)];
        assert_eq!(comparable(&earlier, &own), [11f64.ln(), 9f64.ln(), 10f64.ln()]);
        assert_eq!(comparable(&vec![at(9.0, 0.0); 90], &own).len(), LATEST);
    }
}
