//! The system calls that differ, in number or in time.

use super::cause::{each_us, ms};
use super::cells::label;
use crate::comparison::profiles::{change, span, what};
use crate::numbers::three_figures;
use crate::{Cell, Spec, Table};
use analysis::compare::{Counts, ProfileRow, RaceFound, Versus};
use model::prose::counted;

const MOST_ROWS: usize = 8;

/// `None` if none differ.
pub fn changed(found: &RaceFound, versus: &Versus) -> Option<Table> {
    let calls = versus
        .calls
        .as_ref()
        .filter(|calls| !calls.rows.is_empty())?;
    let rows: Vec<&ProfileRow> = calls
        .rows
        .iter()
        .take(MOST_ROWS)
        .chain([&calls.total])
        .collect();
    let count = |side: usize| move |row: &&ProfileRow| span(row, side, |counts| Some(counts.calls));
    let time = |side: usize, of: fn(&Counts) -> Option<f64>, digits: Digits| {
        move |row: &&ProfileRow| Cell::known(of(&row.counts[side]), digits)
    };
    let specs = [
        Spec::left("call", |row: &&ProfileRow| row.call.as_str().into()),
        Spec::right("calls before", count(0)),
        Spec::right("calls after", count(1)),
        Spec::right("change", |row: &&ProfileRow| change(row, 1, 0)),
        Spec::right("ms before", time(0, ms, thousandths)),
        Spec::right("ms after", time(1, ms, thousandths)),
        Spec::right("us a call before", time(0, each_us, three_figures)).expendable(1),
        Spec::right("us a call after", time(1, each_us, three_figures)),
        Spec::left("what", |row: &&ProfileRow| what(row).into())
            .wrapping()
            .expendable(2),
    ];
    let last = rows.len() - 1;
    let heading = format!(
        "System calls, {} against {}",
        label(found, versus.head),
        label(found, versus.base)
    );
    let verb = if calls.rows.len() == 1 {
        "differs"
    } else {
        "differ"
    };
    let counts = format!(
        "{} {verb}, the others ({}) do not.",
        counted(calls.rows.len(), "call"),
        calls.left_out
    );
    let is_timed = rows
        .iter()
        .any(|row| row.counts.iter().any(|counts| ms(counts).is_some()));
    let times = "ms: as traced, on a CPU or with the whole program waiting.".to_string();
    let table = Table::of(&specs, &rows)
        .with_headings(|row| row == last)
        .without_empty()
        .titled(heading);
    Some(
        table.noted(
            [counts]
                .into_iter()
                .chain(is_timed.then_some(times))
                .collect(),
        ),
    )
}

type Digits = fn(f64) -> String;

fn thousandths(ms: f64) -> String {
    format!("{ms:.3}")
}
