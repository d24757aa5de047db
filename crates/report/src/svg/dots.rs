//! Rows of dots with their intervals on a logarithmic axis: costs, and ratios to the first file. No bars: on a
//! logarithmic axis their lengths would be meaningless.

use super::drawing::{
    Drawing, LINE, NAMED, TALL, class, duration, grid, label, legend, line, mark, note, number,
    percent, times, words,
};
use crate::figure::axis::LogAxis;
use crate::figure::palette::SERIES;
use crate::figure::{Dot, DotRow, Dots, Kernel, with_ends};
use crate::numbers::{in_unit, with_unit};
use document::write::markup::{Markup, short};
use itertools::Itertools;
use model::Unit;

/// Pixels of a heading, of a row with one dot, and of each further dot.
const HEADING: u32 = 24;
const ROW: u32 = 17;
const FURTHER: u32 = 8;
/// Pixels of the rows of a strip.
const SHEET: u32 = 450;
/// An axis of ratios reaches at least from 1 / this to this.
const LEAST: f64 = 1.1;

/// Rows with headings by area, below the legend and the axis.
pub fn draw(dots: &Dots) -> Drawing {
    strip(dots, &pieces(dots, usize::MAX), [true; 2])
}

/// The same in strips, each of which fits on a sheet of paper.
pub fn strips(dots: &Dots) -> Vec<Drawing> {
    let pieces = pieces(dots, (SHEET / row_height(dots)) as usize);
    if pieces.is_empty() {
        return vec![draw(dots)];
    }
    let last = pieces.len() - 1;
    (0..=last)
        .map(|i| strip(dots, &pieces[i..=i], [i == 0, i == last]))
        .collect()
}

/// Areas with at most so many of their rows.
fn pieces(dots: &Dots, most: usize) -> Vec<(&str, &[DotRow])> {
    let groups = dots.groups.iter();
    groups
        .flat_map(|group| group.rows.chunks(most).map(|rows| (&*group.name, rows)))
        .collect()
}

fn row_height(dots: &Dots) -> u32 {
    ROW + FURTHER * (dots.series.len().clamp(1, SERIES) as u32 - 1)
}

/// The first has the legend, the first and the last the axis.
fn strip(dots: &Dots, pieces: &[(&str, &[DotRow])], [is_first, is_last]: [bool; 2]) -> Drawing {
    let mut drawing = Drawing {
        left: NAMED,
        ..Drawing::default()
    };
    let mut top = 0;
    if is_first {
        // A single file needs no name.
        let is_named = dots.unit.is_none() || dots.series.len() > 1;
        let named = if is_named { &dots.series[..] } else { &[] };
        top = legend(&mut drawing.legend, named)
            + note(&mut drawing.legend, named, &kinds(dots))
            + LINE;
    }
    let row = row_height(dots);
    let rows: usize = pieces.iter().map(|(_, rows)| rows.len()).sum();
    let bottom = top + HEADING * pieces.len() as u32 + row * rows as u32;
    let values = LogAxis::holding(values(dots));
    let (axis, gap, word): (_, _, fn(f64) -> String) = match dots.unit {
        Some(Unit::Nanoseconds) => (values, 0.09, duration),
        Some(Unit::Instructions) => (values, 0.09, number),
        None => (values.around_one(LEAST), 0.1, times),
    };
    let axis = axis.with_margin();
    let mut numbers = Vec::new();
    if is_first {
        numbers.push(top - 5);
    }
    if is_last && (!is_first || bottom - top > TALL) {
        numbers.push(bottom + 14);
    }
    grid(&mut drawing.plot, &axis, gap, [top, bottom], &numbers, word);
    if dots.unit.is_none() {
        let x = percent(axis.share(1.0));
        line(&mut drawing.plot, "one", [&x; 2], [top, bottom]);
    }
    let mut y = top;
    for (name, rows) in pieces {
        label(&mut drawing, y + HEADING - 7, name, "h");
        y += HEADING;
        for one in *rows {
            label(&mut drawing, y + row / 2 + 4, &one.label, "m");
            draw_row(&mut drawing.plot, one, dots.unit, y, row, &axis);
            y += row;
        }
    }
    Drawing {
        height: if is_last { bottom + LINE } else { bottom },
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

/// All ratios, or the first cost.
fn describe(row: &DotRow, unit: Option<Unit>) -> String {
    let described = if unit.is_some() { 1 } else { SERIES };
    let dots = row.dots.iter().take(described).flatten();
    let mut figures = dots.map(|Dot { at, .. }| {
        let (figure, end): (_, &dyn Fn(f64) -> String) = match unit {
            Some(unit) => (with_unit(at.value, unit), &move |end| in_unit(end, unit)),
            None => (times(at.value), &number),
        };
        match at.low_high {
            Some((low, high)) if low != high => format!("{figure} ({} .. {})", end(low), end(high)),
            _ => figure,
        }
    });
    let mut figures = figures.join(", ");
    if figures.is_empty() {
        figures = "no cost".to_string();
    }
    let kernel = match row.kernel {
        Some(Kernel::Never) => ", no system call",
        Some(Kernel::Unknown) => ", system calls not counted",
        _ => "",
    };
    format!("{}: {figures}{kernel}", row.label)
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
