//! Cells and columns of a table.

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Align {
    #[default]
    Left,
    Right,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Column {
    pub title: String,
    pub align: Align,
    /// Columns that are left out on narrow screens: the highest number goes first, 0 never.
    pub expendable: u8,
    /// The same if none can be narrower; of equal ones the rightmost goes first.
    pub yields: u8,
    pub wraps: bool,
}

/// Columns that may be left out from this rank on are details.
pub const DETAIL: u8 = 2;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Style {
    #[default]
    Plain,
    Heading,
    Good,
    Warning,
    Bad,
    Faint,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// Rounded, with units.
    pub text: String,
    /// The exact number, by which pages sort.
    pub value: Option<f64>,
    pub style: Style,
}

impl Cell {
    /// Empty if it is not finite.
    pub fn number(text: impl Into<String>, value: f64) -> Cell {
        if !value.is_finite() {
            return Cell::default();
        }
        Cell {
            value: Some(value),
            ..Cell::from(text.into())
        }
    }

    /// Empty if it is not known.
    pub fn known(value: Option<f64>, text: impl FnOnce(f64) -> String) -> Cell {
        value.map_or(Cell::default(), |value| Cell::number(text(value), value))
    }

    /// What has no value.
    pub fn dash() -> Cell {
        Cell::styled("-", Style::Faint)
    }

    pub fn styled(text: impl Into<String>, style: Style) -> Cell {
        Cell {
            style,
            ..Cell::from(text.into())
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell {
            text,
            ..Cell::default()
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::from(text.to_string())
    }
}

impl From<&String> for Cell {
    fn from(text: &String) -> Cell {
        Cell::from(text.clone())
    }
}

impl From<&Cell> for Cell {
    fn from(cell: &Cell) -> Cell {
        cell.clone()
    }
}

impl From<u64> for Cell {
    fn from(count: u64) -> Cell {
        Cell::number(thousands(count as f64), count as f64)
    }
}

/// `1,234,567`
pub fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.abs());
    let sign = if value < 0.0 { "-" } else { "" };
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    format!("{sign}{text}")
}

/// Empty if it is not known.
impl<T: Into<Cell>> From<Option<T>> for Cell {
    fn from(known: Option<T>) -> Cell {
        known.map_or(Cell::default(), Into::into)
    }
}
