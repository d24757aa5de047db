//! The lines below the tables of a comparison: the meaning of terms, rows that were left out, and why ratios are missing.

use crate::comparison::row::{Names, both_entries, share};
use crate::conditions;
use crate::numbers::date;
use crate::run::instructions::NOT_TIME;
use crate::run::warnings;
use analysis::compare::{Caution, Cell, Comparison, LeftOut, MachineChange, Verdict};
use analysis::summary::Warning;
use itertools::Itertools;
use model::grouped;
use model::prose::{MOST_IN_A_NOTE, counted, few, few_of};

/// All notes, the least expected first.
pub fn notes(comparison: &Comparison) -> Vec<String> {
    let names = Names::new(comparison);
    let margin = share(comparison.margin);
    let mut notes = Vec::new();
    let LeftOut { equal, not_known } = comparison.left_out;
    if equal + not_known > 0 {
        notes.push(format!(
            "Not shown, because no difference over {margin} is certain: {equal} within {margin}, {not_known} not known."
        ));
    }
    notes.extend(since(comparison, &names));
    notes.extend(labels(comparison));
    notes.extend(machines(comparison));
    notes.extend(other_work(comparison, &names));
    notes.extend(failures(comparison, &names));
    notes.extend(marked(comparison, &names));
    notes.extend(runs(comparison));
    if let Some(half_width) = middle_half_width(comparison) {
        let shown = (100.0 * half_width.max(comparison.margin)).ceil();
        let changes = if shown > 100.0 {
            "even for changes over 100%".to_string()
        } else {
            format!("for changes under {shown:.0}%")
        };
        notes.push(format!(
            "{}; at most 5% of these verdicts are expected to be wrong; not known: too uncertain (in half of the rows, {changes}){}",
            verdicts(comparison.margin),
            both_at_once(comparison)
        ));
    }
    notes.extend(instructions(comparison));
    notes
}

/// The meaning of the verdicts with this margin.
pub fn verdicts(margin: f64) -> String {
    let margin = share(margin);
    format!("slower, faster: by more than {margin}, and not by chance; equal: within {margin}")
}

/// Advice for two files whose rows have no verdict.
fn both_at_once(comparison: &Comparison) -> &'static str {
    let mut cautions = comparison.cautions.iter();
    if cautions.any(|caution| matches!(caution, Caution::SameRounds)) {
        return "";
    }
    "; one run of both sides detects smaller ones: run 'BASE=c:...' 'HEAD=c:...', or race for programs"
}

/// How far the ends of the interval are from the ratio of two times, as a share, in the middle row; `None` without such ratios.
fn middle_half_width(comparison: &Comparison) -> Option<f64> {
    let verdicts = comparison.rows.iter().flat_map(|row| &row.verdicts);
    stats::median(
        verdicts
            .filter_map(|verdict| match verdict {
                Verdict::Ratio(ratio) if verdict.difference().is_none() => {
                    Some((ratio.high / ratio.low).sqrt() - 1.0)
                }
                _ => None,
            })
            .collect(),
    )
}

fn instructions(comparison: &Comparison) -> Vec<String> {
    let mut verdicts = comparison.rows.iter().flat_map(|row| &row.verdicts);
    if !verdicts.any(|verdict| verdict.difference().is_some()) {
        return Vec::new();
    }
    let verdicts = match share(comparison.margin).as_str() {
        "0%" => {
            "more, fewer: by more than the repeats within a run differ; two runs of the same kernel can differ by more".to_string()
        }
        margin => format!("more, fewer: by more than {margin} in every pair of repeats; equal: within {margin}"),
    };
    let means = comparison.rows.iter().any(|row| !row.is_counted()) && !comparison.areas.is_empty();
    let means = if means {
        Some("means cover times only".to_string())
    } else {
        None
    };
    [NOT_TIME.to_string(), verdicts]
        .into_iter()
        .chain(means)
        .collect()
}

/// `since F (2026-11-30 02:00, file 6 of 8): file.stat +12.0%, file.lstat +11.3%`, by the middle ratio from there on.
fn since(comparison: &Comparison, names: &Names) -> Vec<String> {
    let begun = comparison.rows.iter().filter_map(|row| {
        let since = row.since?;
        let ratios = row.verdicts[since..].iter().filter_map(Verdict::ratio);
        let percent = 100.0 * (stats::median(ratios.collect())? - 1.0);
        Some((since, format!("{} {percent:+.1}%", names.row(row))))
    });
    let files = comparison.columns.len();
    grouped(begun.sorted_by_key(|begun| begun.0))
        .iter()
        .map(|(since, rows)| {
            let column = &comparison.columns[*since];
            let (label, begun) = (&column.label, date(column.started_unix_s));
            let (number, rows) = (since + 1, few(rows));
            format!("since {label} ({begun}, file {number} of {files}): {rows}")
        })
        .collect()
}

fn labels(comparison: &Comparison) -> Vec<String> {
    comparison
        .columns
        .iter()
        .filter_map(|column| {
            Some(format!(
                "{}: {}",
                column.label,
                conditions::labels(&column.labels)?
            ))
        })
        .take(MOST_IN_A_NOTE)
        .collect()
}

fn machines(comparison: &Comparison) -> Vec<String> {
    let changes = comparison.columns.iter().zip(&comparison.machine);
    let changes = changes.enumerate();
    changes
        .filter_map(|(index, (column, change))| {
            let mut rows = comparison.rows.iter();
            let has_ratios = rows.any(|row| row.verdicts[index].interval().is_some());
            let machine = machine(change.as_ref()?, has_ratios);
            Some(format!("{}: {machine}", column.label))
        })
        .collect()
}

/// Ratios without a verdict are those of the costs as they were measured.
fn machine(change: &MachineChange, has_ratios: bool) -> String {
    fn percent(ratio: f64) -> String {
        format!("{:+.1}%", 100.0 * (ratio - 1.0))
    }

    let (low, high) = (percent(change.low), percent(change.high));
    let then = if !has_ratios {
        "ratios are as measured".to_string()
    } else if change.rows_are_relative {
        "ratios are relative to that, and to how fast it was in each round".to_string()
    } else {
        format!(
            "ratios are relative only to how fast it was in each round, because user mode ({}) and the kernel ({}) changed differently",
            percent(change.user_mode),
            percent(change.kernel_mode)
        )
    };
    let speed = speed(change);
    format!("the machine as a whole was {speed} ({low} .. {high}); {then}")
}

/// `12.5% faster`, `equally fast`
pub fn speed(change: &MachineChange) -> String {
    if (change.ratio - 1.0).abs() < 0.0005 {
        return "equally fast".to_string();
    }
    let word = if change.ratio < 1.0 {
        "faster"
    } else {
        "slower"
    };
    format!("{:.1}% {word}", 100.0 * (change.ratio - 1.0).abs())
}

/// The number of runs on each side, if one has several.
fn runs(comparison: &Comparison) -> Option<String> {
    let columns = &comparison.columns;
    let several = columns.iter().any(|column| column.runs > 1);
    if !several {
        return None;
    }
    let runs = columns
        .iter()
        .map(|column| format!("{} {}", column.label, counted(column.runs, "run")));
    Some(few(runs))
}

/// The meaning of the marks of costs, and the rows that have them.
fn marked(comparison: &Comparison, names: &Names) -> Vec<String> {
    let rows = &comparison.rows;
    let is_refused = |is: fn(&Verdict) -> bool| {
        let mut verdicts = rows.iter().flat_map(|row| &row.verdicts);
        verdicts.any(is)
    };
    let history = is_refused(|verdict| matches!(verdict, Verdict::DependsOnHistory(_)))
        .then_some("; no verdict, and not in means");
    let traced = is_refused(|verdict| matches!(verdict, Verdict::Traced(_)))
        .then_some("; no verdict against a run without, and not in means");
    type Kind<'a> = (&'a str, Warning, Option<&'a str>, fn(&Cell) -> bool);
    let kinds: [Kind; 2] = [
        ("~", Warning::DependsOnHistory, history, |cell| {
            cell.depends_on_history
        }),
        ("*", Warning::Traced, traced, |cell| cell.is_traced),
    ];
    let mut notes = Vec::new();
    for (mark, warning, refused, is) in kinds {
        let marked = rows.iter().filter(|row| row.has(is));
        let marked: Vec<String> = marked.map(|row| names.row(row)).collect();
        let text = format!(
            "{mark}: {}{}",
            warnings::text(&warning),
            refused.unwrap_or_default()
        );
        if !marked.is_empty() {
            notes.push(format!("{text}: {}", few_of(marked, rows.len())));
        }
    }
    notes
}

/// `getpid: not the same operation: ...`
fn other_work(comparison: &Comparison, names: &Names) -> Vec<String> {
    let mut other = Vec::new();
    for row in &comparison.rows {
        for (column, verdict) in row.verdicts.iter().enumerate() {
            if let Verdict::DifferentWork(how) = verdict {
                other.push((both_entries(comparison, column, how), names.row(row)));
            }
        }
    }
    grouped(other)
        .iter()
        .map(|(text, names)| format!("{}: not the same operation: {text}", few(names)))
        .collect()
}

/// `file.stat, file.statx: no result in a, b: EINVAL: ...`
fn failures(comparison: &Comparison, names: &Names) -> Vec<String> {
    let mut failed = Vec::new();
    for row in &comparison.rows {
        for (column, cell) in comparison.columns.iter().zip(&row.cells) {
            if let Some(Err(failure)) = cell.as_ref().map(|cell| &cell.figure) {
                failed.push(((names.row(row), failure.to_string()), column.label.as_str()));
            }
        }
    }
    let rows = grouped(failed)
        .into_iter()
        .map(|((row, failure), files)| ((files, failure), row));
    grouped(rows)
        .iter()
        .map(|((files, failure), rows)| {
            format!("{}: no result in {}: {failure}", few(rows), few(files))
        })
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
        fn column(label: &str, user: u64, kernel: u64) -> Column {
            Column::new(
                label,
                &run(PANEL
                    .iter()
                    .enumerate()
                    .map(|(i, id)| record(id, if i < PANEL_IN_USER_MODE { user } else { kernel }))
                    .collect()),
            )
        }

        let columns = [column("old", 100_000, 100_000), column("new", user, kernel)];
        machines(&compare(&columns, &Options::default()))
    }

    #[test]
    fn the_machine_as_a_whole_is_told_apart_from_its_rows() {
        let faster = "new: the machine as a whole was 3.0% faster (-8.5% .. +2.9%); ratios are relative to that, and to how fast it was in each round";
        assert_eq!(machine_notes(97_000, 97_000), [faster]);
        let apart = &machine_notes(100_000, 110_000)[0];
        assert!(
            apart.ends_with(
                "in each round, because user mode (+0.0%) and the kernel (+10.0%) changed differently"
            ),
            "{apart}"
        );
    }
}
