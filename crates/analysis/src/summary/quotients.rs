//! Ratios and differences are those of the two figures that stand beside them. Pairs of rounds, or of runs, give their intervals. Where
//! the pairs contradict the figures, the figures are not settled (a cost with two levels has its median on either), and the interval holds
//! what their own intervals allow.

use super::{Row, Summary};
use crate::compare::{MARGIN, Mark};
use model::{Case, Combination};
use stats::{Quantity, Ranged};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Moves the ratios and differences of a summary to the quotients of the figures that are shown.
pub fn from_figures(summary: &mut Summary) {
    let by_case: HashMap<Case, Quantity> =
        figures(summary.rows.iter().chain(&summary.baselines), |row| {
            row.case.clone()
        });
    for row in summary.rows.iter_mut().chain(&mut summary.baselines) {
        let quantity = row.quantity();
        let Some((versus, quantity)) = row.versus.as_mut().zip(quantity) else {
            continue;
        };
        if let Some(base) = by_case.get(&row.case.in_environment(&versus.environment)) {
            versus.ratio = combined(versus.ratio, quantity, *base, |a, b| a / b);
        }
    }
    if summary.derived.is_empty() {
        return;
    }
    let by_name = figures(summary.rows.iter(), |row| {
        place(row.case.label(), &row.case.environment, &row.case.params)
    });
    for row in &mut summary.derived {
        let [a, b] = row
            .key
            .pair
            .each_ref()
            .map(|name| by_name.get(&place(name, &row.key.environment, &row.key.params)));
        if let (Ok(value), Some(a), Some(b)) = (&mut row.value, a, b) {
            *value = match row.key.combination {
                Combination::Difference => combined(*value, *a, *b, |a, b| a - b),
                Combination::Ratio => combined(*value, *a, *b, |a, b| a / b),
            };
        }
        if row.key.combination == Combination::Ratio {
            let value = row.value.as_ref().ok();
            row.verdict = value.and_then(|value| Mark::on(*value, MARGIN));
        }
    }
}

/// `paired` moved to the value of the two figures. `combine` grows with its first argument and falls with its second.
fn combined(paired: Ranged, a: Quantity, b: Quantity, combine: fn(f64, f64) -> f64) -> Ranged {
    let value = combine(a.value, b.value);
    let agrees = paired
        .low_high
        .is_none_or(|(low, high)| low <= value && value <= high);
    let moved = paired.moved_to(value);
    match (a.low_high, b.low_high) {
        (Some((a_low, a_high)), Some((b_low, b_high))) if !agrees => moved
            .holding(combine(a_low, b_high))
            .holding(combine(a_high, b_low)),
        _ => moved,
    }
}

type Place = (String, String, BTreeMap<String, u64>);

fn place(name: &str, environment: &str, params: &BTreeMap<String, u64>) -> Place {
    (name.to_string(), environment.to_string(), params.clone())
}

fn figures<'a, K: Hash + Eq>(
    rows: impl Iterator<Item = &'a Row>,
    key: impl Fn(&Row) -> K,
) -> HashMap<K, Quantity> {
    let mut figures = HashMap::new();
    for row in rows {
        if let Some(quantity) = row.quantity().filter(|amount| amount.value > 0.0) {
            figures.entry(key(row)).or_insert(quantity);
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::combined;
    use crate::summary::summarize;
    use model::fixtures::{in_environment, named, run, with};
    use model::{Combination, Derived, Record, StudyView, Unit};
    use stats::Ranged;

    /// Three launches, each with its own cost: their middle is not their mean.
    fn varying(name: &str, environment: &str, costs: [u64; 3]) -> Record {
        let record = in_environment(environment, named(name, "file.stat", 1));
        with(record, |m| {
            let all = m.blocks.len();
            for (i, block) in m.blocks.iter_mut().enumerate() {
                block.launch = (3 * i / all) as u32;
                let batch = costs[3 * i / all] * m.iterations;
                block.slots.iter_mut().for_each(|slot| slot.fill(batch));
            }
        })
    }

    /// Medians of costs with two levels jump between them, though rounds agree.
    #[test]
    fn figures_that_pairs_contradict_are_known_no_better_than_by_themselves() {
        fn figure(value: f64, low: f64, high: f64) -> Ranged {
            Ranged {
                value,
                low_high: Some((low, high)),
            }
        }

        let settled = figure(164.0, 163.0, 165.0).in_unit(Unit::Nanoseconds);
        let unsettled = figure(176.0, 163.0, 177.0).in_unit(Unit::Nanoseconds);
        let paired = figure(0.99, 0.98, 1.0);
        let ratio = |a, b| combined(paired, a, b, |a, b| a / b);
        let (low, high) = ratio(settled, unsettled).low_high.unwrap();
        assert!(low < 0.93 && high > 1.01, "{low} {high}");
        let agreeing = ratio(
            figure(163.0, 100.0, 900.0).in_unit(Unit::Nanoseconds),
            settled,
        );
        assert_eq!(agreeing.low_high, paired.low_high);
    }

    #[test]
    fn ratios_and_differences_are_those_of_the_figures_beside_them() {
        let records = vec![
            varying("a", "native", [100, 100, 200]),
            varying("b", "native", [100, 300, 300]),
            varying("a", "filter", [150, 400, 400]),
        ];
        let mut run = run(records);
        run.study = Some(StudyView {
            derived: [Combination::Ratio, Combination::Difference]
                .map(|combination| Derived {
                    name: "d".into(),
                    combination,
                    pair: ["b".to_string(), "a".to_string()],
                })
                .into(),
            ..StudyView::default()
        });
        let summary = summarize(&run);
        let ns = |row: usize| summary.rows[row].cost().unwrap().median.0;
        let versus = summary.rows[2].versus.as_ref().unwrap().ratio;
        let derived = |row: usize| *summary.derived[row].value.as_ref().unwrap();
        for (ranged, expected) in [
            (versus, ns(2) / ns(0)),
            (derived(0), ns(1) / ns(0)),
            (derived(1), ns(1) - ns(0)),
        ] {
            assert_eq!(ranged.value, expected);
            let (low, high) = ranged.low_high.unwrap();
            assert!(low <= expected && expected <= high, "{ranged:?}");
        }
        assert_eq!((ns(0), ns(1), ns(2)), (100.0, 300.0, 400.0));
    }
}
