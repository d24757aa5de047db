//! What a study adds to a table: title, question and answer, the column of scaled costs, and the cells of derived rows.

use crate::numbers::{in_unit, signed, thousands, three_figures};
use crate::{Cell, Style};
use analysis::derive::DerivedRow;
use analysis::summary::Summary;
use itertools::Itertools;
use model::{Case, Combination, Scale, word};
use stats::Ranged;

pub struct Scaled<'a> {
    common: Option<&'a Scale>,
}

impl<'a> Scaled<'a> {
    /// `None` if no row of the run has a scale.
    pub fn new(summary: &'a Summary) -> Option<Scaled<'a>> {
        let study = summary.study.as_ref()?;
        let rows = summary.rows.iter();
        let mut scales = rows.filter_map(|row| study.scale(row.case.label()));
        let first = scales.next()?;
        let is_common =
            scales.all(|scale| (scale.calls, &scale.unit) == (first.calls, &first.unit));
        let common = if is_common { Some(first) } else { None };
        Some(Scaled { common })
    }

    /// `s per 67,108,864`, or `scaled` if the scales differ.
    pub fn heading(&self) -> String {
        self.common.map_or("scaled".to_string(), |scale| {
            format!("{} per {}", scale.unit, thousands(scale.calls as f64))
        })
    }

    /// The time for the scale's number of calls, with its unit if scales differ.
    pub fn cell(&self, scale: Option<&Scale>, time: Option<Ranged>) -> Cell {
        let Some((scale, time)) = scale.zip(time) else {
            return Cell::default();
        };
        let time = scale.time(time.value);
        let mut text = three_figures(time);
        if self.common.is_none() {
            text += &format!(" {} per {}", scale.unit, thousands(scale.calls as f64));
        }
        Cell::number(text, time)
    }
}

/// The study's title with the machine in parentheses; without a study, the machine.
pub fn title(summary: &Summary, machine: String) -> String {
    match &summary.study {
        Some(study) if machine.is_empty() => study.title.clone(),
        Some(study) => format!("{} ({machine})", study.title),
        None => machine,
    }
}

/// The study's question and answer, on one line each.
pub fn notes(summary: &Summary) -> Vec<String> {
    let Some(study) = &summary.study else {
        return Vec::new();
    };
    [("question", &study.question), ("answer", &study.answer)]
        .iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(what, text)| format!("{what}: {}", flat(text)))
        .collect()
}

/// On one line.
pub fn flat(text: &str) -> String {
    text.split_whitespace().join(" ")
}

/// `lstat - fstat depth=4 = difference`
pub fn derived_name(row: &DerivedRow) -> Cell {
    let case = Case {
        name: Some(row.name.clone()),
        params: row.params.clone(),
        environment: String::new(),
        ..Case::native("")
    };
    Cell::styled(
        format!("{case} ({})", word(&row.combination, "")),
        Style::Heading,
    )
}

fn number(row: &DerivedRow, value: f64) -> String {
    match row.combination {
        Combination::Difference => in_unit(value, row.unit),
        Combination::Ratio => format!("{value:.3}"),
    }
}

/// The value of a derived row, or a dash if one of its cases failed.
pub fn derived_value(row: &DerivedRow) -> Cell {
    let Ok(Ranged { value, .. }) = row.value else {
        return Cell::dash();
    };
    let unit = if row.combination == Combination::Ratio {
        "x "
    } else {
        ""
    };
    Cell::number(format!("{unit}{}", number(row, value)), value)
}

/// The interval in the unit of the value.
pub fn derived_interval(row: &DerivedRow) -> Cell {
    row.value
        .as_ref()
        .ok()
        .and_then(|value| value.low_high)
        .map(|(low, high)| format!("{} .. {}", number(row, low), number(row, high)))
        .into()
}

/// `None` if the value is too close to 0.
pub fn half_width_percent(row: &DerivedRow) -> Option<f64> {
    let value = row.value.as_ref().ok()?;
    let (low, high) = value.low_high?;
    Some(50.0 * (high - low) / value.value.abs()).filter(|percent| *percent < 100.0)
}

/// `+2: fstat +1, ioctl +1`, or the reason for a missing value.
pub fn derived_entries(row: &DerivedRow) -> Cell {
    if let Err(why) = &row.value {
        return Cell::styled(why.clone(), Style::Bad);
    }
    let Some(entries) = &row.entries else {
        return Cell::default();
    };
    if entries.names().next().is_none() {
        return Cell::styled("the same", Style::Faint);
    }
    let signed = |count: f64| signed(count, |count| ((count * 100.0).round() / 100.0).to_string());
    let names = entries
        .iter()
        .map(|(name, count)| format!("{name} {}", signed(count)))
        .join(", ");
    let sum: f64 = entries.iter().map(|(_, count)| count).sum();
    Cell::from(format!("{}: {}", signed(sum), names))
}
