//! The columns of a run: one list for text, Markdown, pages, CSV and rows. A new column is one entry in `columns`.

use crate::comparison::row::{Marks, judged};
use crate::numbers::{
    entries, half_width, in_unit, instructions, nanoseconds, rate, significant, three_figures,
};
use crate::study::{self, Scaled};
use crate::{Cell, Style};
use analysis::derive::{DerivedRow, difference_or_ratio};
use analysis::summary::{Row, RowCost, Summary};
use document::{Columns, params};
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
    pub verdict: Cell,
    pub entries: Cell,
}

/// The rows in the given order, then the rows that a study derives.
pub fn lines<'a>(summary: &'a Summary, rows: &[&'a Row]) -> Vec<Line<'a>> {
    rows.iter()
        .map(|row| Line::of_record(row, summary))
        .chain(summary.derived.iter().map(Line::of_derived))
        .collect()
}

/// Fields for a value and the ends of its interval, for programs only.
pub fn ranged<'r, R>(
    columns: Columns<'r, R>,
    [middle, low, high]: [&'static str; 3],
    range: impl Fn(&'r R) -> Option<Ranged>,
) -> Columns<'r, R> {
    columns
        .field(middle, |row| Some(range(row)?.value))
        .ends([low, high], |row| range(row)?.low_high)
}

/// The fields that identify a case, the same in all CSV tables of runs.
pub fn case_fields<'r, R>(
    columns: Columns<'r, R>,
    case: impl Fn(&'r R) -> &'r Case,
) -> Columns<'r, R> {
    columns
        .field("operation", |row| &case(row).operation)
        .field("language", |row| case(row).language.as_ref())
        .field("environment", |row| &case(row).environment)
        .field("params", |row| params(&case(row).params))
}

/// The environments in the order of their first rows.
pub fn environments(summary: &Summary) -> IndexSet<&str> {
    summary
        .rows
        .iter()
        .map(|row| row.case.environment.as_str())
        .collect()
}

/// Programs always get the same ones; people get those that are not empty.
pub fn columns<'r>(summary: &Summary, lines: &'r [Line]) -> LineColumns<'r> {
    let columns = identity(summary, lines);
    let columns = costs(columns, summary);
    let columns = instruction_counts(columns, summary);
    let columns = over_warm(columns, summary);
    let columns = scaled(columns, summary);
    let columns = rates(columns, summary);
    counts(columns, summary)
}

type LineColumns<'r> = Columns<'r, Line<'r>>;

fn identity<'r>(summary: &Summary, lines: &'r [Line]) -> LineColumns<'r> {
    Columns::new(lines)
        .field("kind", |line| &line.kind)
        .left("operation", |line| &line.name)
        .field("name", |line| line.label)
        .field("operation", |line| {
            line.row.map_or("", |row| &row.case.operation)
        })
        .left("environment", |line| {
            Cell::styled(line.environment, Style::Faint)
        })
        .shown_if(environments(summary).len() > 1)
        .field("language", |line| {
            line.row
                .and_then(|row| row.case.language.as_deref())
                .unwrap_or_default()
        })
        .field("environment", |line| line.environment)
        .field("params", |line| params(line.params))
}

/// Whether any row has a count of instructions, and whether any has a time.
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

fn costs<'r>(columns: LineColumns<'r>, summary: &Summary) -> LineColumns<'r> {
    let [_, timed] = units(summary);
    let columns = columns
        .right("ns/op", |line| line.figure_in(Unit::Nanoseconds))
        .shown_if(timed)
        .field("median_ns", |line| Some(line.time()?.value))
        .right("95% interval", |line| &line.interval)
        .expendable(1)
        .shown_if(timed && !summary.derived.is_empty())
        .ends(["ci_low_ns", "ci_high_ns"], |line| line.time()?.low_high)
        .ends(["next_run_low_ns", "next_run_high_ns"], |line| {
            Some(line.cost()?.next_run?.ends())
        })
        // `±` and `x getppid` are left out before `kernel entries`, which separates them: side by side they could be confused.
        .right("±", |line| &line.precision)
        .yielding(1)
        .shown_if(timed)
        .field("next_run_percent", |line| line.cost()?.next_run_percent())
        .field("half_width_percent", |line| line.half_width_percent);
    let columns = ranged(columns, ["ratio", "ratio_low", "ratio_high"], |line| {
        line.ratio
    });
    columns
        .left("verdict", |line| &line.verdict)
        .shown_if(is_judged(summary))
        .field("verdict", |line| &line.verdict.text)
}

/// Whether the run has ratios with verdicts, which need a column.
pub fn is_judged(summary: &Summary) -> bool {
    summary.derived.iter().any(|row| row.verdict.is_some())
}

fn instruction_counts<'r>(columns: LineColumns<'r>, summary: &Summary) -> LineColumns<'r> {
    fn instruction_range(line: &Line) -> Option<Ranged> {
        line.quantity?.in_unit(Unit::Instructions)
    }

    let [counted, _] = units(summary);
    let counts: Vec<_> = summary.rows.iter().filter_map(Row::instructions).collect();
    let (ranges, nets) = (
        counts.iter().any(|count| !count.is_exact()),
        counts.iter().any(|count| count.net.is_some()),
    );
    columns
        .right("instr/op", |line| line.figure_in(Unit::Instructions))
        .shown_if(counted)
        .field("instructions", |line| Some(instruction_range(line)?.value))
        .right("repeats", Line::count_range)
        .expendable(1)
        .shown_if(counted && ranges)
        .ends(["instructions_low", "instructions_high"], |line| {
            instruction_range(line)?.low_high
        })
        .numbers("net instr", "net_instructions", instructions, |line| {
            line.row?.instructions()?.net
        })
        .expendable(5)
        .shown_if(nets)
}

fn over_warm<'r>(columns: LineColumns<'r>, summary: &Summary) -> LineColumns<'r> {
    fn ratio(line: &Line) -> Option<Ranged> {
        line.cost()?.cold_over_warm
    }

    let columns = columns
        .right("cold / warm", |line| {
            Cell::known(ratio(line).map(|ratio| ratio.value), three_figures)
        })
        .shown_if(has_cold(summary));
    let names = [
        "cold_over_warm",
        "cold_over_warm_low",
        "cold_over_warm_high",
    ];
    ranged(columns, names, ratio)
}

/// Whether any case displaces caches, which needs a column and a note.
pub fn has_cold(summary: &Summary) -> bool {
    summary.rows.iter().any(|row| row.case.cold().is_some())
}

fn scaled<'r>(columns: LineColumns<'r>, summary: &Summary) -> LineColumns<'r> {
    let columns = match Scaled::new(summary) {
        Some(scaled) => columns.right(&scaled.heading(), |line| {
            scaled.cell(line.scale, line.time())
        }),
        None => columns,
    };
    columns
        .field("scaled_calls", |line| Some(line.scale?.calls))
        .field("scaled_s", |line| {
            Some(line.time()?.value * line.scale?.calls as f64 / 1e9)
        })
}

fn rates<'r>(columns: LineColumns<'r>, summary: &Summary) -> LineColumns<'r> {
    let snippets = summary.rows.iter().any(|row| row.case.language.is_some());
    let [_, timed] = units(summary);
    columns
        .right("net", |line| {
            line.of_cost(|cost| Cell::known(cost.net.map(|net| net.0), nanoseconds))
        })
        .expendable(if snippets { 0 } else { 5 })
        .shown_if(timed)
        .field("net_ns", |line| Some(line.cost()?.net?.0))
        .right("best", |line| {
            line.of_cost(|cost| Cell::known(cost.best.map(|best| best.0), nanoseconds))
        })
        .expendable(3)
        .shown_if(timed)
        .field("best_ns", |line| Some(line.cost()?.best?.0))
        .right("calls/s", |line| {
            line.at_rate(|cost| Cell::known(Some(per_second(cost)), rate))
        })
        .expendable(4)
        .shown_if(timed)
        .field("calls_per_s", |line| {
            if line.is_cold() {
                None
            } else {
                line.cost().map(per_second)
            }
        })
        .field("relative", |line| Some(line.cost()?.relative?.value))
        .ends(["relative_low", "relative_high"], |line| {
            Some(line.cost()?.relative?.next_run?.ends())
        })
        .right("usr/sys %", |line| {
            line.of_cost(|cost| cost.user_share.map(split_text).into())
        })
        .expendable(2)
        .shown_if(timed)
        .field("user_share", |line| Some(line.cost()?.user_share?.share))
        .field("user_share_error", |line| {
            Some(line.cost()?.user_share?.standard_error)
        })
}

fn counts<'r>(columns: LineColumns<'r>, summary: &Summary) -> LineColumns<'r> {
    let [_, timed] = units(summary);
    columns
        .left("kernel entries", |line| &line.entries)
        .wrapping()
        .field("kernel_entries", |line| Some(line.counted()?.total()))
        .field("kernel_entries_by_call", |line| {
            Some(line.counted()?.to_string())
        })
        .field("entries_status", |line| {
            Some(word(&line.row?.entries_status, "entries_status"))
        })
        .numbers("x getppid", "times_getppid", significant, |line| {
            line.cost()?.times_getppid
        })
        .yielding(2)
        .shown_if(timed)
        .field("error", |line| line.error)
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
            figure: quantity.map_or(Cell::dash(), |quantity| figure_cell(row, quantity)),
            unit: quantity.map(|quantity| quantity.unit),
            interval: Cell::default(),
            verdict: Cell::default(),
            precision: of_cost(row, precision),
            entries: entries_cell(row),
        }
    }

    fn of_derived(row: &'a DerivedRow) -> Line<'a> {
        let value = row.value.as_ref().ok().copied();
        let (quantity, ratio) = difference_or_ratio(row.combination, row.unit, value);
        let half_width_percent = study::half_width_percent(row);
        Line {
            row: None,
            kind: word(&row.combination, ""),
            label: &row.name,
            environment: &row.environment,
            params: &row.params,
            scale: row.scale.as_ref(),
            quantity,
            ratio,
            half_width_percent,
            error: row.value.as_ref().err().map(String::as_str),
            name: study::derived_name(row),
            figure: study::derived_value(row),
            unit: Some(row.unit),
            interval: study::derived_interval(row),
            verdict: row.verdict.map(judged).into(),
            precision: Cell::known(half_width_percent, half_width),
            entries: study::derived_entries(row),
        }
    }

    /// Empty if it is in another unit.
    pub fn figure_in(&self, unit: Unit) -> Cell {
        if self.unit.is_none_or(|measure| measure == unit) {
            self.figure.clone()
        } else {
            Cell::default()
        }
    }

    /// The cost in nanoseconds; `None` for failures and for counted instructions.
    pub fn time(&self) -> Option<Ranged> {
        self.quantity?.in_unit(Unit::Nanoseconds)
    }

    fn cost(&self) -> Option<&'a RowCost> {
        self.row?.cost()
    }

    fn of_cost(&self, cell: impl Fn(&RowCost) -> Cell) -> Cell {
        self.row.map(|row| of_cost(row, cell)).into()
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
        let count = self.row.and_then(Row::instructions);
        count
            .map(|count| [count.low, count.high].map(instructions))
            .filter(|[low, high]| low != high)
            .map(|[low, high]| format!("{low} .. {high}"))
            .into()
    }

    /// Those of derived rows are as far as they are known.
    pub fn is_proven(&self) -> bool {
        self.row
            .is_none_or(|row| row.entries_status == EntriesStatus::Verified)
    }

    /// Why the case has no result; `None` also for derived rows.
    pub fn failure(&self) -> Option<&'a Failure> {
        self.row?.failure()
    }

    fn counted(&self) -> Option<&'a Entries> {
        let row = self.row?;
        if row.entries_status != EntriesStatus::Verified {
            return None;
        }
        row.entries.as_ref()
    }
}

/// `?` if it is not known.
fn precision(cost: &RowCost) -> Cell {
    match cost.relative_percent() {
        Some(percent) => Cell::number(half_width(percent), percent),
        None => Cell::from("?"),
    }
}

/// A dash if it failed, empty for a number of instructions.
fn of_cost(row: &Row, cell: impl Fn(&RowCost) -> Cell) -> Cell {
    match (row.cost(), row.failure()) {
        (Some(cost), _) => cell(cost),
        (None, Some(_)) => Cell::dash(),
        (None, None) => Cell::default(),
    }
}

fn figure_cell(row: &Row, Quantity { value, unit, .. }: Quantity) -> Cell {
    let text = in_unit(value, unit);
    if unit == Unit::Instructions {
        return Cell::number(text, value);
    }
    let marks = Marks {
        depends_on_history: row.depends_on_history(),
        is_traced: row.is_traced(),
        is_proven: row.entries_status == EntriesStatus::Verified,
    };
    Cell::number(marks.around(&text), value)
}

fn per_second(figure: &RowCost) -> f64 {
    1e9 / figure.median.0
}

/// The 95% interval then extends three points or more to either side.
const DOUBT: f64 = 0.015;

/// `12/88` in percent, with `~` if it is uncertain.
fn split_text(split: UserShare) -> String {
    let user = (split.share * 100.0).round();
    let doubt = if split.standard_error > DOUBT {
        "~"
    } else {
        ""
    };
    format!("{doubt}{user:.0}/{:.0}", 100.0 - user)
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
        (Some(scaled), _) => Cell::styled(format!("{}?", entries(scaled)), Style::Warning),
        (None, _) => Cell::styled("unverified", Style::Warning),
    }
}
