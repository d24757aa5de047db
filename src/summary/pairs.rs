//! Several environments of one run against the first, case by case, paired round by round.

use super::{Row, Summary, Versus};
use crate::derive;
use crate::model::{Case, Entries, Outcome, Record, Role, Run};
use std::collections::HashMap;

/// Kernel entries per iteration that differ by more than this are other work.
const SAME_ENTRIES: f64 = 0.05;

/// Fills in `versus` of all rows of `summary`, which is that of `run`, outside the first environment. Cases that fail, have no
/// partner or do other work there have none, and neither have those that ran on another machine than the first: their rounds
/// have nothing in common.
pub fn pair(summary: &mut Summary, run: &Run) {
    let asked = || run.records.iter().filter(|record| record.role == Role::Asked);
    let Some(first) = asked().next().map(|record| record.case.environment.as_str()) else { return };
    if asked().all(|record| record.case.environment == first) {
        return;
    }
    let (range, _) = super::steady_range(run);
    let partners: HashMap<&Case, &Record> =
        asked().filter(|record| record.case.environment == first).map(|record| (&record.case, record)).collect();
    let machine = |environment: &str| {
        run.environments.iter().find(|facts| facts.name == environment).and_then(|facts| facts.host.as_deref())
    };
    let comparable = |row: &Row| row.case.environment != first && machine(&row.case.environment) == machine(first);
    for (row, record) in summary.rows.iter_mut().zip(asked()).filter(|(row, _)| comparable(row)) {
        let partner = partners.get(&Case { environment: first.to_string(), ..record.case.clone() });
        let partner = partner.filter(|partner| !differ(record.entries.as_ref(), partner.entries.as_ref()));
        row.versus = partner.and_then(|partner| versus(record, partner, &range));
    }
}

fn versus(record: &Record, partner: &Record, range: &std::ops::Range<usize>) -> Option<Versus> {
    let (Outcome::Measured(own), Outcome::Measured(base)) = (&record.outcome, &partner.outcome) else { return None };
    let ratio = derive::ratio_by_launch(own, base, range)?;
    Some(Versus { environment: partner.case.environment.clone(), ratio })
}

fn differ(a: Option<&Entries>, b: Option<&Entries>) -> bool {
    a.zip(b).is_some_and(|(a, b)| (a.total() - b.total()).abs() > SAME_ENTRIES * a.total().max(b.total()).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::super::summarize;
    use crate::model::fixtures::{counted, run, varying};
    use crate::model::{Record, Run};

    fn record(environment: &str, entries: f64, ns: impl Fn(u64) -> u64) -> Record {
        let mut record = counted(varying("file.stat", ns), &[("stat", entries)]);
        record.case.environment = environment.into();
        record
    }

    /// Both sides drift by 40% over the run, which a ratio of medians would show in its interval.
    #[test]
    fn environments_are_paired_with_the_first() {
        let sides =
            |by: u64| vec![record("native", 1.0, |i| 1000 + 40 * i), record("/b", 1.0, |i| by * (1000 + 40 * i))];
        let rows = summarize(&run(sides(2))).rows;
        let versus = rows[1].versus.as_ref().unwrap();
        let (low, high) = versus.ratio.low_high.unwrap();
        assert_eq!((versus.environment.as_str(), rows[0].versus.is_none()), ("native", true));
        assert!((versus.ratio.value - 2.0).abs() < 1e-9 && high - low < 1e-4, "{versus:?}");
        let whole = Run { repeats: vec![run(sides(2)), run(sides(2))], ..run(sides(2)) };
        let over = summarize(&whole).rows[1].versus.clone().unwrap();
        assert!((over.ratio.value - 2.0).abs() < 1e-9 && over.ratio.low_high.is_some(), "{over:?}");
    }

    #[test]
    fn other_work_and_other_cases_have_no_ratio() {
        let rows = summarize(&run(vec![record("native", 1.0, |_| 100), record("/b", 2.0, |_| 100)])).rows;
        assert_eq!(rows[1].versus, None);
        let mut other = record("/b", 1.0, |_| 100);
        other.case.params.insert("depth".into(), 4);
        assert_eq!(summarize(&run(vec![record("native", 1.0, |_| 100), other])).rows[1].versus, None);
    }
}
