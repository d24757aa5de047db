//! Rows of dots with their intervals on a logarithmic axis: costs, and ratios to the first file. No bars: on a
//! logarithmic axis their lengths would be meaningless.

use super::drawing::{Drawing, NAMED, label, percent};
use super::marks::{LINE, class, duration, grid, legend, mark, note, number, times};
use crate::figure::axis::LogAxis;
use crate::figure::palette::SERIES;
use crate::figure::{Bar, Bars, Group, Kernel, RatioRow, Ratios};
use crate::numbers::{in_unit, with_unit};
use document::write::markup::{Markup, short};
use model::Unit;
use stats::Ranged;

/// Pixels of a heading, of a row with one dot, and of each further dot.
const HEADING: u32 = 24;
const ROW: u32 = 17;
const FURTHER: u32 = 8;
/// An axis of ratios reaches at least from 1 / this to this.
const LEAST: f64 = 1.1;

struct Dot {
    value: f64,
    low_high: Option<(f64, f64)>,
    look: &'static str,
}

struct Row<'a> {
    label: &'a str,
    dots: Vec<Option<Dot>>,
    /// The text after the dots, and that of the tooltip.
    value: Option<String>,
    words: String,
}

struct Plot<'a> {
    groups: Vec<(&'a str, Vec<Row<'a>>)>,
    row: u32,
    top: u32,
}

pub fn costs(bars: &Bars) -> Drawing {
    let mut drawing = Drawing {
        left: NAMED,
        ..Drawing::default()
    };
    // A single file needs no name.
    let named = if bars.series.len() > 1 {
        &bars.series[..]
    } else {
        &[]
    };
    let top = legend(&mut drawing.legend, named) + note(&mut drawing.legend, named, &kinds(bars));
    let word = if bars.unit == Unit::Instructions {
        number
    } else {
        duration
    };
    let plot = Plot::of(
        &bars.groups,
        |bar| cost_row(bar, bars.unit),
        bars.series.len(),
        top,
    );
    let axis = LogAxis::holding(plot.values()).with_margin();
    grid(
        &mut drawing.plot,
        &axis,
        0.09,
        (plot.top, plot.bottom()),
        word,
    );
    plot.drawn(drawing, &axis)
}

pub fn ratios(ratios: &Ratios) -> Drawing {
    let mut drawing = Drawing {
        left: NAMED,
        ..Drawing::default()
    };
    let words = "filled: slower or faster; hollow: unchanged or inconclusive";
    let top = legend(&mut drawing.legend, &ratios.series)
        + note(&mut drawing.legend, &ratios.series, words);
    let plot = Plot::of(&ratios.groups, ratio_row, ratios.series.len(), top);
    let axis = LogAxis::holding(plot.values())
        .around_one(LEAST)
        .with_margin();
    grid(
        &mut drawing.plot,
        &axis,
        0.1,
        (plot.top, plot.bottom()),
        times,
    );
    let x = percent(axis.share(1.0));
    let one = drawing
        .plot
        .raw("<line class=\"one\"")
        .set("x1", &x)
        .set("x2", &x);
    one.set("y1", plot.top).set("y2", plot.bottom()).raw("/>");
    plot.drawn(drawing, &axis)
}

fn kinds(bars: &Bars) -> String {
    let all = [
        (Kernel::Enters, "filled: makes system calls"),
        (Kernel::Never, "hollow: makes none"),
        (Kernel::Unknown, "dashed: not counted"),
    ];
    let has = |kind| {
        bars.groups
            .iter()
            .flat_map(|group| &group.rows)
            .any(|bar| bar.kernel == kind)
    };
    all.iter()
        .filter(|(kind, _)| has(*kind))
        .map(|(_, words)| *words)
        .collect::<Vec<_>>()
        .join("; ")
}

fn cost_row(bar: &Bar, unit: Unit) -> Row<'_> {
    let (look, kernel) = match bar.kernel {
        Kernel::Enters => ("", ""),
        Kernel::Never => (" hollow", ", no system call"),
        Kernel::Unknown => (" hollow dashed", ", system calls not counted"),
    };
    let dot = |Ranged { value, low_high }, look| Dot {
        value,
        low_high,
        look,
    };
    let first = bar.first.map(|first| dot(first, look));
    let others = bar
        .others
        .iter()
        .map(|other| other.map(|other| dot(other, "")));
    let value = bar.first.map(|first| first.value);
    let cost = value.map_or("no cost".to_string(), |value| with_unit(value, unit));
    let differ = bar
        .first
        .and_then(|first| first.low_high)
        .filter(|(low, high)| low != high);
    let number = |value| in_unit(value, unit);
    let interval = differ.map(|(low, high)| format!(" ({} .. {})", number(low), number(high)));
    Row {
        label: &bar.label,
        dots: std::iter::once(first).chain(others).collect(),
        value: Some(value.map_or("no cost".to_string(), number)),
        words: format!(
            "{}: {cost}{}{kernel}",
            bar.label,
            interval.unwrap_or_default()
        ),
    }
}

fn ratio_row(row: &RatioRow) -> Row<'_> {
    let look = |decided| if decided { "" } else { " hollow" };
    let dot = |dot: &crate::figure::Dot| {
        let Ranged { value, low_high } = dot.ratio;
        Dot {
            value,
            low_high,
            look: look(dot.decided),
        }
    };
    let words = row.dots.iter().flatten().map(|dot| {
        let interval = dot
            .ratio
            .low_high
            .map(|(low, high)| format!(" ({} .. {})", number(low), number(high)));
        format!("{}{}", times(dot.ratio.value), interval.unwrap_or_default())
    });
    Row {
        label: &row.label,
        dots: row.dots.iter().map(|one| one.as_ref().map(dot)).collect(),
        value: None,
        words: format!("{}: {}", row.label, words.collect::<Vec<_>>().join(", ")),
    }
}

impl<'a> Plot<'a> {
    fn of<T>(
        groups: &'a [Group<T>],
        row: impl Fn(&'a T) -> Row<'a>,
        series: usize,
        legend: u32,
    ) -> Plot<'a> {
        let groups = groups
            .iter()
            .map(|group| (group.name.as_str(), group.rows.iter().map(&row).collect()));
        let further = series.clamp(1, SERIES) as u32 - 1;
        Plot {
            groups: groups.collect(),
            row: ROW + FURTHER * further,
            top: legend + LINE,
        }
    }

    fn bottom(&self) -> u32 {
        self.top
            + self
                .groups
                .iter()
                .map(|(_, rows)| HEADING + self.row * rows.len() as u32)
                .sum::<u32>()
    }

    fn values(&self) -> impl Iterator<Item = f64> {
        let dots = self
            .groups
            .iter()
            .flat_map(|(_, rows)| rows)
            .flat_map(|row| row.dots.iter().take(SERIES).flatten());
        dots.flat_map(|dot| {
            [
                Some(dot.value),
                dot.low_high.map(|e| e.0),
                dot.low_high.map(|e| e.1),
            ]
        })
        .flatten()
    }

    fn drawn(&self, mut drawing: Drawing, axis: &LogAxis) -> Drawing {
        let mut y = self.top;
        for (name, rows) in &self.groups {
            label(&mut drawing.labels, y + HEADING - 7, name, "h");
            y += HEADING;
            for row in rows {
                label(&mut drawing.labels, y + self.row / 2 + 4, row.label, "m");
                self.row(&mut drawing.plot, row, y, axis);
                y += self.row;
            }
        }
        Drawing {
            height: y + LINE,
            ..drawing
        }
    }

    /// Dots on their intervals, one below the other, followed by the value.
    fn row(&self, svg: &mut Markup, row: &Row, top: u32, axis: &LogAxis) {
        let count = row.dots.len().clamp(1, SERIES) as f64;
        let mut end = 0.0;
        svg.raw("<g>").element("title", &row.words);
        for (i, dot) in row.dots.iter().take(SERIES).enumerate() {
            let Some(dot) = dot else { continue };
            let y = f64::from(top) + f64::from(self.row) * (i as f64 + 1.0) / (count + 1.0);
            let (low, high) = dot.low_high.unwrap_or((dot.value, dot.value));
            if high > low {
                svg.raw("<line").set("class", format!("line {}", class(i)));
                svg.set("x1", percent(axis.share(low)))
                    .set("x2", percent(axis.share(high)));
                svg.set("y1", short(y)).set("y2", short(y)).raw("/>");
            }
            mark(svg, i, axis.share(dot.value), y, dot.look);
            end = axis.share(dot.value.max(high)).max(end);
        }
        if let Some(value) = &row.value {
            svg.raw("<text class=\"m\"")
                .set("x", percent(end))
                .raw(" dx=\"9\"")
                .set("y", top + self.row / 2 + 4);
            svg.raw(">").text(value).raw("</text>");
        }
        svg.raw("</g>");
    }
}
