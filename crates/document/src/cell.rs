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

impl Style {
    /// One of the terminal's 256 colours, readable on black and on white.
    pub fn colour(self) -> Option<u8> {
        match self {
            Style::Good => Some(28),
            Style::Warning => Some(130),
            Style::Bad => Some(160),
            Style::Plain | Style::Heading | Style::Faint => None,
        }
    }
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

    /// `?` in its place if it is `unknown`.
    pub fn known_unless(
        unknown: bool,
        value: Option<f64>,
        text: impl FnOnce(f64) -> String,
    ) -> Cell {
        if unknown && value.is_none() {
            return Cell::from("?");
        }
        Cell::known(value, text)
    }

    /// A dash, for a missing value.
    pub fn dash() -> Cell {
        Cell::styled("-", Style::Faint)
    }

    /// A text with a style, which terminals show as a colour and pages as a class.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The relative luminance of a colour of the cube of terminals, by WCAG 2.
    fn luminance(colour: u8) -> f64 {
        fn part(step: u8) -> f64 {
            let level = [0.0, 95.0, 135.0, 175.0, 215.0, 255.0][usize::from(step % 6)] / 255.0;
            ((level + 0.055) / 1.055_f64).powf(2.4)
        }

        let place = colour - 16;
        0.2126 * part(place / 36) + 0.7152 * part(place / 6) + 0.0722 * part(place)
    }

    #[test]
    fn colours_are_readable_on_black_and_on_white() {
        for style in [Style::Good, Style::Warning, Style::Bad] {
            let colour = luminance(style.colour().unwrap());
            let contrasts = [(colour + 0.05) / 0.05, 1.05 / (colour + 0.05)];
            assert!(
                contrasts.iter().all(|contrast| *contrast > 3.8),
                "{contrasts:?}"
            );
        }
    }
}
