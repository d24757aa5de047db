//! The columns of a run: one list for text, Markdown, pages and CSV. A new column is one entry in `columns`.

use super::environment_table::environments;
use super::numbers::{entries, nanoseconds, percent, rate, three_figures};
use super::spec::{Spec, params};
use super::study_words::{self, Scaled};
use super::{Cell, Style};
use crate::derive::DerivedRow;
use crate::model::{Combination, Entries, EntriesStatus, Scale};
use crate::stats::{Ranged, UserShare};
use crate::summary::{Row, RowCost, Summary};

/// What is one row: a record, or what a study makes of two.
#[derive(Clone, Copy)]
pub enum Line<'a> {
    Record(&'a Row),
    Derived(&'a DerivedRow),
}

/// `rows` in their order, behind them those that are derived.
pub fn lines<'a>(summary: &'a Summary, rows: &[&'a Row]) -> Vec<Line<'a>> {
    let derived = summary.derived.iter().map(Line::Derived);
    rows.iter().map(|row| Line::Record(row)).chain(derived).collect()
}

/// The columns of `summary`. Programs get the same ones of every run; people those in which something stands.
pub fn columns<'a>(summary: &'a Summary) -> Vec<Spec<'a, Line<'a>>> {
    let scaled = Scaled::of(summary);
    let (has_scale, heading) = (scaled.is_some(), scaled.as_ref().map_or(String::new(), Scaled::heading));
    let scale = move |line: &Line<'a>| line.scale(summary);
    let snippets = summary.rows.iter().any(|row| row.case.language.is_some());
    let several = environments(summary).len() > 1;
    vec![
        Spec::hidden().text("kind", |line: &Line| line.kind().to_string()),
        Spec::left("operation", Line::name)
            .text("name", |line| line.label().to_string())
            .text("operation", |line| line.row().map(|row| row.case.operation.clone())),
        Spec::left("environment", |line: &Line| Cell::styled(line.environment(), Style::Faint))
            .shown_if(several)
            .text("language", |line| line.row()?.case.language.clone())
            .text("environment", |line| line.environment().to_string())
            .text("params", Line::params),
        Spec::right("ns/op", Line::cost).number("median_ns", |line| Some(line.time()?.value)),
        Spec::right("95% interval", Line::interval)
            .expendable(1)
            .number("ci_low_ns", |line| Some(line.time()?.low_high?.0))
            .number("ci_high_ns", |line| Some(line.time()?.low_high?.1)),
        Spec::right("±", Line::precision).number("half_width_percent", Line::half_width_percent),
        Spec::hidden()
            .number("ratio", |line: &Line| Some(line.ratio()?.value))
            .number("ratio_low", |line| Some(line.ratio()?.low_high?.0))
            .number("ratio_high", |line| Some(line.ratio()?.low_high?.1)),
        Spec::right(&heading, move |line: &Line| scaled.as_ref().map_or(Cell::default(), |scaled| scaled.line(line)))
            .shown_if(has_scale)
            .count("scaled_calls", move |line| Some(scale(line)?.calls))
            .number("scaled_s", move |line| Some(line.time()?.value * scale(line)?.calls as f64 / 1e9)),
        Spec::right("net", |line: &Line| line.of_figure(|f| time(f.net.map(|net| net.0))))
            .expendable(if snippets { 0 } else { 5 })
            .number("net_ns", |line| Some(line.figure()?.net?.0)),
        Spec::right("best", |line: &Line| line.of_figure(|f| time(f.best.map(|best| best.0))))
            .expendable(3)
            .number("best_ns", |line| Some(line.figure()?.best?.0)),
        Spec::right("calls/s", |line: &Line| line.of_figure(|f| Cell::number(rate(per_second(f)), per_second(f))))
            .expendable(4)
            .number("calls_per_s", |line| line.figure().map(per_second)),
        Spec::right("usr/sys %", |line: &Line| line.of_figure(|f| f.user_share.map_or(Cell::default(), split_cell)))
            .expendable(2)
            .number("user_share", |line| Some(line.figure()?.user_share?.share))
            .number("user_share_error", |line| Some(line.figure()?.user_share?.standard_error)),
        Spec::left("kernel entries", Line::entries)
            .wrapping()
            .number("kernel_entries", |line| Some(line.counted()?.total()))
            .text("kernel_entries_by_call", |line| Some(line.counted()?.to_string()))
            .text("entries_status", |line| line.status().map(str::to_string)),
        Spec::right("x call", |line: &Line| line.figure().map_or(Cell::default(), times_cell))
            .number("times_empty_call", |line| line.figure()?.times_empty_call),
        Spec::hidden().text("error", Line::error),
    ]
}

impl<'a> Line<'a> {
    pub fn environment(&self) -> &'a str {
        match self {
            Line::Record(row) => &row.case.environment,
            Line::Derived(row) => &row.environment,
        }
    }

    pub fn row(&self) -> Option<&'a Row> {
        match self {
            Line::Record(row) => Some(row),
            Line::Derived(_) => None,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Line::Record(_) => "cost",
            Line::Derived(row) => study_words::kind(row),
        }
    }

    pub fn name(&self) -> Cell {
        match self {
            Line::Record(row) => Cell::from(row.case.to_string()),
            Line::Derived(row) => study_words::derived_name(row),
        }
    }

    fn label(&self) -> &'a str {
        match self {
            Line::Record(row) => row.case.label(),
            Line::Derived(row) => &row.name,
        }
    }

    fn params(&self) -> String {
        params(match self {
            Line::Record(row) => &row.case.params,
            Line::Derived(row) => &row.params,
        })
    }

    fn figure(&self) -> Option<&'a RowCost> {
        self.row()?.figure.as_ref().ok()
    }

    /// A cell of a record's figure; a dash where it failed, nothing for what is derived.
    fn of_figure(&self, cell: impl Fn(&RowCost) -> Cell) -> Cell {
        match self.row().map(|row| &row.figure) {
            Some(Ok(figure)) => cell(figure),
            Some(Err(_)) => Cell::styled("-", Style::Faint),
            None => Cell::default(),
        }
    }

    fn cost(&self) -> Cell {
        match self {
            Line::Record(_) => self.of_figure(|figure| time(Some(figure.median.0))),
            Line::Derived(row) => study_words::derived_value(row),
        }
    }

    fn interval(&self) -> Cell {
        match self {
            Line::Record(_) => self.of_figure(interval_cell),
            Line::Derived(row) => study_words::derived_interval(row),
        }
    }

    fn precision(&self) -> Cell {
        match self {
            Line::Record(_) => self.of_figure(precision_cell),
            Line::Derived(row) => study_words::derived_precision(row),
        }
    }

    fn half_width_percent(&self) -> Option<f64> {
        match self {
            Line::Record(_) => self.figure()?.half_width_percent(),
            Line::Derived(row) => study_words::half_width_percent(row),
        }
    }

    /// The cost, or a difference of costs, in nanoseconds.
    fn time(&self) -> Option<Ranged> {
        match self {
            Line::Record(_) => {
                let figure = self.figure()?;
                Some(Ranged { value: figure.median.0, low_high: figure.interval.map(|i| (i.low, i.high)) })
            }
            Line::Derived(row) => row.value.clone().ok().filter(|_| row.combination == Combination::Difference),
        }
    }

    fn ratio(&self) -> Option<Ranged> {
        match self {
            Line::Record(_) => None,
            Line::Derived(row) => row.value.clone().ok().filter(|_| row.combination == Combination::Ratio),
        }
    }

    fn scale(&self, summary: &'a Summary) -> Option<&'a Scale> {
        match self {
            Line::Record(row) => summary.study.as_ref()?.scale(row.case.label()),
            Line::Derived(row) => row.scale.as_ref(),
        }
    }

    /// What was counted; for people, of a failed record its reason.
    pub fn entries(&self) -> Cell {
        match self {
            Line::Record(row) => match &row.figure {
                Ok(_) => entries_cell(row),
                Err(failure) => Cell::styled(failure.message.clone(), Style::Bad),
            },
            Line::Derived(row) => study_words::derived_entries(row),
        }
    }

    fn counted(&self) -> Option<&'a Entries> {
        let row = self.row()?;
        row.entries.as_ref().filter(|_| row.entries_status == EntriesStatus::Verified)
    }

    fn status(&self) -> Option<&'static str> {
        Some(match self.row()?.entries_status {
            EntriesStatus::Verified => "verified",
            EntriesStatus::Unverified(_) => "unverified",
        })
    }

    fn error(&self) -> Option<String> {
        match self {
            Line::Record(row) => row.figure.as_ref().err().map(|failure| failure.message.clone()),
            Line::Derived(row) => row.value.as_ref().err().cloned(),
        }
    }
}

fn time(ns: Option<f64>) -> Cell {
    ns.map_or(Cell::default(), |ns| Cell::number(nanoseconds(ns), ns))
}

fn per_second(figure: &RowCost) -> f64 {
    1e9 / figure.median.0
}

fn interval_cell(figure: &RowCost) -> Cell {
    let text = figure.interval.map(|i| format!("{} .. {}", nanoseconds(i.low), nanoseconds(i.high)));
    Cell::from(text.unwrap_or_default())
}

/// Half the interval's width; `?` where there is no interval.
pub fn precision_cell(figure: &RowCost) -> Cell {
    figure.half_width_percent().map_or(Cell::from("?"), |p| Cell::number(format!("{}%", percent(p)), p))
}

/// Standard error above which a share is marked: its 95% interval then reaches three points or more to either side.
const DOUBT: f64 = 0.015;

/// `12/88` in whole points, with `~` where they are known to no better than three points either way.
fn split_cell(split: UserShare) -> Cell {
    let user = (split.share * 100.0).round();
    let doubt = if split.standard_error > DOUBT { "~" } else { "" };
    Cell::from(format!("{doubt}{user:.0}/{:.0}", 100.0 - user))
}

fn entries_cell(row: &Row) -> Cell {
    match (&row.entries, &row.entries_status) {
        (Some(counted), EntriesStatus::Verified) if counted.total() == 0.0 => Cell::styled("none", Style::Good),
        (Some(counted), EntriesStatus::Verified) => Cell::from(entries(counted)),
        _ => Cell::styled("unverified", Style::Warning),
    }
}

fn times_cell(figure: &RowCost) -> Cell {
    figure.times_empty_call.map_or(Cell::default(), |times| Cell::number(three_figures(times), times))
}
