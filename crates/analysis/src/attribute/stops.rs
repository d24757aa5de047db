//! The share of ptrace's stops in a program's wall time. The kernel charges a part of it to the program, as time in the kernel.

use super::seconds::s;
use super::spent::{Part, PartKind};
use model::{By, CallCount, Profile};

// Stops of `dd bs=1` took 12 us by calibration and 27 us beside ten other programs.
/// Uncertainty of stops, as a multiple of their calibrated time: beside other load, a stopped program also waits for the tracer to run.
const STOPS_VARY: f64 = 3.0;

/// Moves the wall time of stops out of the parts that contain it (`hides`) into a part of its own. If hardly anything is left of those,
/// they are merged into it: the kernel's own time is not known.
pub fn charge(parts: &mut Vec<Part>, profile: &Profile) {
    let Some((stops_s, doubt_s)) = stops(profile) else {
        return;
    };
    let mut hidden: Vec<Part> = parts.extract_if(.., |part| hides(part.kind)).collect();
    let hidden_s: f64 = hidden.iter().map(Part::seconds).sum();
    // Priced calls and page faults are parts already: what is left is stops, as far as these vary.
    let (stops_s, doubt_s) = if profile.tracer.priced_by.is_empty() {
        (stops_s, doubt_s)
    } else {
        (hidden_s.min(stops_s + doubt_s), 0.0)
    };
    let kind = if hidden_s - stops_s < doubt_s {
        PartKind::Stops
    } else {
        PartKind::Tracer
    };
    let mut left_s = if kind == PartKind::Stops {
        hidden_s
    } else {
        stops_s
    };
    let mut charged = Part {
        kind,
        wall_s: Some(left_s),
        cpu_s: None,
        what: Vec::new(),
    };
    // Unknown time is charged before time in the kernel.
    hidden.sort_by_key(|part| part.kind != PartKind::Rest);
    for mut part in hidden {
        let share = (left_s / part.seconds()).min(1.0);
        left_s -= share * part.seconds();
        if let Some(cpu_s) = part.cpu_s {
            *charged.cpu_s.get_or_insert_default() += share * cpu_s;
        }
        if share < 1.0 {
            part.wall_s = part.wall_s.map(|wall_s| (1.0 - share) * wall_s);
            part.cpu_s = part.cpu_s.map(|cpu_s| (1.0 - share) * cpu_s);
            parts.push(part);
        }
    }
    parts.push(charged);
}

fn hides(kind: PartKind) -> bool {
    matches!(kind, PartKind::Rest | PartKind::AllSystem | PartKind::All)
}

/// Seconds that stops add to the wall time of several processes or threads, whose wall time is not divided: at most what is left beside
/// the CPU time.
pub fn added_s(profile: &Profile, wall_s: f64, cpu_s: f64) -> f64 {
    match stops(profile) {
        Some((stops_s, _)) if !profile.tracer.priced_by.is_empty() => {
            stops_s.min((wall_s - cpu_s).max(0.0))
        }
        _ => 0.0,
    }
}

/// Fewer calls do not show what a stop takes.
const SOME: u64 = 10;
/// Calls whose median is up to so many times the least one do next to nothing.
const CHEAP: f64 = 1.5;
/// Stops take less: tens of microseconds.
const MOST_STOP_S: f64 = 50e-6;

/// Seconds that stops add to each call in a log of strace: the mean of the cheapest calls. 0 for other profiles.
pub fn logged_s(profile: &Profile) -> f64 {
    let calls = profile.totals(By::Call).into_iter();
    let calls = calls.map(|total| total.count);
    let timed = calls.filter_map(|count| {
        let times = profile.latencies.get(&count.call)?;
        let median_ns = times.quantile_ns(0.5)?;
        count.elapsed_ns.filter(|_| count.calls >= SOME)?;
        Some((median_ns, count))
    });
    let timed: Vec<(f64, CallCount)> = timed.collect();
    let least_ns = timed
        .iter()
        .map(|(ns, _)| *ns)
        .fold(f64::INFINITY, f64::min);
    let cheap = timed.iter().filter(|(ns, _)| *ns <= CHEAP * least_ns);
    let cheap: CallCount = cheap.map(|(_, count)| count).sum();
    (s(cheap.elapsed_ns.unwrap_or(0)) / cheap.calls.max(1) as f64).min(MOST_STOP_S)
}

fn stops(profile: &Profile) -> Option<(f64, f64)> {
    let facts = &profile.tracer;
    // Calibration on a busy machine gives a range without a value.
    let middle = facts.added_range_ns.map(|[low, high]| (low + high) / 2.0);
    if facts.adds_system_time != Some(false) {
        return None;
    }
    let ns = facts.added_per_call_ns.or(middle)?;
    let [low, high] = facts.added_range_ns.unwrap_or([ns, ns]);
    let calls = profile.all_calls().calls as f64;
    let all_s = |ns: f64| calls * ns / 1e9;
    Some((all_s(ns), all_s((high - low).max(STOPS_VARY * ns))))
}
