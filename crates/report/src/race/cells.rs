//! Rows and cells that a table of commands and one of environments share.

use crate::Cell;
use crate::comparison::row;
use crate::numbers::{count_cell, percent, three_figures};
use analysis::compare::{RaceFound, RaceResult, Ratio, Span, Verdict, Versus};
use document::write::markup::cut;

pub const COMMAND: usize = 40;

pub const MOST_NAMED: usize = 2;

/// Starting a command takes a little more memory than a process that does nothing.
const STARTING: f64 = 1.05;

pub fn label(found: &RaceFound, index: usize) -> String {
    cut(found.results[index].name(), COMMAND)
}

/// A command, and what it is compared by.
pub struct Line<'a> {
    pub own: &'a RaceResult,
    pub versus: Option<&'a Versus>,
}

pub fn lines(found: &RaceFound) -> Vec<Line<'_>> {
    let versus = |index: usize| found.versus.iter().find(|versus| versus.head == index);
    found
        .results
        .iter()
        .enumerate()
        .map(|(index, own)| Line {
            own,
            versus: versus(index),
        })
        .collect()
}

pub fn calls_made(own: &RaceResult) -> Cell {
    own.system_calls.map_or(Cell::default(), count_cell)
}

pub fn half_width(interval: Option<[f64; 3]>) -> Cell {
    let Some([middle, low, high]) = interval.filter(|interval| interval[0] > 0.0) else {
        return Cell::default();
    };
    let share = 100.0 * (high - low) / 2.0 / middle;
    Cell::number(format!("{}%", percent(share)), share)
}

/// The median of the peaks; `<` where no less could be seen.
pub fn memory(least_byte: u64, own: &RaceResult) -> Cell {
    if own.memory_usage_byte.is_empty() {
        return Cell::default();
    }
    let least_byte = own
        .inside
        .as_ref()
        .map_or(least_byte, |inside| inside.empty_memory_byte);
    let bytes = Span::of(own.memory_usage_byte.clone()).median;
    let below = if bytes as f64 <= STARTING * least_byte as f64 {
        "< "
    } else {
        ""
    };
    Cell::number(
        format!("{below}{}", three_figures(bytes as f64 / 1e6)),
        bytes as f64,
    )
}

pub fn verdict(ratio: Option<&Ratio>) -> Cell {
    ratio.map_or(Cell::default(), |ratio| {
        row::verdict(&Verdict::Ratio(*ratio))
    })
}
