//! The rows of a comparison by the case that they are of. Called by `figures` and `html`.

use crate::compare::{ComparedRow, Comparison};
use crate::model::Case;
use std::collections::{BTreeMap, HashMap};

/// Operation, language, environment and label.
type Work<'a> = (&'a str, Option<&'a str>, &'a str, &'a str);

/// The rows of a comparison by work and parameters.
#[derive(Default)]
pub struct ByCase<'a> {
    exact: HashMap<(Work<'a>, &'a BTreeMap<String, u64>), &'a ComparedRow>,
    /// The first rows by work alone: a record may have fewer parameters than its row.
    first: HashMap<Work<'a>, Vec<&'a ComparedRow>>,
}

/// Maximum number of rows to search for a record without an exact match.
const MOST_LOOKED_AT: usize = 64;

impl<'a> ByCase<'a> {
    pub fn of(comparison: &'a Comparison) -> ByCase<'a> {
        let mut found = ByCase::default();
        for row in &comparison.rows {
            (0..comparison.columns.len()).for_each(|column| found.add(row, comparison, column));
        }
        found
    }

    /// Adds `row` as the work that it is in `column`, whose environment may be another than the baseline's.
    fn add(&mut self, row: &'a ComparedRow, comparison: &'a Comparison, column: usize) {
        let key = &row.key;
        let environment = comparison.environment(&key.environment, column);
        let work = (row.operation.as_str(), key.language.as_deref(), environment, key.label.as_str());
        self.exact.entry((work, &key.params)).or_insert(row);
        let first = self.first.entry(work).or_default();
        if first.len() < MOST_LOOKED_AT && !first.iter().any(|own| std::ptr::eq(*own, row)) {
            first.push(row);
        }
    }

    /// The row of `case`.
    pub fn find(&self, case: &'a Case) -> Option<&'a ComparedRow> {
        let work = (case.operation.as_str(), case.language.as_deref(), case.environment.as_str(), case.label());
        let has = |row: &&&ComparedRow| case.params.iter().all(|(name, value)| row.key.params.get(name) == Some(value));
        let exact = self.exact.get(&(work, &case.effective_params())).copied();
        exact.or_else(|| self.first.get(&work)?.iter().find(has).copied())
    }
}
