//! An attribution as one list for programs that read CSV: a line for each number, with its section.

use crate::attribute::Attribution;
use crate::attribute::breakdown::Part;
use crate::attribute::spread::Seconds;
use crate::document::{Records, Spec};
use crate::report::attribution::{self as words, notes};
use crate::report::profile::class;

/// One number, its section, and what it is compared with.
#[derive(Clone, Default)]
struct CsvLine<'a> {
    section: &'static str,
    versus: &'a str,
    name: &'a str,
    class: String,
    figure: &'static str,
    calls: Option<u64>,
    time: Option<Seconds>,
    note: String,
}

/// All numbers of `found`.
pub fn records(found: &Attribution) -> Records {
    let lines = [calls(found), account(found), changes(found), totals(found), advice(found)].concat();
    Records::of(&columns(), &lines)
}

fn columns<'a>() -> Vec<Spec<'static, CsvLine<'a>>> {
    vec![
        Spec::hidden()
            .text("section", |line: &CsvLine| line.section.to_string())
            .text("versus", |line| line.versus.to_string())
            .text("name", |line| line.name.to_string())
            .text("class", |line| line.class.clone())
            .text("figure", |line| line.figure.to_string()),
        Spec::hidden()
            .count("calls", |line: &CsvLine| line.calls)
            .number("time_s", |line| Some(line.time?.value))
            .number("low_s", |line| Some(line.time?.low))
            .number("high_s", |line| Some(line.time?.high)),
        Spec::hidden().text("note", |line: &CsvLine| line.note.clone()),
    ]
}

fn calls(found: &Attribution) -> Vec<CsvLine<'_>> {
    let lines = found.here.rows.iter().flat_map(|row| {
        let figures = [
            ("on_cpu", row.on_cpu_s.map(Seconds::exactly)),
            ("runnable", row.runnable_s.map(Seconds::exactly)),
            ("blocked", row.blocked_s.map(Seconds::exactly)),
            ("crossing", row.crossing),
            ("work", row.work),
            ("by_unit_cost", row.priced),
        ];
        let line = CsvLine {
            section: "calls",
            name: &row.call,
            class: class::class(&row.class),
            calls: Some(row.calls),
            ..CsvLine::default()
        };
        let known = figures.into_iter().filter(|(_, time)| time.is_some());
        known.map(move |(figure, time)| CsvLine { figure, time, ..line.clone() })
    });
    lines.collect()
}

fn account(found: &Attribution) -> Vec<CsvLine<'_>> {
    fn line<'a>(section: &'static str, part: &'a Part) -> CsvLine<'a> {
        let (name, note) = notes::part(&part.kind);
        CsvLine { section, name, figure: "time", time: Some(part.seconds), note, ..CsvLine::default() }
    }
    let account = &found.here.account;
    let parts = account.parts.iter().map(|part| line("account", part));
    parts.chain(account.beside.iter().map(|part| line("beside_account", part))).collect()
}

fn changes(found: &Attribution) -> Vec<CsvLine<'_>> {
    let rows = found.versus.iter().flat_map(|change| change.rows.iter().map(move |row| (&change.there, row)));
    rows.map(|(versus, row)| CsvLine {
        section: "versus",
        versus,
        name: &row.call,
        class: class::class(&row.class),
        figure: "change",
        calls: Some(row.calls),
        time: Some(row.change),
        note: notes::basis(&row.basis),
    })
    .collect()
}

fn totals(found: &Attribution) -> Vec<CsvLine<'_>> {
    let lines = found.versus.iter().flat_map(|change| {
        let beside = change.crossings.iter().map(|line| ("beside_versus", line));
        let all = change.lines.iter().chain([&change.total]).map(|line| ("versus_total", line));
        all.chain(beside).map(move |(section, line)| (section, &change.there, line))
    });
    lines
        .map(|(section, versus, line)| {
            let (name, note) = notes::line(line);
            CsvLine { section, versus, name, figure: "change", time: Some(line.change), note, ..CsvLine::default() }
        })
        .collect()
}

fn advice(found: &Attribution) -> Vec<CsvLine<'_>> {
    let lines = found.advice.iter().map(|advice| CsvLine {
        section: "advice",
        name: advice.rule.name(),
        figure: "saved",
        calls: Some(advice.calls),
        time: Some(advice.saved),
        note: words::advice::what(advice),
        ..CsvLine::default()
    });
    lines.collect()
}
