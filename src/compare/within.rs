//! One run compared within itself: the ratios that its study derives, such as a branch's program over the main one's. Both were
//! measured in the same rounds, so that what moves a whole run moves both. Pure; `compare` of a single file calls it.

use super::column::Column;
use super::gate::{Found, Gate, NotJudged};
use super::same_work::{Work, work_of};
use crate::derive::DerivedRow;
use crate::model::{Combination, Entries};

#[derive(Clone, Debug, PartialEq)]
pub struct WithinRow {
    pub derived: DerivedRow,
    /// Nanoseconds per iteration of both, the divisor second; `None` if unknown.
    pub costs_ns: [Option<f64>; 2],
    /// Kernel entries of both; `None` if not counted.
    pub entries: [Option<Entries>; 2],
    /// `None` without a gate.
    pub found: Option<Found>,
}

/// The ratios of `column`, judged by `gate` if it is set.
pub fn within(column: &Column, gate: &Gate) -> Vec<WithinRow> {
    let ratios = column.derived.iter().filter(|row| row.combination == Combination::Ratio);
    ratios.map(|derived| row(column, derived, gate)).collect()
}

fn row(column: &Column, derived: &DerivedRow, gate: &Gate) -> WithinRow {
    let of = |label: &str| {
        column.rows.iter().find(|row| {
            let case = &row.case;
            case.label() == label && case.environment == derived.environment && case.params == derived.params
        })
    };
    let both = derived.of.each_ref().map(|label| of(label));
    let entries = both.map(|row| row.and_then(|row| row.entries.clone()));
    let found = gate.is_set().then(|| found(derived, &entries, gate));
    WithinRow { derived: derived.clone(), costs_ns: both.map(|row| row.and_then(|row| row.cost_ns())), entries, found }
}

/// Unlike between files, other entries do not keep the costs from being judged: the study asks for the ratio.
fn found(derived: &DerivedRow, [own, base]: &[Option<Entries>; 2], gate: &Gate) -> Found {
    let range = derived.value.as_ref().map_err(|_| NotJudged::Missing);
    let range = range.and_then(|value| {
        let (low, high) = value.low_high.ok_or(NotJudged::NoInterval)?;
        Ok((value.value, low, high))
    });
    match work_of(own.as_ref(), base.as_ref()) {
        Work::Different(difference) => match gate.found(Some(Work::Different(difference)), Err(NotJudged::OtherWork)) {
            Found::NotJudged { .. } => gate.found(Some(Work::Same), range),
            found => found,
        },
        work => gate.found(Some(work), range),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compare::EntriesRule;
    use crate::stats::Ranged;

    fn judged(ratio: (f64, f64, f64), own: f64, gate: Gate) -> Found {
        let derived = DerivedRow {
            name: "head over base".into(),
            combination: Combination::Ratio,
            of: ["head".into(), "base".into()],
            environment: "native".into(),
            params: Default::default(),
            unit: crate::model::Unit::Nanoseconds,
            value: Ok(Ranged { value: ratio.0, low_high: Some((ratio.1, ratio.2)) }),
            entries: None,
            scale: None,
        };
        let entries = |count: f64| Some([("openat".to_string(), count)].into_iter().collect::<Entries>());
        found(&derived, &[entries(own), entries(10.0)], &gate)
    }

    #[test]
    fn a_ratio_is_judged_also_where_entries_differ() {
        let over = Gate { limit: Some(0.05), entries: None };
        assert!(matches!(judged((1.2, 1.1, 1.3), 10.0, over), Found::Grown { .. }));
        assert!(matches!(judged((1.2, 1.1, 1.3), 9.0, over), Found::Grown { .. }), "fewer entries, more time");
        assert_eq!(judged((1.0, 0.98, 1.02), 9.0, over), Found::Passed);
        assert!(matches!(judged((1.0, 0.98, 1.02), 12.0, over), Found::Entries(_)));
        let more = Gate { limit: None, entries: Some(EntriesRule::More) };
        assert!(matches!(judged((1.0, 0.98, 1.02), 11.0, more), Found::Entries(_)));
        assert_eq!(judged((1.2, 1.1, 1.3), 9.0, more), Found::Passed);
    }
}
