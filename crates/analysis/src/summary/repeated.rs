//! Several runs of the same cases as one summary: costs are geometric means of the runs' medians, intervals come from the scatter of
//! runs.

use super::{
    Instructions, Moves, Relative, Row, RowCost, RowFigure, RunStart, Summary, Versus, Warning,
    pairs, quotients, summarize_one,
};
use crate::derive::DerivedRow;
use indexmap::IndexMap;
use model::{Combination, Nanos, Run};
use stats::{Interval, OverRuns, Ranged, Side};
use std::mem::discriminant;

pub fn summarize(run: &Run) -> Summary {
    let mut whole = together(
        run,
        run.runs()
            .map(|one| {
                let mut summary = summarize_one(one, run.study.as_ref());
                pairs::pair(&mut summary, one);
                summary
            })
            .collect(),
    );
    quotients::from_figures(&mut whole);
    whole
}

fn together(run: &Run, summaries: Vec<Summary>) -> Summary {
    let mut summaries = summaries.into_iter();
    let mut whole = summaries.next().unwrap_or_default();
    let others: Vec<Summary> = summaries.collect();
    if others.is_empty() {
        return whole;
    }
    let target = run.plan.precision_percent;
    rows_together(&mut whole.rows, &others, |other| &other.rows, target);
    rows_together(
        &mut whole.baselines,
        &others,
        |other| &other.baselines,
        target,
    );
    let derived = std::mem::take(&mut whole.derived);
    whole.derived = derived_over(
        [derived]
            .into_iter()
            .chain(others.iter().map(|other| other.derived.clone())),
    );
    for warning in others.iter().flat_map(|other| &other.warnings) {
        if !whole.warnings.contains(warning) {
            whole.warnings.push(warning.clone());
        }
    }
    Summary {
        repeats: run
            .repeats
            .iter()
            .map(|run| RunStart {
                started_unix_s: run.started_unix_s,
                seed: run.plan.seed,
                elapsed_s: run.elapsed_s,
            })
            .collect(),
        ..whole
    }
}

fn rows_together(
    rows: &mut [Row],
    others: &[Summary],
    part: fn(&Summary) -> &Vec<Row>,
    target_percent: f64,
) {
    for (i, row) in rows.iter_mut().enumerate() {
        let again = others
            .iter()
            .filter_map(|other| part(other).get(i))
            .filter(|again| again.case == row.case);
        let all: Vec<Row> = std::iter::once(row.clone()).chain(again.cloned()).collect();
        *row = row_together(&all, target_percent);
    }
}

fn row_together(runs: &[Row], target_percent: f64) -> Row {
    fn ln(row: &Row) -> Option<f64> {
        row.cost()
            .filter(|cost| cost.median.is_cost())
            .map(|cost| cost.median.0.ln())
    }

    let ln_medians: Vec<f64> = runs.iter().map(|row| ln(row).unwrap_or(f64::NAN)).collect();
    let over = OverRuns::from_logs(&ln_medians);
    let costs: Vec<(RowCost, f64)> = runs
        .iter()
        .filter_map(|row| Some((*row.cost()?, 1.0)))
        .collect();
    let counts: Vec<Instructions> = runs
        .iter()
        .filter_map(|row| row.instructions().copied())
        .collect();
    let first = runs[0].clone();
    let cost = combined(&costs, &ln_medians);
    let warnings = warnings(runs, &over, cost.as_ref(), target_percent);
    let figure = Instructions::over(&counts)
        .map(RowFigure::Instructions)
        .or(cost.map(RowFigure::Time));
    let figure = figure.map_or(first.figure, Ok);
    // Counts have no scatter to learn from.
    let over_runs = counts.is_empty().then_some(over);
    Row {
        figure,
        warnings,
        over_runs,
        versus: versus(runs),
        ..first
    }
}

fn versus(runs: &[Row]) -> Option<Versus> {
    let known = || runs.iter().filter_map(|row| row.versus.as_ref());
    let ratios: Vec<Ranged> = known().map(|versus| versus.ratio).collect();
    let ratio = combined_ratio(Combination::Ratio, &ratios)?;
    Some(Versus {
        environment: known().next()?.environment.clone(),
        ratio,
    })
}

/// `parts` are costs of one run or of several, each with its number of runs; medians are NaN for a run without one. The
/// interval is that over runs; for fewer than three, the smallest that holds those of all parts.
pub fn combined(parts: &[(RowCost, f64)], ln_medians: &[f64]) -> Option<RowCost> {
    fn empty(part: &RowCost) -> Option<f64> {
        Some((part.median - part.net?).0)
    }

    let (first, _) = parts.first()?;
    let Some(mean) = stats::mean_log(ln_medians) else {
        return Some(*first);
    };
    let over_runs = OverRuns::from_logs(ln_medians)
        .low_high
        .map(|(low, high)| Interval::with_95_percent(low, high));
    let median = Nanos(mean.exp());
    let moves = moves(parts);
    Some(RowCost {
        median,
        best: parts
            .iter()
            .filter_map(|(part, _)| part.best)
            .min_by(|a, b| a.0.total_cmp(&b.0)),
        interval: over_runs.or_else(|| hull(parts.iter().map(|(part, _)| part.interval))),
        next_run: moves.and_then(|moves| moves.next_run(median.0)),
        relative: relative(parts, moves),
        moves,
        samples: parts.iter().map(|(part, _)| part.samples).sum(),
        net: mean_of(parts, empty).map(|empty| median - Nanos(empty)),
        cold_over_warm: cold_over_warm(parts),
        times_getppid: mean_of(parts, |part| part.times_getppid),
        user_share: parts.iter().find_map(|(part, _)| part.user_share),
    })
}

fn cold_over_warm(parts: &[(RowCost, f64)]) -> Option<Ranged> {
    let ratios: Vec<Ranged> = parts
        .iter()
        .filter_map(|(part, _)| part.cold_over_warm)
        .collect();
    combined_ratio(Combination::Ratio, &ratios)
}

fn relative(parts: &[(RowCost, f64)], moves: Option<Moves>) -> Option<Relative> {
    let in_user_mode = parts.first()?.0.relative?.in_user_mode;
    let value = mean_of(parts, |part| {
        Some(
            part.relative
                .filter(|compared| compared.in_user_mode == in_user_mode)?
                .value,
        )
    })?;
    Some(Relative {
        value,
        in_user_mode,
        next_run: moves
            .and_then(|moves| moves.case.next_run().interval(moves.case.expected(value))),
    })
}

/// The machine by how it moved between the parts, and the case relative to that; without the machine's speed in all parts, the case
/// by itself.
fn moves(parts: &[(RowCost, f64)]) -> Option<Moves> {
    let cases: Vec<Side> = parts
        .iter()
        .map(|(part, _)| Some(part.moves?.case))
        .collect::<Option<_>>()?;
    let first = &parts.first()?.0;
    let in_user_mode = first.relative.map(|relative| relative.in_user_mode);
    let slower_ln = parts
        .iter()
        .map(|(part, _)| {
            let relative = part
                .relative
                .filter(|compared| Some(compared.in_user_mode) == in_user_mode)?;
            Some((part.median.0 / relative.value).ln())
        })
        .collect::<Option<Vec<f64>>>()
        .unwrap_or_default();
    Some(Moves {
        case: Side::together(&cases, &slower_ln)?,
        machine: first.moves?.machine.in_runs(&slower_ln),
    })
}

/// `None` unless every part has a value above 0.
fn mean_of(parts: &[(RowCost, f64)], value: impl Fn(&RowCost) -> Option<f64>) -> Option<f64> {
    let logs = parts
        .iter()
        .map(|(part, runs)| Some(value(part).filter(|value| *value > 0.0)?.ln() * runs));
    let runs: f64 = parts.iter().map(|(_, runs)| runs).sum();
    Some((logs.sum::<Option<f64>>()? / runs).exp())
}

fn hull(intervals: impl Iterator<Item = Option<Interval>>) -> Option<Interval> {
    intervals
        .collect::<Option<Vec<Interval>>>()?
        .into_iter()
        .reduce(|a, b| Interval {
            low: a.low.min(b.low),
            high: a.high.max(b.high),
            level: a.level.min(b.level),
        })
}

/// One warning of each kind. Warnings about an interval concern the one that is shown.
fn warnings(
    runs: &[Row],
    over: &OverRuns,
    cost: Option<&RowCost>,
    target_percent: f64,
) -> Vec<Warning> {
    let mut warnings: Vec<Warning> = Vec::new();
    for warning in runs.iter().flat_map(|row| &row.warnings) {
        let is_about_interval = matches!(
            warning,
            Warning::TooFewBlocks { .. } | Warning::TargetNotMet { .. }
        );
        let replaced = is_about_interval && over.low_high.is_some();
        if !replaced
            && !warnings.iter().any(|other| match warning {
                // Texts have to be equal; the numbers of a warning differ from run to run.
                Warning::Recorded { .. } | Warning::Unverified { .. } => other == warning,
                _ => discriminant(other) == discriminant(warning),
            })
        {
            warnings.push(warning.clone());
        }
    }
    let reached = if over.low_high.is_some() {
        cost.and_then(RowCost::half_width_percent)
    } else {
        None
    };
    let missed = reached.filter(|reached| *reached > target_percent);
    warnings.extend(missed.map(|reached_percent| Warning::TargetNotMet {
        target_percent,
        reached_percent,
    }));
    let failed = runs.iter().filter(|row| row.figure.is_err()).count();
    if failed > 0 && failed < runs.len() {
        warnings.push(Warning::FailedInRuns {
            failed,
            runs: runs.len(),
        });
    }
    let few = (1..stats::FEWEST_REPEATED).contains(&over.known_runs());
    warnings.extend(few.then_some(Warning::FewRuns {
        runs: over.known_runs(),
    }));
    warnings
}

/// A value that any run has is combined with those of the others.
pub fn derived_over(runs: impl Iterator<Item = Vec<DerivedRow>>) -> Vec<DerivedRow> {
    let mut rows: IndexMap<_, (DerivedRow, Vec<Ranged>)> = IndexMap::new();
    for row in runs.flatten() {
        let value = row.value.clone().ok();
        rows.entry(row.key.clone())
            .or_insert_with(|| (row, Vec::new()))
            .1
            .extend(value);
    }
    rows.into_values()
        .map(
            |(row, values)| match combined_ratio(row.combination, &values) {
                Some(value) => DerivedRow {
                    value: Ok(value),
                    ..row
                },
                None => row,
            },
        )
        .collect()
}

/// The mean, of a ratio on the logarithmic scale. Intervals are as those of costs.
fn combined_ratio(combination: Combination, runs: &[Ranged]) -> Option<Ranged> {
    let is_ratio = combination == Combination::Ratio;
    let back = |value: f64| if is_ratio { value.exp() } else { value };
    let values: Vec<f64> = runs
        .iter()
        .map(|run| if is_ratio { run.value.ln() } else { run.value })
        .collect();
    let value = back(stats::mean_log(&values)?);
    let within = hull(runs.iter().map(|run| {
        run.low_high
            .map(|(low, high)| Interval::with_95_percent(low, high))
    }))
    .map(Interval::ends);
    let over = stats::mean_interval(&values).map(|(low, high)| (back(low), back(high)));
    Some(Ranged {
        value,
        low_high: over.or(within),
    })
}
impl Summary {
    pub fn runs(&self) -> usize {
        1 + self.repeats.len()
    }
}
