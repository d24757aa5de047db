//! An attribution as tables: where the time went, the account, what other unit costs would change, advice. Called by
//! `cli::attribute`.

use crate::attribute::Attribution;
use crate::attribute::breakdown::{Account, Breakdown, CallRow, Part};
use crate::attribute::change::Change;
use crate::attribute::lines::{ChangeLine, ChangeRow};
use crate::attribute::path::{Path, PathPart};
use crate::attribute::spread::Seconds;
use crate::document::{Block, Document};
use crate::model::{By, Profile};
use crate::prose::counted;
use crate::report::attribution::notes::{self, account_note, basis, range, seconds};
use crate::report::attribution::{advice, verdict, warnings};
use crate::report::numbers::{TimeUnit, percent, significant, thousands};
use crate::report::profile::class;
use crate::report::{Cell, Spec, Table};

/// How many rows the tables for people have.
#[derive(Clone, Copy, Debug)]
pub struct Top {
    pub calls: usize,
    pub changes: usize,
}

/// A table for each question; for programs one list of all numbers.
pub fn attribution_document((profile, found): (&Profile, &Attribution), by: By, top: Top) -> Document {
    let blocks = tables(profile, found, by, top).into_iter().map(Block::Table).collect();
    Document { blocks, records: crate::report::attribution::csv::records(found) }
}

/// The tables of a page: calls by name, `most` rows at most.
pub fn attribution_tables(profile: &Profile, found: &Attribution, most: usize) -> Vec<Table> {
    tables(profile, found, By::Call, Top { calls: most, changes: most })
}

/// A sentence for each piece of advice: `0.0312 s (0.0156 to 0.0624): reads of under 128 bytes: ...`; that there is none, if so.
pub fn advice_lines(profile: &Profile, found: &Attribution) -> Vec<String> {
    if found.advice.is_empty() { advice::none(profile) } else { found.advice.iter().map(advice::line).collect() }
}

fn tables(profile: &Profile, found: &Attribution, by: By, top: Top) -> Vec<Table> {
    let mut tables: Vec<Table> = found.here.path.iter().map(path).collect();
    tables.extend([account(&found.here.account), calls(profile, &found.here, by, top.calls)]);
    for change in &found.versus {
        tables.extend([changes(change, top.changes), lines(change)]);
    }
    tables.push(advice::table(profile, &found.advice));
    if let Some(last) = tables.last_mut() {
        last.notes.extend(found.warnings.iter().map(|w| format!("Warning: {}.", warnings::warning(w))));
    }
    tables.retain(|table| !table.rows().is_empty() || !table.notes.is_empty());
    tables.iter().map(Table::without_empty).collect()
}

fn calls(profile: &Profile, here: &Breakdown, by: By, most: usize) -> Table {
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
    notes.extend(verdict::without_unit_cost(&here.unpriced));
    let shown = &here.rows[..here.rows.len().min(most)];
    Table::of(&call_columns(here, by), shown).titled(title).noted(notes)
}

fn call_columns(here: &Breakdown, by: By) -> Vec<Spec<'static, CallRow>> {
    let times = |row: &CallRow| [row.on_cpu_s, row.elapsed_s, row.priced.map(|priced| priced.value)];
    let unit = TimeUnit::of(here.rows.iter().flat_map(times).flatten().fold(0.0, f64::max));
    let time = move |what: &str, of: fn(&CallRow) -> Option<f64>| {
        Spec::right(&unit.title(what), move |row: &CallRow| {
            of(row).map_or(Cell::default(), |seconds| Cell::number(unit.text(seconds), seconds))
        })
    };
    let mut columns = vec![
        Spec::left("call", |row: &CallRow| row.call.as_str().into()),
        Spec::left("class", |row: &CallRow| class::class(&row.class).into()).shown_if(by == By::Class),
        Spec::right("calls", |row: &CallRow| Cell::number(thousands(row.calls as f64), row.calls as f64)),
    ];
    columns.extend(match here.measured {
        true => vec![
            time("on CPU", |row| row.on_cpu_s),
            Spec::right("% wall", |row: &CallRow| row.wall_share.map_or(Cell::default(), share)),
            time("crossing", |row| Some(row.crossing?.value)),
            time("work", |row| Some(row.work?.value)),
            time("runnable", |row| row.runnable_s).expendable(1),
            time("blocked", |row| row.blocked_s),
        ],
        false => vec![
            time("by unit cost", |row| Some(row.priced?.value)),
            Spec::right("range", move |row: &CallRow| {
                let ends = |priced: Seconds| (unit.text(priced.low), unit.text(priced.high));
                let both = |(low, high)| if low == high { String::new() } else { format!("{low} to {high}") };
                row.priced.map_or(Cell::default(), |priced| both(ends(priced)).into())
            }),
            time("crossing", |row| Some(row.crossing?.value)),
            time("elapsed", |row| row.elapsed_s),
        ],
    });
    columns
}

fn share(share: f64) -> Cell {
    Cell::number(format!("{:.1}", 100.0 * share), share)
}

fn path(path: &Path) -> Table {
    let sum: f64 = path.parts.iter().map(|part| part.seconds).sum();
    let one = |part: &PathPart| {
        let (name, note) = notes::path(&part.kind);
        (name, part.seconds, note)
    };
    let total = ("sum".to_string(), sum, String::new());
    let lines: Vec<(String, f64, String)> = path.parts.iter().map(one).chain([total]).collect();
    let last = lines.len() - 1;
    let columns = [
        Spec::left("part", |(name, ..): &(String, f64, String)| name.as_str().into()),
        Spec::right("s", |(_, time, _): &(String, f64, String)| Cell::number(seconds(*time), *time)),
        Spec::right("%", move |(_, time, _): &(String, f64, String)| {
            Cell::number(percent(100.0 * time / path.wall_s), 100.0 * time / path.wall_s)
        }),
        Spec::left("how it is known", |(.., note): &(String, f64, String)| note.as_str().into()).wrapping(),
    ];
    let title = format!("Where the wall time went: {} s", seconds(path.wall_s));
    Table::of(&columns, &lines).with_headings(|row| row == last).titled(title)
}

fn account(account: &Account) -> Table {
    let title = match (account.wall_s, account.cpus, account.whole) {
        (Some(wall), Some(cpus), Some(whole)) => {
            let cpus = counted(cpus, "CPU");
            format!("Where the time went: wall {} s x {cpus} used = {} s", seconds(wall), seconds(whole))
        }
        (_, _, Some(whole)) => format!("What the CPU time was: {} s", seconds(whole)),
        _ => "What is known of the time".to_string(),
    };
    let whole = account.whole.filter(|whole| *whole > 0.0);
    let sum = |_| AccountLine {
        name: "sum",
        time: Seconds::exactly(account.parts.iter().map(|part| part.seconds.value).sum()),
        whole,
        note: String::new(),
    };
    let mut lines: Vec<AccountLine> = account.parts.iter().map(|part| AccountLine::of(part, whole)).collect();
    let sum_at = account.whole.map(|_| lines.len());
    lines.extend(account.whole.map(sum));
    lines.extend(account.beside.iter().map(|part| AccountLine::beside(part, whole)));
    let columns = [
        Spec::left("part", |line: &AccountLine| line.name.into()),
        Spec::right("s", |line: &AccountLine| Cell::number(seconds(line.time.value), line.time.value)),
        Spec::right("range", |line: &AccountLine| range(line.time).into()),
        Spec::right("%", AccountLine::percent),
        Spec::left("how it is known", |line: &AccountLine| line.note.as_str().into()).wrapping(),
    ];
    let table = Table::of(&columns, &lines).with_headings(|row| Some(row) == sum_at);
    table.titled(title).noted(account.notes.iter().map(account_note).collect())
}

/// A line of the account.
struct AccountLine {
    name: &'static str,
    time: Seconds,
    /// What it is a share of; `None` for a part of nothing.
    whole: Option<f64>,
    note: String,
}

impl AccountLine {
    fn of(part: &Part, whole: Option<f64>) -> AccountLine {
        let (name, note) = notes::part(&part.kind);
        AccountLine { name, time: part.seconds, whole, note }
    }

    /// A part that does not belong to the sum, if there is one.
    fn beside(part: &Part, whole: Option<f64>) -> AccountLine {
        let line = AccountLine::of(part, None);
        let prefix = if whole.is_some() { "not in the sum: " } else { "" };
        AccountLine { note: format!("{prefix}{}", line.note), ..line }
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
        Spec::left("by", |row: &ChangeRow| basis(&row.basis).into()).wrapping().expendable(1),
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
    let named = |line| {
        let (name, note) = notes::line(line);
        (name.to_string(), note, line)
    };
    let mut lines: Vec<(String, String, &ChangeLine)> = change.lines.iter().chain([&change.total]).map(named).collect();
    let total_at = lines.len() - 1;
    lines.extend(change.crossings.iter().map(named).map(|(name, note, line)| (format!("({name})"), note, line)));
    let number = |value: f64| Cell::number(seconds(value), value);
    let columns = [
        Spec::left("line", |(name, ..): &(String, String, &ChangeLine)| name.as_str().into()),
        Spec::right("here s", move |(.., line): &(String, String, &ChangeLine)| number(line.here_s)),
        Spec::right("there s", move |(.., line): &(String, String, &ChangeLine)| number(line.there_s())),
        Spec::right("change s", |(.., line): &(String, String, &ChangeLine)| signed(line.change.value)),
        Spec::right("range", |(.., line): &(String, String, &ChangeLine)| range(line.change).into()),
        Spec::left("how", |(_, note, _): &(String, String, &ChangeLine)| note.as_str().into()).wrapping().expendable(1),
    ];
    let table = Table::of(&columns, &lines).with_headings(|row| row == total_at);
    table.noted(verdict::notes(change))
}
