//! The figures of a profile beside its flame graph: histograms of latency, large and for a cell of
//! a table.

use super::latency::{Latency, latencies};
use crate::figure::axis::LogAxis;
use crate::figure::{Chart, Distribution, Figure, heights};
use model::Profile;

const MOST: usize = 12;
const BINS: usize = 160;
const SMALL_BINS: usize = 32;

pub fn latency_histograms(profile: &Profile) -> Option<Figure> {
    histograms(&latencies(profile))
}

/// On one axis; `None` without any.
pub fn histograms(found: &[Latency]) -> Option<Figure> {
    let drawn = &found[..found.len().min(MOST)];
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
    let title = "How long single calls took".to_string();
    (!rows.is_empty()).then_some(Figure {
        title,
        description,
        chart: Chart::Latencies(rows),
    })
}

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
        modes: None,
    }
}
