//! Runs for programs that compare or keep them: Go's benchmark format, one line per time block,
//! which these programs call a repetition (<https://go.dev/design/14313-benchmark-format>).
//!
//! A name begins with `Benchmark` and a capital letter; parameters follow as `/key=value`. The
//! kernel is only in a comment: benchstat makes separate tables for different values of a `key:
//! value` line, but kernels are to be compared.

use super::Format;
use analysis::summary::{Panel, Row, Summary};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use model::clean::{self, line};
use model::{Case, Measurement, Outcome, Record, Role, Run};
use stats::{Calm, OverRuns};
use std::collections::HashMap;
use std::io::{self, Write};

/// How a run is written: in a format of our own, as rows for data engines, or in another program's.
#[derive(Clone, Copy, PartialEq)]
pub enum RunFormat {
    Ours(Format),
    Rows,
    GoBenchmark,
}

impl ValueEnum for RunFormat {
    fn value_variants<'a>() -> &'a [RunFormat] {
        use RunFormat::{GoBenchmark, Ours, Rows};
        &[
            Ours(Format::Text),
            Ours(Format::Markdown),
            Ours(Format::Csv),
            Ours(Format::Json),
            Rows,
            GoBenchmark,
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            RunFormat::Ours(format) => format.to_possible_value(),
            RunFormat::Rows => Some(
                PossibleValue::new("rows")
                    .help("JSON lines for data engines, of any number of files"),
            ),
            RunFormat::GoBenchmark => Some(
                PossibleValue::new("go-benchmark")
                    .help("Go's benchmark lines, one a time block, for benchstat"),
            ),
        }
    }
}

/// Writes the requested cases of `run`; `summary` must be that of `run`.
pub fn write_go_benchmark(run: &Run, summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    head(run, summary, out)?;
    let calm = Panel::new(run).calm;
    let mut taken = HashMap::new();
    let records = run.records.iter().enumerate();
    let asked = records.filter(|(_, record)| record.role == Role::Asked);
    for ((index, record), row) in asked.zip(&summary.rows) {
        let name = unique(name(&row.case), &mut taken).replace(' ', "_");
        if let Some(failure) = row.failure() {
            writeln!(out, "# {name}: not measured: {}", line(&failure.message))?;
        }
        let entries = row
            .entries
            .as_ref()
            .map(|entries| format!(" {} kernel-entries/op", entries.total()))
            .unwrap_or_default();
        for repetition in repetitions(run, index, record, row, &calm) {
            writeln!(
                out,
                "{name} {} {} ns/op{entries}",
                repetition.iterations, repetition.ns
            )?;
        }
        if let Some(count) = row.instructions() {
            writeln!(
                out,
                "{name} 1 {} instructions/op{entries}",
                count.per_operation
            )?;
        }
    }
    Ok(())
}

fn head(run: &Run, summary: &Summary, out: &mut dyn Write) -> io::Result<()> {
    let host = &run.host;
    let lines = [
        ("goos", host.system.as_deref().map(str::to_lowercase)),
        (
            "goarch",
            host.architecture
                .as_deref()
                .map(|name| architecture(name).to_string()),
        ),
        ("pkg", Some("syscost".to_string())),
        ("cpu", host.cpu.clone()),
        ("# kernel", host.kernel.clone()),
    ];
    for (key, value) in lines {
        if let Some(value) = value {
            writeln!(out, "{key}: {}", line(&value))?;
        }
    }
    writeln!(out, "Unit kernel-entries/op assume=exact")?;
    if summary.rows.iter().any(|row| row.instructions().is_some()) {
        writeln!(out, "Unit instructions/op assume=exact")?;
    }
    Ok(())
}

fn architecture(name: &str) -> &str {
    match name {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "i686" | "i586" => "386",
        other => other,
    }
}

/// `BenchmarkFile.lstat/depth=4/env=m32`
fn name(case: &Case) -> String {
    let label = match (&case.name, &case.language) {
        (None, Some(language)) => format!("{language}:{}", case.operation),
        _ => case.label().to_string(),
    };
    let params = case
        .params
        .iter()
        .map(|(key, value)| format!("/{}={value}", word(key)));
    let environment = if case.environment != "native" {
        Some(format!("/env={}", word(&case.environment)))
    } else {
        None
    };
    let tail: String = params.chain(environment).collect();
    format!("Benchmark{}{}", capital(&word(&label)), tail)
}

/// A dash and a number at the end would be read as a number of processors.
fn word(text: &str) -> String {
    clean::word(text).replace(['/', '-'], "_")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) if first.is_ascii_alphabetic() => {
            first.to_ascii_uppercase().to_string() + letters.as_str()
        }
        _ => format!("X{word}"),
    }
}

/// Benchmarks are known by their names alone. `taken` has the number to try next for each, so that
/// equal names do not take quadratic time.
fn unique(name: String, taken: &mut HashMap<String, u64>) -> String {
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

struct Repetition {
    iterations: u64,
    ns: f64,
}

/// One per time block, or per run if there are several.
fn repetitions(
    run: &Run,
    index: usize,
    record: &Record,
    row: &Row,
    calm: &Calm,
) -> Vec<Repetition> {
    if row.figure.is_err() {
        return Vec::new();
    }
    if let Some(over) = &row.over_runs {
        return of_runs(run, index, over);
    }
    match &record.outcome {
        Outcome::Measured(m) => of_blocks(&calm.only(m)),
        Outcome::Published(figure) => vec![Repetition {
            iterations: figure.count.unwrap_or(1),
            ns: figure.time.0,
        }],
        Outcome::Failed(_) | Outcome::Counted(_) => Vec::new(),
    }
}

fn of_runs(run: &Run, index: usize, over: &OverRuns) -> Vec<Repetition> {
    run.runs()
        .zip(&over.medians_ns)
        .filter_map(|(one, ns)| {
            let record = one.records.get(index);
            let measured = record.and_then(|record| record.outcome.measurement());
            Some(Repetition {
                iterations: measured.map_or(0, Measurement::calls),
                ns: (*ns)?,
            })
        })
        .collect()
}

fn of_blocks(m: &Measurement) -> Vec<Repetition> {
    let batches = m
        .blocks
        .iter()
        .map(|block| block.slots.iter().map(Vec::len).sum::<usize>());
    let sound = stats::block_medians(m)
        .into_iter()
        .zip(batches)
        .filter(|(ns, _)| ns.is_finite());
    sound
        .map(|(ns, batches)| Repetition {
            // Go's format has the iterations of a repetition, which are those of all batches of the block.
            iterations: m.iterations.saturating_mul(batches as u64),
            ns,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Block;

    #[test]
    fn names_begin_with_a_capital() {
        assert_eq!(
            [capital("a"), capital("B"), capital("1"), capital("")],
            ["A", "B", "X1", "X"]
        );
    }

    #[test]
    fn equal_names_are_counted_on_and_not_from_the_first() {
        let mut taken = HashMap::from([("a #3".to_string(), 2)]);
        let names: Vec<String> = (0..4)
            .map(|_| unique("a".to_string(), &mut taken))
            .collect();
        assert_eq!(names, ["a", "a #2", "a #4", "a #5"]);
        assert_eq!(taken["a"], 6, "the next one is tried with this number");
        assert_eq!(unique("a #3".to_string(), &mut taken), "a #3 #2");
    }

    #[test]
    fn blocks_without_samples_are_no_repetitions() {
        fn block(slot: Vec<u64>) -> Block {
            Block {
                launch: 0,
                slots: vec![slot],
            }
        }

        let blocks = vec![block(vec![]), block(vec![10, 30]), block(vec![50])];
        let m = Measurement {
            iterations: 10,
            blocks,
            ..Measurement::default()
        };
        let repetitions = of_blocks(&m).into_iter().map(|r| (r.iterations, r.ns));
        assert!(repetitions.eq([(20, 2.0), (10, 5.0)]));
    }
}
