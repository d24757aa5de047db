//! Bounds of what free crossings or an io_uring would save: a table each, with the sentences below it. All formats of attributions
//! call it.

use crate::attribute::bounds::{Bound, BoundRow, FreeCrossings, Ring, RingBatch, Saving, Whole};
use crate::prose::some;
use crate::report::attribution::notes::{range, seconds};
use crate::report::numbers::{percent, significant, thousands};
use crate::report::{Cell, Spec, Table};

/// Calls that a sentence names.
const NAMED: usize = 8;

/// Rows with a smaller share of the saving are not shown.
const LEAST: f64 = 0.001;

const NO_MORE: &str = "It is a bound: work in calls stays as it is, every call is assumed to be batched, and which depend on each other's \
                       results is not in a profile. What crossings do to caches is not in it.";

const HANDED_OVER: &str =
    "Not in it, because the kernel hands these requests to a thread, which costs more than a crossing";

/// The bound as a table, of calls with `most` rows.
pub fn table(bound: &Bound, most: usize) -> Table {
    match bound {
        Bound::FreeCrossings(free) => free_crossings(free, most),
        Bound::IoUring(ring) => io_uring(ring),
    }
}

/// What it is called on the command line.
pub fn name(bound: &Bound) -> &'static str {
    match bound {
        Bound::FreeCrossings(_) => "free-crossings",
        Bound::IoUring(_) => "io_uring",
    }
}

/// The savings of a bound, each with its batch if it has one.
pub fn savings(bound: &Bound) -> Vec<(Option<u64>, &Saving)> {
    match bound {
        Bound::FreeCrossings(free) => vec![(None, &free.saving)],
        Bound::IoUring(ring) => ring.batches.iter().map(|own| (Some(own.batch), &own.saving)).collect(),
    }
}

/// The calls that a bound counts.
pub fn calls(bound: &Bound) -> u64 {
    let rows = match bound {
        Bound::FreeCrossings(free) => &free.rows,
        Bound::IoUring(ring) => &ring.rows,
    };
    rows.iter().fold(0, |sum, row| sum.saturating_add(row.calls))
}

/// `free-crossings: at most 0.1000 s less CPU time (24%) ...`: the bound in one line.
pub fn line(bound: &Bound) -> String {
    let best = savings(bound).into_iter().max_by(|(_, a), (_, b)| a.saved.value.total_cmp(&b.saved.value));
    best.map_or_else(String::new, |(batch, saving)| {
        let batch = batch.map_or_else(String::new, |batch| format!(" with batches of {batch}"));
        format!("{}{batch}: {}", name(bound), at_most(saving))
    })
}

fn free_crossings(free: &FreeCrossings, most: usize) -> Table {
    let columns = [
        Spec::left("call", |row: &BoundRow| row.name.as_str().into()),
        Spec::right("calls", |row: &BoundRow| Cell::number(thousands(row.calls as f64), row.calls as f64)),
        Spec::right("saves s", |row: &BoundRow| Cell::number(seconds(row.crossing.value), row.crossing.value)),
        Spec::right("range", |row: &BoundRow| range(row.crossing).into()),
    ];
    let least = LEAST * free.saving.saved.value;
    let matter = free.rows.partition_point(|row| row.crossing.value > least);
    let shown = &free.rows[..matter.min(most)];
    let more = free.rows.len() - shown.len();
    let mut notes: Vec<String> = (more > 0).then(|| format!("{more} more rows save less")).into_iter().collect();
    notes.push(sentence(&at_most(&free.saving)));
    notes.push(format!("A crossing takes {} ns here, by a null call.", significant(free.crossing_ns)));
    notes.push(NO_MORE.to_string());
    Table::of(&columns, shown).titled("If crossings were free").noted(notes)
}

fn io_uring(ring: &Ring) -> Table {
    let share = |whole: &Option<Whole>| {
        whole.map_or(Cell::default(), |whole| {
            let share = 100.0 * (1.0 - whole.there_s.value / whole.here_s);
            Cell::number(percent(share), share)
        })
    };
    let columns = [
        Spec::right("batch", |row: &RingBatch| Cell::number(thousands(row.batch as f64), row.batch as f64)),
        Spec::right("ns/request", |row: &RingBatch| Cell::number(significant(row.request_ns), row.request_ns)),
        Spec::right("saves s", |row: &RingBatch| Cell::number(seconds(row.saving.saved.value), row.saving.saved.value)),
        Spec::right("range", |row: &RingBatch| range(row.saving.saved).into()),
        Spec::right("% CPU", move |row: &RingBatch| share(&row.saving.cpu)),
        Spec::right("% wall", move |row: &RingBatch| share(&row.saving.wall)),
    ];
    let best = ring.batches.iter().max_by(|a, b| a.saving.saved.value.total_cmp(&b.saving.saved.value));
    let mut notes: Vec<String> = best.iter().map(|best| sentence(&at_most(&best.saving))).collect();
    notes.push(format!(
        "Carried, in place of a crossing of {} ns each: {}.",
        significant(ring.crossing_ns),
        names(&ring.rows)
    ));
    notes.extend((!ring.handed_over.is_empty()).then(|| format!("{HANDED_OVER}: {}.", names(&ring.handed_over))));
    notes.push(NO_MORE.to_string());
    Table::of(&columns, &ring.batches).titled("If an io_uring carried the calls that it can").noted(notes)
}

fn names(rows: &[BoundRow]) -> String {
    let one = |row: &BoundRow| format!("{} ({} calls)", row.name, thousands(row.calls as f64));
    if rows.is_empty() { "none".to_string() } else { some(&rows.iter().map(one).collect::<Vec<_>>(), NAMED) }
}

fn sentence(text: &str) -> String {
    format!("{}{}.", text[..1].to_uppercase(), &text[1..])
}

/// `at most 0.1042 s less CPU time, of 0.4201 s (25%), and at most 0.1042 s less wall time, of 0.4500 s (23%)`
fn at_most(saving: &Saving) -> String {
    if saving.saved.high <= 0.0 {
        return "saves no time: it costs more than it saves, or there is nothing to save".to_string();
    }
    let part = |whole: &Whole, what: &str| {
        let most = whole.here_s - whole.there_s.low;
        let share = percent(100.0 * whole.most_saved());
        format!("at most {} s less {what} time, of {} s ({share}%)", seconds(most), seconds(whole.here_s))
    };
    let parts: Vec<String> = [(&saving.cpu, "CPU"), (&saving.wall, "wall")]
        .into_iter()
        .filter_map(|(whole, what)| Some(part(whole.as_ref()?, what)))
        .collect();
    match parts.is_empty() {
        false => parts.join(", and "),
        true => format!(
            "at most {} s less CPU time; the share is not known, because the tracer changed the times",
            seconds(saving.saved.high)
        ),
    }
}
