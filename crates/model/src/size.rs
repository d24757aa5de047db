use anyhow::{Context, Result};
use std::fmt;

/// Printed as people write parameters: `4K`, `1M`, `1000`.
#[derive(Clone, Copy)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match [(1u64 << 30, "G"), (1 << 20, "M"), (1 << 10, "K")]
            .iter()
            .find(|(unit, _)| self.0 >= *unit && self.0.is_multiple_of(*unit))
        {
            Some((unit, letter)) => write!(f, "{}{letter}", self.0 / unit),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Suffixes of names whose values are in KiB or MiB.
const LARGER_UNITS: [&str; 3] = ["mib", "rss", "ws"];

/// Whether values of this parameter are in KiB or MiB, so that a K behind them would mislead.
pub fn has_larger_unit(name: &str) -> bool {
    LARGER_UNITS.contains(&name)
}

/// `4K` for a size, `4096` for `rss`, which is in MiB.
pub fn parameter_value(name: &str, value: u64) -> String {
    if has_larger_unit(name) {
        value.to_string()
    } else {
        Size(value).to_string()
    }
}

/// A whole number with K, M or G behind it for powers of 1024; an error if it is none, or 2^64 or more.
pub fn parse_size(text: &str) -> Result<u64> {
    const SUFFIXES: [(char, u32); 3] = [('k', 10), ('m', 20), ('g', 30)];
    let (digits, shift) = SUFFIXES
        .iter()
        .find_map(|(letter, shift)| {
            let digits = text.strip_suffix([*letter, letter.to_ascii_uppercase()])?;
            Some((digits, *shift))
        })
        .unwrap_or((text, 0));
    let bad = || format!("'{text}' is not a whole number such as 512, 4K or 1M");
    // The parser's own words add nothing.
    let number: u64 = digits.parse().ok().with_context(bad)?;
    number.checked_mul(1 << shift).with_context(bad)
}
