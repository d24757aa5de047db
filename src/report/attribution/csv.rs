//! An attribution as one list of all figures, for programs that read CSV: one line a figure with its section.

use crate::attribute::Attribution;
use crate::attribute::here::Part;
use crate::attribute::spread::Seconds;
use crate::report::profile::class;
use crate::report::table::spec::{Records, Spec};

/// One figure, its section, and what it is compared with.
#[derive(Clone, Default)]
struct Line<'a> {
    section: &'static str,
    versus: &'a str,
    name: &'a str,
    class: String,
    figure: &'static str,
    calls: Option<u64>,
    time: Option<Seconds>,
    note: &'a str,
}

/// All figures of `found`.
pub fn records(found: &Attribution) -> Records {
    let lines = [calls(found), account(found), changes(found), totals(found), advice(found)].concat();
    Records::of(&columns(), &lines)
}

fn columns<'a>() -> Vec<Spec<'static, Line<'a>>> {
    vec![
        Spec::hidden()
            .text("section", |line: &Line| line.section.to_string())
            .text("versus", |line| line.versus.to_string())
            .text("name", |line| line.name.to_string())
            .text("class", |line| line.class.clone())
            .text("figure", |line| line.figure.to_string()),
        Spec::hidden()
            .count("calls", |line: &Line| line.calls)
            .number("time_s", |line| Some(line.time?.value))
            .number("low_s", |line| Some(line.time?.low))
            .number("high_s", |line| Some(line.time?.high)),
        Spec::hidden().text("note", |line: &Line| line.note.to_string()),
    ]
}

fn calls(found: &Attribution) -> Vec<Line<'_>> {
    let lines = found.here.rows.iter().flat_map(|row| {
        let figures = [
            ("on_cpu", row.on_cpu_s.map(Seconds::exactly)),
            ("blocked", row.blocked_s.map(Seconds::exactly)),
            ("crossing", row.crossing),
            ("work", row.work),
            ("by_unit_cost", row.priced),
        ];
        let line = Line {
            section: "calls",
            name: &row.call,
            class: class::class(&row.class),
            calls: Some(row.calls),
            ..Line::default()
        };
        let known = figures.into_iter().filter(|(_, time)| time.is_some());
        known.map(move |(figure, time)| Line { figure, time, ..line.clone() })
    });
    lines.collect()
}

fn account(found: &Attribution) -> Vec<Line<'_>> {
    fn line<'a>(section: &'static str, part: &'a Part) -> Line<'a> {
        let (time, note) = (Some(part.seconds), part.note.as_str());
        Line { section, name: part.what, figure: "time", time, note, ..Line::default() }
    }
    let account = &found.here.account;
    let parts = account.parts.iter().map(|part| line("account", part));
    parts.chain(account.beside.iter().map(|part| line("beside_account", part))).collect()
}

fn changes(found: &Attribution) -> Vec<Line<'_>> {
    let rows = found.versus.iter().flat_map(|change| change.rows.iter().map(move |row| (&change.there, row)));
    rows.map(|(versus, row)| Line {
        section: "versus",
        versus,
        name: &row.call,
        class: class::class(&row.class),
        figure: "change",
        calls: Some(row.calls),
        time: Some(row.change),
        note: &row.from,
    })
    .collect()
}

fn totals(found: &Attribution) -> Vec<Line<'_>> {
    let lines = found.versus.iter().flat_map(|change| {
        let beside = change.crossings.iter().map(|line| ("beside_versus", line));
        let all = change.lines.iter().chain(&change.total).map(|line| ("versus_total", line));
        all.chain(beside).map(move |(section, line)| (section, &change.there, line))
    });
    lines
        .map(|(section, versus, line)| {
            let (time, note) = (Some(line.change), line.note.as_str());
            Line { section, versus, name: &line.what, figure: "change", time, note, ..Line::default() }
        })
        .collect()
}

fn advice(found: &Attribution) -> Vec<Line<'_>> {
    let lines = found.advice.iter().map(|advice| {
        let (calls, time) = (Some(advice.calls), Some(advice.saved));
        Line {
            section: "advice",
            name: advice.rule,
            figure: "saved",
            calls,
            time,
            note: &advice.what,
            ..Line::default()
        }
    });
    lines.collect()
}
