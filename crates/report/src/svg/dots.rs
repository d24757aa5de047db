//! Rows of dots with their intervals on a logarithmic axis: costs, and ratios to the first file. No bars: on a
//! logarithmic axis their lengths would be meaningless.

use super::drawing::{
    Drawing, LINE, NAMED, class, duration, grid, label, legend, line, mark, note, number, percent,
    times, words,
};
use crate::figure::axis::LogAxis;
use crate::figure::palette::SERIES;
use crate::figure::{Dot, DotRow, Dots, Kernel, with_ends};
use crate::numbers::{in_unit, with_unit};
use document::write::markup::{Markup, short};
use itertools::Itertools;
use model::Unit;
use stats::Ranged;

/// Pixels of a heading, of a row with one dot, and of each further dot.
const HEADING: u32 = 24;
const ROW: u32 = 17;
const FURTHER: u32 = 8;
/// An axis of ratios reaches at least from 1 / this to this.
const LEAST: f64 = 1.1;

/// Rows with headings by area, below the legend and the axis.
pub fn draw(dots: &Dots) -> Drawing {
    let mut drawing = Drawing {
        left: NAMED,
        ..Drawing::default()
    };
    // A single file needs no name.
    let is_named = dots.unit.is_none() || dots.series.len() > 1;
    let named = if is_named { &dots.series[..] } else { &[] };
    let top =
        legend(&mut drawing.legend, named) + note(&mut drawing.legend, named, &kinds(dots)) + LINE;
    let further = dots.series.len().clamp(1, SERIES) as u32 - 1;
    let row = ROW + FURTHER * further;
    let height: u32 = dots
        .groups
        .iter()
        .map(|group| HEADING + row * group.rows.len() as u32)
        .sum();
    let values = LogAxis::holding(values(dots));
    let (axis, gap, word): (_, _, fn(f64) -> String) = match dots.unit {
        Some(Unit::Nanoseconds) => (values, 0.09, duration),
        Some(Unit::Instructions) => (values, 0.09, number),
        None => (values.around_one(LEAST), 0.1, times),
    };
    let axis = axis.with_margin();
    grid(&mut drawing.plot, &axis, gap, top, top + height, word);
    if dots.unit.is_none() {
        let x = percent(axis.share(1.0));
        line(&mut drawing.plot, "one", [&x; 2], [top, top + height]);
    }
    let mut y = top;
    for group in &dots.groups {
        label(&mut drawing.labels, y + HEADING - 7, &group.name, "h");
        y += HEADING;
        for one in &group.rows {
            label(&mut drawing.labels, y + row / 2 + 4, &one.label, "m");
            draw_row(&mut drawing.plot, one, dots.unit, y, row, &axis);
            y += row;
        }
    }
    Drawing {
        height: y + LINE,
        ..drawing
    }
}

fn values(dots: &Dots) -> impl Iterator<Item = f64> {
    dots.groups
        .iter()
        .flat_map(|group| &group.rows)
        .flat_map(|row| row.dots.iter().take(SERIES).flatten())
        .flat_map(|dot| with_ends(dot.at))
}

fn kinds(dots: &Dots) -> String {
    if dots.unit.is_none() {
        return "filled: slower or faster; hollow: equal or not known".to_string();
    }
    let all = [
        (Kernel::Enters, "filled: makes system calls"),
        (Kernel::Never, "hollow: makes none"),
        (Kernel::Unknown, "dashed: not counted"),
    ];
    let rows = dots.groups.iter().flat_map(|group| &group.rows);
    all.iter()
        .filter(|(kind, _)| rows.clone().any(|row| row.kernel == Some(*kind)))
        .map(|(_, words)| *words)
        .join("; ")
}

fn describe(row: &DotRow, unit: Option<Unit>) -> String {
    fn with_ends(
        value: String,
        low_high: Option<(f64, f64)>,
        number: &dyn Fn(f64) -> String,
    ) -> String {
        let ends = low_high.map(|(low, high)| format!(" ({} .. {})", number(low), number(high)));
        value + &ends.unwrap_or_default()
    }

    let Some(unit) = unit else {
        let mut ratios = row
            .dots
            .iter()
            .flatten()
            .map(|dot| dot.at)
            .map(|at| with_ends(times(at.value), at.low_high, &number));
        return format!("{}: {}", row.label, ratios.join(", "));
    };
    let kernel = match row.kernel {
        Some(Kernel::Never) => ", no system call",
        Some(Kernel::Unknown) => ", system calls not counted",
        _ => "",
    };
    let cost = row.first().map(|Ranged { value, low_high }| {
        let differ = low_high.filter(|(low, high)| low != high);
        with_ends(with_unit(value, unit), differ, &|end| in_unit(end, unit))
    });
    let cost = cost.unwrap_or("no cost".to_string());
    format!("{}: {cost}{kernel}", row.label)
}

fn look(row: &DotRow, series: usize, dot: &Dot) -> &'static str {
    match row.kernel {
        Some(Kernel::Never) if series == 0 => " hollow",
        Some(Kernel::Unknown) if series == 0 => " hollow dashed",
        _ if dot.decided => "",
        _ => " hollow",
    }
}

/// Dots on their intervals, one below the other, followed by the cost.
fn draw_row(
    svg: &mut Markup,
    row: &DotRow,
    unit: Option<Unit>,
    top: u32,
    height: u32,
    axis: &LogAxis,
) {
    let count = row.dots.len().clamp(1, SERIES) as f64;
    let mut end = 0.0;
    svg.raw("<g>").element("title", &describe(row, unit));
    for (i, dot) in row.dots.iter().take(SERIES).enumerate() {
        let Some(dot) = dot else { continue };
        let value = dot.at.value;
        let y = f64::from(top) + f64::from(height) * (i as f64 + 1.0) / (count + 1.0);
        let (low, high) = dot.at.low_high.unwrap_or((value, value));
        if high > low {
            let ends = [low, high].map(|end| percent(axis.share(end)));
            let class = format!("line {}", class(i));
            line(svg, &class, ends, [&short(y); 2]);
        }
        mark(svg, i, axis.share(value), y, look(row, i, dot));
        end = axis.share(value.max(high)).max(end);
    }
    if let Some(unit) = unit {
        let cost = row.first().map(|first| in_unit(first.value, unit));
        let y = top + height / 2 + 4;
        let cost = cost.unwrap_or("no cost".to_string());
        words(svg, "class=\"m\" dx=\"9\"", percent(end), y, &cost);
    }
    svg.raw("</g>");
}
