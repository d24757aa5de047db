//! Histograms: a small one without axes for a table cell, and rows of larger ones labelled with their ends.

use super::drawing::{Drawing, NAMED, label};
use crate::report::figure::{Distribution, TALLEST};
use crate::report::numbers::nanoseconds;
use crate::write::markup::Markup;

const ROW: u32 = 58;
const CHART: u32 = 34;

pub fn draw(all: &[Distribution]) -> Drawing {
    let mut drawing = Drawing { left: NAMED, height: ROW * all.len().max(1) as u32, ..Drawing::default() };
    for (i, one) in all.iter().enumerate() {
        let y = ROW * i as u32;
        label(&mut drawing.labels, y + 16, &one.label, "");
        label(&mut drawing.labels, y + 32, &words(one), "m");
        histogram(&mut drawing.plot, one, y + 4);
    }
    drawing
}

fn histogram(svg: &mut Markup, one: &Distribution, top: u32) {
    let bins = one.heights.len().max(1);
    svg.raw("<svg preserveAspectRatio=\"none\"").set("y", top).set("height", CHART).raw(" width=\"100%\"");
    svg.attribute("viewBox", &format!("0 0 {} {TALLEST}", bins * 4)).raw("><path class=\"b\"");
    svg.attribute("d", &outline(&one.heights, 4)).raw("/></svg>");
    let base = top + CHART;
    svg.raw("<line class=\"g\" x2=\"100%\"").set("y1", base).set("y2", base).raw("/>");
    svg.raw("<text class=\"m\"").set("y", base + 13).raw(">").text(&nanoseconds(one.low)).raw("</text>");
    svg.raw("<text class=\"m\" x=\"100%\" text-anchor=\"end\"").set("y", base + 13).raw(">");
    svg.text(&format!("{} ns", nanoseconds(one.high))).raw("</text>");
}

/// `600 samples`, or the modes.
fn words(one: &Distribution) -> String {
    match one.modes {
        Some(m) => format!("{} and {} ns", nanoseconds(m.low), nanoseconds(m.high)),
        None => format!("{} samples", one.samples),
    }
}

/// The outline of the bins as a path, `width` units per bin; adjacent bins of equal height are one stroke.
pub fn outline(heights: &[u8], width: usize) -> String {
    let mut path = format!("M0 {TALLEST}");
    let mut before = 0i32;
    for run in heights.chunk_by(|a, b| a == b) {
        let height = i32::from(run[0].min(TALLEST));
        if height != before {
            path.push_str(&format!("v{}", before - height));
        }
        path.push_str(&format!("h{}", run.len() * width));
        before = height;
    }
    path.push_str(&format!("V{TALLEST}z"));
    path
}

/// The histogram for a cell of a table; `title` describes it.
pub fn spark(one: &Distribution, title: &str) -> Markup {
    let mut svg = Markup::new();
    svg.raw("<svg class=\"sp\" role=\"img\"").attribute("aria-label", title);
    svg.attribute("viewBox", &format!("0 0 {} {TALLEST}", one.heights.len().max(1) * 3)).raw("><path");
    svg.attribute("d", &outline(&one.heights, 3)).raw("/></svg>");
    svg
}
