//! The cost of a cold call in units of the same call in a warm batch.

use model::{Case, Measurement, Record, Run};
use stats::{Calm, Ranged, WithLoop, net_ratio};
use std::borrow::Cow;
use std::collections::HashMap;

/// Empty for a run without cold cases.
pub(super) struct ColdRatios<'a> {
    by_case: HashMap<Case, Cow<'a, Measurement>>,
    empty: HashMap<(String, Option<u64>), Cow<'a, Measurement>>,
}

impl<'a> ColdRatios<'a> {
    pub(super) fn new(run: &'a Run, calm: &Calm) -> ColdRatios<'a> {
        let mut ratios = ColdRatios {
            by_case: HashMap::new(),
            empty: HashMap::new(),
        };
        let mut cases = run.records.iter().map(|record| &record.case);
        if !cases.any(|case| case.cold().is_some()) {
            return ratios;
        }
        for Record { case, outcome, .. } in &run.records {
            let (None, Some(m)) = (&case.language, outcome.measurement()) else {
                continue;
            };
            let m = calm.only(m);
            if case.is_empty_loop() {
                let key = (case.environment.clone(), case.cold());
                ratios.empty.entry(key).or_insert(m.clone());
            }
            ratios.by_case.entry(case.nameless()).or_insert(m);
        }
        ratios
    }

    /// The ratio of net costs; `None` for a warm case, and without what it is made of.
    pub(super) fn over_warm(&self, case: &Case) -> Option<Ranged> {
        case.cold()?;
        net_ratio(self.with_loop(case)?, self.with_loop(&case.warm())?)
    }

    fn with_loop(&self, case: &Case) -> Option<WithLoop<'_>> {
        let key = (case.environment.clone(), case.cold());
        Some(WithLoop {
            case: self.by_case.get(&case.nameless())?,
            empty: self.empty.get(&key)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::summary::summarize;
    use model::fixtures::{record, run, with_params};
    use model::{Nanos, Record};

    fn cold(operation: &str, bytes: u64, ns: u64) -> Record {
        with_params(&[("cold", bytes)], record(operation, ns))
    }

    #[test]
    fn cold_rows_are_relative_to_their_warm_ones_and_their_own_loops() {
        let summary = summarize(&run(vec![
            record("id.getppid", 102),
            cold("id.getppid", 0, 125),
            cold("id.getppid", 4096, 1025),
            cold("file.stat", 4096, 3000),
            record("call.empty_loop", 2),
            cold("call.empty_loop", 0, 20),
            cold("call.empty_loop", 4096, 25),
            record("call.direct", 4),
        ]));
        let figures: Vec<_> = summary
            .rows
            .iter()
            .map(|row| {
                let figure = row.cost().unwrap();
                let over_warm = figure.cold_over_warm.map(|ratio| ratio.value);
                (figure.net, over_warm, figure.times_getppid)
            })
            .collect();
        assert_eq!(figures[0], (Some(Nanos(100.0)), None, Some(1.0)));
        assert_eq!(figures[1], (Some(Nanos(105.0)), Some(1.05), None));
        assert_eq!(figures[2], (Some(Nanos(1000.0)), Some(10.0), None));
        assert_eq!(figures[3], (Some(Nanos(2975.0)), None, None), "no warm row");
        let loops: Vec<String> = summary
            .baselines
            .iter()
            .map(|row| row.case.to_string())
            .collect();
        assert_eq!(
            loops,
            [
                "id.getppid",
                "call.empty_loop",
                "call.empty_loop cold=0",
                "call.empty_loop cold=4K",
                "call.direct"
            ]
        );
    }
}
