//! Runs compared by an event other than time, e.g. `instructions:k`. Rows are matched as for times; verdicts are by the
//! scatter of launches and an assumed scatter of whole runs, which is small for counts that the work alone determines.

use super::column::{Column, ColumnInfo};
use super::gate::{Gate, Gated, GatedRow, NotJudged, Range};
use super::matching;
use super::row::{Cell, ComparedRow, Key};
use super::same_work::{Work, work};
use super::select::{Order, Selection};
use super::verdict::{Difference, MetricMark};
use crate::model::{Case, Counters, EVENTS, Event, Failure, FailureKind, OrError, Run, USER_ONLY};
use crate::stats::{self, BetweenRuns, EXACT_BETWEEN_RUNS, Launches, OTHER_BETWEEN_RUNS, Ranged};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::HashMap;

/// Probability of any wrong mark in a column.
const LEVEL: f64 = 0.05;
/// Default margins, as shares: of counts that the work alone determines, and of others. The first is the least that two runs
/// can show sameness within, by what is assumed of them, for a hundred rows.
const EXACT_MARGIN: f64 = 0.0025;
const OTHER_MARGIN: f64 = 0.01;

/// What runs are compared by, as an alternative to time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metric {
    /// As perf spells it.
    pub name: String,
    event: &'static Event,
}

/// The name of the metric that `compare` has by default.
pub const TIME: &str = "ns";

impl Metric {
    /// The event called `name`; `None` for the time.
    ///
    /// # Errors
    /// That there is no such event, with the names of all.
    pub fn find(name: &str) -> Result<Option<Metric>, String> {
        if name == TIME {
            return Ok(None);
        }
        let unknown = || {
            let names: Vec<&str> = EVENTS.iter().map(|event| event.name).collect();
            format!("'{name}' is not a metric: choose {TIME}, {}", names.join(", "))
        };
        Event::find(name).map(|event| Some(Metric { name: name.to_string(), event })).ok_or_else(unknown)
    }

    /// Counts within this share of each other are unchanged unless the user says otherwise.
    pub fn margin(&self) -> f64 {
        if self.event.exact { EXACT_MARGIN } else { OTHER_MARGIN }
    }

    fn between_runs(&self) -> f64 {
        if self.event.exact { EXACT_BETWEEN_RUNS } else { OTHER_BETWEEN_RUNS }
    }

    /// The counts of one record, by launch.
    fn launches<'a>(&self, counters: Option<&'a Counters>) -> Result<&'a Vec<Vec<f64>>, String> {
        let counters = counters.ok_or("not counted in this run: measure with --counters")?;
        let other = match self.name.strip_suffix(USER_ONLY) {
            Some(whole) => whole.to_string(),
            None => format!("{}{USER_ONLY}", self.name),
        };
        match (counters.counted.get(&self.name), counters.not_counted.get(&self.name)) {
            (Some(launches), _) => Ok(launches),
            (None, Some(reason)) => Err(reason.clone()),
            (None, None) if counters.counted.contains_key(&other) => Err(format!("counted is only {other}")),
            (None, None) => Err("this machine does not count it (the run's warnings say why)".to_string()),
        }
    }
}

/// A run condensed to one metric.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricColumn {
    /// The medians of launches stand where they are of times otherwise.
    column: Column,
    /// Why the whole run has no counts; `None` if it has any.
    missing: Option<String>,
}

impl MetricColumn {
    /// Condenses `run`.
    pub fn new(metric: &Metric, run: &Run) -> MetricColumn {
        let mut column = Column::new("", run);
        let counts: HashMap<&Case, Result<&Vec<Vec<f64>>, String>> =
            run.records.iter().map(|r| (&r.case, metric.launches(r.counters.as_ref()))).collect();
        for row in &mut column.rows {
            row.runs.clear();
            match counts.get(&row.case) {
                Some(Ok(launches)) => {
                    let medians_ns = stats::launch_medians(launches);
                    row.runs = vec![Some(Launches { medians_ns, ..Launches::default() })];
                }
                Some(Err(_)) if row.instructions().is_some() => {
                    let text = "counted by an emulated machine: compare without --metric";
                    row.figure = Err(Failure::new(FailureKind::Unsupported, text));
                }
                Some(Err(reason)) if row.figure.is_ok() => {
                    row.figure = Err(Failure::new(FailureKind::Unsupported, reason.clone()));
                }
                _ => {}
            }
        }
        let none = !counts.values().any(Result::is_ok);
        let missing = run.records.first().filter(|_| none).and_then(|r| counts[&r.case].clone().err());
        MetricColumn { column, missing }
    }

    /// The facts about the run.
    pub fn info(&mut self) -> &mut ColumnInfo {
        &mut self.column.info
    }

    /// The heading of the column.
    pub fn label(&self) -> &str {
        &self.column.info.label
    }

    /// The label of the column, and why it has no counts at all, if so.
    pub fn missing(&self) -> Option<(&str, &str)> {
        Some((&self.column.info.label, self.missing.as_deref()?))
    }
}

/// Runs side by side by one metric. Lists with one element per column are indexed by column.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricComparison {
    /// The event, as perf spells it. Counts are per iteration.
    pub metric: String,
    pub columns: Vec<ColumnInfo>,
    /// Index of the column that the others are divided by.
    pub baseline: usize,
    /// Counts within this share of each other are unchanged.
    pub margin: f64,
    /// Standard deviation of what shifts a whole run, as a share: an assumption that is part of the intervals.
    pub assumed_between_runs: f64,
    pub rows: Vec<MetricRow>,
    /// Rows that certainly grew by more than the limit; `None` if no limit was set.
    pub growth: Option<MetricGrowth>,
    /// What [`MetricComparison::gate`] found; `None` if there is no gate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gate: Option<Gated>,
    /// Rows that were left out because they do not certainly differ.
    pub left_out: usize,
}

/// One row over all columns.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricRow {
    #[serde(flatten)]
    pub key: Key,
    /// `None` if the run lacks the row.
    pub counts: Vec<Option<MetricCell>>,
    /// Each column compared with the baseline.
    pub verdicts: Vec<MetricVerdict>,
}

/// One run's count per iteration.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricCell {
    #[serde(flatten, with = "OrError::<Ranged, Failure>")]
    pub count: Result<Ranged, Failure>,
}

/// One column of a row compared with the baseline.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "verdict", rename_all = "snake_case")]
pub enum MetricVerdict {
    /// The column is the baseline.
    Baseline,
    /// One of the two is missing.
    Missing,
    /// Both are known, but one is not above 0 in every launch: a ratio would say nothing.
    TooFew,
    /// Their kernel entries differ.
    DifferentWork(Difference),
    #[serde(untagged)]
    Ratio(MetricRatio),
}

/// Count over the baseline's count.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricRatio {
    pub ratio: f64,
    /// The ends of the 95% confidence interval, for this row alone.
    pub low: f64,
    pub high: f64,
    /// With 95% confidence, all marks of the column are right.
    #[serde(rename = "verdict")]
    pub mark: MetricMark,
}

/// The rows that grew by more than a limit.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricGrowth {
    /// As a share: 0.005 for 0.5%.
    pub limit: f64,
    pub grown: Vec<MetricGrown>,
}

/// A row whose interval is above the limit in one column.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct MetricGrown {
    #[serde(flatten)]
    pub key: Key,
    pub column: usize,
    #[serde(flatten)]
    pub ratio: MetricRatio,
}

/// What to compare, and how to show it.
#[derive(Clone, Debug, Default)]
pub struct MetricOptions {
    /// The column that the others are divided by.
    pub baseline: usize,
    /// Counts within this share of each other are unchanged; by default that of the metric.
    pub margin: Option<f64>,
    pub selection: Selection,
    pub order: Order,
}

/// Compares `columns` by `metric`.
pub fn compare_metric(metric: &Metric, columns: &[MetricColumn], options: &MetricOptions) -> MetricComparison {
    let margin = options.margin.unwrap_or(metric.margin());
    let plain: Vec<Column> = columns.iter().map(|column| column.column.clone()).collect();
    let matched = matching::matched(&plain, &options.selection).rows;
    let judge = Judge { metric, baseline: options.baseline, margin };
    let mut rows: Vec<MetricRow> = matched.iter().map(|row| judge.row(row)).collect();
    (0..columns.len()).for_each(|column| judge.mark(&mut rows, &matched, column));
    sort(&mut rows, options.order, options.baseline);
    MetricComparison {
        metric: metric.name.clone(),
        columns: plain.into_iter().map(|column| column.info).collect(),
        baseline: options.baseline,
        margin,
        assumed_between_runs: metric.between_runs(),
        rows,
        growth: None,
        gate: None,
        left_out: 0,
    }
}

struct Judge<'a> {
    metric: &'a Metric,
    baseline: usize,
    margin: f64,
}

impl Judge<'_> {
    fn row(&self, row: &ComparedRow) -> MetricRow {
        MetricRow {
            key: row.key.clone(),
            counts: row.cells.iter().map(|cell| cell.as_ref().map(|cell| count(cell))).collect(),
            verdicts: vec![MetricVerdict::Baseline; row.cells.len()],
        }
    }

    /// Each column is one family of tests, corrected by Holm's method.
    fn mark(&self, rows: &mut [MetricRow], matched: &[ComparedRow], column: usize) {
        if column == self.baseline {
            return;
        }
        let mut claims = Vec::new();
        for (index, (row, matched)) in rows.iter_mut().zip(matched).enumerate() {
            let (verdict, found) = self.verdict(row, matched, column);
            row.verdicts[column] = verdict;
            claims.extend(found.map(|found| (index, claim(&found, self.margin))));
        }
        let p_values: Vec<f64> = claims.iter().map(|(_, (_, p))| *p).collect();
        for ((row, (mark, _)), _) in claims.iter().zip(stats::holm(&p_values, LEVEL)).filter(|(_, holds)| *holds) {
            if let MetricVerdict::Ratio(ratio) = &mut rows[*row].verdicts[column] {
                ratio.mark = *mark;
            }
        }
    }

    fn verdict(&self, row: &MetricRow, matched: &ComparedRow, column: usize) -> (MetricVerdict, Option<BetweenRuns>) {
        let counted = |column: usize| row.counts[column].as_ref().is_some_and(|cell| cell.count.is_ok());
        let cells = (matched.cells[column].as_ref(), matched.cells[self.baseline].as_ref());
        let (Some(cell), Some(base), true, true) = (cells.0, cells.1, counted(column), counted(self.baseline)) else {
            return (MetricVerdict::Missing, None);
        };
        if let Work::Different(difference) = work(cell, base) {
            return (MetricVerdict::DifferentWork(difference), None);
        }
        let sides = launches(cell).zip(launches(base));
        let between = |(new, old): (&Launches, &Launches)| {
            stats::between_counts(&new.medians_ns, &old.medians_ns, self.metric.between_runs())
        };
        let found = sides.and_then(between);
        found.map_or((MetricVerdict::TooFew, None), |found| (MetricVerdict::Ratio(unmarked(&found)), Some(found)))
    }
}

/// The counts of a run's launches, which stand where its times do otherwise.
fn launches(cell: &Cell) -> Option<&Launches> {
    cell.runs.iter().flatten().next()
}

fn count(cell: &Cell) -> MetricCell {
    let none = || Failure::new(FailureKind::Unsupported, "no counts");
    let counted = || launches(cell).and_then(|launches| stats::event_count(&launches.medians_ns));
    MetricCell { count: cell.figure.as_ref().map_err(Failure::clone).and_then(|_| counted().ok_or_else(none)) }
}

fn unmarked(found: &BetweenRuns) -> MetricRatio {
    let (low, high) = found.low_high();
    MetricRatio { ratio: found.ratio(), low, high, mark: MetricMark::Inconclusive }
}

/// The mark that a ratio suggests, and its p value.
fn claim(found: &BetweenRuns, margin: f64) -> (MetricMark, f64) {
    match found.log_ratio {
        log if log.abs() <= margin.ln_1p() => (MetricMark::Unchanged, found.p_same(margin)),
        log if log < 0.0 => (MetricMark::Fewer, found.p_differs(margin)),
        _ => (MetricMark::More, found.p_differs(margin)),
    }
}

fn sort(rows: &mut [MetricRow], order: Order, baseline: usize) {
    let ratio = |row: &MetricRow| {
        let ratios = row.verdicts.iter().filter_map(MetricVerdict::ratio).map(|ratio| ratio.ratio);
        ratios.max_by(f64::total_cmp).unwrap_or(f64::NEG_INFINITY)
    };
    match order {
        Order::Asked => {}
        Order::Ratio => rows.sort_by(|a, b| ratio(b).total_cmp(&ratio(a))),
        Order::Name => rows.sort_by_cached_key(|row| (row.key.to_string(), row.key.environment.clone())),
        Order::Cost => {
            let count = |row: &MetricRow| row.value(baseline).unwrap_or(f64::INFINITY);
            rows.sort_by(|a, b| count(a).total_cmp(&count(b)));
        }
    }
}

impl MetricVerdict {
    /// The ratio to the baseline.
    pub fn ratio(&self) -> Option<&MetricRatio> {
        match self {
            MetricVerdict::Ratio(ratio) => Some(ratio),
            _ => None,
        }
    }

    /// What a gate judges by. Entries that are unknown pass here, since the event is what is asked about.
    fn for_gate(&self) -> (Option<Work>, Range) {
        match self {
            MetricVerdict::Ratio(ratio) => (Some(Work::Same), Ok((ratio.ratio, ratio.low, ratio.high))),
            MetricVerdict::DifferentWork(how) => (Some(Work::Different(how.clone())), Err(NotJudged::OtherWork)),
            MetricVerdict::TooFew => (Some(Work::Same), Err(NotJudged::NoInterval)),
            MetricVerdict::Baseline | MetricVerdict::Missing => (None, Err(NotJudged::Missing)),
        }
    }
}

impl MetricRow {
    /// The count per iteration in a column.
    pub fn value(&self, column: usize) -> Option<f64> {
        Some(self.counts.get(column)?.as_ref()?.count.as_ref().ok()?.value)
    }
}

impl MetricComparison {
    /// Finds the rows that certainly grew by more than `limit`, a share: the lower end of the interval is above it.
    pub fn limit_growth(&mut self, limit: f64) {
        let of_row = |row: &MetricRow| {
            let ratios = row.verdicts.iter().enumerate().filter_map(|(column, v)| Some((column, *v.ratio()?)));
            let grown = ratios.filter(|(_, ratio)| ratio.low > 1.0 + limit);
            grown.map(|(column, ratio)| MetricGrown { key: row.key.clone(), column, ratio }).collect::<Vec<_>>()
        };
        self.growth = Some(MetricGrowth { limit, grown: self.rows.iter().flat_map(of_row).collect() });
    }

    /// Judges the rows, among those not left out.
    pub fn gate(&mut self, gate: &Gate) {
        let columns = |row: &MetricRow| (0..row.verdicts.len()).filter(|column| *column != self.baseline).collect();
        let of_row = |row: &MetricRow| -> Vec<GatedRow> {
            let columns: Vec<usize> = columns(row);
            let found = |column: usize| {
                let (work, range) = row.verdicts[column].for_gate();
                GatedRow { key: row.key.clone(), column, found: gate.found(work, range) }
            };
            columns.into_iter().map(found).collect()
        };
        self.gate = Some(gate.gated(self.rows.iter().flat_map(of_row).collect()));
        gate.limit.into_iter().for_each(|limit| self.limit_growth(limit));
    }

    /// Leaves out the rows that do not certainly differ by more than the margin in any column. Rows without a ratio stay.
    pub fn keep_differing(&mut self) {
        let before = self.rows.len();
        self.rows.retain(|row| {
            let mut ratios = row.verdicts.iter().filter_map(MetricVerdict::ratio).peekable();
            ratios.peek().is_none() || ratios.any(|r| matches!(r.mark, MetricMark::Fewer | MetricMark::More))
        });
        self.left_out += before - self.rows.len();
    }
}
