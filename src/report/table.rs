//! A table without a format: columns, rows of cells, notes below, and the records behind it.

mod cell;
pub mod spec;

pub use cell::{Align, Cell, Column, Style};
pub use spec::{Records, Spec};

/// Columns, rows of as many cells, and lines below; and the records that programs get in their place. All of them are made
/// from specifications, so that no row can be wider than another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// A line above; empty for none.
    pub title: String,
    /// Lines between title and columns: what must be known before the results are read.
    pub cautions: Vec<String>,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    records: Records,
    /// Lines below, in words.
    pub notes: Vec<String>,
}

impl Table {
    /// A row and a record for each of `rows`.
    pub fn of<R>(specs: &[Spec<'_, R>], rows: &[R]) -> Table {
        Table {
            columns: spec::columns(specs),
            rows: rows.iter().map(|row| spec::cells(specs, row)).collect(),
            records: Records::of(specs, rows),
            ..Table::default()
        }
    }

    /// The same with other records: where programs get rows that differ from those for people.
    pub fn with_records(self, records: Records) -> Table {
        Table { records, ..self }
    }

    pub fn titled(self, title: impl Into<String>) -> Table {
        Table { title: title.into(), ..self }
    }

    pub fn cautioned(self, cautions: Vec<String>) -> Table {
        Table { cautions, ..self }
    }

    pub fn noted(self, notes: Vec<String>) -> Table {
        Table { notes, ..self }
    }

    /// The same with the cells of some rows, by index, as headings: sums.
    pub fn with_headings(mut self, is_heading: impl Fn(usize) -> bool) -> Table {
        let rows = self.rows.iter_mut().enumerate().filter(|(i, _)| is_heading(*i));
        rows.flat_map(|(_, row)| row).for_each(|cell| cell.style = Style::Heading);
        self
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// As many cells each as there are columns.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    pub fn records(&self) -> &Records {
        &self.records
    }

    /// The table for people without the columns in which no row says anything.
    pub fn without_empty(&self) -> Table {
        let says = |i: &usize| self.rows.iter().any(|row| !row[*i].text.is_empty());
        self.select(&(0..self.columns.len()).filter(says).collect::<Vec<_>>())
    }

    /// A table for people that shows `keep` only, by index, in that order.
    pub fn select(&self, keep: &[usize]) -> Table {
        Table {
            title: self.title.clone(),
            cautions: self.cautions.clone(),
            columns: keep.iter().map(|i| self.columns[*i].clone()).collect(),
            rows: self.rows.iter().map(|row| keep.iter().map(|i| row[*i].clone()).collect()).collect(),
            records: Records::default(),
            notes: self.notes.clone(),
        }
    }
}
