//! Ratios and differences are those of the two figures that stand beside them. Pairs of rounds, or of runs, give their intervals, which hold
//! them.

use super::{Row, Summary};
use crate::compare::{MARGIN, Mark};
use model::{Case, Combination};
use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;

/// Moves the ratios and differences of a summary to the quotients of the figures that are shown.
pub fn from_figures(summary: &mut Summary) {
    let by_case: HashMap<Case, f64> =
        figures(summary.rows.iter().chain(&summary.baselines), |row| {
            row.case.clone()
        });
    for row in summary.rows.iter_mut().chain(&mut summary.baselines) {
        let quantity = row.quantity();
        let Some((versus, quantity)) = row.versus.as_mut().zip(quantity) else {
            continue;
        };
        if let Some(base) = by_case.get(&row.case.in_environment(&versus.environment)) {
            versus.ratio = versus.ratio.moved_to(quantity.value / base);
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
            *value = value.moved_to(match row.key.combination {
                Combination::Difference => a - b,
                Combination::Ratio => a / b,
            });
        }
        if row.key.combination == Combination::Ratio {
            let value = row.value.as_ref().ok();
            row.verdict = value.and_then(|value| Mark::on(*value, MARGIN));
        }
    }
}

type Place = (String, String, BTreeMap<String, u64>);

fn place(name: &str, environment: &str, params: &BTreeMap<String, u64>) -> Place {
    (name.to_string(), environment.to_string(), params.clone())
}

fn figures<'a, K: Hash + Eq>(
    rows: impl Iterator<Item = &'a Row>,
    key: impl Fn(&Row) -> K,
) -> HashMap<K, f64> {
    let mut figures = HashMap::new();
    for row in rows {
        if let Some(quantity) = row.quantity().filter(|amount| amount.value > 0.0) {
            figures.entry(key(row)).or_insert(quantity.value);
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use crate::summary::summarize;
    use model::fixtures::{in_environment, named, run, with};
    use model::{Combination, Derived, Record, StudyView};

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
