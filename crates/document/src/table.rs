//! Tables independent of their format.

mod columns;

pub use columns::Columns;

use super::cell::{Cell, Column, DETAIL, Style};
use super::records::Records;

/// Made by [`Columns`], so that every row has one cell per column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    pub title: String,
    pub cautions: Vec<String>,
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    records: Records,
    pub notes: Vec<String>,
    pub filter: Option<Filter>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Filter {
    pub kinds: &'static [(&'static str, &'static str)],
    /// The area of each row, and the kinds that it is of.
    pub rows: Vec<(String, Vec<&'static str>)>,
}

impl Table {
    /// For programs that get different rows than people.
    pub fn with_records(self, records: Records) -> Table {
        Table { records, ..self }
    }

    /// A line above the table; empty for none.
    pub fn titled(self, title: impl Into<String>) -> Table {
        Table {
            title: title.into(),
            ..self
        }
    }

    /// Replaces the warnings above the table.
    pub fn cautioned<T: Into<String>>(self, cautions: impl IntoIterator<Item = T>) -> Table {
        Table {
            cautions: cautions.into_iter().map(Into::into).collect(),
            ..self
        }
    }

    /// Replaces the notes below the table.
    pub fn noted<T: Into<String>>(self, notes: impl IntoIterator<Item = T>) -> Table {
        Table {
            notes: notes.into_iter().map(Into::into).collect(),
            ..self
        }
    }

    /// Lets readers of a page filter the rows. Other formats ignore it.
    pub fn filtered(self, filter: Filter) -> Table {
        Table {
            filter: Some(filter),
            ..self
        }
    }

    /// Rows such as sums, by index.
    pub fn with_headings(mut self, is_heading: impl Fn(usize) -> bool) -> Table {
        self.rows
            .iter_mut()
            .enumerate()
            .filter(|(i, _)| is_heading(*i))
            .flat_map(|(_, row)| row)
            .for_each(|cell| cell.style = Style::Heading);
        self
    }

    /// These columns in front, by title.
    pub fn with_first(&self, titles: &[&str]) -> Table {
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_by_key(|i| {
            let mut titles = titles.iter();
            titles
                .position(|title| self.columns[*i].title == *title)
                .unwrap_or(usize::MAX)
        });
        Table {
            filter: self.filter.clone(),
            ..self.select(&order)
        }
    }

    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// The rows for programs, which may have other fields than the columns.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Without records.
    pub fn without_empty(&self) -> Table {
        self.keeping(|i| self.rows.iter().any(|row| !row[i].text.is_empty()))
    }

    /// Drops columns that are expendable enough to count as details.
    pub fn without_details(&self) -> Table {
        self.keeping(|i| self.columns[i].expendable < DETAIL)
    }

    fn keeping(&self, stays: impl Fn(usize) -> bool) -> Table {
        let keep: Vec<usize> = (0..self.columns.len()).filter(|i| stays(*i)).collect();
        self.select(&keep)
    }

    /// Keeps the first rows for people. The records for programs stay complete.
    pub fn truncate(&mut self, most: usize) {
        self.rows.truncate(most);
    }

    /// The columns `keep`, by index, in that order.
    pub fn select(&self, keep: &[usize]) -> Table {
        Table {
            title: self.title.clone(),
            cautions: self.cautions.clone(),
            columns: keep.iter().map(|i| self.columns[*i].clone()).collect(),
            rows: self
                .rows
                .iter()
                .map(|row| keep.iter().map(|i| row[*i].clone()).collect())
                .collect(),
            notes: self.notes.clone(),
            ..Table::default()
        }
    }
}
