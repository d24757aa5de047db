//! The derived rows of a study, side by side. `derive` makes those of one run.

use super::column::Column;
use super::select::Selection;
use crate::derive::{DerivedKey, DerivedRow};
use indexmap::IndexMap;
use model::{Derived, OrError, Scale, StudyView, Unit};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};
use stats::Ranged;
use std::collections::BTreeMap;
use std::ops::Deref;

/// One derived row over all columns.
#[derive(Serialize, JsonSchema)]
pub struct ComparedDerived {
    #[serde(flatten)]
    pub key: DerivedKey,
    /// The scale for a difference, shown in addition to nanoseconds; `None` for ratios.
    pub scale: Option<Scale>,
    /// The value in each column or why there is none; `None` if the run lacks one of the two rows.
    #[serde(serialize_with = "each_or_error")]
    #[schemars(with = "Vec<Option<OrError<Ranged, String>>>")]
    pub values: Vec<Option<Result<Ranged, String>>>,
}

impl Deref for ComparedDerived {
    type Target = DerivedKey;

    fn deref(&self) -> &DerivedKey {
        &self.key
    }
}

fn each_or_error<S: Serializer>(
    values: &[Option<Result<Ranged, String>>],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Each<'a>(#[serde(with = "OrError::<Ranged, String>")] &'a Result<Ranged, String>);
    serializer.collect_seq(values.iter().map(|value| value.as_ref().map(Each)))
}

/// None without a study, since runs of several studies have nothing in common.
pub fn beside(columns: &[Column], selection: &Selection, apart: bool) -> Vec<ComparedDerived> {
    let Some(study) = &selection.study else {
        return Vec::new();
    };
    let mut rows = Rows {
        rows: IndexMap::new(),
        columns: columns.len(),
        apart,
    };
    for (index, column) in columns.iter().enumerate() {
        for derived in &column.derived {
            rows.place(index, derived);
        }
    }
    for derived in &study.view.derived {
        fill_in(&mut rows, columns, derived, &study.view);
    }
    let mut rows: Vec<ComparedDerived> = rows.rows.into_values().collect();
    rows.retain(|row| selection.takes_derived(&row.name, &row.pair));
    rows
}

struct Rows {
    rows: IndexMap<(String, String, BTreeMap<String, u64>), ComparedDerived>,
    columns: usize,
    apart: bool,
}

/// Articles print derived values without the two costs, as records with the row's name.
fn fill_in(rows: &mut Rows, columns: &[Column], derived: &Derived, study: &StudyView) {
    for (index, column) in columns.iter().enumerate() {
        let records = column
            .rows
            .iter()
            .filter(|row| row.asked && row.case.label() == derived.name);
        for (record, figure) in records.filter_map(|row| Some((row, row.cost()?))) {
            let made = DerivedRow {
                key: DerivedKey::new(derived, &record.case, Unit::Nanoseconds),
                value: Ok(figure.value()),
                verdict: None,
                entries: None,
                scale: study.scale(&derived.pair[0]).cloned(),
            };
            rows.place(index, &made);
        }
    }
}

impl Rows {
    /// If several have the same name, the first counts.
    fn place(&mut self, index: usize, derived: &DerivedRow) {
        // Columns of different environments match by name and parameters alone.
        let environment = if self.apart {
            String::new()
        } else {
            derived.environment.clone()
        };
        let key = (derived.name.clone(), environment, derived.params.clone());
        let row = self.rows.entry(key).or_insert_with(|| ComparedDerived {
            key: derived.key.clone(),
            scale: derived.scale.clone(),
            values: vec![None; self.columns],
        });
        let value = if row.unit == derived.unit {
            derived.value.clone()
        } else {
            Err("an instruction count here, a time in another file".to_string())
        };
        row.values[index].get_or_insert(value);
    }
}
