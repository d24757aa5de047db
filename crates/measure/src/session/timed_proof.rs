//! Proves the timed part of a run: entries that are rare or absent are counted again over as many iterations as were timed,
//! whatever a shorter pass or an earlier run has counted.

use super::passes::Passed;
use super::{Session, Stage, Watch};
use crate::engine::Measured;
use crate::proof::stepped::{can_be_stepped, instructions};
use crate::proof::{Length, Proof, prove_over};
use crate::runner::has_runtime;
use model::{Case, Entries, Measurement, Outcome, Planned};
use std::collections::HashMap;
use std::time::Duration;

/// Counting takes about as long as timing did, and at most so many times as long. Waiting for partners takes a
/// while.
const MOST_OF_TIMED: u32 = 2;
const LEAST: Duration = Duration::from_millis(150);

/// Entries of the threads that run empty loops, by language and environment, with the time in which they were counted.
type Usual<'a> = HashMap<(&'a Option<String>, &'a str), (Entries, Duration)>;

impl Session {
    /// Counts for the iterations of all runs, which are estimated by those of the first.
    pub(super) fn prove_timed(
        &self,
        passed: &mut [Passed],
        measured: &[Measured],
        runs: u32,
        watch: &dyn Watch,
    ) {
        let outcomes: HashMap<&Case, &Outcome> =
            measured.iter().map(|m| (&m.case, &m.outcome)).collect();
        let mut all: Vec<&mut Passed> = passed.iter_mut().collect();
        // Empty loops come first: they show which calls a runtime makes by itself.
        all.sort_by_key(|passed| !passed.planned.case.is_empty_loop());
        watch.stage(Stage::Proving);
        let (mut usual, share) = (Usual::new(), 1.0 / all.len() as f64);
        for (i, Passed { planned, passes }) in all.into_iter().enumerate() {
            if let (Ok(passes), Some(Outcome::Measured(timed)), false) =
                (passes, outcomes.get(&planned.case), self.interrupt.is_set())
                && passes.proof.is_rare()
            {
                watch.advance(i as f64 * share, &planned.case.to_string());
                let proof = self.prove_one(planned, timed, runs.max(1), &mut usual);
                if !self.interrupt.is_set() {
                    passes.proof = proof;
                }
                if can_be_stepped(&planned.case) {
                    passes.instructions = instructions(&self.workers, planned).ok();
                }
            }
        }
    }

    fn prove_one<'a>(
        &self,
        planned: &'a Planned,
        timed: &Measurement,
        runs: u32,
        usual: &mut Usual<'a>,
    ) -> Proof {
        let case = &planned.case;
        let whose = (&case.language, case.environment.as_str());
        let has_runtime = has_runtime(case);
        let is_usual = has_runtime && case.is_empty_loop();
        let batches = timed.samples().count() + timed.preempted_ns.len();
        let time = Duration::from_nanos(timed.cpu.wall_ns) * runs;
        // A runtime's own calls are scaled to the longer time.
        let length = Length {
            iterations: timed.iterations * batches as u64 * u64::from(runs),
            time: (time * MOST_OF_TIMED).max(LEAST),
            runtime: if has_runtime && !is_usual {
                Some(
                    usual
                        .get(&whose)
                        .map(|(usual, less)| usual.times(time.div_duration_f64(*less).max(1.0)))
                        .unwrap_or_default(),
                )
            } else {
                None
            },
        };
        // One thread, as for the short count. An empty loop's own declaration would hide a runtime's calls.
        let alone = Planned {
            case: case.alone(),
            enters: if is_usual {
                None
            } else {
                planned.enters.clone()
            },
            ..planned.clone()
        };
        let mut proof = prove_over(&self.workers, &alone, &length)
            .unwrap_or_else(|failure| Proof::none(&format!("as long as it was timed: {failure}")));
        if is_usual {
            let entries = proof
                .entries
                .as_mut()
                .map(std::mem::take)
                .unwrap_or_default();
            // In calls over the whole time, since other loops make fewer or more iterations in it.
            let n = proof.iterations.unwrap_or(0) as f64;
            usual.insert(whose, (entries.times(n), time));
        }
        proof
    }
}
