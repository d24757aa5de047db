//! Runs for tests: known costs, three launches, a little scatter.

use super::column::Column;
use super::row::{Cell, ComparedRow};
use crate::model::{Block, Case, EntriesStatus, Figure, Measurement, Nanos, Outcome, Record, Role, Run};

/// A run of these records.
pub fn run(records: Vec<Record>) -> Run {
    crate::summary::tests::run(records)
}

/// A column of these records.
pub fn column(label: &str, records: Vec<Record>) -> Column {
    Column::new(label, &run(records))
}

/// An operation that costs `ns` in every batch of three launches of four blocks; its kernel entries are not known.
pub fn record(operation: &str, ns: u64) -> Record {
    let block = |i: u32| Block { launch: i / 4, slots: vec![vec![ns; 3]] };
    let m = Measurement { iterations: 1, blocks: (0..12).map(block).collect(), ..Measurement::default() };
    Record {
        case: Case::native(operation),
        role: Role::Asked,
        outcome: Outcome::Measured(m),
        entries: None,
        entries_status: EntriesStatus::Unverified("not counted".into()),
        mode_samples: None,
        warnings: vec![],
    }
}

/// The same under a study's name.
pub fn named(name: &str, operation: &str, ns: u64) -> Record {
    let record = record(operation, ns);
    Record { case: Case { name: Some(name.to_string()), ..record.case }, ..record }
}

/// The same with known kernel entries.
pub fn entering(operation: &str, ns: u64, entries: &[(&str, f64)]) -> Record {
    let entries = entries.iter().map(|(name, count)| (name.to_string(), *count)).collect();
    Record { entries: Some(entries), entries_status: EntriesStatus::Verified, ..record(operation, ns) }
}

/// A figure of an article.
pub fn published(operation: &str, ns: f64) -> Record {
    let figure = Figure { time: Nanos(ns), as_printed: String::new(), count: None, user_share: None };
    Record { outcome: Outcome::Published(figure), ..record(operation, 1) }
}

/// A cell of a row with these entries.
pub fn cell(ns: f64, entries: Option<&[(&str, f64)]>) -> Cell {
    let record = match entries {
        Some(entries) => entering("file.any", ns as u64, entries),
        None => record("file.any", ns as u64),
    };
    let rows: Vec<ComparedRow> = super::matching::matched(&[column("any", vec![record])], &Default::default()).rows;
    *rows[0].cells[0].clone().unwrap()
}
