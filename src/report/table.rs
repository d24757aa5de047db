//! A table without a format: columns, rows of cells, and notes below.

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

/// What stands in one row under one column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cell {
    /// For people: rounded, with units.
    pub text: String,
    /// For machines: the full number; `None` where the text is the value.
    pub raw: Option<String>,
    pub style: Style,
}

impl Cell {
    /// Text that reads well to people, and the exact number behind it. What is none (a ratio to nothing) is not shown.
    pub fn number(text: impl Into<String>, raw: f64) -> Cell {
        if !raw.is_finite() {
            return Cell::default();
        }
        Cell { text: text.into(), raw: Some(raw.to_string()), style: Style::Plain }
    }

    pub fn styled(text: impl Into<String>, style: Style) -> Cell {
        Cell { text: text.into(), raw: None, style }
    }

    /// What CSV shows.
    pub fn value(&self) -> &str {
        self.raw.as_deref().unwrap_or(&self.text)
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell { text: text.into(), raw: None, style: Style::Plain }
    }
}

/// Columns, rows of as many cells, and lines below.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    /// A line above; empty for none.
    pub title: String,
    pub columns: Vec<Column>,
    pub rows: Vec<Vec<Cell>>,
    /// Lines below, in words.
    pub notes: Vec<String>,
}

impl Table {
    /// The table without the columns in which no row says anything.
    pub fn without_empty(&self) -> Table {
        let says = |i: &usize| self.rows.iter().any(|row| !row[*i].text.is_empty());
        self.select(&(0..self.columns.len()).filter(says).collect::<Vec<_>>())
    }

    /// A table that shows `keep` only, by index, in that order.
    pub fn select(&self, keep: &[usize]) -> Table {
        Table {
            title: self.title.clone(),
            columns: keep.iter().map(|i| self.columns[*i].clone()).collect(),
            rows: self.rows.iter().map(|row| keep.iter().map(|i| row[*i].clone()).collect()).collect(),
            notes: self.notes.clone(),
        }
    }
}
