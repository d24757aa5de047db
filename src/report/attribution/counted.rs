//! A profile by numbers of instructions as tables, and as a JSON document. Called by `cli::attribute`.

use crate::attribute::change::UnpricedCall;
use crate::attribute::counted::{CountedComparison, CountedRow, CountedSum};
use crate::document::{Block, Document, Records};
use crate::model::{Class, Profile};
use crate::prose::some;
use crate::report::attribution::notes;
use crate::report::numbers::{instructions, percent, significant, thousands};
use crate::report::profile::class;
use crate::report::{Cell, Spec, Table};
use crate::write::JsonDocument;
use schemars::JsonSchema;
use serde::Serialize;

/// The comparisons with the profile's command.
#[derive(Serialize, JsonSchema)]
pub struct CountedDocument<'a> {
    /// The profile's command; empty if it is not known.
    pub command: &'a [String],
    /// One for each set of counts to compare with; one alone without such.
    pub comparisons: &'a [CountedComparison],
}

impl JsonDocument for CountedDocument<'_> {
    const SCHEMA: &'static str = "syscost.attribution-instructions/1";
}

/// Rows that a table for people has of calls.
const NAMED: usize = 8;

/// What calls were priced by that is named in a row.
const MOST_UNITS: usize = 2;

/// What a count does not hold.
const NO_TIME: &str = "Instructions are calls x what an emulated machine counted for the operation that is most like them, user and kernel \
                       mode together: not a time, and not counted in the program itself. Waiting is not in them.";

/// A table for each comparison, with `most` rows; for programs one list of all numbers.
pub fn counted_document(profile: &Profile, found: &[CountedComparison], most: usize) -> Document {
    let blocks = found.iter().map(|one| Block::Table(table(profile, one, most).without_empty())).collect();
    let rows: Vec<(&CountedComparison, &CountedRow)> =
        found.iter().flat_map(|one| one.calls.iter().chain(&one.faults).map(move |row| (one, row))).collect();
    Document { blocks, records: Records::of(&fields(), &rows) }
}

fn table(profile: &Profile, one: &CountedComparison, most: usize) -> Table {
    let total = CountedRow {
        name: "total".into(),
        class: Class::default(),
        calls: one.calls.iter().fold(0, |sum, row| sum.saturating_add(row.calls)),
        sum: one.total,
        basis: Vec::new(),
    };
    let shown = one.calls.iter().take(most).chain(&one.faults).chain([&total]);
    let rows: Vec<&CountedRow> = shown.collect();
    let last = rows.len() - 1;
    let title = match &one.versus {
        None => format!("instructions by {}", one.costs),
        Some(there) => format!("instructions by {} (here) and {there} (there)", one.costs),
    };
    let name = crate::report::profile::notes::title(profile);
    let title = if name.is_empty() { title } else { format!("{name}: {title}") };
    Table::of(&columns(), &rows).with_headings(|row| row == last).titled(title).noted(table_notes(one, most))
}

fn columns<'a>() -> Vec<Spec<'static, &'a CountedRow>> {
    let number = |value: f64| Cell::number(thousands(value), value);
    let each = |row: &CountedRow, all: f64| all / row.calls.max(1) as f64;
    let is_call = |row: &CountedRow| !row.basis.is_empty();
    let each_cell = move |row: &CountedRow, all: Option<f64>| {
        all.filter(|_| is_call(row)).map_or(Cell::default(), |all| {
            let each = each(row, all);
            Cell::number(instructions(each), each)
        })
    };
    vec![
        Spec::left("call", |row: &&CountedRow| row.name.as_str().into()),
        Spec::left("class", |row: &&CountedRow| class::class(&row.class).into()),
        Spec::right("calls", move |row: &&CountedRow| number(row.calls as f64)),
        Spec::right("here each", move |row: &&CountedRow| each_cell(row, Some(row.sum.here_instructions)))
            .expendable(2),
        Spec::right("there each", move |row: &&CountedRow| each_cell(row, row.sum.there_instructions)).expendable(2),
        Spec::right("here instr", move |row: &&CountedRow| number(row.sum.here_instructions)),
        Spec::right("there instr", move |row: &&CountedRow| row.sum.there_instructions.map_or(Cell::default(), number)),
        Spec::right("ratio", |row: &&CountedRow| ratio(row.sum)),
        Spec::left("by", |row: &&CountedRow| units(row).into()).wrapping().expendable(1),
    ]
}

fn ratio(sum: CountedSum) -> Cell {
    sum.ratio().map_or(Cell::default(), |ratio| Cell::number(significant(ratio), ratio))
}

fn units(row: &CountedRow) -> String {
    some(&row.basis.iter().map(notes::basis).collect::<Vec<_>>(), MOST_UNITS)
}

fn table_notes(one: &CountedComparison, most: usize) -> Vec<String> {
    let more = one.calls.len().saturating_sub(most);
    let mut notes = vec![NO_TIME.to_string()];
    notes.extend((more > 0).then(|| format!("{more} more rows (--top shows more)")));
    notes.extend(unpriced(one));
    notes.extend(one.unpriced_faults.map(|count| {
        format!("{} page faults are left out: mem.fault_anonymous was not counted.", thousands(count as f64))
    }));
    notes
}

/// `Left out, 3.1% of call time: fsync (12 calls), ...`
fn unpriced(one: &CountedComparison) -> Option<String> {
    let call = |call: &UnpricedCall| format!("{} ({} calls)", call.call, thousands(call.calls as f64));
    let calls: Vec<String> = one.unpriced.iter().map(call).collect();
    let share =
        one.unpriced_share.map_or_else(String::new, |share| format!(", {}% of call time", percent(100.0 * share)));
    (!calls.is_empty()).then(|| format!("Left out, without a count or mostly waiting{share}: {}.", some(&calls, NAMED)))
}

type Field<'a> = (&'a CountedComparison, &'a CountedRow);

fn fields<'a>() -> Vec<Spec<'static, Field<'a>>> {
    vec![
        Spec::hidden()
            .text("costs", |(one, _): &Field| one.costs.clone())
            .text("versus", |(one, _)| one.versus.clone())
            .text("name", |(_, row)| row.name.clone())
            .text("class", |(_, row)| class::class(&row.class)),
        Spec::hidden()
            .count("calls", |(_, row): &Field| row.calls)
            .number("here_instructions", |(_, row)| row.sum.here_instructions)
            .number("there_instructions", |(_, row)| row.sum.there_instructions)
            .number("ratio", |(_, row)| row.sum.ratio()),
        Spec::hidden().text("unit", |(_, row): &Field| units(row)),
    ]
}
