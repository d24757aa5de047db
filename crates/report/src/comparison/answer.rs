//! A comparison in short: for each file how many rows are slower or faster, by how much on the whole, and which the most.

use crate::comparison::notes::speed;
use crate::comparison::row::{Names, number};
use analysis::compare::{Comparison, Mark, Verdict};
use document::write::markup::cut;
use itertools::Itertools;
use model::prose::counted;

const MOST_ROWS: usize = 3;
const NAME: usize = 40;

/// `3 slower, 1 faster, ... ×1.004 the cost of before (...). Largest increases: file.stat ×1.200.`
pub fn answer(comparison: &Comparison, column: usize) -> String {
    let rows = comparison.rows.iter();
    let verdicts: Vec<&Verdict> = rows.map(|row| &row.verdicts[column]).collect();
    let judged = verdicts.iter().filter(|verdict| verdict.mark().is_some());
    let (instructions, times): (Vec<&Verdict>, Vec<&Verdict>) =
        judged.partition(|verdict| verdict.difference().is_some());
    let is_single = verdicts
        .iter()
        .any(|verdict| matches!(verdict, Verdict::OneFigure(_)));
    let mut tallies = Vec::new();
    if !times.is_empty() || (instructions.is_empty() && !is_single) {
        tallies.push(format!(
            "{} (95% confidence)",
            tally(&times, "slower", "faster")
        ));
    } else if instructions.is_empty() {
        tallies.push(
            "these results have no samples, so no row is called slower or faster".to_string(),
        );
    }
    if !instructions.is_empty() {
        tallies.push(format!(
            "instruction counts: {}",
            tally(&instructions, "greater", "smaller")
        ));
    }
    let other = verdicts
        .iter()
        .filter(|verdict| matches!(verdict, Verdict::DifferentWork(_)));
    match other.count() {
        0 => {}
        other => tallies.push(format!("{other} do different work")),
    }
    let mut text = format!("{}. {}.", tallies.join("; "), mean(comparison, column));
    let increases = most_extreme(comparison, column, Mark::is_worse);
    let decreases = most_extreme(comparison, column, Mark::is_better);
    for (word, list) in [("increases", increases), ("decreases", decreases)] {
        if !list.is_empty() {
            text += &format!(" Largest {word}: {list}.");
        }
    }
    text
}

/// `3 slower, 1 faster, 7 equal, 2 not known`
fn tally(verdicts: &[&Verdict], more: &str, less: &str) -> String {
    let count = |is_it: fn(Mark) -> bool| {
        let marks = verdicts.iter().filter_map(|verdict| verdict.mark());
        marks.filter(|mark| is_it(*mark)).count()
    };
    format!(
        "{} {more}, {} {less}, {} equal, {} not known",
        count(Mark::is_worse),
        count(Mark::is_better),
        count(|mark| mark == Mark::Equal),
        count(|mark| mark == Mark::NotKnown)
    )
}

/// `×1.004 the cost of before, not counting the machine as a whole, which was 12.5% faster (geometric mean over 156 rows)`
fn mean(comparison: &Comparison, column: usize) -> String {
    let base = comparison.label(comparison.baseline);
    let overall = comparison.areas.iter().find(|mean| mean.area.is_none());
    let Some((ratio, rows)) = overall.and_then(|mean| Some((mean.ratios[column]?, mean.rows)))
    else {
        return format!("No row can be compared with {base}");
    };
    let machine = comparison.machine[column].filter(|change| change.rows_are_relative);
    let relative = machine.map(|change| {
        format!(
            ", not counting the machine as a whole, which was {}",
            speed(&change)
        )
    });
    format!(
        "×{} the cost of {base}{} (geometric mean over {})",
        number(ratio),
        relative.unwrap_or_default(),
        counted(rows, "row")
    )
}

/// `file.stat ×1.200, file.lstat ×1.100`
fn most_extreme(comparison: &Comparison, column: usize, is_it: fn(Mark) -> bool) -> String {
    let judged = comparison
        .rows
        .iter()
        .filter_map(|row| Some((row.verdicts[column].interval()?, row)));
    let rows = judged
        .filter(|(interval, _)| is_it(interval.mark))
        .map(|(interval, row)| (interval.ratio, row))
        // By the logarithm, so that half the cost is as extreme as twice the cost.
        .sorted_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()));
    let names = Names::new(comparison);
    rows.take(MOST_ROWS)
        .map(|(r, row)| format!("{} ×{}", cut(&names.row(row), NAME), number(r)))
        .join(", ")
}
