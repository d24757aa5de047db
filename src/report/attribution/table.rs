//! An attribution as tables: where the time went, the account, what other unit costs would change, advice. `cli::attribute`
//! calls it by `write_attribution`.

use crate::attribute::Attribution;
use crate::attribute::advice::Advice;
use crate::attribute::change::{Change, ChangeRow, Line};
use crate::attribute::here::{Account, Here, Part, Row};
use crate::attribute::spread::Seconds;
use crate::model::{By, Profile};
use crate::report::attribution::notes::{range, seconds};
use crate::report::numbers::{percent, significant, thousands};
use crate::report::profile::class;
use crate::report::{AttributionDocument, Cell, Format, Screen, Spec, Table, write_json, write_table};
use anyhow::Result;
use std::io::Write;

/// How many rows the tables for people have.
#[derive(Clone, Copy, Debug)]
pub struct Top {
    pub calls: usize,
    pub changes: usize,
}

/// Writes an attribution. Text and Markdown have a table for each question, CSV one table of all figures, JSON is the
/// analysis itself.
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
        Format::Json => return write_json(&AttributionDocument { command: &profile.command, found }, out),
        Format::Csv => return crate::report::format::csv::write(&crate::report::attribution::csv::records(found), out),
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
    tables.retain(|table| !table.rows().is_empty() || !table.notes.is_empty());
    tables.iter().map(Table::without_empty).collect()
}

fn calls(profile: &Profile, here: &Here, by: By, most: usize) -> Table {
    let name = crate::report::profile::notes::title(profile);
    let costs = here.costs.as_ref().map_or_else(|| "no unit costs".to_string(), |label| format!("unit costs: {label}"));
    let title = if name.is_empty() { format!("Here ({costs})") } else { format!("{name} ({costs})") };
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
    let shown = &here.rows[..here.rows.len().min(most)];
    Table::of(&call_columns(here.measured, by), shown).titled(title).noted(notes)
}

fn call_columns(measured: bool, by: By) -> Vec<Spec<'static, Row>> {
    let mut columns = vec![
        Spec::left("call", |row: &Row| row.call.as_str().into()),
        Spec::left("class", |row: &Row| class::class(&row.class).into()).shown_if(by == By::Class),
        Spec::right("calls", |row: &Row| Cell::number(thousands(row.calls as f64), row.calls as f64)),
    ];
    columns.extend(match measured {
        true => vec![
            Spec::right("on CPU s", |row: &Row| plain(row.on_cpu_s)),
            Spec::right("% wall", |row: &Row| row.wall_share.map_or(Cell::default(), share)),
            Spec::right("crossing s", |row: &Row| middle(row.crossing)),
            Spec::right("work s", |row: &Row| middle(row.work)),
            Spec::right("blocked s", |row: &Row| plain(row.blocked_s)),
        ],
        false => vec![
            Spec::right("by unit cost s", |row: &Row| middle(row.priced)),
            Spec::right("range", |row: &Row| row.priced.map_or(Cell::default(), |s| range(s).into())),
            Spec::right("crossing s", |row: &Row| middle(row.crossing)),
            Spec::right("elapsed s", |row: &Row| plain(row.elapsed_s)),
        ],
    });
    columns
}

fn plain(seconds: Option<f64>) -> Cell {
    seconds.map_or(Cell::default(), |s| Cell::number(format!("{s:.4}"), s))
}

fn middle(seconds: Option<Seconds>) -> Cell {
    plain(seconds.map(|s| s.value))
}

fn share(share: f64) -> Cell {
    Cell::number(format!("{:.1}", 100.0 * share), share)
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
    let sum = |whole: &f64| AccountLine {
        what: "sum",
        time: Seconds::exactly(account.parts.iter().map(|part| part.seconds.value).sum()),
        whole: Some(*whole).filter(|whole| *whole > 0.0),
        note: String::new(),
    };
    let (parts, beside) = (account.parts.iter(), account.beside.iter());
    let mut lines: Vec<AccountLine> = parts.map(|part| AccountLine::of(part, whole)).collect();
    let sum_at = account.whole.map(|_| lines.len());
    lines.extend(account.whole.iter().map(sum));
    lines.extend(
        beside.map(|part| if whole.is_some() { AccountLine::beside(part) } else { AccountLine::of(part, whole) }),
    );
    let columns = [
        Spec::left("part", |line: &AccountLine| line.what.into()),
        Spec::right("s", |line: &AccountLine| Cell::number(seconds(line.time.value), line.time.value)),
        Spec::right("range", |line: &AccountLine| range(line.time).into()),
        Spec::right("%", AccountLine::percent),
        Spec::left("how it is known", |line: &AccountLine| line.note.as_str().into()).wrapping(),
    ];
    let table = Table::of(&columns, &lines).with_headings(|row| Some(row) == sum_at);
    table.titled(title).noted(account.notes.clone())
}

/// A line of the account.
struct AccountLine {
    what: &'static str,
    time: Seconds,
    /// What it is a share of; `None` where it is of nothing.
    whole: Option<f64>,
    note: String,
}

impl AccountLine {
    fn of(part: &Part, whole: Option<f64>) -> AccountLine {
        AccountLine { what: part.what, time: part.seconds, whole, note: part.note.clone() }
    }

    fn beside(part: &Part) -> AccountLine {
        AccountLine { note: format!("not in the sum: {}", part.note), ..AccountLine::of(part, None) }
    }

    fn percent(&self) -> Cell {
        self.whole.map_or(Cell::default(), |whole| {
            let share = 100.0 * self.time.value / whole;
            Cell::number(if share < 0.0 { format!("{share:.1}") } else { percent(share) }, share)
        })
    }
}

fn changes(change: &Change, most: usize) -> Table {
    let columns = [
        Spec::left("call", |row: &ChangeRow| row.call.as_str().into()),
        Spec::left("class", |row: &ChangeRow| class::class(&row.class).into()),
        Spec::right("calls", |row: &ChangeRow| Cell::number(thousands(row.calls as f64), row.calls as f64))
            .expendable(2),
        Spec::right("here s", |row: &ChangeRow| Cell::number(seconds(row.here_s), row.here_s)),
        Spec::right("ratio", |row: &ChangeRow| Cell::number(significant(row.ratio), row.ratio)),
        Spec::right("change s", |row: &ChangeRow| signed(row.change.value)),
        Spec::right("range", |row: &ChangeRow| range(row.change).into()),
        Spec::left("by", |row: &ChangeRow| row.from.as_str().into()).wrapping().expendable(1),
    ];
    let mut notes = vec![];
    if change.rows.len() > most {
        notes.push(format!("{} more rows change less (--top shows more)", change.rows.len() - most));
    }
    let shown = &change.rows[..change.rows.len().min(most)];
    let title = format!("What would change with the unit costs of {}", change.there);
    Table::of(&columns, shown).titled(title).noted(notes)
}

fn signed(value: f64) -> Cell {
    let sign = if value > 0.0 { "+" } else { "" };
    Cell::number(format!("{sign}{}", seconds(value)), value)
}

fn lines(change: &Change) -> Table {
    let (lines, total) = (change.lines.iter(), change.total.iter());
    let beside = change.crossings.iter().map(|line| (format!("({})", line.what), line));
    let summed: Vec<(String, &Line)> = lines.chain(total).map(|line| (line.what.clone(), line)).collect();
    let total_at = change.lines.len()..summed.len();
    let all: Vec<(String, &Line)> = summed.into_iter().chain(beside).collect();
    let columns = [
        Spec::left("line", |(what, _): &(String, &Line)| what.as_str().into()),
        Spec::right("here s", |(_, line): &(String, &Line)| Cell::number(seconds(line.here_s), line.here_s)),
        Spec::right("there s", |(_, line): &(String, &Line)| Cell::number(seconds(line.there_s()), line.there_s())),
        Spec::right("change s", |(_, line): &(String, &Line)| signed(line.change.value)),
        Spec::right("range", |(_, line): &(String, &Line)| range(line.change).into()),
        Spec::left("how", |(_, line): &(String, &Line)| line.note.as_str().into()).wrapping().expendable(1),
    ];
    let table = Table::of(&columns, &all).with_headings(|row| total_at.contains(&row));
    table.noted(crate::report::attribution::notes::notes(change))
}

fn advice(advice: &[Advice]) -> Table {
    let number = |value: f64| Cell::number(seconds(value), value);
    let columns = [
        Spec::right("saves s", move |advice: &Advice| number(advice.saved.value)),
        Spec::right("range", |advice: &Advice| range(advice.saved).into()),
        Spec::right("calls", |advice: &Advice| Cell::number(thousands(advice.calls as f64), advice.calls as f64)),
        Spec::right("took s", move |advice: &Advice| advice.measured_s.map_or(Cell::default(), number)),
        Spec::left("what", |advice: &Advice| advice.what.as_str().into()).wrapping(),
        Spec::left("by unit costs", |advice: &Advice| advice.from.as_str().into()).wrapping().expendable(1),
    ];
    Table::of(&columns, advice).titled("What could be saved")
}
