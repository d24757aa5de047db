//! Small multiples: the cost of a case by day on one processor, those that changed first.

use super::names::{Names, day, group};
use crate::fleet::questions::{Day, Group, LEAST_CHANGE, Since, Survey};
use crate::report::comparison::row::number;
use crate::write::markup::{Markup, cut, short};
use std::collections::BTreeMap;

/// Charts of a page.
const MOST: usize = 48;
/// Days that make a chart.
const FEWEST: usize = 3;
/// A chart is at least so high, relative to the usual cost, that noise does not fill it.
const LEAST_HEIGHT: f64 = 0.1;
const WIDTH: f64 = 240.0;
const HEIGHT: f64 = 48.0;

pub fn write(html: &mut Markup, survey: &Survey, names: &Names) {
    let changes: BTreeMap<Group, &Since> =
        survey.since.iter().map(|one| ((one.case.clone(), one.group.clone()), one)).collect();
    let charts = charts(survey, &changes);
    if charts.is_empty() {
        html.raw("<p>").text(&format!("Costs over time take runs of {FEWEST} days.")).raw("</p>");
        return;
    }
    html.raw("<div class=\"cards\">");
    for (group, days) in &charts {
        chart(html, group, days, changes.get(*group).copied(), names);
    }
    html.raw("</div><p class=\"rule\">Each day is the median of its runs, each divided by the median of its host. ");
    let percent = 100.0 * LEAST_CHANGE;
    html.text(&format!("Dotted: {percent}% from the usual cost, below which no change is reported. "));
    let more = survey.days.len() - charts.len();
    if more > 0 {
        html.text(&format!(
            "Of {} cases and processors those that changed, then those that vary most.",
            survey.days.len()
        ));
    }
    html.raw("</p>");
}

type Chart<'a> = (&'a Group, &'a [Day]);

/// Those that changed in the order of their change, then those that vary most.
fn charts<'a>(survey: &'a Survey, changes: &BTreeMap<Group, &Since>) -> Vec<Chart<'a>> {
    let all = survey.days.iter().filter(|(_, days)| days.len() >= FEWEST);
    let mut charts: Vec<(f64, Chart)> = all
        .map(|(group, days)| {
            let (low, high) = range(days);
            let change = changes.get(group).map_or(0.0, |one| 1000.0 + (one.ratio - 1.0).abs());
            (change + high - low, (group, &days[..]))
        })
        .collect();
    charts.sort_by(|a, b| b.0.total_cmp(&a.0));
    charts.into_iter().take(MOST).map(|(_, chart)| chart).collect()
}

fn range(days: &[Day]) -> (f64, f64) {
    let levels = || days.iter().map(|day| day.level);
    (levels().fold(f64::INFINITY, f64::min), levels().fold(f64::NEG_INFINITY, f64::max))
}

fn chart(html: &mut Markup, (case, on): &Group, days: &[Day], change: Option<&Since>, names: &Names) {
    let (low, high) = range(days);
    let name = names.case(case);
    html.raw("<div class=\"card\"><h3>")
        .text(&cut(&name, 100))
        .raw("</h3><p class=\"rule\">")
        .text(&cut(&group(on), 100));
    html.raw("</p><svg class=\"sp ts\" role=\"img\" preserveAspectRatio=\"none\"");
    let about =
        format!("{}: {} to {} of the usual cost over {} days", cut(&name, 100), number(low), number(high), days.len());
    html.attribute("aria-label", &about).attribute("viewBox", &format!("0 0 {WIDTH} {HEIGHT}")).raw(">");
    let place = Placed::of(days);
    if let Some(change) = change {
        let x = short(place.x(change.since_unix_s as f64 / 86_400.0 - 0.5));
        html.raw("<path class=\"at\"").attribute("d", &format!("M{x} 0V{HEIGHT}")).raw("/>");
    }
    for y in [1.0 - LEAST_CHANGE, 1.0 + LEAST_CHANGE].map(|level| place.y(level)) {
        if (0.0..=HEIGHT).contains(&y) {
            html.raw("<path class=\"limit\"").attribute("d", &format!("M0 {}H{WIDTH}", short(y))).raw("/>");
        }
    }
    html.raw("<path").attribute("d", &place.line(days)).raw("/></svg><p class=\"rule\">");
    html.text(&format!("×{} .. ×{} of the usual, ", number(low), number(high)));
    let span = (days.first().map_or(0, |one| one.day), days.last().map_or(0, |one| one.day));
    html.text(&format!("{} to {}", day(span.0 * 86_400), day(span.1 * 86_400)));
    if let Some(change) = change {
        html.raw("; <b>×").text(&number(change.ratio)).raw(" since ").text(&day(change.since_unix_s)).raw("</b>");
    }
    html.raw("</p></div>");
}

/// Where days and levels are in a chart.
struct Placed {
    first: f64,
    days: f64,
    low: f64,
    height: f64,
}

impl Placed {
    fn of(days: &[Day]) -> Placed {
        let (low, high) = range(days);
        let height = (high - low).max(LEAST_HEIGHT) * 1.1;
        let first = days.first().map_or(0.0, |day| day.day as f64);
        let last = days.last().map_or(0.0, |day| day.day as f64);
        Placed { first, days: (last - first).max(1.0), low: (low + high - height) / 2.0, height }
    }

    fn x(&self, day: f64) -> f64 {
        WIDTH * (day - self.first) / self.days
    }

    fn y(&self, level: f64) -> f64 {
        HEIGHT * (1.0 - (level - self.low) / self.height)
    }

    fn line(&self, days: &[Day]) -> String {
        let point = |one: &Day| format!("{} {}", short(self.x(one.day as f64)), short(self.y(one.level)));
        format!("M{}", days.iter().map(point).collect::<Vec<_>>().join("L"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_goes_from_edge_to_edge_and_stays_inside() {
        let days: Vec<Day> =
            [1.0, 1.0, 1.2].iter().zip(5..).map(|(level, day)| Day { day, level: *level, runs: 1 }).collect();
        assert_eq!(Placed::of(&days).line(&days), "M0 45.82L120 45.82L240 2.18");
        let flat: Vec<Day> = days.iter().map(|one| Day { level: 1.0, ..*one }).collect();
        assert_eq!(Placed::of(&flat).line(&flat), "M0 24L120 24L240 24");
    }
}
