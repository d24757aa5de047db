//! The table by parameter: a row for each value, a column for each strategy; models and crossovers below.

use super::fit_words::{crossovers, model, warning};
use super::numbers::nanoseconds;
use super::{Cell, Column, Style, Table};
use crate::fit::{Family, Member};
use crate::model::Size;
use std::collections::BTreeSet;

/// The table of `family`.
pub fn parameter_table(family: &Family) -> Table {
    let mut columns = vec![Column::right(&family.parameter)];
    columns.extend(family.members.iter().map(|member| Column::right(&member.series.label())));
    let points = family.members.iter().flat_map(|member| &member.series.points);
    let values: BTreeSet<u64> = points.map(|point| point.value).collect();
    let rows = values.into_iter().map(|value| row(family, value)).collect();
    Table { title: format!("by {}, ns/op", family.parameter), columns, rows, notes: notes(family) }
}

fn row(family: &Family, value: u64) -> Vec<Cell> {
    let first = Cell { text: Size(value).to_string(), raw: Some(value.to_string()), style: Style::Plain };
    std::iter::once(first).chain(family.members.iter().map(|member| cost(member, value))).collect()
}

/// Empty where it was not measured, a dash where it has no cost.
fn cost(member: &Member, value: u64) -> Cell {
    let points = &member.series.points;
    let Ok(index) = points.binary_search_by_key(&value, |point| point.value) else { return Cell::default() };
    match &points[index].cost {
        Some(cost) => Cell::number(format!("{} ns", nanoseconds(cost.ns)), cost.ns),
        None => Cell::styled("-", Style::Faint),
    }
}

fn notes(family: &Family) -> Vec<String> {
    let parameter = &family.parameter;
    let models = family.members.iter().filter(|member| member.series.points.len() >= 3);
    let of_one = |member: &Member| {
        let warning = member.line.as_ref().ok().and_then(|line| warning(line, parameter));
        let warning = warning.map(|text| format!("warning: {}: {text}", member.series.label()));
        std::iter::once(model(member, parameter)).chain(warning).collect::<Vec<_>>()
    };
    let mut notes: Vec<String> = models.flat_map(of_one).collect();
    notes.extend(crossovers(family));
    notes
}

/// The table in parts that are no wider than `width`, each with the first column; the notes below the last.
pub fn pages(table: &Table, width: Option<u16>) -> Vec<Table> {
    let limit = width.map_or(usize::MAX, usize::from);
    let first = column_width(table, 0);
    let mut parts: Vec<Vec<usize>> = Vec::new();
    let mut used = usize::MAX;
    for column in 1..table.columns.len() {
        let needs = column_width(table, column) + 2;
        if used.saturating_add(needs) > limit || parts.is_empty() {
            parts.push(vec![0]);
            used = first;
        }
        used += needs;
        parts.iter_mut().last().into_iter().for_each(|part| part.push(column));
    }
    let last = parts.len().saturating_sub(1);
    let page = |(i, part): (usize, &Vec<usize>)| {
        let page = table.select(part);
        if i == last { page } else { Table { notes: vec![], ..page } }
    };
    parts.iter().enumerate().map(page).collect()
}

fn column_width(table: &Table, column: usize) -> usize {
    let cells = table.rows.iter().map(|row| row[column].text.chars().count());
    cells.chain([table.columns[column].title.chars().count()]).max().unwrap_or(0)
}
