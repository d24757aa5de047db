//! Cases as other programs want them: one name each, and repetitions.

use crate::clean;
use crate::model::{Measurement, Outcome, Record, Role, Run};
use crate::stats;
use crate::summary::{Row, Summary, steady_range};
use anyhow::Result;
use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

/// A program's format.
#[derive(Clone, Copy, Debug)]
pub struct ExportFormat {
    /// As the command line has it.
    pub name: &'static str,
    pub what: &'static str,
    pub write: fn(&Run, &[Exported], &mut dyn Write) -> Result<()>,
}

/// A case as other programs are told of it.
pub struct Exported<'a> {
    /// As our tables have it, with the environment if it is not `native`; no two are the same.
    pub name: String,
    pub row: &'a Row,
    /// One a time block; one for a published figure; none where the case failed.
    pub repetitions: Vec<Repetition>,
    /// Share of the wall time that its process had a CPU; `None` where that is not known.
    pub cpu_share: Option<f64>,
}

/// The cost over a stretch of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetition {
    pub iterations: u64,
    pub ns: f64,
}

/// What was asked for, in the order of the run.
pub fn cases<'a>(run: &Run, summary: &'a Summary) -> Vec<Exported<'a>> {
    let (range, _) = steady_range(run);
    let asked = run.records.iter().filter(|record| record.role == Role::Asked);
    let mut taken = HashMap::new();
    let exported = |(record, row): (&Record, &'a Row)| Exported {
        name: unique(clean::line(&name(row)), &mut taken),
        row,
        repetitions: if row.figure.is_ok() { repetitions(record, &range) } else { Vec::new() },
        cpu_share: cpu_share(record),
    };
    asked.zip(&summary.rows).map(exported).collect()
}

pub fn name(row: &Row) -> String {
    match row.case.environment.as_str() {
        "native" => row.case.to_string(),
        environment => format!("{} in {environment}", row.case),
    }
}

/// `name`, with a number behind it where it is taken: these formats tell cases apart by nothing else.
pub fn unique(name: String, taken: &mut Taken) -> String {
    let Some(next) = taken.get(&name).copied() else {
        taken.insert(name.clone(), 2);
        return name;
    };
    let (number, free) = (next..)
        .map(|i| (i, format!("{name} #{i}")))
        .find(|(_, numbered)| !taken.contains_key(numbered))
        .unwrap_or((next, name.clone()));
    taken.insert(name, number + 1);
    taken.insert(free.clone(), 2);
    free
}

/// Names, each with the number that the next one of it is tried with: equal names must not be counted from the first.
pub type Taken = HashMap<String, u64>;

pub fn repetitions(record: &Record, range: &Range<usize>) -> Vec<Repetition> {
    match &record.outcome {
        Outcome::Measured(m) => {
            let steady = of_blocks(m, range);
            if steady.is_empty() { of_blocks(m, &(0..usize::MAX)) } else { steady }
        }
        Outcome::Published(figure) => vec![Repetition { iterations: figure.count.unwrap_or(1), ns: figure.time.0 }],
        Outcome::Failed(_) => Vec::new(),
    }
}

/// The blocks that have samples, each with its median.
pub fn of_blocks(m: &Measurement, range: &Range<usize>) -> Vec<Repetition> {
    let batches = m.blocks.iter().map(|block| block.slots.iter().map(Vec::len).sum::<usize>());
    let figures = stats::block_medians(m).into_iter().zip(batches).enumerate();
    let sound = figures.filter(|(i, (ns, _))| range.contains(i) && ns.is_finite());
    let repetition = |(_, (ns, batches)): (usize, (f64, usize))| Repetition {
        iterations: m.iterations.saturating_mul(batches as u64),
        ns,
    };
    sound.map(repetition).collect()
}

pub fn cpu_share(record: &Record) -> Option<f64> {
    let Outcome::Measured(m) = &record.outcome else { return None };
    let cpu_ns = m.cpu.user_ns.saturating_add(m.cpu.system_ns) as f64;
    (m.cpu.wall_ns > 0).then(|| cpu_ns / m.cpu.wall_ns as f64)
}
