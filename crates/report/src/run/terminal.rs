//! Bars on the terminal: `syscost show --view bars`. They are made from the same figure as on the page.

use crate::figure::axis::LogAxis;
use crate::figure::{DotRow, Group, Kernel};
use crate::numbers::{in_unit, with_unit};
use crate::run::figures;
use crate::run::portrait::Detail;
use document::Block;
use document::write::markup::cut;
use model::Unit;

const WIDTH: usize = 80;
const NAME: usize = 30;

pub fn bar_blocks(detail: &Detail, width: Option<u16>) -> Vec<Block> {
    let width = width.map_or(WIDTH, usize::from).clamp(50, 120);
    let bars = |unit| bar_lines(&figures::plain_costs(detail, unit), unit, width);
    figures::units(detail)
        .into_iter()
        .map(|unit| Block::drawn(bars(unit)))
        .collect()
}

fn bar_lines(groups: &[Group], unit: Unit, width: usize) -> Vec<String> {
    let rows = || groups.iter().flat_map(|group| &group.rows);
    let name = rows()
        .map(|bar| bar.label.chars().count())
        .max()
        .unwrap_or(0)
        .min(NAME);
    let axis =
        LogAxis::holding(rows().filter_map(|bar| Some(bar.first()?.value))).begun_at_decade();
    let room = width.saturating_sub(name + 14);
    let mut lines = Vec::new();
    for group in groups {
        lines.extend((!lines.is_empty()).then(String::new));
        lines.push(cut(&group.name, width));
        lines.extend(
            group
                .rows
                .iter()
                .map(|bar| bar_line(bar, (&axis, unit), name, room)),
        );
    }
    let first = axis.ticks(0.1).first().map_or(String::new(), |tick| {
        format!(" from {}", with_unit(*tick, unit))
    });
    lines.push(String::new());
    lines.push(format!(
        "logarithmic axis{first}; █ makes system calls, ░ makes none, ? not counted"
    ));
    lines
}

fn bar_line(bar: &DotRow, (axis, unit): (&LogAxis, Unit), name: usize, room: usize) -> String {
    let mark = match bar.kernel {
        Some(Kernel::Enters) => "█",
        Some(Kernel::Never) => "░",
        _ => "?",
    };
    let label = cut(&bar.label, name);
    let (cost, length) = match bar.first().map(|first| first.value) {
        Some(value) => (
            in_unit(value, unit),
            ((axis.share(value) * room as f64).round() as usize).max(1),
        ),
        None => ("-".to_string(), 0),
    };
    format!("  {label:name$} {cost:>10} {}", mark.repeat(length))
        .trim_end()
        .to_string()
}
