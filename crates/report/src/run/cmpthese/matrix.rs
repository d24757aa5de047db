//! The matrix of cmpthese, and the marks of pairs that the data do not distinguish.

use super::Timing;
use crate::run::environments::INDISTINGUISHABLE;
use itertools::Itertools;
use stats::{holm, paired_p_value};
use std::collections::HashSet;
use std::ptr;

const SCREEN: usize = 80;
/// The chance that any pair is wrongly shown as different.
const LEVEL: f64 = 0.05;

#[derive(Default)]
pub struct Marks {
    alike: HashSet<(usize, usize)>,
    tested: usize,
    /// Too few launches for a test.
    untested: usize,
}

impl Marks {
    /// Corrected for the number of pairs in all matrices.
    pub fn new(matrices: &[&[Timing]]) -> Marks {
        let tested = matrices
            .iter()
            .flat_map(|timings| timings.iter().array_combinations())
            .filter_map(|[a, b]| a.measurement.zip(b.measurement));
        let p_values: Vec<Option<f64>> =
            tested.clone().map(|(a, b)| paired_p_value(a, b)).collect();
        let untested = p_values.iter().filter(|p| p.is_none()).count();
        let p_values: Vec<f64> = p_values.into_iter().map(|p| p.unwrap_or(1.0)).collect();
        let differ = holm(&p_values, LEVEL);
        Marks {
            alike: tested
                .zip(&differ)
                .filter(|(_, differ)| !**differ)
                .map(|((a, b), _)| key(a, b))
                .collect(),
            tested: p_values.len(),
            untested,
        }
    }

    fn mark(&self, a: &Timing, b: &Timing) -> &'static str {
        let alike = a
            .measurement
            .zip(b.measurement)
            .is_some_and(|(a, b)| self.alike.contains(&key(a, b)));
        if alike { "~" } else { "" }
    }

    /// What `~` means, if there is any.
    pub fn legend(&self) -> Vec<String> {
        if self.alike.is_empty() {
            return Vec::new();
        }
        let corrected = if self.tested > 1 {
            format!(" (Holm, {} pairs)", self.tested)
        } else {
            String::new()
        };
        let mut legend = vec![format!("{INDISTINGUISHABLE}{corrected}")];
        if self.untested > 0 {
            let count = self.untested;
            legend.push(format!(
                "note: too few launches to distinguish {count} of the pairs: measure longer (--cpu-seconds)"
            ));
        }
        legend
    }
}

/// Unordered: the addresses of the samples.
fn key<T>(a: &T, b: &T) -> (usize, usize) {
    let (a, b) = (ptr::from_ref(a).addr(), ptr::from_ref(b).addr());
    (a.min(b), a.max(b))
}

/// The lines of the matrix, aligned as Perl's Benchmark aligns them.
pub fn lines(timings: &[Timing], marks: &Marks) -> Vec<String> {
    let mut slowest_first: Vec<&Timing> = timings.iter().collect();
    slowest_first.sort_by(|a, b| a.rate.total_cmp(&b.rate));
    let rows = cells(&slowest_first, marks);
    let widths = widths(&rows);
    rows.iter().map(|row| line(row, &widths)).collect()
}

fn cells(timings: &[&Timing], marks: &Marks) -> Vec<Vec<String>> {
    let Some(middle) = timings.get(timings.len().saturating_sub(1) / 2) else {
        return Vec::new();
    };
    let per_second = middle.rate > 1.0;
    let title = if per_second { "Rate" } else { "s/iter" };
    let mut header = vec![String::new(), title.to_string()];
    header.extend(timings.iter().map(|t| t.name.clone()));
    std::iter::once(header)
        .chain(timings.iter().map(|t| {
            let mut row = vec![t.name.clone(), rate(t.rate, per_second)];
            row.extend(timings.iter().map(|column| percent(t, column, marks)));
            row
        }))
        .collect()
}

fn percent(row: &Timing, column: &Timing, marks: &Marks) -> String {
    if ptr::eq(row, column) {
        return "--".to_string();
    }
    format!(
        "{}{:.0}%",
        marks.mark(row, column),
        100.0 * row.rate / column.rate - 100.0
    )
}

fn rate(rate: f64, per_second: bool) -> String {
    if per_second {
        format!("{}/s", number(rate))
    } else {
        number(1.0 / rate)
    }
}

/// Decimals by the size of the number before it is rounded: 99.999 is `100.0`.
fn number(value: f64) -> String {
    match value {
        v if v >= 100.0 => format!("{v:.0}"),
        v if v >= 10.0 => format!("{v:.1}"),
        v if v >= 1.0 => format!("{v:.2}"),
        v if v >= 0.1 => format!("{v:.3}"),
        v => scientific(v),
    }
}

/// C's `%.2e`: an exponent has a sign and at least two digits.
fn scientific(value: f64) -> String {
    let text = format!("{value:.2e}");
    let Some((mantissa, exponent)) = text.split_once('e') else {
        return text;
    };
    let (sign, digits) = exponent
        .strip_prefix('-')
        .map_or(('+', exponent), |digits| ('-', digits));
    format!("{mantissa}e{sign}{digits:0>2}")
}

/// Widens the narrowest percent columns until all are as wide as the widest or the line is as wide
/// as the screen; of equal ones, the one that was narrower at first.
fn widths(rows: &[Vec<String>]) -> Vec<usize> {
    let columns = rows.first().map_or(0, Vec::len);
    let natural: Vec<usize> = (0..columns)
        .map(|i| {
            rows.iter()
                .map(|row| row[i].chars().count())
                .max()
                .unwrap_or(0)
        })
        .collect();
    let mut widths = natural.clone();
    let widest = natural.iter().skip(2).max().copied().unwrap_or(0);
    let mut total = natural.iter().sum::<usize>() + columns.saturating_sub(1);
    while total < SCREEN {
        match (2..columns).min_by_key(|i| (widths[*i], natural[*i])) {
            Some(i) if widths[i] < widest => widths[i] += 1,
            _ => break,
        }
        total += 1;
    }
    widths
}

fn line(row: &[String], widths: &[usize]) -> String {
    // A width in a format string would be limited to 65,535, and names come from files.
    row.iter()
        .zip(widths)
        .enumerate()
        .map(|(i, (cell, width))| {
            let room = " ".repeat(width.saturating_sub(cell.chars().count()));
            if i == 0 {
                format!("{cell}{room}")
            } else {
                format!("{room}{cell}")
            }
        })
        .join(" ")
}
