//! The columns of a run: one list for text, Markdown, pages, CSV and rows. A new column is one entry in `columns`.

use super::cold;
use crate::derive::DerivedRow;
use crate::document::{Spec, params};
use crate::model::{Combination, Entries, EntriesStatus, Failure, Scale, Unit};
use crate::report::numbers::{entries, instructions, nanoseconds, percent, rate, three_figures};
use crate::report::study::{self, Scaled};
use crate::report::{Cell, Style};
use crate::stats::{Ranged, UserShare};
use crate::summary::{Instructions, Row, RowCost, Summary};
use indexmap::IndexSet;
use std::collections::BTreeMap;

/// A row: a record, or a row that a study derives from two.
pub struct Line<'a> {
    /// `None` for derived rows.
    pub row: Option<&'a Row>,
    pub kind: &'static str,
    pub label: &'a str,
    pub environment: &'a str,
    pub params: &'a BTreeMap<String, u64>,
    pub scale: Option<&'a Scale>,
    /// The cost, or a difference of costs, in nanoseconds.
    pub time: Option<Ranged>,
    /// The number of instructions, or a difference of such numbers, with the range of its repeats.
    instructions: Option<Ranged>,
    ratio: Option<Ranged>,
    half_width_percent: Option<f64>,
    error: Option<&'a str>,
    pub name: Cell,
    pub cost: Cell,
    /// The number of instructions; empty for a time.
    pub count: Cell,
    pub precision: Cell,
    /// Of a derived row.
    interval: Cell,
    /// The kernel entries.
    pub entries: Cell,
}

/// `rows` in their order, followed by the derived rows.
pub fn lines<'a>(summary: &'a Summary, rows: &[&'a Row]) -> Vec<Line<'a>> {
    let records = rows.iter().map(|row| Line::of_record(row, summary));
    records.chain(summary.derived.iter().map(Line::of_derived)).collect()
}

/// The environments of a summary's rows, in order of appearance.
pub fn environments(summary: &Summary) -> IndexSet<&str> {
    summary.rows.iter().map(|row| row.case.environment.as_str()).collect()
}

/// The columns of `summary`. Programs always get the same ones; people get those that are not empty.
pub fn columns<'a>(summary: &'a Summary) -> Vec<Spec<'a, Line<'a>>> {
    let mut columns = identity(summary);
    columns.extend(costs(summary));
    columns.extend(instruction_counts(summary));
    columns.push(over_warm(summary));
    columns.push(scaled(summary));
    columns.extend(rates(summary));
    columns.extend(counts(summary));
    columns
}

/// What was measured.
fn identity<'a>(summary: &Summary) -> Vec<Spec<'a, Line<'a>>> {
    let several = environments(summary).len() > 1;
    vec![
        Spec::hidden().text("kind", |line: &Line| line.kind.to_string()),
        Spec::left("operation", |line: &Line| line.name.clone())
            .text("name", |line| line.label.to_string())
            .text("operation", |line| line.row.map_or(String::new(), |row| row.case.operation.clone())),
        Spec::left("environment", |line: &Line| Cell::styled(line.environment, Style::Faint))
            .shown_if(several)
            .text("language", |line| line.row.and_then(|row| row.case.language.clone()).unwrap_or_default())
            .text("environment", |line| line.environment.to_string())
            .text("params", |line| params(line.params)),
    ]
}

/// Whether any row is a number of instructions, and whether any is not.
pub fn units(summary: &Summary) -> [bool; 2] {
    let counted = summary.rows.iter().any(|row| row.instructions().is_some());
    [counted, !counted || summary.rows.iter().any(|row| row.instructions().is_none() && row.failure().is_none())]
}

/// The cost with its interval, and the ratio of a derived row.
fn costs<'a>(summary: &Summary) -> Vec<Spec<'a, Line<'a>>> {
    let [_, timed] = units(summary);
    let columns = vec![
        Spec::right("ns/op", |line: &Line| line.cost.clone()).number("median_ns", |line| Some(line.time?.value)),
        Spec::right("95% interval", |line: &Line| line.interval.clone())
            .shown_if(!summary.derived.is_empty())
            .expendable(1)
            .number("ci_low_ns", |line| Some(line.time?.low_high?.0))
            .number("ci_high_ns", |line| Some(line.time?.low_high?.1))
            .number("next_run_low_ns", |line| Some(line.figure()?.next_run?.low))
            .number("next_run_high_ns", |line| Some(line.figure()?.next_run?.high)),
        // `±` and `x call` are left out before `kernel entries`, which separates them: side by side they could be confused.
        Spec::right("±", |line: &Line| line.precision.clone())
            .yielding(1)
            .number("next_run_percent", |line| line.figure()?.next_run_percent())
            .number("half_width_percent", |line| line.half_width_percent),
        Spec::hidden()
            .number("ratio", |line: &Line| Some(line.ratio?.value))
            .number("ratio_low", |line| Some(line.ratio?.low_high?.0))
            .number("ratio_high", |line| Some(line.ratio?.low_high?.1)),
    ];
    columns.into_iter().map(|column| column.shown_if(timed)).collect()
}

/// What an emulated machine counted; no column of times has it.
fn instruction_counts<'a>(summary: &Summary) -> Vec<Spec<'a, Line<'a>>> {
    let [counted, _] = units(summary);
    let counts = || summary.rows.iter().filter_map(Row::instructions);
    let (ranges, nets) = (counts().any(|count| !count.is_exact()), counts().any(|count| count.net.is_some()));
    vec![
        Spec::right("instr/op", |line: &Line| line.count.clone())
            .shown_if(counted)
            .number("instructions", |line| Some(line.instructions?.value)),
        Spec::right("repeats", |line: &Line| line.count_range())
            .shown_if(counted && ranges)
            .expendable(1)
            .number("instructions_low", |line| Some(line.instructions?.low_high?.0))
            .number("instructions_high", |line| Some(line.instructions?.low_high?.1)),
        Spec::right("net instr", |line: &Line| line.row.and_then(Row::instructions).map_or(Cell::default(), net_cell))
            .shown_if(nets)
            .expendable(5)
            .number("net_instructions", |line| line.row?.instructions()?.net),
    ]
}

/// The ratio of a cold row to its warm one.
fn over_warm<'a>(summary: &Summary) -> Spec<'a, Line<'a>> {
    let ratio = |line: &Line| line.figure()?.cold_over_warm;
    let cell = move |line: &Line| {
        ratio(line).map_or(Cell::default(), |ratio| Cell::number(three_figures(ratio.value), ratio.value))
    };
    Spec::right("cold / warm", cell)
        .shown_if(cold::is_in(summary))
        .number("cold_over_warm", move |line| Some(ratio(line)?.value))
        .number("cold_over_warm_low", move |line| Some(ratio(line)?.low_high?.0))
        .number("cold_over_warm_high", move |line| Some(ratio(line)?.low_high?.1))
}

/// The cost on the study's scale.
fn scaled<'a>(summary: &'a Summary) -> Spec<'a, Line<'a>> {
    let scaled = Scaled::of(summary);
    let (has_scale, heading) = (scaled.is_some(), scaled.as_ref().map_or(String::new(), Scaled::heading));
    Spec::right(&heading, move |line: &Line| {
        scaled.as_ref().map_or(Cell::default(), |scaled| scaled.cell(line.scale, line.time))
    })
    .shown_if(has_scale)
    .count("scaled_calls", |line| Some(line.scale?.calls))
    .number("scaled_s", |line| Some(line.time?.value * line.scale?.calls as f64 / 1e9))
}

/// What follows from the samples besides the cost.
fn rates<'a>(summary: &Summary) -> Vec<Spec<'a, Line<'a>>> {
    let snippets = summary.rows.iter().any(|row| row.case.language.is_some());
    let [_, timed] = units(summary);
    let columns = vec![
        Spec::right("net", |line: &Line| line.of_figure(|f| time(f.net.map(|net| net.0))))
            .expendable(if snippets { 0 } else { 5 })
            .number("net_ns", |line| Some(line.figure()?.net?.0)),
        Spec::right("best", |line: &Line| line.of_figure(|f| time(f.best.map(|best| best.0))))
            .expendable(3)
            .number("best_ns", |line| Some(line.figure()?.best?.0)),
        Spec::right("calls/s", |line: &Line| line.at_rate(|f| Cell::number(rate(per_second(f)), per_second(f))))
            .expendable(4)
            .number("calls_per_s", |line| line.figure().filter(|_| !line.is_cold()).map(per_second)),
        Spec::hidden()
            .number("relative", |line: &Line| Some(line.figure()?.relative?.value))
            .number("relative_low", |line| Some(line.figure()?.relative?.next_run?.low))
            .number("relative_high", |line| Some(line.figure()?.relative?.next_run?.high)),
        Spec::right("usr/sys %", |line: &Line| line.of_figure(|f| f.user_share.map_or(Cell::default(), split_cell)))
            .expendable(2)
            .number("user_share", |line| Some(line.figure()?.user_share?.share))
            .number("user_share_error", |line| Some(line.figure()?.user_share?.standard_error)),
    ];
    columns.into_iter().map(|column| column.shown_if(timed)).collect()
}

/// What was counted, and why a row failed.
fn counts<'a>(summary: &Summary) -> Vec<Spec<'a, Line<'a>>> {
    let [_, timed] = units(summary);
    vec![
        Spec::left("kernel entries", |line: &Line| line.entries.clone())
            .wrapping()
            .number("kernel_entries", |line| Some(line.counted()?.total()))
            .text("kernel_entries_by_call", |line| Some(line.counted()?.to_string()))
            .text("entries_status", |line| line.status().map(str::to_string)),
        Spec::right("x call", |line: &Line| line.figure().map_or(Cell::default(), times_cell))
            .yielding(2)
            .shown_if(timed)
            .number("times_empty_call", |line| line.figure()?.times_empty_call),
        Spec::hidden().text("error", |line: &Line| line.error.map(str::to_string)),
    ]
}

impl<'a> Line<'a> {
    fn of_record(row: &'a Row, summary: &'a Summary) -> Line<'a> {
        let figure = row.cost();
        Line {
            row: Some(row),
            kind: "cost",
            label: row.case.label(),
            environment: &row.case.environment,
            params: &row.case.params,
            scale: summary.study.as_ref().and_then(|study| study.scale(row.case.label())),
            time: figure.map(RowCost::value),
            instructions: row.instructions().map(Instructions::value),
            ratio: row.versus.as_ref().map(|versus| versus.ratio),
            half_width_percent: figure.and_then(RowCost::half_width_percent),
            error: row.failure().map(|failure| failure.message.as_str()),
            name: Cell::from(row.case.to_string()),
            cost: of_figure(row, |figure| cost_cell(row, figure)),
            count: count_cell(row),
            interval: Cell::default(),
            precision: of_figure(row, precision_cell),
            entries: entries_cell(row),
        }
    }

    fn of_derived(row: &'a DerivedRow) -> Line<'a> {
        let (value, is_ratio) = (row.value.as_ref().ok().copied(), row.combination == Combination::Ratio);
        let is_count = row.unit == Unit::Instructions;
        let (cost, count) = (study::derived_value(row), Cell::default());
        let (cost, count) = if is_count { (count, cost) } else { (cost, count) };
        Line {
            row: None,
            kind: study::kind(row),
            label: &row.name,
            environment: &row.environment,
            params: &row.params,
            scale: row.scale.as_ref(),
            time: value.filter(|_| !is_ratio && !is_count),
            instructions: value.filter(|_| !is_ratio && is_count),
            ratio: value.filter(|_| is_ratio),
            half_width_percent: study::half_width_percent(row),
            error: row.value.as_ref().err().map(String::as_str),
            name: study::derived_name(row),
            cost,
            count,
            interval: study::derived_interval(row),
            precision: study::derived_precision(row),
            entries: study::derived_entries(row),
        }
    }

    fn figure(&self) -> Option<&'a RowCost> {
        self.row?.cost()
    }

    fn of_figure(&self, cell: impl Fn(&RowCost) -> Cell) -> Cell {
        self.row.map_or(Cell::default(), |row| of_figure(row, cell))
    }

    /// A cell of a rate, which calls with other work between them do not have.
    fn at_rate(&self, cell: impl Fn(&RowCost) -> Cell) -> Cell {
        if self.is_cold() { Cell::default() } else { self.of_figure(cell) }
    }

    fn is_cold(&self) -> bool {
        self.row.is_some_and(|row| row.case.cold().is_some())
    }

    /// The smallest and the largest repeat; empty if all agree in the digits that are shown.
    pub fn count_range(&self) -> Cell {
        let ends = self.row.and_then(Row::instructions).map(|count| [count.low, count.high].map(instructions));
        let differ = ends.filter(|[low, high]| low != high);
        Cell::from(differ.map(|[low, high]| format!("{low} .. {high}")).unwrap_or_default())
    }

    /// Whether the kernel entries are proven; those of derived rows are as far as they are known.
    pub fn is_proven(&self) -> bool {
        self.row.is_none_or(|row| row.entries_status == EntriesStatus::Verified)
    }

    /// Why a record failed.
    pub fn failure(&self) -> Option<&'a Failure> {
        self.row?.failure()
    }

    fn counted(&self) -> Option<&'a Entries> {
        let row = self.row?;
        row.entries.as_ref().filter(|_| row.entries_status == EntriesStatus::Verified)
    }

    fn status(&self) -> Option<&'static str> {
        Some(match self.row?.entries_status {
            EntriesStatus::Verified => "verified",
            EntriesStatus::Unverified(_) => "unverified",
        })
    }
}

/// A cell of a record's time; a dash if it failed, empty for a number of instructions.
fn of_figure(row: &Row, cell: impl Fn(&RowCost) -> Cell) -> Cell {
    match (row.cost(), row.failure()) {
        (Some(cost), _) => cell(cost),
        (None, Some(_)) => Cell::styled("-", Style::Faint),
        (None, None) => Cell::default(),
    }
}

/// A record's number of instructions; a dash if it failed, empty for a time.
fn count_cell(row: &Row) -> Cell {
    match (row.instructions(), row.failure()) {
        (Some(count), _) => Cell::number(instructions(count.per_operation), count.per_operation),
        (None, Some(_)) => Cell::styled("-", Style::Faint),
        (None, None) => Cell::default(),
    }
}

fn net_cell(count: &Instructions) -> Cell {
    count.net.map_or(Cell::default(), |net| Cell::number(instructions(net), net))
}

fn time(ns: Option<f64>) -> Cell {
    ns.map_or(Cell::default(), |ns| Cell::number(nanoseconds(ns), ns))
}

/// A record's cost, with `~` in front if it depends on the file system's history, and `?` behind if nothing proves its kernel
/// entries.
fn cost_cell(row: &Row, figure: &RowCost) -> Cell {
    let history = if row.depends_on_history() { "~" } else { "" };
    let unproven = if row.entries_status == EntriesStatus::Verified { "" } else { "?" };
    Cell::number(format!("{history}{}{unproven}", nanoseconds(figure.median.0)), figure.median.0)
}

fn per_second(figure: &RowCost) -> f64 {
    1e9 / figure.median.0
}

/// How far the row's next cost will be, relative to the machine; `?` where that is not known.
fn precision_cell(figure: &RowCost) -> Cell {
    figure.own_percent().map_or(Cell::from("?"), |p| Cell::number(format!("{}%", percent(p)), p))
}

/// Standard error above which a share is marked: its 95% interval then extends three points or more to either side.
const DOUBT: f64 = 0.015;

/// `12/88` in whole percent, with `~` if the uncertainty exceeds three points.
fn split_cell(split: UserShare) -> Cell {
    let user = (split.share * 100.0).round();
    let doubt = if split.standard_error > DOUBT { "~" } else { "" };
    Cell::from(format!("{doubt}{user:.0}/{:.0}", 100.0 - user))
}

fn entries_cell(row: &Row) -> Cell {
    if row.failure().is_some() {
        return Cell::styled("failed", Style::Bad);
    }
    match (&row.entries, &row.entries_status) {
        (Some(counted), EntriesStatus::Verified) if counted.total() == 0.0 => Cell::styled("none", Style::Good),
        (Some(counted), EntriesStatus::Verified) => Cell::from(entries(counted)),
        _ => Cell::styled("unverified", Style::Warning),
    }
}

fn times_cell(figure: &RowCost) -> Cell {
    figure.times_empty_call.map_or(Cell::default(), |times| Cell::number(three_figures(times), times))
}
