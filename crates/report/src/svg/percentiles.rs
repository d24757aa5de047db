//! Percentiles of single calls: time over 1 / (1 - share of calls), both axes logarithmic, so that each power of ten of the
//! tail has the same room.

use super::drawing::Drawing;
use super::lines::{HEIGHT, LEFT, Plane, axis_name, path, tick, times};
use super::marks::{LINE, class, legend, mark, note, number};
use crate::figure::axis::LogAxis;
use crate::figure::palette::SERIES;
use crate::figure::{Curve, share_words, shares};
use document::write::markup::Markup;

pub fn draw(curves: &[Curve]) -> Drawing {
    let mut drawing = Drawing {
        left: LEFT,
        ..Drawing::default()
    };
    let drawn = &curves[..curves.len().min(SERIES)];
    let names: Vec<String> = drawn.iter().map(|curve| curve.label.clone()).collect();
    let keyed = legend(&mut drawing.legend, &names);
    let words = "dashed: without calls that were preempted or interrupted";
    let (plane, most) = plane(drawn, keyed + note(&mut drawing.legend, &names, words) + 8);
    axes(&mut drawing.plot, &plane, most);
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
    let y = LogAxis::holding(points().map(|(_, ns)| *ns)).with_margin();
    (
        Plane {
            x,
            y,
            zero: 1.0,
            top,
        },
        most,
    )
}

fn axes(svg: &mut Markup, plane: &Plane, most: f64) {
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

/// Enough to distinguish the curves.
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
    let decades = shares(last.0)
        .into_iter()
        .skip(1)
        .filter_map(|(beyond, _)| at(beyond));
    decades.chain(std::iter::once(*last)).collect()
}
