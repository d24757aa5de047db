//! Several environments of one run against the first of their unit, case by case.

use super::{Summary, Versus};
use indexmap::IndexMap;
use itertools::Itertools;
use model::{Case, Counted, Entries, Host, Outcome, Record, Run, Unit};
use stats::Ranged;
use std::collections::HashMap;

const SAME_ENTRIES: f64 = 0.05;

/// Cases that fail, have no partner or do other work have no `versus`, and neither have those that ran on another machine:
/// their rounds have nothing in common.
pub fn pair(summary: &mut Summary, run: &Run) {
    let mut environments = run.asked().map(|record| &record.case.environment);
    if environments.all_equal() {
        return;
    }
    let pairs = Pairs::of(run, &units(run.asked()));
    for row in summary.rows.iter_mut().chain(&mut summary.baselines) {
        row.versus = pairs.versus(&row.case);
    }
}

struct Pairs<'a> {
    records: HashMap<&'a Case, &'a Record>,
    bases: HashMap<&'a str, &'a str>,
    machines: HashMap<&'a str, &'a Host>,
}

impl<'a> Pairs<'a> {
    fn of(run: &'a Run, units: &IndexMap<&'a str, Unit>) -> Pairs<'a> {
        let first = |unit: Unit| {
            units
                .iter()
                .find(|(_, own)| **own == unit)
                .map(|(name, _)| *name)
        };
        Pairs {
            records: run
                .records
                .iter()
                .map(|record| (&record.case, record))
                .collect(),
            bases: units
                .iter()
                .filter_map(|(name, unit)| Some((*name, first(*unit)?)))
                .collect(),
            machines: run
                .environments
                .iter()
                .filter_map(|facts| Some((facts.name.as_str(), facts.host.as_deref()?)))
                .collect(),
        }
    }

    fn versus(&self, case: &Case) -> Option<Versus> {
        let own = case.environment.as_str();
        let base = *self.bases.get(own).filter(|base| **base != own)?;
        if self.machines.get(own) != self.machines.get(base) {
            return None;
        }
        let record = self.records.get(case)?;
        let partner = self.records.get(&Case {
            environment: base.to_string(),
            ..case.clone()
        })?;
        if differ(record.entries.as_ref(), partner.entries.as_ref()) {
            return None;
        }
        versus(record, partner)
    }
}

/// In the order of the records. An environment with no figure has none.
fn units<'a>(asked: impl Iterator<Item = &'a Record>) -> IndexMap<&'a str, Unit> {
    let mut units = IndexMap::new();
    for record in asked {
        let unit = match record.outcome {
            Outcome::Counted(_) => Unit::Instructions,
            Outcome::Measured(_) | Outcome::Published(_) => Unit::Nanoseconds,
            Outcome::Failed(_) => continue,
        };
        units
            .entry(record.case.environment.as_str())
            .or_insert(unit);
    }
    units
}

fn versus(record: &Record, partner: &Record) -> Option<Versus> {
    let ratio = match (&record.outcome, &partner.outcome) {
        (Outcome::Measured(measurement), Outcome::Measured(base)) => {
            stats::paired_ratio(measurement, base)?
        }
        (Outcome::Counted(measurement), Outcome::Counted(base)) => {
            counted_ratio(measurement, base)?
        }
        _ => return None,
    };
    Some(Versus {
        environment: partner.case.environment.clone(),
        ratio,
    })
}

/// Exact where the repeats agree: it has no interval.
fn counted_ratio(counted: &Counted, base: &Counted) -> Option<Ranged> {
    let value = counted.per_operation()? / base.per_operation().filter(|count| *count > 0.0)?;
    Some(Ranged {
        value,
        low_high: None,
    })
}

fn differ(a: Option<&Entries>, b: Option<&Entries>) -> bool {
    a.zip(b).is_some_and(|(a, b)| {
        (a.total() - b.total()).abs() > SAME_ENTRIES * a.total().max(b.total()).max(1.0)
    })
}

#[cfg(test)]
mod tests {
    use super::super::summarize;
    use model::fixtures::{counted, in_environment, run, varying, with_params};
    use model::{Record, Run};

    fn record(environment: &str, entries: f64, ns: impl Fn(u64) -> u64) -> Record {
        let record = counted(varying("file.stat", ns), &[("stat", entries)]);
        in_environment(environment, record)
    }

    /// Both sides drift by 40% over the run, which a ratio of medians would show in its interval.
    #[test]
    fn environments_are_paired_with_the_first() {
        fn sides(by: u64) -> Vec<Record> {
            vec![
                record("native", 1.0, |i| 1000 + 40 * i),
                record("/b", 1.0, |i| by * (1000 + 40 * i)),
            ]
        }

        let rows = summarize(&run(sides(2))).rows;
        let versus = rows[1].versus.as_ref().unwrap();
        let (low, high) = versus.ratio.low_high.unwrap();
        assert_eq!(
            (versus.environment.as_str(), rows[0].versus.is_none()),
            ("native", true)
        );
        assert!(
            (versus.ratio.value - 2.0).abs() < 1e-9 && high - low < 1e-4,
            "{versus:?}"
        );
        let whole = Run {
            repeats: vec![run(sides(2)), run(sides(2))],
            ..run(sides(2))
        };
        let over = summarize(&whole).rows[1].versus.clone().unwrap();
        assert!(
            (over.ratio.value - 2.0).abs() < 1e-9 && over.ratio.low_high.is_some(),
            "{over:?}"
        );
    }

    #[test]
    fn other_work_and_other_cases_have_no_ratio() {
        let other_case = with_params(&[("depth", 4)], record("/b", 1.0, |_| 100));
        for other in [record("/b", 2.0, |_| 100), other_case] {
            let both = run(vec![record("native", 1.0, |_| 100), other]);
            assert_eq!(summarize(&both).rows[1].versus, None);
        }
    }
}
