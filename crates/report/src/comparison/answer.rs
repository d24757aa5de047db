//! A comparison in short: for each file how many rows are slower or faster, by how much on the whole, and which the most.

use crate::comparison::notes::speed;
use crate::comparison::row::{Names, number};
use analysis::compare::{ComparedRow, Comparison, Mark, Verdict};
use document::write::markup::cut;
use model::prose::counted;

const MOST_ROWS: usize = 3;
const NAME: usize = 40;

/// `3 slower, 1 faster, ... ×1.004 the cost of before (...). Largest increases: file.stat ×1.200.`
pub fn answer(comparison: &Comparison, column: usize) -> String {
    let verdicts = || comparison.rows.iter().map(|row| &row.verdicts[column]);
    let [times, instructions]: [Vec<&Verdict>; 2] = [false, true].map(|exact| {
        verdicts()
            .filter(|verdict| verdict.mark().is_some() && verdict.difference().is_some() == exact)
            .collect()
    });
    let [more, less] = ["slower", "faster"];
    let mut tallies = Vec::new();
    if !times.is_empty() || instructions.is_empty() {
        let is_single = verdicts().any(|verdict| matches!(verdict, Verdict::OneFigure { .. }));
        tallies.push(if is_single && times.is_empty() {
            "these results have no samples, so no row is called slower or faster".to_string()
        } else {
            format!("{} (95% confidence)", tally(&times, more, less))
        });
    }
    if !instructions.is_empty() {
        tallies.push(format!(
            "instruction counts: {}",
            tally(&instructions, "greater", "smaller")
        ));
    }
    let other = verdicts()
        .filter(|verdict| matches!(verdict, Verdict::DifferentWork(_)))
        .count();
    tallies.extend((other > 0).then(|| format!("{other} do different work")));
    let extremes = [
        ("increases", Mark::is_worse as fn(Mark) -> bool),
        ("decreases", Mark::is_better),
    ]
    .map(|(word, is_it)| {
        most_extreme(comparison, column, is_it).map(|list| format!("Largest {word}: {list}."))
    });
    let sentences = [
        Some(format!("{}.", tallies.join("; "))),
        Some(format!("{}.", mean(comparison, column))),
    ];
    sentences
        .into_iter()
        .chain(extremes)
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

/// `3 slower, 1 faster, 7 equal, 2 not known`
fn tally(verdicts: &[&Verdict], more: &str, less: &str) -> String {
    let count = |is_it: fn(Mark) -> bool| {
        verdicts
            .iter()
            .filter_map(|v| v.mark())
            .filter(|mark| is_it(*mark))
            .count()
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
    match overall.and_then(|mean| Some((mean.ratios[column]?, mean.rows))) {
        Some((ratio, rows)) => {
            let machine = comparison.machine[column].filter(|change| change.rows_are_relative);
            let relative = machine.map(|change| {
                format!(
                    ", not counting the machine as a whole, which was {}",
                    speed(&change)
                )
            });
            let relative = relative.unwrap_or_default();
            format!(
                "×{} the cost of {base}{relative} (geometric mean over {})",
                number(ratio),
                counted(rows, "row")
            )
        }
        None => format!("No row can be compared with {base}"),
    }
}

/// `file.stat ×1.200, file.lstat ×1.100`
fn most_extreme(comparison: &Comparison, column: usize, is_it: fn(Mark) -> bool) -> Option<String> {
    let ratio = |row: &ComparedRow| {
        row.verdicts[column]
            .interval()
            .filter(|r| is_it(r.mark))
            .map(|r| r.ratio)
    };
    let mut rows: Vec<(f64, &ComparedRow)> = comparison
        .rows
        .iter()
        .filter_map(|r| Some((ratio(r)?, r)))
        .collect();
    rows.sort_by(|a, b| b.0.ln().abs().total_cmp(&a.0.ln().abs()));
    let names = Names::of(comparison);
    let shown = rows
        .iter()
        .take(MOST_ROWS)
        .map(|(r, row)| format!("{} ×{}", cut(&names.row(row), NAME), number(*r)));
    (!rows.is_empty()).then(|| shown.collect::<Vec<_>>().join(", "))
}
