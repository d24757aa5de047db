//! Costs as a function of a parameter: points with their intervals, lines between them, and fitted lines.

use super::drawing::{
    Drawing, LINE, MIDDLE, class, duration, legend, line, mark, note, number, percent, words,
};
use crate::figure::axis::LogAxis;
use crate::figure::palette::SERIES;
use crate::figure::{Curve, Line, Lines, PlotPoint, share_words, shares, with_ends};
use document::write::markup::{Markup, short};
use model::parameter_value;
use stats::Ranged;

const HEIGHT: u32 = 300;
const LEFT: u32 = 64;
/// Segments of a fitted line, which is a curve on logarithmic axes.
const STEPS: usize = 40;

/// `zero` is where 0 is drawn, which has no logarithm.
struct Plane {
    pub x: LogAxis,
    pub y: LogAxis,
    pub zero: f64,
    pub top: u32,
}

impl Plane {
    fn new(lines: &Lines, top: u32) -> Plane {
        let y = LogAxis::holding(lines.points().flat_map(|point| with_ends(point.ns)));
        Plane {
            x: lines.axis(),
            y: y.with_margin(),
            zero: lines.zero(),
            top,
        }
    }

    pub fn x(&self, value: f64) -> f64 {
        0.02 + 0.96 * self.x.share(value.max(self.zero))
    }

    pub fn y(&self, ns: f64) -> f64 {
        f64::from(self.top) + f64::from(HEIGHT) * (1.0 - self.y.share(ns))
    }
}

pub fn draw(lines: &Lines) -> Drawing {
    let mut drawing = Drawing {
        left: LEFT,
        ..Drawing::default()
    };
    let drawn = &lines.series[..lines.series.len().min(SERIES)];
    let names: Vec<String> = drawn.iter().map(|line| line.label.clone()).collect();
    let top = legend(&mut drawing.legend, &names) + 8;
    let plane = Plane::new(lines, top);
    axes(&mut drawing.plot, lines, &plane);
    drawn
        .iter()
        .enumerate()
        .for_each(|(i, line)| series(&mut drawing.plot, i, line, &lines.parameter, &plane));
    Drawing {
        height: top + HEIGHT + 2 * LINE + 4,
        ..drawing
    }
}

fn times(svg: &mut Markup, plane: &Plane) {
    for tick in plane.y.ticks(0.09) {
        let y = short(plane.y(tick));
        line(svg, "g", ["0", "100%"], [&y; 2]);
        words(
            svg,
            "class=\"m\" text-anchor=\"end\" dy=\"4\"",
            -8,
            &y,
            &duration(tick),
        );
    }
}

fn axes(svg: &mut Markup, lines: &Lines, plane: &Plane) {
    let bottom = plane.top + HEIGHT;
    times(svg, plane);
    for value in spaced(lines, plane) {
        let text = parameter_value(&lines.parameter, value as u64);
        tick(svg, plane, value, bottom, &text);
    }
    axis_name(svg, plane, &lines.parameter);
}

fn tick(svg: &mut Markup, plane: &Plane, value: f64, top: u32, text: &str) {
    let (x, bottom) = (percent(plane.x(value)), plane.top + HEIGHT);
    line(svg, "g", [&x; 2], [top, bottom + 5]);
    words(svg, MIDDLE, &x, bottom + LINE, text);
}

fn axis_name(svg: &mut Markup, plane: &Plane, name: &str) {
    let y = plane.top + HEIGHT + 2 * LINE;
    words(svg, "text-anchor=\"middle\"", "50%", y, name);
}

/// Those that have room for a label.
fn spaced(lines: &Lines, plane: &Plane) -> Vec<f64> {
    let mut kept: Vec<f64> = Vec::new();
    for value in lines.values() {
        if kept
            .last()
            .is_none_or(|last| plane.x(value) - plane.x(*last) > 0.07)
        {
            kept.push(value);
        }
    }
    kept
}

fn series(svg: &mut Markup, index: usize, line: &Line, parameter: &str, plane: &Plane) {
    if let Some(fitted) = line.fitted {
        draw_fitted(svg, index, line, fitted, plane);
    }
    let class = format!("line {}", class(index));
    let places: Vec<(f64, f64)> = line.points.iter().map(|p| (p.value, p.ns.value)).collect();
    path(svg, &class, &places, plane);
    for place in &line.points {
        svg.raw("<g>")
            .element("title", &describe(line, parameter, place));
        if let Some((low, high)) = place.ns.low_high {
            path(
                svg,
                &class,
                &[(place.value, low), (place.value, high)],
                plane,
            );
        }
        mark(
            svg,
            index,
            plane.x(place.value),
            plane.y(place.ns.value),
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

/// Dashed, where it is above 0.
fn draw_fitted(svg: &mut Markup, index: usize, line: &Line, fitted: (f64, f64), plane: &Plane) {
    let (fixed, per_unit) = fitted;

    let (Some(first), Some(last)) = (line.points.first(), line.points.last()) else {
        return;
    };
    let (low, high) = (first.value.max(plane.zero), last.value.max(plane.zero));
    let at = |i: usize| low * (high / low).powf(i as f64 / STEPS as f64);
    let places: Vec<(f64, f64)> = (0..=STEPS)
        .map(|i| (at(i), fixed + per_unit * at(i)))
        .collect();
    let class = format!("fit {}", class(index));
    for dash in places.windows(2).step_by(2) {
        if dash.iter().all(|(_, ns)| *ns > 0.0) {
            path(svg, &class, dash, plane);
        }
    }
}

fn describe(line: &Line, parameter: &str, place: &PlotPoint) -> String {
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

/// Percentiles of single calls over 1 / (1 - share of calls): each power of ten of the tail has the
/// same room.
pub fn draw_curves(curves: &[Curve]) -> Drawing {
    let mut drawing = Drawing {
        left: LEFT,
        ..Drawing::default()
    };
    let drawn = &curves[..curves.len().min(SERIES)];
    let names: Vec<String> = drawn.iter().map(|curve| curve.label.clone()).collect();
    let keyed = legend(&mut drawing.legend, &names);
    let words = "dashed: without calls that were preempted or interrupted";
    let (plane, most) = plane(drawn, keyed + note(&mut drawing.legend, &names, words) + 8);
    curve_axes(&mut drawing.plot, &plane, most);
    drawn
        .iter()
        .enumerate()
        .for_each(|(i, curve)| draw_curve(&mut drawing.plot, i, curve, &plane));
    Drawing {
        height: plane.top + HEIGHT + 2 * LINE + 4,
        ..drawing
    }
}

fn plane(curves: &[Curve], top: u32) -> (Plane, f64) {
    let points = || {
        curves
            .iter()
            .flat_map(|curve| curve.all.iter().chain(&curve.rest))
    };
    let most = points()
        .map(|(beyond, _)| *beyond)
        .filter(|beyond| beyond.is_finite())
        .fold(10.0, f64::max);
    let x = LogAxis::holding([1.0, most].into_iter());
    (
        Plane {
            x,
            y: LogAxis::holding(points().map(|(_, ns)| *ns)).with_margin(),
            zero: 1.0,
            top,
        },
        most,
    )
}

fn curve_axes(svg: &mut Markup, plane: &Plane, most: f64) {
    times(svg, plane);
    for (beyond, words) in shares(most) {
        tick(svg, plane, beyond, plane.top, &words);
    }
    axis_name(svg, plane, "share of the calls");
}

fn draw_curve(svg: &mut Markup, index: usize, curve: &Curve, plane: &Plane) {
    path(svg, &format!("line {}", class(index)), &curve.all, plane);
    path(
        svg,
        &format!("fit dashed {}", class(index)),
        &curve.rest,
        plane,
    );
    for (beyond, ns) in marked(&curve.all) {
        let words = format!(
            "{}: {} of the calls took up to {} ns",
            curve.label,
            share_words(beyond),
            number(ns)
        );
        svg.raw("<g>").element("title", &words);
        mark(svg, index, plane.x(beyond), plane.y(ns), "");
        svg.raw("</g>");
    }
}

fn marked(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let Some(last) = points.last() else {
        return Vec::new();
    };
    let at = |beyond: f64| {
        points
            .iter()
            .rev()
            .find(|(x, _)| *x <= beyond * 1.001)
            .map(|(_, ns)| (beyond, *ns))
    };
    shares(last.0)
        .into_iter()
        .skip(1)
        .filter_map(|(beyond, _)| at(beyond))
        .chain(std::iter::once(*last))
        .collect()
}
