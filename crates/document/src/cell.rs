//! Cells and columns of a table.

/// How a column's cells are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    Left,
    Right,
}

/// The title of a column, and how it adapts to narrow screens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    pub title: String,
    pub align: Align,
    /// Order in which columns are left out on narrow screens: the highest number goes first, 0 never.
    pub expendable: u8,
    /// Order in which columns are left out if none can be narrower: the highest number goes first, of equal ones the
    /// rightmost.
    pub yields: u8,
    /// Whether its cells may wrap.
    pub wraps: bool,
}

/// Columns that may be left out from this rank on are details.
pub const DETAIL: u8 = 2;

impl Column {
    /// A column aligned to the left that is never left out.
    pub fn left(title: &str) -> Column {
        Column {
            title: title.to_string(),
            align: Align::Left,
            expendable: 0,
            yields: 0,
            wraps: false,
        }
    }

    /// A column aligned to the right that is never left out.
    pub fn right(title: &str) -> Column {
        Column {
            title: title.to_string(),
            align: Align::Right,
            expendable: 0,
            yields: 0,
            wraps: false,
        }
    }

    /// The same column, left out on narrow screens before those with a lower number.
    pub fn expendable(self, order: u8) -> Column {
        Column {
            expendable: order,
            ..self
        }
    }

    /// The same column, left out before those with a lower number if no column can be narrower.
    pub fn yielding(self, order: u8) -> Column {
        Column {
            yields: order,
            ..self
        }
    }

    /// The same column, its cells wrapped on narrow screens.
    pub fn wrapping(self) -> Column {
        Column {
            wraps: true,
            ..self
        }
    }
}

/// How a cell is highlighted if colour is shown.
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

/// The content of one column in one row.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Rounded, with units.
    pub text: String,
    /// The exact number, by which pages sort.
    pub value: Option<f64>,
    pub style: Style,
}

impl Cell {
    /// A number as readable text and its exact value; empty if it is not finite.
    pub fn number(text: impl Into<String>, value: f64) -> Cell {
        if !value.is_finite() {
            return Cell::default();
        }
        Cell {
            text: text.into(),
            value: Some(value),
            style: Style::Plain,
        }
    }

    /// The number with its text; empty if it is not known.
    pub fn known(value: Option<f64>, text: impl FnOnce(f64) -> String) -> Cell {
        value.map_or(Cell::default(), |value| Cell::number(text(value), value))
    }

    /// A text with a style.
    pub fn styled(text: impl Into<String>, style: Style) -> Cell {
        Cell {
            text: text.into(),
            value: None,
            style,
        }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Cell {
        Cell {
            text: text.into(),
            value: None,
            style: Style::Plain,
        }
    }
}
