//! An attribution as one table of all figures, for programs that read CSV: one line a figure with its section.

use super::{Cell, Column, Table, class_words};
use crate::attribute::Attribution;
use crate::attribute::spread::Seconds;

/// Columns: section (`calls`, `account`, `versus`, `versus total`, `advice`), what the figure is compared with, name,
/// class, calls, seconds, their range, and a note.
pub fn table(found: &Attribution) -> Table {
    let right = ["calls", "seconds", "low", "high"].map(Column::right);
    let mut columns = ["section", "versus", "name", "class"].map(Column::left).to_vec();
    columns.extend(right);
    columns.push(Column::left("note"));
    let rows = [calls(found), account(found), changes(found), lines(found), advice(found)].concat();
    Table { title: String::new(), columns, rows, notes: vec![] }
}

struct Line<'a> {
    section: &'a str,
    versus: &'a str,
    name: &'a str,
    class: String,
    calls: Option<u64>,
    seconds: Option<Seconds>,
    note: &'a str,
}

impl Line<'_> {
    fn cells(self) -> Vec<Cell> {
        let number = |value: Option<f64>| value.map_or(Cell::default(), |value| Cell::number(value.to_string(), value));
        vec![
            self.section.into(),
            self.versus.into(),
            self.name.into(),
            self.class.into(),
            number(self.calls.map(|calls| calls as f64)),
            number(self.seconds.map(|s| s.value)),
            number(self.seconds.map(|s| s.low)),
            number(self.seconds.map(|s| s.high)),
            self.note.into(),
        ]
    }
}

const EMPTY: Line =
    Line { section: "", versus: "", name: "", class: String::new(), calls: None, seconds: None, note: "" };

fn calls(found: &Attribution) -> Vec<Vec<Cell>> {
    let mut lines = Vec::new();
    for row in &found.here.rows {
        let figures = [
            ("on CPU", row.on_cpu_s.map(Seconds::exactly)),
            ("blocked", row.blocked_s.map(Seconds::exactly)),
            ("crossing", row.crossing),
            ("work", row.work),
            ("by unit cost", row.priced),
        ];
        let known = figures.into_iter().filter(|(_, seconds)| seconds.is_some());
        let name = row.call.as_str();
        let line = |(note, seconds)| Line {
            section: "calls",
            name,
            class: class_words::class(&row.class),
            calls: Some(row.calls),
            seconds,
            note,
            ..EMPTY
        };
        lines.extend(known.map(line).map(Line::cells));
    }
    lines
}

fn account(found: &Attribution) -> Vec<Vec<Cell>> {
    let line = |section, part: &crate::attribute::here::Part| {
        Line { section, name: part.what, seconds: Some(part.seconds), note: &part.note, ..EMPTY }.cells()
    };
    let account = &found.here.account;
    let parts = account.parts.iter().map(|part| line("account", part));
    parts.chain(account.beside.iter().map(|part| line("beside the account", part))).collect()
}

fn changes(found: &Attribution) -> Vec<Vec<Cell>> {
    let rows = found.versus.iter().flat_map(|change| change.rows.iter().map(move |row| (&change.there, row)));
    rows.map(|(versus, row)| {
        let (class, calls, seconds) = (class_words::class(&row.class), Some(row.calls), Some(row.change));
        Line { section: "versus", versus, name: &row.call, class, calls, seconds, note: &row.from }.cells()
    })
    .collect()
}

fn lines(found: &Attribution) -> Vec<Vec<Cell>> {
    let lines = found.versus.iter().flat_map(|change| {
        let beside = change.crossings.iter().map(|line| ("versus beside", line));
        let all = change.lines.iter().chain(&change.total).map(|line| ("versus total", line));
        all.chain(beside).map(move |(section, line)| (section, &change.there, line))
    });
    lines
        .map(|(section, versus, line)| {
            Line { section, versus, name: &line.what, seconds: Some(line.change), note: &line.note, ..EMPTY }.cells()
        })
        .collect()
}

fn advice(found: &Attribution) -> Vec<Vec<Cell>> {
    let line = |advice: &crate::attribute::advice::Advice| {
        let (calls, seconds) = (Some(advice.calls), Some(advice.saved));
        Line { section: "advice", name: advice.rule, calls, seconds, note: &advice.what, ..EMPTY }.cells()
    };
    found.advice.iter().map(line).collect()
}
