//! An attribution as tables: where the time went, the account, what other unit costs would change, advice. `cli::attribute`
//! calls it by `write_attribution`.

use super::attribution_words::{range, seconds};
use super::numbers::{percent, significant, thousands};
use super::{Cell, Column, Format, Screen, Style, Table, class_words, write_table};
use crate::attribute::Attribution;
use crate::attribute::advice::Advice;
use crate::attribute::change::{Change, ChangeRow, Line};
use crate::attribute::here::{Account, Here, Part, Row};
use crate::attribute::spread::Seconds;
use crate::model::{By, Profile};
use anyhow::Result;
use std::io::Write;

/// How many rows the tables for people have.
#[derive(Clone, Copy, Debug)]
pub struct Top {
    pub calls: usize,
    pub changes: usize,
}

/// Writes an attribution. Text and Markdown have a table for each question, CSV one table of all figures, JSON is
/// `syscost.attribution/1`.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_attribution(
    (profile, found): (&Profile, &Attribution),
    (by, top): (By, Top),
    (format, screen): (Format, Screen),
    out: &mut dyn Write,
) -> Result<()> {
    match format {
        Format::Json => return super::json_attribution::write(profile, found, out),
        Format::Csv => return write_table(&super::attribution_csv::table(found), format, screen, out),
        Format::Text | Format::Markdown => {}
    }
    for (i, table) in tables(profile, found, by, top).iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        write_table(table, format, screen, out)?;
    }
    Ok(())
}

fn tables(profile: &Profile, found: &Attribution, by: By, top: Top) -> Vec<Table> {
    let mut tables = vec![calls(profile, &found.here, by, top.calls), account(&found.here.account)];
    for change in &found.versus {
        tables.extend([changes(change, top.changes), lines(change)]);
    }
    if !found.advice.is_empty() {
        tables.push(advice(&found.advice));
    }
    if let Some(last) = tables.last_mut() {
        last.notes.extend(found.warnings.iter().map(|warning| format!("Warning: {warning}.")));
    }
    tables.retain(|table| !table.rows.is_empty() || !table.notes.is_empty());
    tables.iter().map(Table::without_empty).collect()
}

fn calls(profile: &Profile, here: &Here, by: By, most: usize) -> Table {
    let name = super::profile_words::title(profile);
    let costs = here.costs.as_ref().map_or_else(|| "no unit costs".to_string(), |label| format!("unit costs: {label}"));
    let title = if name.is_empty() { format!("Here ({costs})") } else { format!("{name} ({costs})") };
    let mut columns = vec![Column::left("call")];
    columns.extend((by == By::Class).then(|| Column::left("class")));
    columns.push(Column::right("calls"));
    columns.extend(match here.measured {
        true => ["on CPU s", "% wall", "crossing s", "work s", "blocked s"].map(Column::right).to_vec(),
        false => ["by unit cost s", "range", "crossing s", "elapsed s"].map(Column::right).to_vec(),
    });
    let rows = here.rows.iter().take(most).map(|r| call(r, here.measured, by)).collect();
    let mut notes = vec![];
    if let Some(rest) = here.rows.get(most..).filter(|rest| !rest.is_empty()) {
        let on_cpu: f64 = rest.iter().filter_map(|r| r.on_cpu_s.or(r.priced.map(|p| p.value))).sum();
        let calls: u64 = rest.iter().fold(0, |sum, r| r.calls.saturating_add(sum));
        notes.push(format!(
            "{} more rows: {} calls, {on_cpu:.4} s (--top shows more)",
            rest.len(),
            thousands(calls as f64)
        ));
    }
    Table { title, columns, rows, notes }
}

fn call(row: &Row, measured: bool, by: By) -> Vec<Cell> {
    let mut cells: Vec<Cell> = vec![row.call.as_str().into()];
    cells.extend((by == By::Class).then(|| Cell::from(class_words::class(&row.class))));
    cells.push(Cell::number(thousands(row.calls as f64), row.calls as f64));
    let plain = |seconds: Option<f64>| seconds.map_or(Cell::default(), |s| Cell::number(format!("{s:.4}"), s));
    let middle = |seconds: Option<Seconds>| plain(seconds.map(|s| s.value));
    cells.extend(match measured {
        true => vec![
            plain(row.on_cpu_s),
            row.wall_share.map_or(Cell::default(), |share| Cell::number(format!("{:.1}", 100.0 * share), share)),
            middle(row.crossing),
            middle(row.work),
            plain(row.blocked_s),
        ],
        false => vec![
            middle(row.priced),
            row.priced.map_or(Cell::default(), |s| range(s).into()),
            middle(row.crossing),
            plain(row.elapsed_s),
        ],
    });
    cells
}

fn account(account: &Account) -> Table {
    let title = match (account.wall_s, account.cpus, account.whole) {
        (Some(wall), Some(cpus), Some(whole)) => {
            let plural = if cpus == 1 { "" } else { "s" };
            format!("Where the time went: wall {} s x {cpus} CPU{plural} used = {} s", seconds(wall), seconds(whole))
        }
        (_, _, Some(whole)) => format!("Where the CPU time went: {} s", seconds(whole)),
        _ => "What is known of the time".to_string(),
    };
    let whole = account.whole.filter(|whole| *whole > 0.0);
    let row = |part: &Part| part_row(part.what, part.seconds, whole, &part.note);
    let mut rows: Vec<Vec<Cell>> = account.parts.iter().map(row).collect();
    if let Some(whole) = account.whole {
        let sum = Seconds::exactly(account.parts.iter().map(|part| part.seconds.value).sum());
        let cells = part_row("sum", sum, Some(whole).filter(|whole| *whole > 0.0), "");
        rows.push(cells.into_iter().map(|cell| Cell { style: Style::Heading, ..cell }).collect());
    }
    let beside = |part: &Part| part_row(part.what, part.seconds, None, &format!("not in the sum: {}", part.note));
    let outside = |part: &Part| if whole.is_some() { beside(part) } else { row(part) };
    rows.extend(account.beside.iter().map(outside));
    let columns = vec![
        Column::left("part"),
        Column::right("s"),
        Column::right("range"),
        Column::right("%"),
        Column::left("how it is known").wrapping(),
    ];
    Table { title, columns, rows, notes: account.notes.clone() }
}

fn part_row(what: &str, time: Seconds, whole: Option<f64>, note: &str) -> Vec<Cell> {
    let share = whole.map_or(Cell::default(), |whole| {
        let share = 100.0 * time.value / whole;
        Cell::number(if share < 0.0 { format!("{share:.1}") } else { percent(share) }, share)
    });
    vec![what.into(), Cell::number(seconds(time.value), time.value), range(time).into(), share, note.into()]
}

fn changes(change: &Change, most: usize) -> Table {
    let columns = vec![
        Column::left("call"),
        Column::left("class"),
        Column::right("calls").expendable(2),
        Column::right("here s"),
        Column::right("ratio"),
        Column::right("change s"),
        Column::right("range"),
        Column::left("by").wrapping().expendable(1),
    ];
    let rows = change.rows.iter().take(most).map(changed).collect();
    let mut notes = vec![];
    if change.rows.len() > most {
        notes.push(format!("{} more rows change less (--top shows more)", change.rows.len() - most));
    }
    Table { title: format!("What would change with the unit costs of {}", change.there), columns, rows, notes }
}

fn changed(row: &ChangeRow) -> Vec<Cell> {
    vec![
        row.call.as_str().into(),
        class_words::class(&row.class).into(),
        Cell::number(thousands(row.calls as f64), row.calls as f64),
        Cell::number(seconds(row.here_s), row.here_s),
        Cell::number(significant(row.ratio), row.ratio),
        signed(row.change.value),
        range(row.change).into(),
        row.from.as_str().into(),
    ]
}

fn signed(value: f64) -> Cell {
    let sign = if value > 0.0 { "+" } else { "" };
    Cell::number(format!("{sign}{}", seconds(value)), value)
}

fn lines(change: &Change) -> Table {
    let columns = vec![
        Column::left("line"),
        Column::right("here s"),
        Column::right("there s"),
        Column::right("change s"),
        Column::right("range"),
        Column::left("how").wrapping().expendable(1),
    ];
    let total = |line: &Line| line_row(line).into_iter().map(|cell| Cell { style: Style::Heading, ..cell }).collect();
    let beside = |line: &Line| {
        let mut cells = line_row(line);
        cells[0] = format!("({})", line.what).into();
        cells
    };
    let mut rows: Vec<Vec<Cell>> = change.lines.iter().map(line_row).collect();
    rows.extend(change.total.iter().map(total));
    rows.extend(change.crossings.iter().map(beside));
    Table { title: String::new(), columns, rows, notes: super::attribution_words::notes(change) }
}

fn line_row(line: &Line) -> Vec<Cell> {
    vec![
        line.what.as_str().into(),
        Cell::number(seconds(line.here_s), line.here_s),
        Cell::number(seconds(line.there_s()), line.there_s()),
        signed(line.change.value),
        range(line.change).into(),
        line.note.as_str().into(),
    ]
}

fn advice(advice: &[Advice]) -> Table {
    let row = |advice: &Advice| {
        vec![
            Cell::number(seconds(advice.saved.value), advice.saved.value),
            range(advice.saved).into(),
            Cell::number(thousands(advice.calls as f64), advice.calls as f64),
            advice.measured_s.map_or(Cell::default(), |s| Cell::number(seconds(s), s)),
            advice.what.as_str().into(),
            advice.from.as_str().into(),
        ]
    };
    let columns = vec![
        Column::right("saves s"),
        Column::right("range"),
        Column::right("calls"),
        Column::right("took s"),
        Column::left("what").wrapping(),
        Column::left("by unit costs").wrapping().expendable(1),
    ];
    Table { title: "What could be saved".to_string(), columns, rows: advice.iter().map(row).collect(), notes: vec![] }
}
