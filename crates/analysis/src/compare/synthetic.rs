//! For tests: columns and cells with known costs.

use super::cell::Cell;
use super::column::Column;
use super::row::ComparedRow;
use super::{Comparison, Options, compare};
use model::Record;
use model::fixtures::{entering, record, run};

pub fn column(label: &str, records: Vec<Record>) -> Column {
    Column::new(label, &run(records))
}

pub fn compared(old: Vec<Record>, new: Vec<Record>) -> Comparison {
    let columns = [column("old", old), column("new", new)];
    compare(&columns, &Options::default())
}

pub fn cell(ns: f64, entries: Option<&[(&str, f64)]>) -> Cell {
    let record = match entries {
        Some(entries) => entering("file.any", ns as u64, entries),
        None => record("file.any", ns as u64),
    };
    let rows: Vec<ComparedRow> =
        super::matching::matched(&[column("any", vec![record])], &Default::default(), false).rows;
    *rows[0].cells[0].clone().unwrap()
}
