//! How long single calls of a profile took: percentiles by call, as far as the number of calls
//! supports them, and histograms.

use crate::figure::axis::LogAxis;
use crate::figure::{Chart, Distribution, Figure, heights};
use crate::numbers::{significant, three_figures};
use crate::{Cell, Columns, Table};
use document::Document;
use model::{By, Histogram, Profile};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{FEWEST_BEYOND, percentile};

/// The durations of one system call. A percentile is `None` with fewer than [`FEWEST_BEYOND`] calls beyond it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Latency {
    #[serde(skip)]
    pub call: String,
    #[serde(skip)]
    pub calls: u64,
    /// Median of the elapsed time per call. A percentile is null if fewer than ten calls took longer.
    pub p50_ns: Option<f64>,
    /// 90% of the calls took at most this.
    pub p90_ns: Option<f64>,
    /// 99% of the calls.
    pub p99_ns: Option<f64>,
    /// 99.9% of the calls.
    pub p99_9_ns: Option<f64>,
    /// The longest one.
    pub max_ns: Option<f64>,
    /// How wide the buckets are that these times come from, as a share of the time.
    pub resolution: Option<f64>,
    #[serde(skip)]
    times: Histogram,
    #[serde(skip)]
    offset_ns: f64,
}

impl Latency {
    /// The percentiles of `call`, without the tracer's overhead; `None` if they were not recorded.
    pub fn new(profile: &Profile, call: &str) -> Option<Latency> {
        let offset_ns = profile.tracer.within_call_ns();
        let times = profile.latencies.get(call)?.clone();
        let [p50_ns, p90_ns, p99_ns, p99_9_ns] = [0.5, 0.9, 0.99, 0.999]
            .map(|share| percentile(&times, share).map(|ns| net(ns, offset_ns)));
        Some(Latency {
            call: call.to_string(),
            calls: times.total_count(),
            p50_ns,
            p90_ns,
            p99_ns,
            p99_9_ns,
            max_ns: times.longest_ns().map(|ns| net(ns, offset_ns)),
            resolution: Some(1.0 / f64::from(times.per_octave())),
            times,
            offset_ns,
        })
    }

    /// Durations in nanoseconds, ascending, and how many calls had each.
    pub fn counts(&self) -> impl Iterator<Item = (f64, u64)> + '_ {
        self.times
            .times()
            .map(|(ns, count)| (net(ns, self.offset_ns), count))
    }
}

/// Subtracts the tracer's overhead, in whole nanoseconds.
fn net(ns: f64, offset_ns: f64) -> f64 {
    (ns - offset_ns).max(0.0).round()
}

/// The calls with durations, those with most time first.
pub fn latencies(profile: &Profile) -> Vec<Latency> {
    profile
        .totals(By::Call)
        .iter()
        .filter_map(|total| Latency::new(profile, &total.count.call))
        .collect()
}

pub fn profile_latency_document(profile: &Profile) -> Document {
    latency_table(profile, &latencies(profile)).into()
}

/// Percentiles by call, or a note on why there are none.
pub fn latency_table(profile: &Profile, latencies: &[Latency]) -> Table {
    let mut columns = Columns::new(latencies)
        .same("call", |latency| &latency.call)
        .counts("calls", "calls", |latency| latency.calls);
    for (title, field, ns, expendable) in PERCENTILES {
        columns = columns
            .right(title, |latency| micros(ns(latency)))
            .expendable(expendable)
            .field(field, |latency| Some(ns(latency)? / 1e3));
    }
    columns
        .table()
        .titled("latency of single calls, in microseconds")
        .noted(notes(profile, latencies))
}

/// Title, field, and how early it is left out.
type Percentile = (&'static str, &'static str, fn(&Latency) -> Option<f64>, u8);

const PERCENTILES: [Percentile; 5] = [
    ("p50", "p50_us", |latency| latency.p50_ns, 0),
    ("p90", "p90_us", |latency| latency.p90_ns, 1),
    ("p99", "p99_us", |latency| latency.p99_ns, 0),
    ("p99.9", "p99_9_us", |latency| latency.p99_9_ns, 0),
    ("max", "max_us", |latency| latency.max_ns, 0),
];

/// A percentile, or a dash if there are too few calls.
fn micros(ns: Option<f64>) -> Cell {
    ns.map_or_else(Cell::dash, |ns| {
        Cell::number(significant(ns / 1e3), ns / 1e3)
    })
}

fn notes(profile: &Profile, latencies: &[Latency]) -> Vec<String> {
    if latencies.is_empty() {
        return vec![unknown(profile)];
    }
    let few = latencies.iter().any(|latency| latency.p99_9_ns.is_none());
    [
        resolution(profile),
        few.then(|| format!("-: fewer than {FEWEST_BEYOND} calls took longer")),
        offset(profile),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn offset(profile: &Profile) -> Option<String> {
    let facts = &profile.tracer;
    let [low, high] = facts.offset_range_ns.unwrap_or_default().map(three_figures);
    match (facts.offset_per_call_ns, facts.offset_range_ns) {
        (Some(ns), range) if ns > 0.0 => {
            let range = range.map_or_else(String::new, |_| format!(" ({low} .. {high})"));
            Some(format!(
                "the tracer's own {} ns a call{range} are subtracted",
                three_figures(ns)
            ))
        }
        (None, Some(_)) => Some(format!(
            "as measured: the tracer's overhead per call is not known, because the machine was busy ({low} .. {high} ns)"
        )),
        _ => None,
    }
}

/// `elapsed times, each known within 3.1%: ...`
fn resolution(profile: &Profile) -> Option<String> {
    let buckets = profile.latencies.values().next()?.per_octave();
    Some(format!(
        "elapsed times come from histograms with {buckets} buckets per power of two, each {:.1}% wide",
        100.0 / f64::from(buckets)
    ))
}

fn unknown(profile: &Profile) -> String {
    let why = match profile.tracer.kind.as_str() {
        "ptrace" | "seccomp" => {
            ": under ptrace, most of a call's time is the tracer's stops; trace with eBPF, as root"
        }
        _ => ": its tracer did not record them",
    };
    format!("This profile has no latencies{why}.")
}

const MOST: usize = 12;
const BINS: usize = 160;
const SMALL_BINS: usize = 32;

/// Histograms of the calls on one axis; `None` without durations.
pub fn latency_histograms(profile: &Profile) -> Option<Figure> {
    histograms(&latencies(profile))
}

/// On one axis; `None` without any.
pub fn histograms(latencies: &[Latency]) -> Option<Figure> {
    let drawn = &latencies[..latencies.len().min(MOST)];
    let axis = LogAxis::holding(
        drawn
            .iter()
            .flat_map(|latency| latency.counts().map(|(ns, _)| ns)),
    )
    .with_margin();
    let rows: Vec<Distribution> = drawn
        .iter()
        .map(|latency| row(latency, &axis, BINS))
        .collect();
    let description = format!(
        "Histograms of the elapsed time of single calls, {} system calls on one logarithmic axis; heights are the square root \
         of the number of calls. Percentiles are in the table.",
        rows.len()
    );
    (!rows.is_empty()).then_some(Figure {
        title: "Duration of single calls".to_string(),
        description,
        chart: Chart::Latencies(rows),
    })
}

/// A histogram for a table cell, on an axis of its own.
pub fn small(latency: &Latency) -> Distribution {
    let axis = LogAxis::holding(latency.counts().map(|(ns, _)| ns))
        .spanning(4.0)
        .with_margin();
    row(latency, &axis, SMALL_BINS)
}

fn row(latency: &Latency, axis: &LogAxis, bins: usize) -> Distribution {
    let places = latency.counts().map(|(ns, count)| (axis.share(ns), count));
    Distribution {
        label: latency.call.clone(),
        low: axis.value(0.0),
        high: axis.value(1.0),
        heights: heights(places, bins),
        samples: usize::try_from(latency.calls).unwrap_or(usize::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(counts: &[(u64, u64)]) -> Profile {
        let mut histogram = Histogram::default();
        for (ns, count) in counts {
            histogram.add(histogram.bucket(*ns), *count);
        }
        Profile {
            latencies: [("read".to_string(), histogram)].into(),
            ..Profile::default()
        }
    }

    #[test]
    fn what_the_tracer_adds_is_subtracted_and_nothing_is_negative() {
        let mut profile = profile(&[(100, 50), (1000, 50)]);
        profile.tracer.offset_per_call_ns = Some(200.0);
        let latency = Latency::new(&profile, "read").unwrap();
        assert_eq!(latency.p50_ns, Some(0.0));
        assert!(
            (latency.p90_ns.unwrap() / 800.0 - 1.0).abs() < 0.05,
            "{latency:?}"
        );
    }
}
