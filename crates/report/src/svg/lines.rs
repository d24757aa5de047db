//! Costs as a function of a parameter: points with their intervals, lines between them, fitted models, and crossovers.

use super::drawing::{Drawing, percent};
use super::marks::{LINE, class, duration, legend, mark, number};
use crate::figure::axis::LogAxis;
use crate::figure::palette::SERIES;
use crate::figure::{Line, Lines, PlotPoint};
use document::write::markup::{Markup, short};
use model::parameter_value;

pub(super) const HEIGHT: u32 = 300;
/// For the values of the axis.
pub(super) const LEFT: u32 = 64;
/// Segments of a model, which is a curve on logarithmic axes.
const STEPS: usize = 40;

/// `zero` is where 0 is drawn, which has no logarithm.
pub(super) struct Plane {
    pub x: LogAxis,
    pub y: LogAxis,
    pub zero: f64,
    pub top: u32,
}

impl Plane {
    fn of(lines: &Lines, top: u32) -> Plane {
        let ends = |p: &PlotPoint| [Some(p.ns), p.low_high.map(|e| e.0), p.low_high.map(|e| e.1)];
        let y = LogAxis::holding(lines.points().flat_map(ends).flatten()).with_margin();
        Plane {
            x: lines.axis(),
            y,
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
    let plane = Plane::of(lines, top);
    axes(&mut drawing.plot, lines, &plane);
    for at in lines.crossovers.iter().filter(|at| at.is_finite()) {
        let x = percent(plane.x(*at));
        let plot = drawing
            .plot
            .raw("<line class=\"x\"")
            .set("x1", &x)
            .set("x2", &x);
        plot.set("y1", top).set("y2", top + HEIGHT).raw("/>");
    }
    drawn
        .iter()
        .enumerate()
        .for_each(|(i, line)| series(&mut drawing.plot, i, line, &lines.parameter, &plane));
    Drawing {
        height: top + HEIGHT + 2 * LINE + 4,
        ..drawing
    }
}

/// With a line across the plot for each of its values.
pub(super) fn times(svg: &mut Markup, plane: &Plane) {
    for tick in plane.y.ticks(0.09) {
        let y = short(plane.y(tick));
        svg.raw("<line class=\"g\" x2=\"100%\"")
            .set("y1", &y)
            .set("y2", &y)
            .raw("/>");
        svg.raw("<text class=\"m\" text-anchor=\"end\" x=\"-8\" dy=\"4\"")
            .set("y", &y)
            .raw(">");
        svg.text(&duration(tick)).raw("</text>");
    }
}

fn axes(svg: &mut Markup, lines: &Lines, plane: &Plane) {
    let bottom = plane.top + HEIGHT;
    times(svg, plane);
    for value in spaced(lines, plane) {
        let words = parameter_value(&lines.parameter, value as u64);
        tick(svg, plane, value, bottom, &words);
    }
    axis_name(svg, plane, &lines.parameter);
}

/// From `top` to below the plot.
pub(super) fn tick(svg: &mut Markup, plane: &Plane, value: f64, top: u32, words: &str) {
    let (x, bottom) = (percent(plane.x(value)), plane.top + HEIGHT);
    svg.raw("<line class=\"g\"")
        .set("x1", &x)
        .set("x2", &x)
        .set("y1", top)
        .set("y2", bottom + 5)
        .raw("/>");
    svg.raw("<text class=\"m\" text-anchor=\"middle\"")
        .set("x", &x)
        .set("y", bottom + LINE)
        .raw(">")
        .text(words)
        .raw("</text>");
}

pub(super) fn axis_name(svg: &mut Markup, plane: &Plane, name: &str) {
    svg.raw("<text text-anchor=\"middle\" x=\"50%\"")
        .set("y", plane.top + HEIGHT + 2 * LINE)
        .raw(">")
        .text(name)
        .raw("</text>");
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
    if let Some(model) = line.model {
        draw_model(svg, index, line, model, plane);
    }
    for pair in line.points.windows(2) {
        segment(
            svg,
            &format!("line {}", class(index)),
            (pair[0].value, pair[0].ns),
            (pair[1].value, pair[1].ns),
            plane,
        );
    }
    for place in &line.points {
        svg.raw("<g>")
            .element("title", &words(line, parameter, place));
        if let Some((low, high)) = place.low_high {
            segment(
                svg,
                &format!("line {}", class(index)),
                (place.value, low),
                (place.value, high),
                plane,
            );
        }
        mark(svg, index, plane.x(place.value), plane.y(place.ns), "");
        svg.raw("</g>");
    }
}

fn segment(svg: &mut Markup, class: &str, from: (f64, f64), to: (f64, f64), plane: &Plane) {
    svg.raw("<line").set("class", class);
    svg.set("x1", percent(plane.x(from.0)))
        .set("y1", short(plane.y(from.1)));
    svg.set("x2", percent(plane.x(to.0)))
        .set("y2", short(plane.y(to.1)))
        .raw("/>");
}

/// The fitted line, where it is above 0.
fn draw_model(
    svg: &mut Markup,
    index: usize,
    line: &Line,
    (fixed, per_unit): (f64, f64),
    plane: &Plane,
) {
    let (Some(first), Some(last)) = (line.points.first(), line.points.last()) else {
        return;
    };
    let (low, high) = (first.value.max(plane.zero), last.value.max(plane.zero));
    let at = |i: usize| low * (high / low).powf(i as f64 / STEPS as f64);
    let places: Vec<(f64, f64)> = (0..=STEPS)
        .map(|i| (at(i), fixed + per_unit * at(i)))
        .collect();
    for pair in places
        .windows(2)
        .step_by(2)
        .filter(|pair| pair.iter().all(|(_, ns)| *ns > 0.0))
    {
        segment(
            svg,
            &format!("fit {}", class(index)),
            pair[0],
            pair[1],
            plane,
        );
    }
}

fn words(line: &Line, parameter: &str, place: &PlotPoint) -> String {
    let interval = place
        .low_high
        .map(|(low, high)| format!(" ({} .. {})", number(low), number(high)));
    let value = parameter_value(parameter, place.value as u64);
    format!(
        "{} at {value}: {} ns{}",
        line.label,
        number(place.ns),
        interval.unwrap_or_default()
    )
}
