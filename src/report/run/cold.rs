//! What tables say of cold calls.

use super::columns::Line;
use crate::report::Cell;
use crate::report::numbers::three_figures;
use crate::report::table::spec::Spec;
use crate::summary::{RowCost, Summary};

/// The column of ratios to the warm row.
pub fn over_warm<'a>() -> Spec<'a, Line<'a>> {
    let ratio = |line: &Line| line.figure()?.cold_over_warm;
    let cell = |figure: &RowCost| {
        figure.cold_over_warm.map_or(Cell::default(), |ratio| Cell::number(three_figures(ratio.value), ratio.value))
    };
    Spec::right("cold / warm", move |line: &Line| line.figure().map_or(Cell::default(), cell))
        .number("cold_over_warm", move |line| Some(ratio(line)?.value))
        .number("cold_over_warm_low", move |line| Some(ratio(line)?.low_high?.0))
        .number("cold_over_warm_high", move |line| Some(ratio(line)?.low_high?.1))
}

/// What the figures of cold rows are.
pub fn note(summary: &Summary) -> Option<String> {
    let note = "cold=SIZE: single calls, each after SIZE of memory and 128K of code displaced what the one before left (0: \
                nothing). ns/op includes the timer; net and 'cold / warm' are without call.empty_loop under the same treatment";
    summary.rows.iter().any(|row| row.case.cold().is_some()).then(|| note.to_string())
}
