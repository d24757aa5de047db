//! The start-up of environments, as columns of the table of environments, and as a figure.

use crate::figure::{Chart, Figure, Place, Scatter};
use crate::numbers::three_figures;
use crate::{Cell, Columns};
use analysis::summary::{StartUpCost, Summary, mean_ratio};

pub const NOTE: &str = "start-up: the extra time of an empty program there, from its start to its end, ± 95% and no less than two native \
     starts differ by; MB: the extra memory of all processes while a program waits there (proportional set size)";

fn cost<'a>(summary: &'a Summary, environment: &str) -> Option<&'a StartUpCost> {
    let mut all = summary.start_ups.iter();
    all.find(|cost| cost.environment == environment)
}

/// `name` is the environment of a row.
pub fn columns<'a, R>(
    columns: Columns<'a, R>,
    summary: &Summary,
    name: impl Fn(&R) -> &str,
) -> Columns<'a, R> {
    let has_any = !summary.start_ups.is_empty();
    columns
        .right("start-up ms", |row| time(cost(summary, name(row))))
        .shown_if(has_any)
        .right("MB", |row| memory(cost(summary, name(row))))
        .shown_if(has_any)
}

/// `5.61 ±0.13`
fn time(cost: Option<&StartUpCost>) -> Cell {
    cost.map(|cost| {
        let [time, error] = [cost.seconds, (cost.high_s - cost.low_s) / 2.0]
            .map(|seconds| three_figures(1e3 * seconds));
        Cell::number(format!("{time} ±{error}"), cost.seconds)
    })
    .into()
}

fn memory(cost: Option<&StartUpCost>) -> Cell {
    let kib = cost.and_then(|cost| cost.memory_kib);
    Cell::known(kib.map(|kib| kib as f64 * 1024.0 / 1e6), three_figures)
}

/// Start-up against cost per call, a point for each environment; `None` for fewer than two.
pub fn figure(summary: &Summary) -> Option<Figure> {
    let places: Vec<Place> = summary
        .start_ups
        .iter()
        .filter_map(|cost| Some(place(cost, mean_ratio(summary, &cost.environment)?)))
        .collect();
    if places.len() < 2 {
        return None;
    }
    let titles: Vec<&str> = places.iter().map(|place| place.title.as_str()).collect();
    Some(Figure {
        title: "Start-up and cost per call".to_string(),
        description: format!("Points on logarithmic axes. {}.", titles.join(". ")),
        chart: Chart::Scatter(Scatter {
            across: "extra time of an empty program (hollow: upper bound)".to_string(),
            places,
        }),
    })
}

/// A start-up whose interval includes 0 is drawn at its upper end.
fn place(cost: &StartUpCost, ratio: f64) -> Place {
    let is_bound = cost.low_s <= 0.0;
    let seconds = if is_bound { cost.high_s } else { cost.seconds };
    let most = if is_bound { "at most " } else { "" };
    let (time, ratio_text) = (three_figures(1e3 * seconds), three_figures(ratio));
    Place {
        name: cost.environment.clone(),
        // Half of a microsecond is less than any start takes.
        start_ns: f64::max(1e9 * seconds, 500.0),
        is_bound,
        ratio,
        title: format!(
            "{}: {most}{time} ms at the start, operations x {ratio_text}",
            cost.environment
        ),
    }
}
