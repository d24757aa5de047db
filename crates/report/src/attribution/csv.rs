//! An attribution as one list for programs that read CSV: a line for each number, with its section.

use super::time::name;
use super::{advice, notes};
use analysis::attribute::Attribution;
use analysis::attribute::seconds::{Seconds, s};
use document::{Columns, Records};

#[derive(Clone, Default)]
struct CsvLine {
    section: &'static str,
    versus: String,
    name: String,
    figure: &'static str,
    calls: Option<u64>,
    time: Option<Seconds>,
    note: String,
}

fn line(section: &'static str, name: &str, figure: &'static str, seconds: f64) -> CsvLine {
    CsvLine {
        section,
        name: name.to_string(),
        figure,
        time: Some(Seconds::scaled(seconds, [1.0; 3])),
        ..CsvLine::default()
    }
}

/// One record per number, so that attributions of all kinds have the same columns.
pub fn records(attribution: &Attribution) -> Records {
    let lines = [
        time(attribution),
        calls(attribution),
        elsewhere(attribution),
        advice(attribution),
    ]
    .concat();
    let columns = Columns::new(&lines)
        .field("section", |line| line.section)
        .field("versus", |line| &line.versus)
        .field("name", |line| &line.name)
        .field("figure", |line| line.figure)
        .field("calls", |line| line.calls)
        .field("time_s", |line| Some(line.time?.value))
        .field("low_s", |line| Some(line.time?.low))
        .field("high_s", |line| Some(line.time?.high))
        .field("note", |line| &line.note);
    columns.records()
}

fn time(attribution: &Attribution) -> Vec<CsvLine> {
    let parts = attribution.time.parts.iter().flat_map(|part| {
        [("wall", part.wall_s), ("cpu", part.cpu_s)]
            .into_iter()
            .filter_map(|(figure, seconds)| {
                Some(line("time", &name(part.kind).0, figure, seconds?))
            })
    });
    let entering = attribution.entering.iter().map(|entering| CsvLine {
        calls: Some(entering.calls),
        ..line("entering", "entering the kernel", "time", entering.seconds)
    });
    parts.chain(entering).collect()
}

fn calls(attribution: &Attribution) -> Vec<CsvLine> {
    attribution
        .calls
        .iter()
        .flat_map(|row| {
            let count = &row.count;
            let figures = [
                ("on_cpu", count.on_cpu_ns),
                ("waiting", count.stalled_ns),
                ("blocked", count.blocked_ns),
                ("elapsed", count.elapsed_ns),
            ];
            figures.into_iter().filter_map(move |(figure, ns)| {
                Some(CsvLine {
                    calls: Some(count.calls),
                    note: row.process.clone(),
                    ..line("calls", &count.call, figure, s(ns?))
                })
            })
        })
        .collect()
}

fn elsewhere(attribution: &Attribution) -> Vec<CsvLine> {
    attribution
        .elsewhere
        .iter()
        .flat_map(|prediction| {
            let lines = prediction
                .calls
                .iter()
                .chain(&prediction.crossings)
                .map(|change| ("versus", change))
                .chain(
                    prediction
                        .parts
                        .iter()
                        .map(|change| ("beside_versus", change)),
                )
                .map(|(section, change)| CsvLine {
                    calls: Some(change.calls),
                    note: change.unit.as_ref().map(notes::basis).unwrap_or_default(),
                    ..line(section, &change.name, "change", change.change_s)
                });
            let total = line("versus_total", "total", "change", prediction.total_s);
            lines.chain([total]).map(|line| CsvLine {
                versus: prediction.there.clone(),
                ..line
            })
        })
        .collect()
}

fn advice(attribution: &Attribution) -> Vec<CsvLine> {
    attribution
        .advice
        .iter()
        .map(|advice| CsvLine {
            section: "advice",
            name: advice.rule.to_string(),
            figure: "saved",
            calls: Some(advice.calls),
            time: advice.saved,
            note: advice::what(advice),
            ..CsvLine::default()
        })
        .collect()
}
