//! What names and numbers in files of every version must be.

use crate::store::error::Invalid;

/// Bytes that a name may have: room for a long snippet, none for a file that is all name.
pub const MAX_NAME: usize = 4096;

/// What is wrong with a value, if anything.
pub type Checked = Result<(), Invalid>;

/// 0 or more and finite. JSON has no other numbers; on writing there might be.
pub fn positive(place: &str, number: f64) -> Checked {
    match number.is_finite() && number >= 0.0 {
        true => Ok(()),
        false => wrong(place, &format!("is {number}, must be a number of 0 or more")),
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
