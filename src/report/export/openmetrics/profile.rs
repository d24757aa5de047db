//! A profile as metrics: calls, errors and seconds by process and call, and a histogram of latency by call. Gauges, because a
//! profile is what one workload did, not a counter that goes on.

use super::family::{Family, Labels, braces};
use crate::model::{By, CallCount, Histogram, Profile, Total};
use anyhow::Result;
use std::io::Write;

type Value = fn(&CallCount) -> Option<f64>;

const COUNTS: [(Family, Value); 4] = [
    (Family { name: "profile_calls", unit: "", help: "System calls that were entered." }, |count| {
        Some(count.calls as f64)
    }),
    (Family { name: "profile_on_cpu_seconds", unit: "seconds", help: "Time on a CPU in system calls." }, |count| {
        Some(count.on_cpu_ns? as f64 / 1e9)
    }),
    (
        Family {
            name: "profile_runnable_seconds",
            unit: "seconds",
            help: "Time runnable (waiting for a CPU) in system calls, of all threads.",
        },
        |count| Some(count.runnable_ns? as f64 / 1e9),
    ),
    (
        Family {
            name: "profile_blocked_seconds",
            unit: "seconds",
            help: "Time blocked in system calls until woken, of all threads.",
        },
        |count| Some(count.blocked_ns? as f64 / 1e9),
    ),
];

const ERRORS: Family = Family { name: "profile_errors", unit: "", help: "System calls that failed, by error." };
const WALL: Family =
    Family { name: "profile_wall_seconds", unit: "seconds", help: "How long the workload was traced." };
const LOST: Family = Family { name: "profile_lost_events", unit: "", help: "Events that were seen and not counted." };
const COMPLETE: Family = Family {
    name: "profile_complete",
    unit: "",
    help: "1 if the workload was traced to its end and nothing was lost.",
};

/// Bounds of the histograms as powers of two nanoseconds, from 64 ns to 17 s: a collector keeps a series for each.
const BOUNDS: std::ops::Range<i32> = 6..35;

/// Writes a profile.
///
/// # Errors
/// If `out` cannot be written.
pub fn write(profile: &Profile, out: &mut dyn Write) -> Result<()> {
    let totals = by_process_and_call(profile);
    for (family, value) in COUNTS {
        family.write(totals.iter().filter_map(|total| Some((labels(total), value(&total.count)?))), out)?;
    }
    ERRORS.write(totals.iter().flat_map(by_error), out)?;
    durations(profile, out)?;
    WALL.write(profile.usage.wall_ns.iter().map(|ns| (Vec::new(), *ns as f64 / 1e9)), out)?;
    LOST.write(std::iter::once((Vec::new(), profile.tracer.lost as f64)), out)?;
    COMPLETE.write(std::iter::once((Vec::new(), f64::from(u8::from(profile.complete)))), out)?;
    Ok(writeln!(out, "# EOF")?)
}

/// Metrics have no numbers of processes, of which each would be a series for ever.
fn by_process_and_call(profile: &Profile) -> Vec<Total> {
    let mut nameless = profile.clone();
    nameless.groups.iter_mut().for_each(|group| group.pid = None);
    nameless.totals(By::Process)
}

fn labels(total: &Total) -> Labels<'static> {
    vec![("process", total.of.clone()), ("call", total.count.call.clone())]
}

fn by_error(total: &Total) -> Vec<(Labels<'static>, f64)> {
    let with = |error: &str| labels(total).into_iter().chain([("error", error.to_string())]).collect();
    total.count.errors.iter().map(|(error, calls)| (with(error), *calls as f64)).collect()
}

const DURATIONS: &str = "syscost_profile_duration_seconds";

fn durations(profile: &Profile, out: &mut dyn Write) -> Result<()> {
    if profile.latencies.is_empty() {
        return Ok(());
    }
    writeln!(out, "# HELP {DURATIONS} Elapsed time of single system calls.")?;
    writeln!(out, "# TYPE {DURATIONS} histogram\n# UNIT {DURATIONS} seconds")?;
    let offset_ns = profile.tracer.within_call_ns();
    profile.latencies.iter().try_for_each(|(call, histogram)| series(call, histogram, offset_ns, out))
}

/// The cumulative counts of one call at bounds that are the same for every profile. The sum is that of the middles of the
/// histogram's buckets.
fn series(call: &str, histogram: &Histogram, offset_ns: f64, out: &mut dyn Write) -> Result<()> {
    let labels = |le: Option<String>| {
        let le = le.map(|le| ("le", le));
        braces(&[("call", call.to_string())].into_iter().chain(le).collect())
    };
    let middle = |bucket: u16| (histogram.lower_ns(bucket) + histogram.lower_ns(bucket + 1)) / 2.0;
    let times: Vec<(f64, u64)> =
        histogram.counts.iter().map(|(bucket, count)| ((middle(*bucket) - offset_ns).max(0.0), *count)).collect();
    let up_to = |bound: f64| {
        let within = times.iter().filter(|(ns, _)| *ns <= bound);
        within.fold(0u64, |sum, (_, count)| sum.saturating_add(*count))
    };
    for bound in BOUNDS.map(|power| 2f64.powi(power)) {
        writeln!(out, "{DURATIONS}_bucket{} {}", labels(Some((bound / 1e9).to_string())), up_to(bound))?;
    }
    let sum_s: f64 = times.iter().map(|(ns, count)| ns * *count as f64 / 1e9).sum();
    writeln!(out, "{DURATIONS}_bucket{} {}", labels(Some("+Inf".to_string())), up_to(f64::INFINITY))?;
    writeln!(out, "{DURATIONS}_sum{} {sum_s}", labels(None))?;
    Ok(writeln!(out, "{DURATIONS}_count{} {}", labels(None), up_to(f64::INFINITY))?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ProcessGroup, Usage};

    #[test]
    fn a_profile_in_openmetrics() {
        let errors = [("ENOENT".to_string(), 3)].into();
        let read = CallCount { call: "read".into(), calls: 12, errors, on_cpu_ns: Some(1500), ..CallCount::default() };
        let group =
            |pid| ProcessGroup { name: "a\"b".into(), pid, calls: vec![read.clone()], ..ProcessGroup::default() };
        let mut histogram = Histogram::default();
        [1000, 1030, 1100, 5000].into_iter().for_each(|ns| histogram.record(ns));
        let profile = Profile {
            groups: vec![group(Some(1)), group(Some(2))],
            latencies: [("read".to_string(), histogram)].into(),
            usage: Usage { wall_ns: Some(2_000_000_000), ..Usage::default() },
            complete: true,
            ..Profile::default()
        };
        let mut out = Vec::new();
        write(&profile, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let expected = [
            "syscost_profile_calls{process=\"a\\\"b\",call=\"read\"} 24",
            "syscost_profile_on_cpu_seconds{process=\"a\\\"b\",call=\"read\"} 0.000003",
            "syscost_profile_errors{process=\"a\\\"b\",call=\"read\",error=\"ENOENT\"} 6",
            "# TYPE syscost_profile_duration_seconds histogram",
            "syscost_profile_duration_seconds_bucket{call=\"read\",le=\"0.000001024\"} 1",
            "syscost_profile_duration_seconds_bucket{call=\"read\",le=\"0.000002048\"} 3",
            "syscost_profile_duration_seconds_bucket{call=\"read\",le=\"+Inf\"} 4",
            "syscost_profile_duration_seconds_count{call=\"read\"} 4",
            "syscost_profile_wall_seconds 2",
            "syscost_profile_complete 1",
        ];
        for line in expected {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
        assert!(!text.contains("blocked") && text.ends_with("# EOF\n"), "{text}");
    }
}
