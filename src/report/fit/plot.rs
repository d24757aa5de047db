//! Costs over a parameter as characters, both axes logarithmic. A picture of the table, not a source of numbers.
//!
//! Our own, because of two crates that were tried: textplots labels only the ends of the x axis and tells series apart by
//! colour alone; rasciigraph has no x axis at all.

use crate::fit::{Family, Member};
use crate::model::Size;
use crate::report::numbers::nanoseconds;

/// Narrower screens get no plot.
const NARROWEST: u16 = 60;
const WIDEST: usize = 100;
const HEIGHT: usize = 15;
/// Columns for the labels of the y axis, the axis included.
const MARGIN: usize = 12;
/// The series that are drawn; more would cover each other.
const MARKS: [char; 8] = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'];

/// Lines of text, no wider than `width`; none where that is too narrow or there is nothing to draw.
pub fn plot(family: &Family, width: u16) -> Vec<String> {
    let members: Vec<&Member> = family.members.iter().take(MARKS.len()).collect();
    let points = || members.iter().flat_map(|m| &m.series.points).filter(|p| p.cost.is_some());
    let costs: Vec<f64> = points().filter_map(|p| Some(p.cost.as_ref()?.ns)).collect();
    let mut values: Vec<u64> = points().map(|p| p.value).collect();
    values.sort_unstable();
    values.dedup();
    if width < NARROWEST || values.len() < 2 {
        return Vec::new();
    }
    let columns = usize::from(width).min(WIDEST) - MARGIN - 2;
    let x = Scale::new(values.iter().map(|v| position(*v, &values)), columns);
    let y = Scale::new(costs.into_iter().map(f64::ln), HEIGHT);
    let mut canvas = vec![vec![' '; columns]; HEIGHT];
    for (member, mark) in members.iter().zip(MARKS) {
        draw(&mut canvas, &path(member, &values, &x, &y), mark);
    }
    let mut lines = rows(&canvas, &y);
    lines.extend(x_axis(&values, &x, columns, &family.parameter));
    let legend = |(member, mark): (&&Member, char)| format!("  {mark}  {}", member.series.label());
    lines.extend(members.iter().zip(MARKS).map(legend));
    let more = family.members.len() - members.len();
    lines.extend((more > 0).then(|| format!("  {more} more are not drawn")));
    lines.into_iter().map(|line| line.chars().take(usize::from(width)).collect()).collect()
}

/// A value's logarithm; 0 stands where half of the smallest other value would.
fn position(value: u64, values: &[u64]) -> f64 {
    let smallest = values.iter().find(|v| **v > 0).copied().unwrap_or(1) as f64;
    if value == 0 { (smallest / 2.0).ln() } else { (value as f64).ln() }
}

/// From logarithms to cells.
struct Scale {
    low: f64,
    high: f64,
    cells: usize,
}

impl Scale {
    fn new(values: impl Iterator<Item = f64>, cells: usize) -> Scale {
        let (low, high) = values.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
        // A flat line still needs a range: a tenth of the cost to both sides.
        let widen = if high - low < 0.2 { 0.1 } else { 0.0 };
        Scale { low: low - widen, high: high + widen, cells }
    }

    fn cell(&self, value: f64) -> usize {
        let share = ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        (share * (self.cells - 1) as f64).round() as usize
    }

    /// The logarithm in the middle of a cell.
    fn value(&self, cell: usize) -> f64 {
        self.low + (self.high - self.low) * cell as f64 / (self.cells - 1) as f64
    }
}

fn path(member: &Member, values: &[u64], x: &Scale, y: &Scale) -> Vec<(usize, usize)> {
    let points = member.series.points.iter().filter_map(|p| Some((p.value, p.cost.as_ref()?.ns)));
    points.map(|(value, ns)| (x.cell(position(value, values)), y.cell(ns.ln()))).collect()
}

/// Marks at the points, dots between them; `*` where marks of two series meet.
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
    let Some(place) = canvas.get_mut(cell).and_then(|row| row.get_mut(column)) else { return };
    *place = match *place {
        ' ' | '·' => mark,
        there if mark == '·' || there == mark => there,
        _ => '*',
    };
}

/// From the highest cost down, every fourth row with its cost.
fn rows(canvas: &[Vec<char>], y: &Scale) -> Vec<String> {
    let line = |(cell, row): (usize, &Vec<char>)| {
        let (label, tick) = match (y.cells - 1 - cell).is_multiple_of(4) || cell == 0 {
            true => (format!("{} ns", nanoseconds(y.value(cell).exp())), '┤'),
            false => (String::new(), '│'),
        };
        format!("{label:>width$} {tick}{}", row.iter().collect::<String>().trim_end(), width = MARGIN - 2)
    };
    canvas.iter().enumerate().rev().map(line).collect()
}

/// The axis with a tick for each value, and below it as many values as fit.
fn x_axis(values: &[u64], x: &Scale, columns: usize, parameter: &str) -> [String; 2] {
    let mut axis = vec!['─'; columns];
    let mut labels = String::new();
    for value in values {
        let column = x.cell(position(*value, values));
        axis[column] = '┬';
        let text = Size(*value).to_string();
        let start = column.saturating_sub(text.len() / 2);
        if labels.is_empty() || start > labels.len() {
            labels = format!("{labels:start$}{text}");
        }
    }
    let name: String = parameter.chars().take(MARGIN - 2).collect();
    let axis: String = axis.into_iter().collect();
    [format!("{:>width$}└{axis}", "", width = MARGIN - 1), format!("{name:>width$}  {labels}", width = MARGIN - 2)]
}
