//! Ratios to the first file: a dot with its interval for each, on a logarithmic axis around 1.

use super::drawing::{Drawing, NAMED, label, percent};
use super::marks::{LINE, class, grid, legend, mark, number, times};
use crate::report::figure::axis::LogAxis;
use crate::report::figure::palette::SERIES;
use crate::report::figure::{Dot, RatioRow, Ratios};
use crate::report::format::markup::Markup;

const HEADING: u32 = 24;
/// The axis shows at least this much on both sides of 1.
const LEAST: f64 = 1.1;

pub fn draw(ratios: &Ratios) -> Drawing {
    let mut drawing = Drawing { left: NAMED, ..Drawing::default() };
    let named = &ratios.series[..ratios.series.len().min(SERIES)];
    let top = legend(&mut drawing.legend, 0, named, 0) + note(&mut drawing.legend, ratios) + LINE;
    let axis = axis(ratios);
    let row = row_height(ratios);
    let height: u32 = ratios.groups.iter().map(|group| HEADING + row * group.rows.len() as u32).sum();
    let bottom = top + height;
    grid(&mut drawing.plot, &axis, 0.1, (top, bottom), times);
    one(&mut drawing.plot, &axis, top, bottom);
    let mut y = top;
    for group in &ratios.groups {
        label(&mut drawing.labels, y + HEADING - 7, &group.name, "h");
        y += HEADING;
        for line in &group.rows {
            label(&mut drawing.labels, y + row / 2 + 4, &line.label, "m");
            draw_row(&mut drawing.plot, line, y, row, &axis);
            y += row;
        }
    }
    Drawing { height: bottom + LINE, ..drawing }
}

/// A row has room for a dot of each series below the other.
fn row_height(ratios: &Ratios) -> u32 {
    17 + 8 * (ratios.series.len().clamp(1, SERIES) as u32 - 1)
}

fn note(svg: &mut Markup, ratios: &Ratios) -> u32 {
    let y = LINE * ratios.series.len().min(SERIES) as u32 + 13;
    svg.raw("<text class=\"m\"").set("y", y).raw(">").text("filled: differs for sure; hollow: cannot be told from ×1");
    svg.raw("</text>");
    LINE
}

fn axis(ratios: &Ratios) -> LogAxis {
    let dots = ratios.groups.iter().flat_map(|group| &group.rows).flat_map(|row| row.dots.iter().flatten());
    let ends = |dot: &Dot| [Some(dot.ratio), dot.low_high.map(|e| e.0), dot.low_high.map(|e| e.1)];
    LogAxis::holding(dots.flat_map(ends).flatten()).around_one(LEAST).with_margin()
}

fn one(svg: &mut Markup, axis: &LogAxis, top: u32, bottom: u32) {
    let x = percent(axis.share(1.0));
    svg.raw("<line class=\"one\"").set("x1", &x).set("x2", &x).set("y1", top).set("y2", bottom).raw("/>");
}

fn draw_row(svg: &mut Markup, row: &RatioRow, top: u32, height: u32, axis: &LogAxis) {
    let count = row.dots.len().clamp(1, SERIES);
    for (i, dot) in row.dots.iter().take(SERIES).enumerate() {
        let Some(dot) = dot else { continue };
        let y = f64::from(top) + f64::from(height) * (i as f64 + 1.0) / (count as f64 + 1.0);
        svg.raw("<g>").element("title", &words(row, dot));
        if let Some((low, high)) = dot.low_high {
            svg.raw("<line").set("class", format!("line {}", class(i)));
            svg.set("x1", percent(axis.share(low))).set("x2", percent(axis.share(high)));
            svg.set("y1", y).set("y2", y).raw("/>");
        }
        mark(svg, i, axis.share(dot.ratio), y, !dot.decided);
        svg.raw("</g>");
    }
}

fn words(row: &RatioRow, dot: &Dot) -> String {
    let interval = dot.low_high.map(|(low, high)| format!(" ({} .. {})", number(low), number(high)));
    let mark = if dot.decided { "" } else { ", cannot be told from 1" };
    format!("{}: {}{}{mark}", row.label, times(dot.ratio), interval.unwrap_or_default())
}
