//! Several environments of one run against the first of their unit, case by case. If that was measured twice, no ratio is known better
//! than what its control shows.

use super::{Summary, Versus};
use indexmap::IndexMap;
use itertools::Itertools;
use model::{CONTROL, Case, Counted, Entries, Host, NATIVE, Outcome, Record, Run, Unit};
use schemars::JsonSchema;
use serde::Serialize;
use stats::Ranged;
use std::collections::HashMap;

// Chosen: with twice as much, environments that make 10% more calls would have a ratio.
const SAME_ENTRIES: f64 = 0.05;

/// Cases that fail, have no partner or do other work have no `versus`, and neither have those that ran on another machine:
/// their rounds have nothing in common.
pub fn pair(summary: &mut Summary, run: &Run) {
    let mut environments = run.asked().map(|record| &record.case.environment);
    if environments.all_equal() {
        return;
    }
    let pairs = Pairs::new(run, &units(run.asked()));
    summary.control = ControlRange::new(&pairs.controls);
    for row in summary.rows.iter_mut().chain(&mut summary.baselines) {
        row.versus = pairs.versus(&row.case);
    }
}

/// The ratios of native cases to themselves, measured twice in the same rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ControlRange {
    /// How many cases were measured twice.
    pub cases: usize,
    /// The smallest ratio.
    pub least: f64,
    /// The largest ratio.
    pub most: f64,
}

impl ControlRange {
    fn new(controls: &HashMap<&Case, Ranged>) -> Option<ControlRange> {
        let ratios = controls.values().map(|ratio| ratio.value);
        let (least, most) = ratios.minmax_by(f64::total_cmp).into_option()?;
        Some(ControlRange {
            cases: controls.len(),
            least,
            most,
        })
    }
}

struct Pairs<'a> {
    /// By native case.
    controls: HashMap<&'a Case, Ranged>,
    records: HashMap<&'a Case, &'a Record>,
    bases: HashMap<&'a str, &'a str>,
    machines: HashMap<&'a str, &'a Host>,
}

impl<'a> Pairs<'a> {
    fn new(run: &'a Run, units: &IndexMap<&'a str, Unit>) -> Pairs<'a> {
        let records: HashMap<&Case, &Record> = run
            .records
            .iter()
            .map(|record| (&record.case, record))
            .collect();
        let native = run
            .records
            .iter()
            .filter(|record| record.case.environment == NATIVE);
        let controls = native
            .filter_map(|record| {
                let again = records.get(&record.case.in_environment(CONTROL))?;
                let ratio = stats::paired_ratio(
                    again.outcome.measurement()?,
                    record.outcome.measurement()?,
                )?;
                Some((&record.case, ratio))
            })
            .collect();
        Pairs {
            controls,
            records,
            bases: units
                .iter()
                .filter_map(|(name, unit)| {
                    let mut all = units.iter();
                    let (first, _) = all.find(|(_, other)| *other == unit)?;
                    Some((*name, *first))
                })
                .collect(),
            machines: run
                .environments
                .iter()
                .filter_map(|facts| Some((facts.name.as_str(), facts.host.as_deref()?)))
                .collect(),
        }
    }

    fn versus(&self, case: &Case) -> Option<Versus> {
        let environment = case.environment.as_str();
        let base = *self
            .bases
            .get(environment)
            .filter(|base| **base != environment)?;
        if self.machines.get(environment) != self.machines.get(base) {
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
        let versus = versus(record, partner)?;
        let ratio = match self.controls.get(&partner.case) {
            Some(control) => versus.ratio.beside(*control),
            None => versus.ratio,
        };
        Some(Versus { ratio, ..versus })
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

/// Without an interval: the ratio is exact if the repeats agree.
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
    use model::{CONTROL, Record, Role, Run};

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
    fn no_ratio_is_known_better_than_what_native_takes_against_itself() {
        fn ratio(again: u64) -> (f64, f64, f64) {
            let mut records = vec![
                record("native", 1.0, |i| 1000 + i),
                record("/b", 1.0, |i| 1020 + i),
            ];
            records.push(Record {
                role: Role::Baseline,
                ..record(CONTROL, 1.0, |i| again + i)
            });
            let summary = summarize(&run(records));
            let control = summary.control.unwrap();
            assert_eq!((summary.rows.len(), control.cases), (2, 1));
            let (low, high) = summary.rows[1]
                .versus
                .as_ref()
                .unwrap()
                .ratio
                .low_high
                .unwrap();
            (control.most, low, high)
        }

        let (most, low, high) = ratio(1000);
        assert!(most == 1.0 && 1.01 < low && high < 1.03, "{low} {high}");
        let (most, low, high) = ratio(1100);
        assert!(
            (most - 1.1).abs() < 0.01 && low < 0.9 && high > 1.1,
            "{low} {high}"
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
