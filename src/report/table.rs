//! A table without a format: columns, rows of cells, notes below, and the records behind it.

use super::spec::{self, Records, Spec};

/// On which side a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub title: String,
    pub align: Align,
    /// A column that may be left out where the screen is narrow; the highest number goes first, 0 never.
    pub expendable: u8,
    /// Whether its cells may be broken over several lines.
    pub wraps: bool,
}

impl Column {
    pub fn left(title: &str) -> Column {
        Column { title: title.to_string(), align: Align::Left, expendable: 0, wraps: false }
    }

    pub fn right(title: &str) -> Column {
        Column { title: title.to_string(), align: Align::Right, expendable: 0, wraps: false }
    }

    /// The same column, left out on narrow screens before those of a lower number.
    pub fn expendable(self, order: u8) -> Column {
        Column { expendable: order, ..self }
    }

    /// The same column, its cells broken over several lines where the screen is narrow.
    pub fn wrapping(self) -> Column {
        Column { wraps: true, ..self }
    }
}

/// How a cell stands out, where colour is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Style {
    #[default]
    Plain,
    Heading,
    Good,
    Warning,
    Bad,
    Faint,
}

/// What people read in one row under one column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Rounded, with units.
    pub text: String,
    /// The number behind it, which pages sort by.
    pub value: Option<f64>,
    pub style: Style,
}

impl Cell {
    /// Text that reads well, and the exact number behind it. What is none (a ratio to nothing) is not shown.
    pub fn number(text: impl Into<String>, value: f64) -> Cell {
        if !value.is_finite() {
            return Cell::default();
        }
        Cell { text: text.into(), value: Some(value), style: Style::Plain }
    }

    pub fn styled(text: impl Into<String>, style: Style) -> Cell {
        Cell { text: text.into(), value: None, style }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell { text: text.into(), value: None, style: Style::Plain }
    }
}

/// Columns, rows of as many cells, and lines below; and the records that programs get in their place. All of them are made
/// from specifications, so that no row can be wider than another.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// A line above; empty for none.
    pub title: String,
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
            columns: keep.iter().map(|i| self.columns[*i].clone()).collect(),
            rows: self.rows.iter().map(|row| keep.iter().map(|i| row[*i].clone()).collect()).collect(),
            records: Records::default(),
            notes: self.notes.clone(),
        }
    }
}
