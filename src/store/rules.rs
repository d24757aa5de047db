//! What names and numbers in files of every version must be.

use crate::store::error::Invalid;

/// Bytes that a name may have: room for a long snippet, none for a file that is all name.
pub const MAX_NAME: usize = 4096;

/// What is wrong with a value, if anything.
pub type Checked = Result<(), Invalid>;

/// Fractions are bounded as whole numbers are: products of three of them are far from what a double can hold.
const MOST: f64 = 18_446_744_073_709_551_616.0;

/// From 0 to 2^64; on writing there might be NaN and infinities, too.
pub fn positive(place: &str, number: f64) -> Checked {
    match (0.0..=MOST).contains(&number) {
        true => Ok(()),
        false => wrong(place, &format!("is {number:?}, must be a number from 0 to 2^64")),
    }
}

/// Refuses names that are empty or too long.
pub fn name(place: &str, text: &str) -> Checked {
    match text.len() {
        0 => wrong(place, "is empty, must be a name"),
        1..=MAX_NAME => Ok(()),
        length => wrong(place, &format!("has {length} bytes, a name may have {MAX_NAME}")),
    }
}

/// The complaint that `place` (a path of keys) is `what`.
pub fn wrong(place: &str, what: &str) -> Checked {
    Err(Invalid { place: place.to_string(), what: what.to_string() })
}
