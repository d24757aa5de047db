//! One place of a table: its text for people, its value for machines, its column.

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
    /// Which columns are left out where columns cannot be narrower: the highest number goes first, of equal ones the
    /// rightmost.
    pub yields: u8,
    /// Whether its cells may be broken over several lines.
    pub wraps: bool,
}

impl Column {
    pub fn left(title: &str) -> Column {
        Column { title: title.to_string(), align: Align::Left, expendable: 0, yields: 0, wraps: false }
    }

    pub fn right(title: &str) -> Column {
        Column { title: title.to_string(), align: Align::Right, expendable: 0, yields: 0, wraps: false }
    }

    /// The same column, left out on narrow screens before those of a lower number.
    pub fn expendable(self, order: u8) -> Column {
        Column { expendable: order, ..self }
    }

    /// The same column, left out before those of a lower number where columns cannot be narrower.
    pub fn yielding(self, order: u8) -> Column {
        Column { yields: order, ..self }
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
