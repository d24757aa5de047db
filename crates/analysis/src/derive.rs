//! Rows that a study, or names on the command line, derive from two others, paired round by round, so that what disturbed both cancels.

use crate::compare::Mark;
use indexmap::{IndexMap, IndexSet};
use model::{
    Case, Combination, Derived, Entries, OrError, Outcome, Record, Run, Scale, StudyView, Unit,
};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Quantity, Ranged};
use std::collections::{BTreeMap, HashMap};
use std::ops::Deref;

/// The identity of a derived row, whatever its value.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, JsonSchema)]
pub struct DerivedKey {
    /// Its name.
    pub name: String,
    /// How it is made from the two.
    #[serde(rename = "kind")]
    pub combination: Combination,
    /// The names of the two rows.
    #[serde(rename = "of")]
    pub pair: [String; 2],
    /// The environment of both.
    pub environment: String,
    /// All parameters of both, defaults included.
    pub params: BTreeMap<String, u64>,
    /// The unit of both rows, and of their difference.
    pub unit: Unit,
}

/// A derived row, for one environment and one set of parameters.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct DerivedRow {
    #[serde(flatten)]
    pub key: DerivedKey,
    /// `unit` per iteration for a difference, a plain number for a ratio; or why there is none.
    #[serde(flatten, with = "OrError::<Ranged, String>")]
    pub value: Result<Ranged, String>,
    /// The verdict on a ratio with an interval, as `compare` judges it; absent otherwise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Mark>,
    /// The first's kernel entries minus the second's, by name, if they differ; `None` if either is not known, and for
    /// ratios.
    pub entries: Option<Entries>,
    /// The scale to show it in besides nanoseconds; `None` for ratios and instructions.
    pub scale: Option<Scale>,
}

impl DerivedKey {
    /// The key of a row derived from `case` and another in the same environment, with the same parameters.
    pub fn new(derived: &Derived, case: &Case, unit: Unit) -> DerivedKey {
        DerivedKey {
            name: derived.name.clone(),
            combination: derived.combination,
            pair: derived.pair.clone(),
            environment: case.environment.clone(),
            params: case.params.clone(),
            unit,
        }
    }
}

impl Deref for DerivedRow {
    type Target = DerivedKey;

    fn deref(&self) -> &DerivedKey {
        &self.key
    }
}

/// The value as a difference with its unit or as a ratio, in the order of a table's columns.
pub fn difference_or_ratio(
    combination: Combination,
    unit: Unit,
    value: Option<Ranged>,
) -> (Option<Quantity>, Option<Ranged>) {
    match combination {
        Combination::Difference => (value.map(|value| value.in_unit(unit)), None),
        Combination::Ratio => (None, value),
    }
}

/// The derived rows of a study or, without one, the ratios of the cases that have names. At most [`MOST_ROWS`].
pub fn derive(study: Option<&StudyView>, run: &Run) -> Vec<DerivedRow> {
    let by_names = StudyView {
        derived: ratios_by_name(run),
        ..StudyView::default()
    };
    let study = study.unwrap_or(&by_names);
    if study.derived.is_empty() {
        return Vec::new();
    }
    let mut by_label: HashMap<&str, Vec<&Record>> = HashMap::new();
    let mut first: HashMap<_, &Record> = HashMap::new();
    for record in run.asked() {
        let label = record.case.label();
        by_label.entry(label).or_default().push(record);
        first.entry(beside(label, &record.case)).or_insert(record);
    }
    let rows = study.derived.iter().flat_map(|derived| {
        let firsts = by_label.get(derived.pair[0].as_str()).into_iter().flatten();
        firsts
            .filter_map(|a| {
                let second = first.get(&beside(derived.pair[1].as_str(), &a.case))?;
                Some((derived, (*a, *second)))
            })
            .collect::<Vec<_>>()
    });
    rows.take(MOST_ROWS)
        .map(|(derived, pair)| row(study, derived, pair))
        .collect()
}

/// Without a study, the command line named the snippets: each over the first, or all rows over the only one.
fn ratios_by_name(run: &Run) -> Vec<Derived> {
    let cases = run.asked().map(|record| &record.case);
    let names: IndexSet<&str> = cases
        .clone()
        .filter_map(|case| case.name.as_deref())
        .collect();
    let Some(base) = names.first() else {
        return Vec::new();
    };
    let labels: IndexMap<&str, &Case> = cases
        .filter(|case| case.label() != *base && (case.name.is_some() || names.len() == 1))
        .map(|case| (case.label(), case))
        .collect();
    labels
        .into_iter()
        .map(|(label, case)| {
            let plain = Case {
                params: BTreeMap::new(),
                ..case.clone()
            };
            Derived {
                name: format!("{plain} / {base}"),
                combination: Combination::Ratio,
                pair: [label, base].map(str::to_string),
            }
        })
        .collect()
}

/// A study has some dozens, but in a hostile file each name could match all records, so that the rows would grow with the
/// square of its size.
pub const MOST_ROWS: usize = 10_000;

fn beside<'a>(label: &'a str, case: &'a Case) -> (&'a str, &'a str, &'a BTreeMap<String, u64>) {
    (label, &case.environment, &case.params)
}

fn row(study: &StudyView, derived: &Derived, pair: (&Record, &Record)) -> DerivedRow {
    let (a, b) = pair;

    let is_difference = derived.combination == Combination::Difference;
    let second_scale = study.scale(&derived.pair[1]);
    let scale = study.scale(&derived.pair[0]).filter(|scale| {
        is_difference
            && second_scale.is_some_and(|o| (scale.calls, &scale.unit) == (o.calls, &o.unit))
    });
    let both_counted = [a, b]
        .iter()
        .all(|record| record.outcome.counted().is_some());
    let unit = if both_counted {
        Unit::Instructions
    } else {
        Unit::Nanoseconds
    };
    DerivedRow {
        key: DerivedKey::new(derived, &a.case, unit),
        value: value(derived.combination, a, b),
        verdict: None,
        entries: if is_difference {
            a.entries
                .as_ref()
                .zip(b.entries.as_ref())
                .map(|(a, b)| difference(a, b))
        } else {
            None
        },
        scale: if both_counted { None } else { scale.cloned() },
    }
}

/// Both in all rounds: what disturbs one disturbs the other.
fn value(combination: Combination, a: &Record, b: &Record) -> Result<Ranged, String> {
    let value = match (&a.outcome, &b.outcome) {
        (Outcome::Failed(_), _) => return Err(format!("{} failed", a.case)),
        (_, Outcome::Failed(_)) => return Err(format!("{} failed", b.case)),
        (Outcome::Measured(a), Outcome::Measured(b)) => match combination {
            Combination::Difference => stats::paired_difference(a, b),
            Combination::Ratio => stats::paired_ratio(a, b),
        },
        (Outcome::Published(a), Outcome::Published(b)) => plain(combination, a.time.0, b.time.0),
        (Outcome::Counted(a), Outcome::Counted(b)) => a
            .per_operation()
            .zip(b.per_operation())
            .and_then(|(a, b)| plain(combination, a, b)),
        (Outcome::Counted(_), _) | (_, Outcome::Counted(_)) => {
            return Err("one is an instruction count, the other is a time".to_string());
        }
        _ => return Err("one is measured, the other is published".to_string()),
    };
    value.ok_or_else(|| "they have no round in common".to_string())
}

fn plain(combination: Combination, a: f64, b: f64) -> Option<Ranged> {
    let value = match combination {
        Combination::Difference => a - b,
        Combination::Ratio => a / b,
    };
    value.is_finite().then_some(Ranged {
        value,
        low_high: None,
    })
}

fn difference(a: &Entries, b: &Entries) -> Entries {
    let only_b = b.names().filter(|name| a.get(name) == 0.0);
    a.names()
        .chain(only_b)
        .map(|name| (name.to_string(), a.get(name) - b.get(name)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Failure;
    use model::fixtures::measured;
    use model::fixtures::{counted, named, pairs, run};

    fn record(name: &str, outcome: Outcome, entries: &[(&str, f64)]) -> Record {
        counted(
            Record {
                outcome,
                ..named(name, "file.any", 1)
            },
            entries,
        )
    }

    fn rows(records: Vec<Record>) -> Vec<DerivedRow> {
        // One scale that two cases state each for itself is one scale.
        fn scale(cases: &[&str]) -> Scale {
            Scale {
                calls: 1 << 26,
                unit: "s".into(),
                cases: cases.iter().map(ToString::to_string).collect(),
            }
        }

        let names = ["a".to_string(), "b".to_string()];
        let derived = [Combination::Difference, Combination::Ratio].map(|combination| Derived {
            name: "d".into(),
            combination,
            pair: names.clone(),
        });
        let scales = vec![scale(&["a"]), scale(&["b"])];
        let study = StudyView {
            derived: derived.into(),
            scales,
            ..StudyView::default()
        };
        derive(Some(&study), &run(records))
    }

    #[test]
    fn differences_and_ratios_carry_their_intervals() {
        let a = record(
            "a",
            measured(|i| 3000 + 30 * i),
            &[("newfstatat", 1.0), ("read", 1.0)],
        );
        let b = record(
            "b",
            measured(|i| 1000 + 10 * i),
            &[("fstat", 1.0), ("read", 1.0)],
        );
        let rows = rows(vec![a, b]);
        // The means of three launches are 2030, 2110 and 2190; t of 2 degrees is 4.302653.
        let Ranged { value, low_high } = *rows[0].value.as_ref().unwrap();
        let half = 4.302653 * 80.0 / 3f64.sqrt();
        let (low, high) = low_high.unwrap();
        let expected = [2110.0, 2110.0 - half, 2110.0 + half];
        for (actual, expected) in [value, low, high].into_iter().zip(expected) {
            assert!((actual - expected).abs() < 1e-2, "{actual}");
        }
        let entries = [("newfstatat", 1.0), ("fstat", -1.0)];
        assert_eq!(rows[0].entries, Some(pairs(&entries)));
        assert_eq!(rows[0].scale.as_ref().unwrap().calls, 1 << 26);
        let ratio = rows[1].value.clone().unwrap();
        assert!((ratio.value - 3.0).abs() < 1e-9 && ratio.low_high.is_some());
        assert_eq!((&rows[1].entries, &rows[1].scale), (&None, &None));
    }

    #[test]
    fn a_failure_is_reported_and_a_missing_case_makes_no_row() {
        let failed = Outcome::Failed(Failure::timeout("no answer"));
        let rows_of = rows(vec![
            record("a", measured(|_| 1), &[]),
            record("b", failed, &[]),
        ]);
        assert_eq!(rows_of[0].value, Err("b failed".to_string()));
        assert_eq!(rows(vec![record("a", measured(|_| 1), &[])]), []);
    }
}
