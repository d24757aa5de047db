//! Percentiles of single calls: time over 1 / (1 - share of calls), both axes logarithmic, so that each power of ten of the
//! tail has the same room.

use super::drawing::{Drawing, percent};
use super::marks::{LINE, class, duration, legend, mark, note, number};
use crate::report::figure::axis::LogAxis;
use crate::report::figure::palette::SERIES;
use crate::report::figure::{Curve, Percentiles, share_words, shares};
use crate::write::markup::{Markup, short};

/// Pixels of the plot's height.
const HEIGHT: u32 = 300;
/// Pixels on its left for the values of the axis.
const LEFT: u32 = 64;

struct Plane {
    x: LogAxis,
    y: LogAxis,
    /// The last power of ten of the tail that has calls.
    most: f64,
    top: u32,
}

impl Plane {
    fn x(&self, beyond: f64) -> f64 {
        0.02 + 0.96 * self.x.share(beyond)
    }

    fn y(&self, ns: f64) -> f64 {
        f64::from(self.top) + f64::from(HEIGHT) * (1.0 - self.y.share(ns))
    }
}

pub fn draw(percentiles: &Percentiles) -> Drawing {
    let mut drawing = Drawing { left: LEFT, ..Drawing::default() };
    let drawn = &percentiles.curves[..percentiles.curves.len().min(SERIES)];
    let names: Vec<String> = drawn.iter().map(|curve| curve.label.clone()).collect();
    let keyed = legend(&mut drawing.legend, &names);
    let words = "dashed: without calls that were preempted or interrupted";
    let plane = plane(drawn, keyed + note(&mut drawing.legend, &names, words) + 8);
    axes(&mut drawing.plot, &plane);
    drawn.iter().enumerate().for_each(|(i, curve)| draw_curve(&mut drawing.plot, i, curve, &plane));
    Drawing { height: plane.top + HEIGHT + 2 * LINE + 4, ..drawing }
}

fn plane(curves: &[Curve], top: u32) -> Plane {
    let points = || curves.iter().flat_map(|curve| curve.all.iter().chain(&curve.rest));
    let most = points().map(|(beyond, _)| *beyond).filter(|beyond| beyond.is_finite()).fold(10.0, f64::max);
    let x = LogAxis::holding([1.0, most].into_iter());
    Plane { x, y: LogAxis::holding(points().map(|(_, ns)| *ns)).with_margin(), most, top }
}

fn axes(svg: &mut Markup, plane: &Plane) {
    let bottom = plane.top + HEIGHT;
    for tick in plane.y.ticks(0.09) {
        let y = short(plane.y(tick));
        svg.raw("<line class=\"g\" x2=\"100%\"").set("y1", &y).set("y2", &y).raw("/>");
        svg.raw("<text class=\"m\" text-anchor=\"end\" x=\"-8\" dy=\"4\"").set("y", &y).raw(">");
        svg.text(&duration(tick)).raw("</text>");
    }
    for (beyond, words) in shares(plane.most) {
        let x = percent(plane.x(beyond));
        svg.raw("<line class=\"g\"").set("x1", &x).set("x2", &x).set("y1", plane.top).set("y2", bottom + 5).raw("/>");
        svg.raw("<text class=\"m\" text-anchor=\"middle\"").set("x", &x).set("y", bottom + LINE).raw(">");
        svg.text(&words).raw("</text>");
    }
    svg.raw("<text text-anchor=\"middle\" x=\"50%\"").set("y", bottom + 2 * LINE).raw(">share of the calls</text>");
}

fn draw_curve(svg: &mut Markup, index: usize, curve: &Curve, plane: &Plane) {
    path(svg, &format!("line {}", class(index)), &curve.all, plane);
    path(svg, &format!("fit dashed {}", class(index)), &curve.rest, plane);
    for (beyond, ns) in marked(&curve.all) {
        let words = format!("{}: {} of the calls took up to {} ns", curve.label, share_words(beyond), number(ns));
        svg.raw("<g>").element("title", &words);
        mark(svg, index, plane.x(beyond), plane.y(ns), "");
        svg.raw("</g>");
    }
}

/// The powers of ten on the way, and the longest call: enough to distinguish the curves.
fn marked(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let Some(last) = points.last() else { return Vec::new() };
    let at = |beyond: f64| points.iter().rev().find(|(x, _)| *x <= beyond * 1.001).map(|(_, ns)| (beyond, *ns));
    let decades = shares(last.0).into_iter().skip(1).filter_map(|(beyond, _)| at(beyond));
    decades.chain(std::iter::once(*last)).collect()
}

fn path(svg: &mut Markup, class: &str, points: &[(f64, f64)], plane: &Plane) {
    for pair in points.windows(2) {
        svg.raw("<line").set("class", class);
        svg.set("x1", percent(plane.x(pair[0].0))).set("y1", short(plane.y(pair[0].1)));
        svg.set("x2", percent(plane.x(pair[1].0))).set("y2", short(plane.y(pair[1].1))).raw("/>");
    }
}
