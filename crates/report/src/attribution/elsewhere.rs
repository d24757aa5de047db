//! What the calls of a workload would cost elsewhere: a table of the calls, and sentences as one would reason by hand.

use super::notes::basis;
use crate::numbers::{counted, duration, seconds, signed, three_figures};
use crate::{Cell, Columns, Table};
use analysis::attribute::elsewhere::{Change, Elsewhere, LeftOut, Unpredicted};
use model::prose::{self, some};

const MOST_ROWS: usize = 20;
const NAMED: usize = 6;

/// Smaller shares of the total get no sentence.
const WORTH_NAMING: f64 = 0.05;

/// The calls with the largest predicted changes, with the number of others in a note.
pub fn table(elsewhere: &Elsewhere) -> Table {
    fn ns(value: f64) -> Cell {
        Cell::number(three_figures(value), value)
    }

    let mut rows: Vec<&Change> = elsewhere.calls.iter().take(MOST_ROWS).collect();
    let more = elsewhere.calls.len() - rows.len();
    rows.extend(&elsewhere.crossings);
    let columns = Columns::new(&rows)
        .left("call", |row| &row.name)
        .right("calls", |row| row.calls)
        .right("here ns", |row| ns(row.here_ns))
        .right("there ns", |row| ns(row.there_ns))
        .right("change s", |row| {
            Cell::number(signed(row.change_s, seconds), row.change_s)
        })
        .left("by", |row| row.unit.as_ref().map(basis))
        .wrapping()
        .expendable(1);
    let title = format!(
        "With the unit costs of {} in place of {}",
        elsewhere.there, elsewhere.here
    );
    let more = prose::more(more, "more calls change less.");
    columns
        .table()
        .titled(title)
        .noted(more.into_iter().chain(sentences(elsewhere)))
}

/// Sentences about the largest changes, their sum, and the calls that were not predicted.
pub fn sentences(elsewhere: &Elsewhere) -> Vec<String> {
    let mut lines: Vec<String> = elsewhere
        .parts
        .iter()
        .filter(|part| part.change_s.abs() > WORTH_NAMING * elsewhere.total_s.abs())
        .map(sentence)
        .collect();
    lines.push(conclusion(elsewhere));
    lines.extend(left_out(&elsewhere.left_out));
    lines
}

/// `The stat family: 4.55 s more there.`
fn sentence(part: &Change) -> String {
    let direction = if part.change_s < 0.0 { "less" } else { "more" };
    let name = part.name[..1].to_uppercase() + &part.name[1..];
    format!(
        "{name}: {} {direction} there.",
        duration(part.change_s.abs())
    )
}

fn conclusion(elsewhere: &Elsewhere) -> String {
    let least = if elsewhere.crossings.is_some() {
        "At least "
    } else {
        ""
    };
    format!(
        "{least}{} s in all, by these calls.",
        signed(elsewhere.total_s, seconds)
    )
}

/// `Not predicted: waits in read (1.50 s); processes: execve, fork; ...`
fn left_out(all: &[LeftOut]) -> Option<String> {
    let groups = [
        (Unpredicted::Waits, "waits in"),
        (Unpredicted::Creates, "creating and ending processes,"),
        (Unpredicted::Unpriced, "beyond entering the kernel,"),
    ];
    let parts: Vec<String> = groups
        .into_iter()
        .filter_map(|(why, what)| {
            let names: Vec<String> = all
                .iter()
                .filter(|out| out.why == why)
                .map(|out| {
                    let time = out
                        .seconds
                        .map_or_else(String::new, |time| format!(", {}", duration(time)));
                    format!("{} ({}{time})", out.name, counted(out.calls, "call"))
                })
                .collect();
            if names.is_empty() {
                None
            } else {
                Some(format!("{what} {}", some(&names, NAMED)))
            }
        })
        .collect();
    let known = if parts.is_empty() {
        String::new()
    } else {
        format!("{}; ", parts.join("; "))
    };
    if all.is_empty() {
        return None;
    }
    Some(format!(
        "Not predicted: {known}first look-ups of names in a fresh file system; a tracer's stops."
    ))
}
