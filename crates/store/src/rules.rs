//! Rules for names and numbers in files of all versions.

use crate::error::Invalid;
use model::Histogram;

/// Enough for a long snippet.
pub const MAX_NAME: usize = 4096;

pub type Checked = Result<(), Invalid>;

/// Products of three of them are far from the limits of a double.
const MOST: f64 = 18_446_744_073_709_551_616.0;

/// From 0 to 2^64, and not NaN.
pub fn positive(place: &str, number: f64) -> Checked {
    if (0.0..=MOST).contains(&number) {
        Ok(())
    } else {
        wrong(
            place,
            &format!("is {number:?}, must be a number from 0 to 2^64"),
        )
    }
}

/// Refuses empty names and those that are too long to show.
pub fn name(place: &str, text: &str) -> Checked {
    match text.len() {
        0 => wrong(place, "is empty, must be a name"),
        1..=MAX_NAME => Ok(()),
        length => wrong(
            place,
            &format!("has {length} bytes, a name may have {MAX_NAME}"),
        ),
    }
}

pub fn names<'a>(place: &str, texts: impl IntoIterator<Item = &'a String>) -> Checked {
    texts.into_iter().try_for_each(|text| name(place, text))
}

/// Those numbers that are known.
pub fn all_positive(numbers: &[(&str, Option<f64>)]) -> Checked {
    numbers
        .iter()
        .filter_map(|(place, number)| Some((place, (*number)?)))
        .try_for_each(|(place, number)| positive(place, number))
}

/// Refuses numbers whose sum overflows 64 bits, so that readers can add them without checking.
pub fn fits(place: &str, mut numbers: impl Iterator<Item = u64>) -> Checked {
    match numbers.try_fold(0u64, u64::checked_add) {
        Some(_) => Ok(()),
        None => wrong(place, "add up to 2^64 or more"),
    }
}

/// The largest whole number up to which JSON's readers keep every one.
const MOST_COUNT: u64 = 1 << 53;

pub fn counts(place: &str, mut numbers: impl Iterator<Item = u64>) -> Checked {
    match numbers.try_fold(0u64, u64::checked_add) {
        Some(0..=MOST_COUNT) => Ok(()),
        _ => wrong(place, "add up to more than 2^53"),
    }
}

/// Refuses buckets beyond the last one of the histogram's resolution, and counts with too large a sum.
pub fn histogram(place: &str, histogram: &Histogram) -> Checked {
    let last = Histogram::buckets(histogram.per_octave()) - 1;
    match histogram.counts.keys().next_back() {
        Some(bucket) if *bucket > last => {
            wrong(place, &format!("bucket {bucket} is beyond {last}"))
        }
        _ => counts(place, histogram.counts.values().copied()),
    }
}

/// The error for a value: `place` is its JSON path, `what` continues the sentence, as in `is 0, must be at least 1`.
pub fn wrong(place: &str, what: &str) -> Checked {
    Err(Invalid {
        place: place.to_string(),
        what: what.to_string(),
    })
}
