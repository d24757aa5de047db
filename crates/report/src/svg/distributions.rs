//! Histograms: a small one without axes for a table cell, and rows of larger ones labelled with their ends.

use super::drawing::{
    Drawing, END, LINE, NAMED, class, duration, grid, label, line, percent, words,
};
use crate::figure::axis::LogAxis;
use crate::figure::{Distribution, Overlay, TALLEST};
use crate::numbers::{counted, nanoseconds};
use document::write::markup::Markup;

const ROW: u32 = 58;
const CHART: u32 = 34;

/// Rows of histograms, each with its ends and number of samples.
pub fn draw(all: &[Distribution]) -> Drawing {
    let mut drawing = Drawing {
        left: NAMED,
        height: ROW * all.len().max(1) as u32,
        ..Drawing::default()
    };
    for (i, one) in all.iter().enumerate() {
        let y = ROW * i as u32;
        label(&mut drawing, y + 16, &one.label, "");
        let samples = counted(one.samples as u64, "sample");
        label(&mut drawing, y + 32, &samples, "m");
        histogram(&mut drawing.plot, one, y + 4);
    }
    drawing
}

fn histogram(svg: &mut Markup, one: &Distribution, top: u32) {
    let base = top + CHART;
    bins(svg, &one.heights, top, CHART);
    let (low, high) = (nanoseconds(one.low), nanoseconds(one.high));
    words(svg, "class=\"m\"", 0, base + 13, &low);
    words(svg, END, "100%", base + 13, &format!("{high} ns"));
}

/// One histogram across the whole plot, in viewBox units, so that it stretches with the page.
pub fn bins(svg: &mut Markup, heights: &[u8], top: u32, height: u32) {
    svg.raw("<svg preserveAspectRatio=\"none\"")
        .set("y", top)
        .set("height", height)
        .raw(" width=\"100%\"")
        .set("viewBox", view_box(heights))
        .raw("><path class=\"b\"")
        .set("d", outline(heights))
        .raw("/></svg>");
    line(svg, "g", ["0", "100%"], [top + height; 2]);
}

fn view_box(heights: &[u8]) -> String {
    format!("0 0 {} {TALLEST}", heights.len().max(1))
}

/// One unit per bin; adjacent bins of equal height are one stroke.
pub fn outline(heights: &[u8]) -> String {
    let mut path = format!("M0 {TALLEST}");
    let mut before = 0i32;
    for run in heights.chunk_by(|a, b| a == b) {
        let height = i32::from(run[0].min(TALLEST));
        if height != before {
            path.push_str(&format!("v{}", before - height));
        }
        path.push_str(&format!("h{}", run.len()));
        before = height;
    }
    path.push_str(&format!("V{TALLEST}z"));
    path
}

/// Height of the histograms and of the interval lines below.
const OVER: u32 = 20;
const INTERVAL: u32 = 7;

/// Histograms of several files on one axis, with their intervals below.
pub fn overlay(shown: &Overlay, title: &str) -> Markup {
    let (low, high) = shown.ends();
    let share = |ns: f64| ((ns - low) / (high - low).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0);
    let mut svg = Markup::new();
    svg.raw("<svg class=\"over cell\" role=\"img\"");
    svg.set("height", OVER + INTERVAL * shown.costs.len() as u32)
        .raw(">")
        .element("title", title);
    for (i, one) in shown.samples.iter().enumerate() {
        let Some(one) = one else { continue };
        svg.raw("<svg preserveAspectRatio=\"none\"")
            .set("height", OVER)
            .set("x", percent(share(one.low)));
        svg.set("width", percent(share(one.high) - share(one.low)));
        svg.set("viewBox", view_box(&one.heights)).raw("><path");
        svg.set("class", class(i))
            .set("d", outline(&one.heights))
            .raw("/></svg>");
    }
    for (i, cost) in shown.costs.iter().enumerate() {
        let Some(cost) = cost else { continue };
        let y = OVER + INTERVAL * i as u32 + 4;
        if let Some((low, high)) = cost.low_high {
            let ends = [low, high].map(|end| percent(share(end)));
            line(&mut svg, class(i), ends, [y; 2]);
        }
        svg.raw("<circle r=\"2.5\"")
            .set("class", class(i))
            .set("cx", percent(share(cost.value)))
            .set("cy", y)
            .raw("/>");
    }
    svg.raw("</svg>");
    svg
}

/// The legend of overlaid histograms.
pub fn key(labels: &[&str]) -> Markup {
    let mut html = Markup::new();
    html.raw("<p class=\"rule\">");
    for (i, label) in labels.iter().enumerate() {
        html.raw("<svg class=\"key cell\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\"")
            .set("class", class(i));
        html.raw("/></svg> ").text(label).raw("; ");
    }
    html.raw("below the samples: each cost with its interval for the next run.</p>");
    html
}

/// A histogram for a table cell.
pub fn spark(one: &Distribution, title: &str) -> Markup {
    let mut svg = Markup::new();
    svg.raw("<svg class=\"sp\" preserveAspectRatio=\"none\" role=\"img\"");
    svg.set("viewBox", view_box(&one.heights))
        .raw(">")
        .element("title", title);
    svg.raw("<path")
        .set("d", outline(&one.heights))
        .raw("/></svg>");
    svg
}

const CALL_ROW: u32 = 30;
const CALL_CHART: u32 = 24;

/// Histograms of call durations on one logarithmic axis.
pub fn draw_latencies(rows: &[Distribution]) -> Drawing {
    let mut drawing = Drawing {
        left: NAMED,
        ..Drawing::default()
    };
    let height = LINE + CALL_ROW * rows.len().max(1) as u32;
    let axis = LogAxis::holding(rows.iter().flat_map(|row| [row.low, row.high]));
    grid(
        &mut drawing.plot,
        &axis,
        0.09,
        [LINE, height],
        &[LINE - 5],
        duration,
    );
    for (i, row) in rows.iter().enumerate() {
        let y = LINE + CALL_ROW * i as u32;
        label(&mut drawing, y + CALL_CHART - 2, &row.label, "");
        bins(
            &mut drawing.plot,
            &row.heights,
            y + CALL_ROW - CALL_CHART,
            CALL_CHART,
        );
    }
    Drawing {
        height: height + LINE + 4,
        ..drawing
    }
}
