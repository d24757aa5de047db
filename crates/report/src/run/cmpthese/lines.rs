//! The lines of timethese: what was run, then one line per case, ordered by name.

use super::{Group, Timing};
use model::Run;

const WARNING: &str = "            (warning: too few iterations for a reliable count)";

pub fn lines(group: &Group, run: &Run) -> Vec<String> {
    let mut lines = vec![header(group, run)];
    for timing in &group.timings {
        lines.push(format!("{:>10}: {}", timing.name, times(timing)));
        if too_few(timing) {
            lines.push(WARNING.to_string());
        }
    }
    let others = group.others.iter();
    lines.extend(others.map(|(name, why)| format!("{name:>10}: {why}")));
    lines
}

fn header(group: &Group, run: &Run) -> String {
    let timed = group.timings.iter().map(|t| t.name.as_str());
    let others = group.others.iter().map(|(name, _)| name.as_str());
    let mut names: Vec<&str> = timed.chain(others).collect();
    names.sort_unstable();
    let names = names.join(", ");
    if run.plan.budget_s == 0.0 {
        return match same_count(&group.timings) {
            Some(n) => format!("Benchmark: timing {n} iterations of {names}..."),
            None => format!("Benchmark: running {names}..."),
        };
    }
    format!(
        "Benchmark: running {names} for at least {} CPU seconds...",
        least_seconds(group, run)
    )
}

fn same_count(timings: &[Timing]) -> Option<u64> {
    let first = timings.first()?.count?;
    timings
        .iter()
        .all(|t| t.count == Some(first))
        .then_some(first)
}

/// Rounded down to two decimals, or to four if it is a tenth or less.
fn least_seconds(group: &Group, run: &Run) -> f64 {
    let given = run.plan.budget_s / run.records.len().max(1) as f64;
    let least = group
        .timings
        .iter()
        .filter_map(|t| t.cpu_s)
        .fold(given, f64::min);
    let steps = if least > 0.1 { 1e2 } else { 1e4 };
    // A value that is below a step only by the rounding error of a division counts as that step.
    (least * steps + 1e-6).floor() / steps
}

/// ` 1 wallclock secs ( 0.62 usr +  0.39 sys =  1.01 CPU) @ 202770.00/s (n=204798)`
fn times(t: &Timing) -> String {
    let wall = t
        .wall_s
        .map_or_else(|| " ?".to_string(), |wall_s| format!("{wall_s:2.0}"));
    let user_s = t
        .cpu_s
        .zip(t.user_share)
        .map(|(cpu_s, share)| cpu_s * share);
    let system_s = t
        .cpu_s
        .zip(user_s)
        .map(|(cpu_s, user_s)| (cpu_s - user_s).max(0.0));
    let (usr, sys, cpu) = (seconds(user_s), seconds(system_s), seconds(t.cpu_s));
    let rate = match t.count {
        // Benchmark gives no rate for a case without CPU time.
        Some(_) if t.cpu_s == Some(0.0) => String::new(),
        Some(n) => format!(" @ {:5.2}/s (n={n})", t.rate),
        None => format!(" @ {:5.2}/s (n=?)", t.rate),
    };
    format!("{wall} wallclock secs ({usr} usr + {sys} sys = {cpu} CPU){rate}")
}

fn seconds(seconds: Option<f64>) -> String {
    seconds.map_or_else(|| "    ?".to_string(), |s| format!("{s:5.2}"))
}

/// Benchmark's own rule.
fn too_few(t: &Timing) -> bool {
    let few = |most: u64| t.count.is_some_and(|n| n < most);
    few(4) || (few(1000) && t.wall_s.is_some_and(|s| s < 1.0)) || t.cpu_s.is_some_and(|s| s < 0.4)
}
