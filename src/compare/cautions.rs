//! What makes a comparison unfair, or must be known to read it: one line each, what weighs most first.

use super::column::Column;
use super::rows::ComparedRow;
use super::verdict::Verdict;

/// The cautions of a comparison.
pub fn cautions(_columns: &[Column], _rows: &[ComparedRow], _baseline: usize, _reference: &[Verdict]) -> Vec<String> {
    Vec::new()
}
