//! The columns of a run: one list for text, Markdown, pages, CSV and rows. A new column is one entry in `columns`.

use crate::numbers::{
    entries, in_percent, in_unit, instructions, nanoseconds, rate, three_figures,
};
use crate::study::{self, Scaled};
use crate::{Cell, Style};
use analysis::derive::{DerivedRow, difference_or_ratio};
use analysis::summary::{Row, RowCost, Summary};
use document::{Spec, params};
use indexmap::IndexSet;
use model::{Case, Entries, EntriesStatus, Failure, Scale, Unit, word};
use stats::{Quantity, Ranged, UserShare};
use std::collections::BTreeMap;

/// A record, or what a study derives from two.
pub struct Line<'a> {
    /// `None` for derived rows.
    pub row: Option<&'a Row>,
    pub kind: String,
    pub label: &'a str,
    pub environment: &'a str,
    pub params: &'a BTreeMap<String, u64>,
    pub scale: Option<&'a Scale>,
    quantity: Option<Quantity>,
    ratio: Option<Ranged>,
    half_width_percent: Option<f64>,
    error: Option<&'a str>,
    pub name: Cell,
    figure: Cell,
    unit: Option<Unit>,
    pub precision: Cell,
    interval: Cell,
    pub entries: Cell,
}

pub fn lines<'a>(summary: &'a Summary, rows: &[&'a Row]) -> Vec<Line<'a>> {
    let records = rows.iter().map(|row| Line::of_record(row, summary));
    records
        .chain(summary.derived.iter().map(Line::of_derived))
        .collect()
}

pub fn ranged<'a, R>(
    column: Spec<'a, R>,
    [middle, low, high]: [&'static str; 3],
    of: impl Fn(&R) -> Option<Ranged> + Copy + 'a,
) -> Spec<'a, R> {
    let column = column.number(middle, move |row| Some(of(row)?.value));
    column.ends([low, high], move |row| of(row)?.low_high)
}

pub fn case_fields<'a, R>(
    column: Spec<'a, R>,
    case: impl Fn(&R) -> &Case + Copy + 'a,
) -> Spec<'a, R> {
    column
        .text("operation", move |row| case(row).operation.clone())
        .text("language", move |row| case(row).language.clone())
        .text("environment", move |row| case(row).environment.clone())
        .text("params", move |row| params(&case(row).params))
}

pub fn environments(summary: &Summary) -> IndexSet<&str> {
    summary
        .rows
        .iter()
        .map(|row| row.case.environment.as_str())
        .collect()
}

/// Programs always get the same ones; people get those that are not empty.
pub fn columns(summary: &Summary) -> Vec<Spec<'_, Line<'_>>> {
    let mut columns = identity(summary);
    columns.extend(costs(summary));
    columns.extend(instruction_counts(summary));
    columns.push(over_warm(summary));
    columns.push(scaled(summary));
    columns.extend(rates(summary));
    columns.extend(counts(summary));
    columns
}

fn identity<'a>(summary: &Summary) -> Vec<Spec<'a, Line<'a>>> {
    let several = environments(summary).len() > 1;
    vec![
        Spec::hidden().text("kind", |line: &Line| line.kind.clone()),
        Spec::left("operation", |line: &Line| line.name.clone())
            .text("name", |line| line.label.to_string())
            .text("operation", |line| {
                line.row
                    .map_or(String::new(), |row| row.case.operation.clone())
            }),
        Spec::left("environment", |line: &Line| {
            Cell::styled(line.environment, Style::Faint)
        })
        .shown_if(several)
        .text("language", |line| {
            line.row
                .and_then(|row| row.case.language.clone())
                .unwrap_or_default()
        })
        .text("environment", |line| line.environment.to_string())
        .text("params", |line| params(line.params)),
    ]
}

pub fn units(summary: &Summary) -> [bool; 2] {
    let counted = summary.rows.iter().any(|row| row.instructions().is_some());
    [
        counted,
        !counted
            || summary
                .rows
                .iter()
                .any(|row| row.instructions().is_none() && row.failure().is_none()),
    ]
}

fn costs<'a>(summary: &Summary) -> Vec<Spec<'a, Line<'a>>> {
    let [_, timed] = units(summary);
    let columns = vec![
        Spec::right("ns/op", |line: &Line| line.figure_in(Unit::Nanoseconds))
            .number("median_ns", |line| Some(line.time()?.value)),
        Spec::right("95% interval", |line: &Line| line.interval.clone())
            .shown_if(!summary.derived.is_empty())
            .expendable(1)
            .ends(["ci_low_ns", "ci_high_ns"], |line| line.time()?.low_high)
            .ends(["next_run_low_ns", "next_run_high_ns"], |line| {
                Some(line.cost()?.next_run?.ends())
            }),
        // `±` and `x call` are left out before `kernel entries`, which separates them: side by side they could be confused.
        Spec::right("±", |line: &Line| line.precision.clone())
            .yielding(1)
            .number("next_run_percent", |line| line.cost()?.next_run_percent())
            .number("half_width_percent", |line| line.half_width_percent),
        ranged(
            Spec::hidden(),
            ["ratio", "ratio_low", "ratio_high"],
            |line: &Line| line.ratio,
        ),
    ];
    columns
        .into_iter()
        .map(|column| column.shown_if(timed))
        .collect()
}

fn instruction_counts<'a>(summary: &Summary) -> Vec<Spec<'a, Line<'a>>> {
    let [counted, _] = units(summary);
    let counts = || summary.rows.iter().filter_map(Row::instructions);
    let (ranges, nets) = (
        counts().any(|count| !count.is_exact()),
        counts().any(|count| count.net.is_some()),
    );
    let net = |line: &Line| line.row?.instructions()?.net;
    let count = |line: &Line| line.quantity?.in_unit(Unit::Instructions);
    vec![
        Spec::right("instr/op", |line: &Line| line.figure_in(Unit::Instructions))
            .shown_if(counted)
            .number("instructions", move |line| Some(count(line)?.value)),
        Spec::right("repeats", |line: &Line| line.count_range())
            .shown_if(counted && ranges)
            .expendable(1)
            .ends(["instructions_low", "instructions_high"], move |line| {
                count(line)?.low_high
            }),
        Spec::numbers("net instr", "net_instructions", instructions, net)
            .shown_if(nets)
            .expendable(5),
    ]
}

fn over_warm<'a>(summary: &Summary) -> Spec<'a, Line<'a>> {
    let ratio = |line: &Line| line.cost()?.cold_over_warm;
    let column = Spec::right("cold / warm", move |line| {
        Cell::known(ratio(line).map(|own| own.value), three_figures)
    });
    let names = [
        "cold_over_warm",
        "cold_over_warm_low",
        "cold_over_warm_high",
    ];
    ranged(column.shown_if(has_cold(summary)), names, ratio)
}

pub fn has_cold(summary: &Summary) -> bool {
    summary.rows.iter().any(|row| row.case.cold().is_some())
}

fn scaled(summary: &Summary) -> Spec<'_, Line<'_>> {
    let scaled = Scaled::of(summary);
    let (has_scale, heading) = (
        scaled.is_some(),
        scaled.as_ref().map_or(String::new(), Scaled::heading),
    );
    Spec::right(&heading, move |line: &Line| {
        scaled.as_ref().map_or(Cell::default(), |scaled| {
            scaled.cell(line.scale, line.time())
        })
    })
    .shown_if(has_scale)
    .count("scaled_calls", |line| Some(line.scale?.calls))
    .number("scaled_s", |line| {
        Some(line.time()?.value * line.scale?.calls as f64 / 1e9)
    })
}

fn rates<'a>(summary: &Summary) -> Vec<Spec<'a, Line<'a>>> {
    let snippets = summary.rows.iter().any(|row| row.case.language.is_some());
    let [_, timed] = units(summary);
    let columns = vec![
        Spec::right("net", |line: &Line| {
            line.of_cost(|cost| Cell::known(cost.net.map(|net| net.0), nanoseconds))
        })
        .expendable(if snippets { 0 } else { 5 })
        .number("net_ns", |line| Some(line.cost()?.net?.0)),
        Spec::right("best", |line: &Line| {
            line.of_cost(|cost| Cell::known(cost.best.map(|best| best.0), nanoseconds))
        })
        .expendable(3)
        .number("best_ns", |line| Some(line.cost()?.best?.0)),
        Spec::right("calls/s", |line: &Line| {
            line.at_rate(|cost| Cell::known(Some(per_second(cost)), rate))
        })
        .expendable(4)
        .number("calls_per_s", |line| {
            line.cost().filter(|_| !line.is_cold()).map(per_second)
        }),
        Spec::hidden()
            .number("relative", |line: &Line| Some(line.cost()?.relative?.value))
            .ends(["relative_low", "relative_high"], |line| {
                Some(line.cost()?.relative?.next_run?.ends())
            }),
        Spec::right("usr/sys %", |line: &Line| {
            line.of_cost(|cost| cost.user_share.map_or(Cell::default(), split_cell))
        })
        .expendable(2)
        .number("user_share", |line| Some(line.cost()?.user_share?.share))
        .number("user_share_error", |line| {
            Some(line.cost()?.user_share?.standard_error)
        }),
    ];
    columns
        .into_iter()
        .map(|column| column.shown_if(timed))
        .collect()
}

fn counts<'a>(summary: &Summary) -> Vec<Spec<'a, Line<'a>>> {
    let [_, timed] = units(summary);
    vec![
        Spec::left("kernel entries", |line: &Line| line.entries.clone())
            .wrapping()
            .number("kernel_entries", |line| Some(line.counted()?.total()))
            .text("kernel_entries_by_call", |line| {
                Some(line.counted()?.to_string())
            })
            .text("entries_status", |line| {
                Some(word(&line.row?.entries_status, "entries_status"))
            }),
        Spec::numbers(
            "x call",
            "times_empty_call",
            three_figures,
            |line: &Line| line.cost()?.times_empty_call,
        )
        .yielding(2)
        .shown_if(timed),
        Spec::hidden().text("error", |line: &Line| line.error.map(str::to_string)),
    ]
}

impl<'a> Line<'a> {
    fn of_record(row: &'a Row, summary: &'a Summary) -> Line<'a> {
        let quantity = row.quantity();
        Line {
            row: Some(row),
            kind: "cost".into(),
            label: row.case.label(),
            environment: &row.case.environment,
            params: &row.case.params,
            scale: summary
                .study
                .as_ref()
                .and_then(|study| study.scale(row.case.label())),
            quantity,
            ratio: row.versus.as_ref().map(|versus| versus.ratio),
            half_width_percent: row.cost().and_then(RowCost::half_width_percent),
            error: row.failure().map(|failure| failure.message.as_str()),
            name: Cell::from(row.case.to_string()),
            figure: quantity.map_or(Cell::styled("-", Style::Faint), |quantity| {
                figure_cell(row, quantity)
            }),
            unit: quantity.map(|quantity| quantity.unit),
            interval: Cell::default(),
            precision: of_cost(row, precision_cell),
            entries: entries_cell(row),
        }
    }

    fn of_derived(row: &'a DerivedRow) -> Line<'a> {
        let value = row.value.as_ref().ok().copied();
        let (quantity, ratio) = difference_or_ratio(row.combination, row.unit, value);
        Line {
            row: None,
            kind: word(&row.combination, ""),
            label: &row.name,
            environment: &row.environment,
            params: &row.params,
            scale: row.scale.as_ref(),
            quantity,
            ratio,
            half_width_percent: study::half_width_percent(row),
            error: row.value.as_ref().err().map(String::as_str),
            name: study::derived_name(row),
            figure: study::derived_value(row),
            unit: Some(row.unit),
            interval: study::derived_interval(row),
            precision: study::derived_precision(row),
            entries: study::derived_entries(row),
        }
    }

    /// Empty if it is in another unit.
    pub fn figure_in(&self, unit: Unit) -> Cell {
        if self.unit.is_none_or(|own| own == unit) {
            self.figure.clone()
        } else {
            Cell::default()
        }
    }

    pub fn time(&self) -> Option<Ranged> {
        self.quantity?.in_unit(Unit::Nanoseconds)
    }

    fn cost(&self) -> Option<&'a RowCost> {
        self.row?.cost()
    }

    fn of_cost(&self, cell: impl Fn(&RowCost) -> Cell) -> Cell {
        self.row.map_or(Cell::default(), |row| of_cost(row, cell))
    }

    /// Calls with other work between them have no rate.
    fn at_rate(&self, cell: impl Fn(&RowCost) -> Cell) -> Cell {
        if self.is_cold() {
            Cell::default()
        } else {
            self.of_cost(cell)
        }
    }

    fn is_cold(&self) -> bool {
        self.row.is_some_and(|row| row.case.cold().is_some())
    }

    /// Empty if all repeats agree in the digits that are shown.
    pub fn count_range(&self) -> Cell {
        let ends = self
            .row
            .and_then(Row::instructions)
            .map(|count| [count.low, count.high].map(instructions));
        let differ = ends.filter(|[low, high]| low != high);
        Cell::from(
            differ
                .map(|[low, high]| format!("{low} .. {high}"))
                .unwrap_or_default(),
        )
    }

    /// Those of derived rows are as far as they are known.
    pub fn is_proven(&self) -> bool {
        self.row
            .is_none_or(|row| row.entries_status == EntriesStatus::Verified)
    }

    pub fn failure(&self) -> Option<&'a Failure> {
        self.row?.failure()
    }

    fn counted(&self) -> Option<&'a Entries> {
        let row = self.row?;
        row.entries
            .as_ref()
            .filter(|_| row.entries_status == EntriesStatus::Verified)
    }
}

/// A dash if it failed, empty for a number of instructions.
fn of_cost(row: &Row, cell: impl Fn(&RowCost) -> Cell) -> Cell {
    match (row.cost(), row.failure()) {
        (Some(cost), _) => cell(cost),
        (None, Some(_)) => Cell::styled("-", Style::Faint),
        (None, None) => Cell::default(),
    }
}

/// With `~` in front if it depends on the history of the file system, `?` behind if nothing proves
/// its kernel entries.
fn figure_cell(row: &Row, Quantity { value, unit, .. }: Quantity) -> Cell {
    let text = in_unit(value, unit);
    if unit == Unit::Instructions {
        return Cell::number(text, value);
    }
    let history = if row.depends_on_history() { "~" } else { "" };
    let unproven = if row.entries_status == EntriesStatus::Verified {
        ""
    } else {
        "?"
    };
    Cell::number(format!("{history}{text}{unproven}"), value)
}

fn per_second(figure: &RowCost) -> f64 {
    1e9 / figure.median.0
}

fn precision_cell(figure: &RowCost) -> Cell {
    figure
        .own_percent()
        .map_or(Cell::from("?"), |p| Cell::number(in_percent(p), p))
}

/// The 95% interval then extends three points or more to either side.
const DOUBT: f64 = 0.015;

/// `12/88` in percent, with `~` if it is uncertain.
fn split_cell(split: UserShare) -> Cell {
    let user = (split.share * 100.0).round();
    let doubt = if split.standard_error > DOUBT {
        "~"
    } else {
        ""
    };
    Cell::from(format!("{doubt}{user:.0}/{:.0}", 100.0 - user))
}

fn entries_cell(row: &Row) -> Cell {
    if row.failure().is_some() {
        return Cell::styled("failed", Style::Bad);
    }
    match (&row.entries, &row.entries_status) {
        (Some(counted), EntriesStatus::Verified) if counted.total() == 0.0 => {
            Cell::styled("none", Style::Good)
        }
        (Some(counted), EntriesStatus::Verified) => Cell::from(entries(counted)),
        _ => Cell::styled("unverified", Style::Warning),
    }
}
