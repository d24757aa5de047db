//! The derived rows of a study, side by side. What they are made of is in `derive`.

use super::column::Column;
use super::select::Selection;
use crate::derive::{DerivedRow, Value};
use crate::model::{Combination, Scale};
use std::collections::BTreeMap;

/// One derived row over all columns.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedDerived {
    pub name: String,
    pub combination: Combination,
    /// The names of the two rows.
    pub of: [String; 2],
    pub environment: String,
    pub params: BTreeMap<String, u64>,
    /// How a difference is shown beside nanoseconds; `None` for ratios.
    pub scale: Option<Scale>,
    /// The value in each column or why there is none; `None` where the run lacks one of the two rows.
    pub values: Vec<Option<Result<Value, String>>>,
}

/// The derived rows of all columns; none without a study, since runs of several studies have nothing in common.
pub fn beside(columns: &[Column], selection: &Selection) -> Vec<ComparedDerived> {
    let mut rows: Vec<ComparedDerived> = Vec::new();
    if selection.study.is_none() {
        return rows;
    }
    for (index, column) in columns.iter().enumerate() {
        for derived in &column.derived {
            let at = rows.iter().position(|row| is_it(row, derived)).unwrap_or_else(|| {
                rows.push(empty(derived, columns.len()));
                rows.len() - 1
            });
            rows[at].values[index].get_or_insert_with(|| derived.value.clone());
        }
    }
    rows.retain(|row| selection.takes_derived(&row.name, &row.of));
    rows
}

fn is_it(row: &ComparedDerived, derived: &DerivedRow) -> bool {
    row.name == derived.name && row.environment == derived.environment && row.params == derived.params
}

fn empty(derived: &DerivedRow, columns: usize) -> ComparedDerived {
    ComparedDerived {
        name: derived.name.clone(),
        combination: derived.combination,
        of: derived.of.clone(),
        environment: derived.environment.clone(),
        params: derived.params.clone(),
        scale: derived.scale.clone(),
        values: vec![None; columns],
    }
}
