//! The cells of a comparison: names, costs, ratios and verdicts.

use crate::numbers::{self, in_unit, instructions, signed, significant};
use crate::{Cell, Style};
use analysis::compare::{
    ComparedDerived, ComparedRow, Comparison, Difference, Mark, Ratio, RatioOf, Verdict,
};
use analysis::summary::RowFigure;
use document::with_params;
use itertools::Itertools;
use model::{Combination, Scale, Unit, word};

/// How rows are named: with their environment if there are several in a column.
pub struct Names {
    environments: bool,
}

impl Names {
    /// Decides once for all rows whether names include the environment.
    pub fn new(comparison: &Comparison) -> Names {
        let rows = comparison.rows.iter().map(|row| &row.key.environment);
        let mut all = rows.chain(comparison.derived.iter().map(|row| &row.environment));
        Names {
            environments: !all.all_equal() && comparison.environments().is_none(),
        }
    }

    /// The name of a measured row, as all tables of the comparison show it.
    pub fn row(&self, row: &ComparedRow) -> String {
        format!("{}{}", row.key, self.place(&row.key.environment))
    }

    pub fn derived(&self, row: &ComparedDerived) -> String {
        with_params(&row.name, &row.params) + &self.place(&row.environment)
    }

    fn place(&self, environment: &str) -> String {
        if self.environments {
            format!(" ({environment})")
        } else {
            String::new()
        }
    }
}

/// The scale that the study gives to the row's operation.
pub fn scale<'a>(comparison: &'a Comparison, row: &ComparedRow) -> Option<&'a Scale> {
    comparison.study.as_ref()?.scale(&row.key.label)
}

/// Reservations about a cost, shown as marks around it.
pub struct Marks {
    pub depends_on_history: bool,
    pub is_traced: bool,
    pub is_proven: bool,
}

impl Marks {
    /// With `~` in front if it depends on the history of the file system; behind, `*` if a tracer was on, `?` if nothing proves its kernel
    /// entries.
    pub fn around(&self, text: &str) -> String {
        let history = if self.depends_on_history { "~" } else { "" };
        let traced = if self.is_traced { "*" } else { "" };
        let unproven = if self.is_proven { "" } else { "?" };
        format!("{history}{text}{traced}{unproven}")
    }
}

/// A cost with its marks; a dash if the case failed, empty if the column lacks it.
pub fn cost(row: &ComparedRow, column: usize, scale: Option<&Scale>) -> Cell {
    let Some(cell) = row.cells[column].as_deref() else {
        return Cell::default();
    };
    match &cell.figure {
        Err(_) => Cell::dash(),
        Ok(RowFigure::Instructions(count)) => {
            let unit = if row.is_in_instructions() {
                ""
            } else {
                " instr"
            };
            let count = count.per_operation;
            Cell::number(format!("{}{unit}", instructions(count)), count)
        }
        Ok(RowFigure::Time(cost)) => {
            let time = in_unit_or_scale(cost.median.0, Unit::Nanoseconds, scale);
            let marks = Marks {
                depends_on_history: cell.depends_on_history,
                is_traced: cell.is_traced,
                is_proven: cell.entries.is_some(),
            };
            Cell {
                text: marks.around(&time.text),
                ..time
            }
        }
    }
}

fn in_unit_or_scale(value: f64, unit: Unit, scale: Option<&Scale>) -> Cell {
    match scale {
        Some(scale) => Cell::number(hundredths(scale.time(value)), scale.time(value)),
        None => Cell::number(in_unit(value, unit), value),
    }
}

fn hundredths(value: f64) -> String {
    if value.abs() < 0.1 {
        significant(value)
    } else {
        format!("{value:.2}")
    }
}

/// The value of a derived row: a percentage for ratios.
pub fn derived(row: &ComparedDerived, column: usize) -> Cell {
    match &row.values[column] {
        None => Cell::default(),
        Some(Err(_)) => Cell::dash(),
        Some(Ok(value)) => match row.combination {
            Combination::Ratio => Cell::number(format!("{:.1}%", 100.0 * value.value), value.value),
            Combination::Difference => in_unit_or_scale(value.value, row.unit, row.scale.as_ref()),
        },
    }
}

/// A ratio: `1.104`, from 10 on `12.3`.
pub fn number(ratio: f64) -> String {
    if ratio < 9.9995 {
        format!("{ratio:.3}")
    } else {
        numbers::three_figures(ratio)
    }
}

/// The ratio alone; empty for verdicts without one.
pub fn ratio(verdict: &Verdict) -> Cell {
    Cell::known(verdict.ratio(), number)
}

/// `1.06 .. 1.15`, or `0.998 .. 1.004` if it is narrow.
pub fn interval(verdict: &Verdict) -> Cell {
    let Some(Ratio {
        low, high, kind, ..
    }) = verdict.interval()
    else {
        return Cell::default();
    };
    if matches!(kind, RatioOf::Instructions { .. }) && low == high {
        return Cell::default();
    }
    let short = high - low >= NARROW;
    let end = |ratio: f64| {
        if short && ratio < 9.995 {
            format!("{ratio:.2}")
        } else {
            number(ratio)
        }
    };
    Cell::from(format!("{} .. {}", end(*low), end(*high)))
}

const NARROW: f64 = 0.05;

/// The verdict in a word, coloured by whether it is better or worse.
pub fn mark(verdict: &Verdict) -> Cell {
    let style = match verdict {
        Verdict::Baseline | Verdict::Missing => return Cell::default(),
        refused if refused.is_refused() => return Cell::styled("no verdict", Style::Faint),
        Verdict::DifferentWork(_) => return Cell::styled("other work", Style::Warning),
        Verdict::OtherUnit => Style::Warning,
        Verdict::Ratio(ratio) => return judged(ratio.mark),
        _ => Style::Faint,
    };
    Cell::styled(word(verdict, "verdict").replace('_', " "), style)
}

/// `slower`, `not known`: a mark as a coloured word.
pub fn judged(mark: Mark) -> Cell {
    let style = match mark {
        _ if mark.is_better() => Style::Good,
        _ if mark.is_worse() => Style::Bad,
        _ => Style::Faint,
    };
    Cell::styled(word(&mark, "").replace('_', " "), style)
}

/// `getpid x1 in new, none in old`
pub fn both_entries(comparison: &Comparison, column: usize, difference: &Difference) -> String {
    format!(
        "{} in {}, {} in {}",
        numbers::entries(&difference.entries),
        comparison.label(column),
        numbers::entries(&difference.base),
        comparison.label(comparison.baseline)
    )
}

/// `1.104 (1.06 .. 1.15) slower`
pub fn verdict(verdict: &Verdict) -> Cell {
    let mut text = ratio(verdict).text;
    let interval = interval(verdict).text;
    if !interval.is_empty() {
        text += &format!(" ({interval})");
    }
    let mark = mark(verdict);
    // If whole columns are single values, a word in each cell adds nothing.
    if !matches!(verdict, Verdict::OneFigure(_)) {
        text += &format!(" {}", mark.text);
    }
    Cell {
        text: text.trim().to_string(),
        style: if verdict.low_high().is_some() {
            mark.style
        } else {
            Style::Plain
        },
        value: verdict.ratio(),
    }
}

/// `1.104 slower`, or `~ 1.104` if not known.
pub fn short_verdict(verdict: &Verdict) -> Cell {
    let (ratio, mark) = (ratio(verdict).text, mark(verdict));
    let text = match verdict {
        Verdict::Ratio(r) if r.mark == Mark::NotKnown && verdict.difference().is_none() => {
            format!("~ {ratio}")
        }
        Verdict::OneFigure(_) => ratio,
        _ if ratio.is_empty() => mark.text,
        _ => format!("{ratio} {}", mark.text),
    };
    Cell {
        text,
        style: mark.style,
        value: verdict.ratio(),
    }
}

/// `-1,616`
pub fn difference(verdict: &Verdict) -> Cell {
    Cell::known(verdict.difference(), |difference| {
        signed(difference, instructions)
    })
}

/// `-59.2%`, with as many digits as show that there is a difference.
pub fn difference_percent(verdict: &Verdict) -> Cell {
    let ratio = if verdict.difference().is_some() {
        verdict.ratio()
    } else {
        None
    };
    Cell::known(ratio.map(|ratio| 100.0 * (ratio - 1.0)), |percent| {
        let digits = if percent.abs() < 0.095 { 3 } else { 1 };
        signed(percent, |value| format!("{value:.digits$}%"))
    })
}

/// `1%`, `2.5%`
pub fn share(share: f64) -> String {
    format!("{}%", (share * 1e4).round() / 100.0)
}
