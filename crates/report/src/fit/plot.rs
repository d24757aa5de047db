//! Costs over a parameter as a figure, and as characters for terminals, both axes logarithmic. The
//! characters are a picture of the table, not a source of numbers.
//!
//! Our own, because of two crates that were tried: textplots labels only the ends of the x axis and distinguishes series by
//! colour alone; rasciigraph has no x axis at all.

use crate::figure::axis::LogAxis;
use crate::figure::palette::SERIES;
use crate::figure::{Chart, Figure, Line, Lines, PlotPoint};
use crate::numbers::nanoseconds;
use analysis::fit::{Family, Member};
use itertools::Itertools;
use model::parameter_value;
use model::prose::{counted, more};
use stats::Ranged;

/// Narrower screens get no plot.
const NARROWEST: u16 = 60;
const WIDEST: usize = 100;
const HEIGHT: usize = 15;
/// For the y axis and its labels.
const MARGIN: usize = 12;
/// The ends of the y axis are at least this factor apart.
const FLAT: f64 = 1.25;
/// More series would cover each other.
const MARKS: [char; 8] = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/// Empty if the screen is too narrow or fewer than two values were measured.
pub fn plot(family: &Family, width: u16) -> Vec<String> {
    let mut figure = lines(family);
    let ticks: Vec<(f64, String)> = figure
        .values()
        .map(|value| (value, parameter_value(&family.parameter, value as u64)))
        .collect();
    let more = figure.series.len().saturating_sub(MARKS.len());
    figure.series.truncate(MARKS.len());
    if width < NARROWEST || figure.values().count() < 2 {
        return Vec::new();
    }
    let columns = usize::from(width).min(WIDEST) - MARGIN - 2;
    let (x, zero) = (figure.axis(), figure.zero());
    let y = LogAxis::holding(figure.points().map(|place| place.ns.value)).spanning(FLAT);
    let column = |value: f64| cell(x.share(value.max(zero)), columns);
    let mut canvas = vec![vec![' '; columns]; HEIGHT];
    for (line, mark) in figure.series.iter().zip(MARKS) {
        let path = line
            .points
            .iter()
            .map(|place| (column(place.value), cell(y.share(place.ns.value), HEIGHT)));
        draw(&mut canvas, &path.collect::<Vec<_>>(), mark);
    }
    let mut text = rows(&canvas, &y);
    text.extend(x_axis(&family.parameter, &ticks, column, columns));
    text.extend(
        figure
            .series
            .iter()
            .zip(MARKS)
            .map(|(line, mark)| format!("  {mark}  {}", line.label)),
    );
    if more > 0 {
        text.push(format!("  {more} more are not drawn"));
    }
    text.into_iter()
        .map(|line| line.chars().take(usize::from(width)).collect())
        .collect()
}

fn cell(share: f64, cells: usize) -> usize {
    (share * (cells - 1) as f64).round() as usize
}

fn draw(canvas: &mut [Vec<char>], path: &[(usize, usize)], mark: char) {
    for ends in path.windows(2) {
        let ((x0, y0), (x1, y1)) = (ends[0], ends[1]);
        for column in x0 + 1..x1 {
            let share = (column - x0) as f64 / (x1 - x0) as f64;
            let cell = (y0 as f64 + share * (y1 as f64 - y0 as f64)).round() as usize;
            set(canvas, column, cell, '·');
        }
    }
    path.iter().for_each(|(x, y)| set(canvas, *x, *y, mark));
}

fn set(canvas: &mut [Vec<char>], column: usize, cell: usize, mark: char) {
    let Some(place) = canvas.get_mut(cell).and_then(|row| row.get_mut(column)) else {
        return;
    };
    *place = match *place {
        ' ' | '·' => mark,
        there if mark == '·' || there == mark => there,
        _ => '*',
    };
}

/// From the highest cost down, every fourth row with its cost.
fn rows(canvas: &[Vec<char>], y: &LogAxis) -> Vec<String> {
    canvas
        .iter()
        .enumerate()
        .rev()
        .map(|(cell, row)| {
            let (label, tick) = if (HEIGHT - 1 - cell).is_multiple_of(4) || cell == 0 {
                (
                    format!(
                        "{} ns",
                        nanoseconds(y.value(cell as f64 / (HEIGHT - 1) as f64))
                    ),
                    '┤',
                )
            } else {
                (String::new(), '│')
            };
            format!(
                "{label:>width$} {tick}{}",
                row.iter().collect::<String>().trim_end(),
                width = MARGIN - 2
            )
        })
        .collect()
}

fn x_axis(
    parameter: &str,
    ticks: &[(f64, String)],
    column: impl Fn(f64) -> usize,
    columns: usize,
) -> [String; 2] {
    let mut axis = vec!['─'; columns];
    let mut labels = String::new();
    for (value, text) in ticks {
        let column = column(*value);
        axis[column] = '┬';
        let start = column.saturating_sub(text.len() / 2);
        // A label that would overlap the one before is left out.
        if labels.is_empty() || start > labels.len() {
            labels = format!("{labels:start$}{text}");
        }
    }
    let name: String = parameter.chars().take(MARGIN - 2).collect();
    let axis: String = axis.into_iter().collect();
    [
        format!("{:>width$}└{axis}", "", width = MARGIN - 1),
        format!("{name:>width$}  {labels}", width = MARGIN - 2),
    ]
}

/// The figure for pages and SVG; [`plot`] is the one for terminals.
pub fn over_parameter(family: &Family) -> Figure {
    let lines = lines(family);
    let shown = lines.series.len().min(SERIES);
    let left_out = more(lines.series.len() - shown, "more in the table");
    let drawn = [Some(counted(shown, "line")), left_out];
    Figure {
        title: format!("Cost over {}", family.parameter),
        description: format!(
            "{}, both axes logarithmic: measured costs with their intervals for the next run, fitted lines dashed.",
            drawn.into_iter().flatten().join(", ")
        ),
        chart: Chart::Lines(lines),
    }
}

/// The data of both figures.
pub fn lines(family: &Family) -> Lines {
    Lines {
        parameter: Some(family.parameter.clone()),
        series: family.members.iter().map(line).collect(),
    }
}

fn line(member: &Member) -> Line {
    let points = member.series.points.iter().filter_map(|point| {
        let cost = point.cost.as_ref()?;
        Some(PlotPoint {
            value: point.value as f64,
            ns: Ranged {
                value: cost.ns,
                low_high: cost.next_run.map(|next| {
                    let factor = 1.0 + next.alone;
                    (cost.ns / factor, cost.ns * factor)
                }),
            },
        })
    });
    Line {
        label: member.series.label(),
        points: points.collect(),
        fitted: member.line.map(|line| (line.fixed.ns, line.per_unit.ns)),
        rest: Vec::new(),
    }
}
