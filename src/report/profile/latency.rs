//! How long single calls of a profile took: percentiles by call, from histograms, as far as the number of calls supports them.
//! Called by the tables, documents and pages of profiles.

use crate::document::{Block, Document};
use crate::model::{By, CallTimes, Histogram, Profile, TimeBucket};
use crate::report::figure::{Curve, Line, Lines, PlotPoint, shares};
use crate::report::fit::plot_lines;
use crate::report::numbers::{significant, thousands, three_figures};
use crate::report::{Cell, Spec, Style, Table};
use crate::stats::{FEWEST_BEYOND, longest, percentile, tail_curve};

/// The durations of one system call. A percentile is `None` with fewer than [`FEWEST_BEYOND`] calls beyond it.
#[derive(Clone, Debug, PartialEq)]
pub struct Latency {
    pub call: String,
    pub calls: u64,
    pub p50_ns: Option<f64>,
    pub p90_ns: Option<f64>,
    pub p99_ns: Option<f64>,
    pub p99_9_ns: Option<f64>,
    pub max_ns: Option<f64>,
    /// How wide the buckets are, as a share of the time.
    pub resolution: f64,
    times: CallTimes,
}

impl Latency {
    /// The durations of `call`, without what the tracer adds; `None` if they are not known.
    pub fn of(profile: &Profile, call: &str) -> Option<Latency> {
        let offset = profile.tracer.within_call_ns();
        let histogram = profile.latencies.get(call)?;
        let times = times(histogram, offset);
        let at = |share| percentile(&times, share).map(|ns| ns as f64);
        Some(Latency {
            call: call.to_string(),
            calls: times.calls(),
            p50_ns: at(0.5),
            p90_ns: at(0.9),
            p99_ns: at(0.99),
            p99_9_ns: at(0.999),
            max_ns: longest(&times).map(|ns| ns as f64),
            resolution: 1.0 / f64::from(histogram.per_octave().max(1)),
            times,
        })
    }

    /// Time over the share of calls that took no longer, for a figure.
    pub fn curve(&self) -> Curve {
        let all = tail_curve(&self.times).into_iter().map(|(beyond, ns)| (beyond, ns as f64)).collect();
        Curve { label: self.call.clone(), all, rest: Vec::new() }
    }

    /// Durations in nanoseconds, ascending, and how many calls had each.
    pub fn counts(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.times.0.iter().map(|bucket| (bucket.ns as f64, bucket.count))
    }
}

/// The middle of each bucket. Buckets that the offset makes equal are one.
fn times(histogram: &Histogram, offset_ns: f64) -> CallTimes {
    let mut times: Vec<TimeBucket> = Vec::new();
    for (bucket, count) in histogram.counts.iter().filter(|(_, count)| **count > 0) {
        let middle = (histogram.lower_ns(*bucket) + histogram.lower_ns(bucket + 1)) / 2.0;
        let ns = (middle - offset_ns).max(0.0).round() as u64;
        match times.last_mut().filter(|last| last.ns == ns) {
            Some(last) => last.count = last.count.saturating_add(*count),
            None => times.push(TimeBucket { ns, count: *count }),
        }
    }
    CallTimes(times)
}

/// All calls whose durations are known, in the order of the profile's table.
pub fn latencies(profile: &Profile) -> Vec<Latency> {
    profile.totals(By::Call).iter().filter_map(|total| Latency::of(profile, &total.count.call)).collect()
}

/// The percentiles, and their plot if it has a width.
pub fn profile_latency_document(profile: &Profile, plot_width: Option<u16>) -> Document {
    let found = latencies(profile);
    let plot = Block::drawn(plot_width.map(|width| plot(&found, width)).unwrap_or_default());
    let table = latency_table(profile, &found);
    Document { records: table.records().clone(), blocks: vec![Block::Table(table), plot] }
}

/// The percentiles of `found`, which are those of `profile`.
pub fn latency_table(profile: &Profile, found: &[Latency]) -> Table {
    let table = Table::of(&specs(), found).titled("latency of single calls, in microseconds");
    table.noted(notes(profile, found))
}

fn specs<'a>() -> Vec<Spec<'a, Latency>> {
    let micro = |title: &str, field, which: fn(&Latency) -> Option<f64>| {
        Spec::right(title, move |latency: &Latency| micros(which(latency)))
            .number(field, move |latency: &Latency| Some(which(latency)? / 1e3))
    };
    vec![
        Spec::left("call", |latency: &Latency| latency.call.as_str().into()).text("call", |l| l.call.clone()),
        Spec::right("calls", |latency: &Latency| Cell::number(thousands(latency.calls as f64), latency.calls as f64))
            .count("calls", |latency| latency.calls),
        micro("p50", "p50_us", |latency| latency.p50_ns),
        micro("p90", "p90_us", |latency| latency.p90_ns).expendable(1),
        micro("p99", "p99_us", |latency| latency.p99_ns),
        micro("p99.9", "p99_9_us", |latency| latency.p99_9_ns),
        micro("max", "max_us", |latency| latency.max_ns),
    ]
}

/// A dash where there are too few calls.
fn micros(ns: Option<f64>) -> Cell {
    ns.map_or_else(|| Cell::styled("-", Style::Faint), |ns| Cell::number(significant(ns / 1e3), ns / 1e3))
}

fn notes(profile: &Profile, found: &[Latency]) -> Vec<String> {
    if found.is_empty() {
        return vec![unknown(profile)];
    }
    let few = found.iter().any(|latency| latency.p99_9_ns.is_none());
    let notes = [
        resolution(profile),
        few.then(|| format!("-: fewer than {FEWEST_BEYOND} calls took longer than that")),
        offset(profile),
    ];
    notes.into_iter().flatten().collect()
}

/// What of the times is the tracer's.
fn offset(profile: &Profile) -> Option<String> {
    let facts = &profile.tracer;
    let [low, high] = facts.offset_range_ns.unwrap_or_default().map(three_figures);
    match (facts.offset_per_call_ns, facts.offset_range_ns) {
        (Some(ns), range) if ns > 0.0 => {
            let range = range.map_or_else(String::new, |_| format!(" ({low} .. {high})"));
            Some(format!("less {} ns a call{range}, which are the tracer's", three_figures(ns)))
        }
        (None, Some(_)) => Some(format!(
            "as measured: the tracer's part of a call is not known: the machine was busy ({low} .. {high} ns)"
        )),
        _ => None,
    }
}

/// `elapsed times, each known within 3.1%: ...`
fn resolution(profile: &Profile) -> Option<String> {
    let coarsest = profile.latencies.values().map(Histogram::per_octave).min()?;
    Some(format!(
        "elapsed times from histograms of {coarsest} buckets for each power of two: buckets are {:.1}% wide",
        100.0 / f64::from(coarsest.max(1))
    ))
}

fn unknown(profile: &Profile) -> String {
    let why = match profile.tracer.kind.as_str() {
        "ptrace" | "seccomp" => {
            ": under ptrace each call's time is that of the tracer's stops; trace with eBPF, as root"
        }
        _ => ": its tracer did not record them",
    };
    format!("This profile has no latencies{why}.")
}

fn plot(found: &[Latency], width: u16) -> Vec<String> {
    let line = |latency: &Latency| {
        let curve = latency.curve();
        let points = curve.all.iter().map(|(value, ns)| PlotPoint { value: *value, ns: *ns, low_high: None }).collect();
        Line { label: curve.label, points, model: None }
    };
    let series = found.iter().map(line).collect();
    let lines = Lines { parameter: "percentile".into(), series, crossovers: Vec::new() };
    let most = lines.points().map(|place| place.value).fold(1.0, f64::max);
    plot_lines(lines, width, &shares(most))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(counts: &[(u64, u64)]) -> Profile {
        let mut histogram = Histogram::default();
        for (ns, count) in counts {
            histogram.add(histogram.bucket(*ns), *count);
        }
        Profile { latencies: [("read".to_string(), histogram)].into(), ..Profile::default() }
    }

    #[test]
    fn percentiles_that_too_few_calls_support_are_unknown() {
        let one = Latency::of(&profile(&[(147_000, 1)]), "read").unwrap();
        assert_eq!((one.calls, one.p50_ns, one.p99_ns), (1, None, None));
        assert!((one.max_ns.unwrap() / 147_000.0 - 1.0).abs() < 0.032);
        let hundred = Latency::of(&profile(&[(1000, 90), (9000, 69)]), "read").unwrap();
        assert!(hundred.p50_ns.is_some() && hundred.p90_ns.is_some() && hundred.p99_ns.is_none(), "{hundred:?}");
    }

    #[test]
    fn what_the_tracer_adds_is_subtracted_and_nothing_is_negative() {
        let mut profile = profile(&[(100, 50), (1000, 50)]);
        profile.tracer.offset_per_call_ns = Some(200.0);
        let found = Latency::of(&profile, "read").unwrap();
        assert_eq!(found.p50_ns, Some(0.0));
        assert!((found.p90_ns.unwrap() / 800.0 - 1.0).abs() < 0.05, "{found:?}");
    }
}
