//! Runs and records of known costs, for the tests of every module.

use super::{
    Block, Case, Counted, EntriesStatus, EnvironmentFacts, Figure, Measurement, Nanos, Outcome, Record, Run, Tool, Unit,
};

/// A complete run with these records and a target of 1%.
pub fn run(records: Vec<Record>) -> Run {
    Run {
        tool: Tool { name: "syscost".into(), version: "0".into(), compiler: "cc".into() },
        seed: 1,
        budget_s: 1.0,
        precision_percent: 1.0,
        elapsed_s: 1.0,
        complete: true,
        records,
        ..Run::default()
    }
}

/// Three launches of four blocks; each block has four batches of one iteration that took `ns(block)` nanoseconds.
pub fn measured(ns: impl Fn(u64) -> u64) -> Outcome {
    let block = |i: u64| Block { launch: i as u32 / 4, slots: vec![vec![ns(i); 4]] };
    Outcome::Measured(Measurement { iterations: 1, blocks: (0..12).map(block).collect(), ..Measurement::default() })
}

/// An operation that costs `ns` in every batch, without counted kernel entries.
pub fn record(operation: &str, ns: u64) -> Record {
    varying(operation, |_| ns)
}

/// An operation that costs `ns(block)`.
pub fn varying(operation: &str, ns: impl Fn(u64) -> u64) -> Record {
    Record::new(Case::native(operation), measured(ns))
}

/// An operation with a name given by a study.
pub fn named(name: &str, operation: &str, ns: u64) -> Record {
    let record = record(operation, ns);
    Record { case: Case { name: Some(name.to_string()), ..record.case }, ..record }
}

/// An operation with known kernel entries.
pub fn entering(operation: &str, ns: u64, entries: &[(&str, f64)]) -> Record {
    counted(record(operation, ns), entries)
}

/// The record with exactly these kernel entries.
pub fn counted(record: Record, entries: &[(&str, f64)]) -> Record {
    let entries = entries.iter().map(|(name, count)| (name.to_string(), *count)).collect();
    Record { entries: Some(entries), entries_status: EntriesStatus::Verified, ..record }
}

/// A time published in an article.
pub fn published(operation: &str, ns: f64) -> Record {
    Record::new(Case::native(operation), Outcome::Published(Figure { time: Nanos(ns), ..Figure::default() }))
}

/// An operation whose repeats took `each` instructions in an emulated machine.
pub fn instructions(operation: &str, environment: &str, each: &[u64]) -> Record {
    let (fewer, more) = (10, 110);
    let batches = each.iter().map(|each| (500 + fewer * each, 500 + more * each)).collect();
    let case = Case { environment: environment.to_string(), ..Case::native(operation) };
    Record::new(case, Outcome::Counted(Counted { fewer, more, batches }))
}

/// What is known of an emulated machine with this kernel.
pub fn emulated(name: &str, kernel: &str) -> EnvironmentFacts {
    EnvironmentFacts {
        name: name.to_string(),
        unit: Unit::Instructions,
        kernel: Some(kernel.to_string()),
        emulator: Some("qemu-system-x86_64 7.2".to_string()),
        ..EnvironmentFacts::default()
    }
}
