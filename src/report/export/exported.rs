//! Cases in the form that other programs expect: a unique name and repetitions.

use crate::clean;
use crate::model::{Measurement, Outcome, Profile, Record, Role, Run};
use crate::stats::{self, OverRuns};
use crate::summary::{Row, Summary, steady_range};
use anyhow::Result;
use std::collections::HashMap;
use std::io::Write;
use std::ops::Range;

/// The format of another program.
#[derive(Clone, Copy, Debug)]
pub struct ExportFormat {
    /// Its name on the command line.
    pub name: &'static str,
    pub what: &'static str,
    /// How it writes a run; `None` if it is for profiles.
    pub write: Option<WriteRun>,
    /// Whether it has a place for numbers of instructions; else they are left out.
    pub holds_instructions: bool,
    /// How it writes a profile; `None` if it cannot hold one.
    pub write_profile: Option<WriteProfile>,
}

/// Writes a run.
pub type WriteRun = fn(&Run, &[Exported], &mut dyn Write) -> Result<()>;

/// Writes a profile.
pub type WriteProfile = fn(&Profile, &mut dyn Write) -> Result<()>;

/// A case for other programs.
pub struct Exported<'a> {
    /// The name in our tables, with the environment if it is not `native`; unique.
    pub name: String,
    pub row: &'a Row,
    /// One per time block, or per run if there are several; one for a published value; none if the case failed.
    pub repetitions: Vec<Repetition>,
    /// Share of the wall time that its process was on a CPU, from 0 to 1; `None` if that is not known.
    pub cpu_share: Option<f64>,
}

/// The cost over a period of the run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Repetition {
    pub iterations: u64,
    pub ns: f64,
}

/// The requested cases, in the order of the run.
pub fn cases<'a>(run: &Run, summary: &'a Summary) -> Vec<Exported<'a>> {
    let (range, _) = steady_range(run);
    let asked = run.records.iter().enumerate().filter(|(_, record)| record.role == Role::Asked);
    let mut taken = HashMap::new();
    let repetitions = |index: usize, record: &Record, row: &Row| match &row.over_runs {
        Some(over) => of_runs(run, index, over),
        None => repetitions(record, &range),
    };
    let exported = |((index, record), row): ((usize, &Record), &'a Row)| Exported {
        name: unique(clean::line(&name(row)), &mut taken),
        row,
        repetitions: if row.figure.is_ok() { repetitions(index, record, row) } else { Vec::new() },
        cpu_share: cpu_share(record),
    };
    asked.zip(&summary.rows).map(exported).collect()
}

/// The median of each run that has one.
fn of_runs(run: &Run, index: usize, over: &OverRuns) -> Vec<Repetition> {
    let iterations = |one: &Run| match one.records.get(index).map(|record| &record.outcome) {
        Some(Outcome::Measured(m)) => m.iterations.saturating_mul(m.samples().count() as u64),
        _ => 0,
    };
    let runs = run.runs().zip(&over.medians_ns);
    runs.filter_map(|(one, ns)| Some(Repetition { iterations: iterations(one), ns: (*ns)? })).collect()
}

pub fn name(row: &Row) -> String {
    match row.case.environment.as_str() {
        "native" => row.case.to_string(),
        environment => format!("{} in {environment}", row.case),
    }
}

/// `name`, with a number appended if it is taken: these formats identify cases by nothing else.
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

/// Names in use, each with the number to try next, so that many equal names do not take quadratic time.
pub type Taken = HashMap<String, u64>;

pub fn repetitions(record: &Record, range: &Range<usize>) -> Vec<Repetition> {
    match &record.outcome {
        Outcome::Measured(m) => {
            let steady = of_blocks(m, range);
            if steady.is_empty() { of_blocks(m, &(0..usize::MAX)) } else { steady }
        }
        Outcome::Published(figure) => vec![Repetition { iterations: figure.count.unwrap_or(1), ns: figure.time.0 }],
        Outcome::Failed(_) | Outcome::Counted(_) => Vec::new(),
    }
}

/// The median of each block in `range` that has samples.
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
