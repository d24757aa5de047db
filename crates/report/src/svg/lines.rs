//! Costs as a function of a parameter, or times of single calls over the share of the calls: points with their intervals, lines between
//! them, and dashed lines.

use super::drawing::{
    Drawing, HEIGHT, LEFT, LINE, MIDDLE, class, duration, height, heights, legend, line, mark,
    note, number, percent, words,
};
use crate::figure::axis::LogAxis;
use crate::figure::palette::SERIES;
use crate::figure::{Line, Lines, PlotPoint, share_words, shares, with_ends};
use document::write::markup::{Markup, short};
use model::parameter_value;
use stats::Ranged;

/// Segments of a fitted line, which is a curve on logarithmic axes.
const STEPS: usize = 40;

/// `zero` is where 0 is drawn, which has no logarithm.
struct Plane {
    x: LogAxis,
    y: LogAxis,
    zero: f64,
    top: u32,
}

impl Plane {
    /// Each power of ten of the calls' tail has the same room.
    fn new(lines: &Lines, top: u32) -> Plane {
        let (x, zero) = match lines.parameter {
            Some(_) => (lines.axis(), lines.zero()),
            None => (LogAxis::holding([1.0, most(lines)].into_iter()), 1.0),
        };
        let points = lines.points().flat_map(|point| with_ends(point.ns));
        let rest = lines.series.iter().flat_map(|line| &line.rest);
        let y = LogAxis::holding(points.chain(rest.map(|(_, ns)| *ns)));
        Plane {
            x,
            y: y.with_margin(),
            zero,
            top,
        }
    }

    fn x(&self, value: f64) -> f64 {
        0.02 + 0.96 * self.x.share(value.max(self.zero))
    }

    fn y(&self, ns: f64) -> f64 {
        height(&self.y, self.top, ns)
    }
}

/// The largest value, at least 10.
fn most(lines: &Lines) -> f64 {
    let values = lines.values().filter(|value| value.is_finite());
    values.fold(10.0, f64::max)
}

/// Lines with the legend above and the parameter below.
pub fn draw(lines: &Lines) -> Drawing {
    let mut drawing = Drawing {
        left: LEFT,
        ..Drawing::default()
    };
    let drawn = &lines.series[..lines.series.len().min(SERIES)];
    let names: Vec<String> = drawn.iter().map(|line| line.label.clone()).collect();
    let mut top = legend(&mut drawing.legend, &names) + 8;
    if lines.parameter.is_none() {
        let words = "dashed: without calls that were preempted or interrupted";
        top += note(&mut drawing.legend, &names, words);
    }
    let plane = Plane::new(lines, top);
    axes(&mut drawing.plot, lines, &plane);
    for (i, line) in drawn.iter().enumerate() {
        series(
            &mut drawing.plot,
            i,
            line,
            lines.parameter.as_deref(),
            &plane,
        );
    }
    Drawing {
        height: top + HEIGHT + 2 * LINE + 4,
        ..drawing
    }
}

fn axes(svg: &mut Markup, lines: &Lines, plane: &Plane) {
    heights(svg, &plane.y, plane.top, duration);
    let bottom = plane.top + HEIGHT;
    let (name, top, ticks) = match &lines.parameter {
        Some(parameter) => (parameter.as_str(), bottom, spaced(lines, parameter, plane)),
        None => ("share of the calls", plane.top, shares(most(lines))),
    };
    for (value, text) in ticks {
        let x = percent(plane.x(value));
        line(svg, "g", [&x; 2], [top, bottom + 5]);
        words(svg, MIDDLE, &x, bottom + LINE, &text);
    }
    let y = bottom + 2 * LINE;
    words(svg, "text-anchor=\"middle\"", "50%", y, name);
}

/// The values that have room for a label.
fn spaced(lines: &Lines, parameter: &str, plane: &Plane) -> Vec<(f64, String)> {
    let mut kept: Vec<(f64, String)> = Vec::new();
    for value in lines.values() {
        let last = kept.last().map(|(last, _)| plane.x(*last));
        if last.is_none_or(|last| plane.x(value) - last > 0.07) {
            kept.push((value, parameter_value(parameter, value as u64)));
        }
    }
    kept
}

fn series(svg: &mut Markup, index: usize, line: &Line, parameter: Option<&str>, plane: &Plane) {
    if let Some(fitted) = line.fitted {
        draw_fitted(svg, index, line, fitted, plane);
    }
    let class = class(index);
    path(svg, &format!("fit dashed {class}"), &line.rest, plane);
    let class = format!("line {class}");
    let places: Vec<(f64, f64)> = line.points.iter().map(|p| (p.value, p.ns.value)).collect();
    path(svg, &class, &places, plane);
    let (marked, describe): (_, fn(&Line, &str, &PlotPoint) -> String) = match parameter {
        Some(_) => (line.points.clone(), describe_cost),
        None => (powers_of_ten(&line.points), describe_share),
    };
    for point in marked {
        let title = describe(line, parameter.unwrap_or_default(), &point);
        svg.raw("<g>").element("title", &title);
        if let Some((low, high)) = point.ns.low_high {
            path(
                svg,
                &class,
                &[(point.value, low), (point.value, high)],
                plane,
            );
        }
        mark(
            svg,
            index,
            plane.x(point.value),
            plane.y(point.ns.value),
            "",
        );
        svg.raw("</g>");
    }
}

fn path(svg: &mut Markup, class: &str, places: &[(f64, f64)], plane: &Plane) {
    for pair in places.windows(2) {
        let [x, y] = [
            [pair[0].0, pair[1].0].map(|value| percent(plane.x(value))),
            [pair[0].1, pair[1].1].map(|ns| short(plane.y(ns))),
        ];
        line(svg, class, x, y);
    }
}

/// Draws the fitted line dashed, without parts below 0, which a logarithmic axis cannot show.
fn draw_fitted(svg: &mut Markup, index: usize, line: &Line, fitted: (f64, f64), plane: &Plane) {
    let (fixed, per_unit) = fitted;

    let (Some(first), Some(last)) = (line.points.first(), line.points.last()) else {
        return;
    };
    let (low, high) = (first.value.max(plane.zero), last.value.max(plane.zero));
    let places: Vec<(f64, f64)> = (0..=STEPS)
        .map(|i| low * (high / low).powf(i as f64 / STEPS as f64))
        .map(|value| (value, fixed + per_unit * value))
        .collect();
    let class = format!("fit {}", class(index));
    // Every second segment is a dash: the stroke pattern of a path would begin again at each segment.
    for dash in places.windows(2).step_by(2) {
        if dash.iter().all(|(_, ns)| *ns > 0.0) {
            path(svg, &class, dash, plane);
        }
    }
}

fn describe_cost(line: &Line, parameter: &str, place: &PlotPoint) -> String {
    let Ranged { value, low_high } = place.ns;
    let interval = low_high.map(|(low, high)| format!(" ({} .. {})", number(low), number(high)));
    format!(
        "{} at {}: {} ns{}",
        line.label,
        parameter_value(parameter, place.value as u64),
        number(value),
        interval.unwrap_or_default()
    )
}

fn describe_share(line: &Line, _: &str, place: &PlotPoint) -> String {
    format!(
        "{}: {} of the calls took up to {} ns",
        line.label,
        share_words(place.value),
        number(place.ns.value)
    )
}

/// The times of 90%, 99% and so on of the calls, and that of the last.
fn powers_of_ten(points: &[PlotPoint]) -> Vec<PlotPoint> {
    let Some(last) = points.last() else {
        return Vec::new();
    };
    let mut marked = Vec::new();
    for (beyond, _) in shares(last.value).into_iter().skip(1) {
        let mut points = points.iter().rev();
        marked.extend(
            points
                .find(|point| point.value <= beyond * 1.001)
                .map(|point| PlotPoint {
                    value: beyond,
                    ..*point
                }),
        );
    }
    marked.push(*last);
    marked
}
