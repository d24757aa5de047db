//! Runs for the tests of Perl's view, and the parts of what it prints.

use analysis::summary::summarize;
use document::Document;
use model::*;
use report::{Format, Screen, cmpthese_blocks, write_document};

pub fn run(budget_s: f64, records: Vec<Record>) -> Run {
    Run {
        plan: Plan {
            budget_s,
            whole_s: None,
            precision_percent: 1.0,
            seed: 0,
        },
        complete: true,
        records,
        ..Run::default()
    }
}

pub fn record(name: &str, outcome: Outcome) -> Record {
    Record::new(
        Case {
            name: Some(name.to_string()),
            ..Case::native("x")
        },
        outcome,
    )
}

/// A case as Benchmark keeps it: user and system seconds, and iterations.
pub fn published(name: &str, user_s: f64, system_s: f64, count: u64) -> Record {
    let cpu_s = user_s + system_s;
    let figure = Figure {
        time: Nanos(cpu_s * 1e9 / count as f64),
        count: Some(count),
        user_share: Some(if cpu_s > 0.0 { user_s / cpu_s } else { 1.0 }),
        ..Figure::default()
    };
    record(name, Outcome::Published(figure))
}

/// Launches of one block of one slot of one batch, 1000 iterations each.
pub fn measured(name: &str, blocks: &[u64]) -> Record {
    let block = |(launch, ns): (u32, &u64)| Block {
        launch,
        slots: vec![vec![*ns]],
    };
    let blocks = (0..).zip(blocks).map(block).collect();
    record(
        name,
        Outcome::Measured(Measurement {
            iterations: 1000,
            blocks,
            ..Measurement::default()
        }),
    )
}

pub fn failed(name: &str) -> Record {
    record(
        name,
        Outcome::Failed(Failure::new(FailureKind::Unsupported, "stat: ENOSYS")),
    )
}

pub fn shown(run: &Run) -> String {
    let mut bytes = Vec::new();
    let document = Document {
        blocks: cmpthese_blocks(run, &summarize(run)),
        ..Document::default()
    };
    write_document(&document, Format::Text, Screen::PLAIN, &mut bytes).unwrap();
    String::from_utf8(bytes).unwrap()
}

pub fn matrix(text: &str, cases: usize) -> Vec<String> {
    let heading = |line: &&str| {
        line.trim_start().starts_with("Rate ") || line.trim_start().starts_with("s/iter ")
    };
    text.lines()
        .skip_while(|line| !heading(line))
        .take(cases + 1)
        .map(str::to_string)
        .collect()
}
