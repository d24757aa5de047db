//! Builds a table column by column: one cell for people (`1.2 .. 1.4`) may be several fields for programs.

use super::Table;
use crate::cell::{Align, Cell, Column};
use crate::records::{Records, Value};

pub struct Columns<'r, R> {
    rows: &'r [R],
    table: Table,
    is_last_shown: bool,
}

impl<'r, R> Columns<'r, R> {
    /// Starts a table with one line per row and no columns yet.
    pub fn new(rows: &'r [R]) -> Columns<'r, R> {
        let mut table = Table::default();
        table.rows.resize(rows.len(), Vec::new());
        table.records.rows.resize(rows.len(), Vec::new());
        Columns {
            rows,
            table,
            is_last_shown: false,
        }
    }

    /// The finished table, with its records.
    pub fn table(self) -> Table {
        self.table
    }

    /// Only the records, for tables that are shown to programs alone.
    pub fn records(self) -> Records {
        self.table.records
    }

    /// A column for people, aligned left, such as names. Programs do not get it; see [`Columns::field`] and [`Columns::same`].
    pub fn left<C: Into<Cell>>(self, title: &str, cell: impl Fn(&'r R) -> C) -> Self {
        self.column(Align::Left, title, cell)
    }

    /// A column for people, aligned right, such as numbers.
    pub fn right<C: Into<Cell>>(self, title: &str, cell: impl Fn(&'r R) -> C) -> Self {
        self.column(Align::Right, title, cell)
    }

    fn column<C: Into<Cell>>(
        mut self,
        align: Align,
        title: &str,
        cell: impl Fn(&'r R) -> C,
    ) -> Self {
        self.table.columns.push(Column {
            title: title.to_string(),
            align,
            ..Column::default()
        });
        for (cells, row) in self.table.rows.iter_mut().zip(self.rows) {
            cells.push(cell(row).into());
        }
        self.is_last_shown = true;
        self
    }

    /// A field of the rows, for programs only.
    pub fn field<V: Into<Value>>(mut self, name: &'static str, value: impl Fn(&'r R) -> V) -> Self {
        let records = &mut self.table.records;
        records.names.push(name);
        for (values, row) in records.rows.iter_mut().zip(self.rows) {
            values.push(value(row).into());
        }
        self
    }

    /// Two fields for the ends of an interval, which people see in one cell.
    pub fn ends(
        self,
        [low, high]: [&'static str; 2],
        ends: impl Fn(&'r R) -> Option<(f64, f64)>,
    ) -> Self {
        self.field(low, |row| Some(ends(row)?.0))
            .field(high, |row| Some(ends(row)?.1))
    }

    /// A column and a field with the same text.
    pub fn same<T: Into<Cell> + Into<Value>>(
        self,
        name: &'static str,
        text: impl Fn(&'r R) -> T,
    ) -> Self {
        self.left(name, &text).field(name, text)
    }

    /// Whole numbers, also as a field.
    pub fn counts<T: Into<Cell> + Into<Value>>(
        self,
        title: &str,
        name: &'static str,
        count: impl Fn(&'r R) -> T,
    ) -> Self {
        self.right(title, &count).field(name, count)
    }

    /// A column of rounded numbers, and a field with the exact ones.
    pub fn numbers(
        self,
        title: &str,
        name: &'static str,
        text: impl Fn(f64) -> String,
        value: impl Fn(&'r R) -> Option<f64>,
    ) -> Self {
        self.right(title, |row| Cell::known(value(row), &text))
            .field(name, value)
    }

    /// The last column, like the three below.
    pub fn shown_if(mut self, shows: bool) -> Self {
        if self.is_last_shown && !shows {
            self.table.columns.pop();
            for cells in &mut self.table.rows {
                cells.pop();
            }
            self.is_last_shown = false;
        }
        self
    }

    /// Lets narrow screens drop the last column; the highest order goes first.
    pub fn expendable(self, order: u8) -> Self {
        self.change(|column| column.expendable = order)
    }

    /// Like [`Columns::expendable`], but only after the wrapping columns have become as narrow as possible.
    pub fn yielding(self, order: u8) -> Self {
        self.change(|column| column.yields = order)
    }

    /// Lets the cells of the last column break into several lines.
    pub fn wrapping(self) -> Self {
        self.change(|column| column.wraps = true)
    }

    fn change(mut self, change: impl FnOnce(&mut Column)) -> Self {
        if self.is_last_shown {
            self.table.columns.last_mut().map(change);
        }
        self
    }
}
