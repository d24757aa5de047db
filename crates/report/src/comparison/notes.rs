//! The lines below the tables of a comparison: what the terms mean, what was left out, why there are no ratios.

use crate::comparison::row::{Names, different_work, share};
use crate::conditions;
use crate::run::instructions::NOT_TIME;
use crate::run::warnings;
use analysis::compare::{ColumnInfo, ComparedRow, Comparison, LeftOut, MachineChange, Verdict};
use analysis::summary::Warning;
use model::grouped;
use model::prose::{MOST_IN_A_NOTE, counted, few};

pub fn notes(comparison: &Comparison) -> Vec<String> {
    let names = Names::of(comparison);
    let margin = share(comparison.margin);
    let mut notes = Vec::new();
    let left_out = comparison.left_out;
    if left_out.unchanged + left_out.inconclusive > 0 {
        let LeftOut {
            unchanged,
            inconclusive,
        } = left_out;
        notes.push(format!(
            "Not shown, as no difference over {margin} is certain: {unchanged} unchanged, {inconclusive} inconclusive."
        ));
    }
    notes.extend(labels(comparison));
    notes.extend(machines(comparison));
    notes.extend(other_work(comparison, &names));
    notes.extend(failures(comparison, &names));
    notes.extend(history(comparison, &names));
    notes.extend(runs(comparison));
    let is_marked = |verdict: &Verdict| verdict.mark().is_some() && verdict.difference().is_none();
    if comparison
        .rows
        .iter()
        .flat_map(|row| &row.verdicts)
        .any(is_marked)
    {
        notes.push(format!(
            "slower, faster: by more than {margin}, and not by chance; unchanged: within {margin}; at most 5% of these verdicts are \
             expected to be wrong; inconclusive: the runs cannot tell"
        ));
    }
    notes.extend(instructions(comparison));
    notes
}

fn instructions(comparison: &Comparison) -> Vec<String> {
    if !comparison
        .rows
        .iter()
        .flat_map(|row| &row.verdicts)
        .any(|verdict| verdict.difference().is_some())
    {
        return Vec::new();
    }
    let verdicts = match share(comparison.margin).as_str() {
        "0%" => {
            "more, fewer: by more than the repeats within a run differ; two runs of the same kernel can differ by more".to_string()
        }
        margin => format!("more, fewer: by more than {margin} in every pair of repeats; unchanged: within {margin}"),
    };
    let means = comparison.rows.iter().any(|row| !row.is_counted()) && !comparison.areas.is_empty();
    let means = means.then(|| "means cover times only".to_string());
    [NOT_TIME.to_string(), verdicts]
        .into_iter()
        .chain(means)
        .collect()
}

fn labels(comparison: &Comparison) -> Vec<String> {
    let line = |column: &ColumnInfo| {
        Some(format!(
            "{}: {}",
            column.label,
            conditions::labels(&column.labels)?
        ))
    };
    comparison
        .columns
        .iter()
        .filter_map(line)
        .take(MOST_IN_A_NOTE)
        .collect()
}

fn machines(comparison: &Comparison) -> Vec<String> {
    let line = |(i, column): (usize, &ColumnInfo)| {
        Some(format!("{}: {}", column.label, machine(comparison, i)?))
    };
    comparison
        .columns
        .iter()
        .enumerate()
        .filter_map(line)
        .collect()
}

fn machine(comparison: &Comparison, column: usize) -> Option<String> {
    let change = comparison.machine.get(column)?.as_ref()?;
    let percent = |ratio: f64| format!("{:+.1}%", 100.0 * (ratio - 1.0));
    let (low, high) = (percent(change.low), percent(change.high));
    let then = if change.rows_are_relative {
        "ratios are relative to that".to_string()
    } else {
        format!(
            "ratios are as measured, because user mode ({}) and the kernel ({}) changed differently",
            percent(change.user_mode),
            percent(change.kernel_mode)
        )
    };
    Some(format!(
        "the machine as a whole was {} ({low} .. {high}); {then}",
        speed(change)
    ))
}

/// `12.5% faster`
pub fn speed(change: &MachineChange) -> String {
    let word = if change.ratio < 1.0 {
        "faster"
    } else {
        "slower"
    };
    format!("{:.1}% {word}", 100.0 * (change.ratio - 1.0).abs())
}

fn runs(comparison: &Comparison) -> Option<String> {
    let columns = &comparison.columns;
    let run = |column: &ColumnInfo| format!("{} {}", column.label, counted(column.runs, "run"));
    let each: Vec<String> = columns.iter().map(run).collect();
    let single = columns.iter().any(|column| column.runs == 1);
    let rest = if single {
        "with a single run, run-to-run variation is assumed"
    } else {
        "intervals come from the variation between runs"
    };
    columns
        .iter()
        .any(|column| column.runs > 1)
        .then(|| format!("{}; {rest}", few(&each)))
}

fn history(comparison: &Comparison, names: &Names) -> Option<String> {
    let rows = comparison
        .rows
        .iter()
        .filter(|row| row.depends_on_history());
    let rows: Vec<String> = rows.map(|row| names.row(row)).collect();
    let text = warnings::text(&Warning::DependsOnHistory);
    (!rows.is_empty()).then(|| format!("~: {text}; no verdict, and not in means: {}", few(&rows)))
}

/// `getpid: not the same operation: ...`
fn other_work(comparison: &Comparison, names: &Names) -> Vec<String> {
    let of_row = |row: &ComparedRow| -> Vec<(String, String)> {
        let other = row
            .verdicts
            .iter()
            .enumerate()
            .filter_map(|(column, verdict)| match verdict {
                Verdict::DifferentWork(how) => {
                    Some((different_work(comparison, column, how), names.row(row)))
                }
                _ => None,
            });
        other.collect()
    };
    let by_text = grouped(comparison.rows.iter().flat_map(of_row));
    by_text
        .into_iter()
        .map(|(text, names)| format!("{}: {text}", few(&names)))
        .collect()
}

/// `file.stat: no result in a, b: EINVAL: ...`
fn failures(comparison: &Comparison, names: &Names) -> Vec<String> {
    let of_row = |row: &ComparedRow| -> Vec<((String, String), &str)> {
        let cells = comparison.columns.iter().zip(&row.cells);
        let failed = cells
            .filter_map(|(column, cell)| Some((cell.as_ref()?.figure.as_ref().err()?, column)));
        failed
            .map(|(failure, column)| ((names.row(row), failure.to_string()), column.label.as_str()))
            .collect()
    };
    let by_text = grouped(comparison.rows.iter().flat_map(of_row));
    by_text
        .iter()
        .map(|((row, failure), files)| format!("{row}: no result in {}: {failure}", few(files)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::compare::{Column, Options, compare};
    use model::fixtures::{record, run};
    use model::{PANEL, PANEL_IN_USER_MODE};

    /// The panel's members in user mode and in the kernel at these costs, compared with 100 us each.
    fn machine_notes(user: u64, kernel: u64) -> Vec<String> {
        let column = |label: &str, user: u64, kernel: u64| {
            let cost = |i: usize| if i < PANEL_IN_USER_MODE { user } else { kernel };
            Column::new(
                label,
                &run(PANEL
                    .iter()
                    .enumerate()
                    .map(|(i, id)| record(id, cost(i)))
                    .collect()),
            )
        };
        let columns = [column("old", 100_000, 100_000), column("new", user, kernel)];
        machines(&compare(&columns, &Options::default()))
    }

    #[test]
    fn the_machine_as_a_whole_is_told_apart_from_its_rows() {
        let faster = "new: the machine as a whole was 3.0% faster (-8.5% .. +2.9%); ratios are relative to that";
        assert_eq!(machine_notes(97_000, 97_000), [faster]);
        let apart = &machine_notes(100_000, 110_000)[0];
        assert!(
            apart.ends_with(
                "as measured, because user mode (+0.0%) and the kernel (+10.0%) changed differently"
            ),
            "{apart}"
        );
    }
}
