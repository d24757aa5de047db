//! Instructions of cases in emulated machines, counted one guest after the other.

use super::guests::LazyGuest;
use super::job::only_for_speed;
use super::passes::Passed;
use super::{Session, Stage, Watch};
use crate::guest::Options;
use crate::proof::{Proof, prove_by};
use crate::runner::{Environment, Workers};
use indexmap::IndexSet;
use model::{Failure, Planned, Unit};

impl Session {
    pub(super) fn count_in_guests(&mut self, passed: &mut [Passed], watch: &dyn Watch) {
        let names: IndexSet<&str> = passed
            .iter()
            .map(|passed| passed.planned.case.environment.as_str())
            .collect();
        let counted: Vec<Environment> = names
            .into_iter()
            .filter_map(|name| self.workers.environment(name).ok())
            .filter(|environment| environment.is_guest && environment.unit == Unit::Instructions)
            .collect();
        if !counted.is_empty() {
            watch.stage(Stage::Counting);
        }
        for (i, environment) in counted.iter().enumerate() {
            let progress = |share: f64, doing: &str| {
                watch.advance((i as f64 + share) / counted.len() as f64, doing)
            };
            let mut cases: Vec<&mut Passed> = passed
                .iter_mut()
                .filter(|passed| passed.planned.case.environment == environment.name)
                .collect();
            cases.iter_mut().for_each(|case| refuse_cold(case));
            // Cases that were refused need no place in the guest's plan.
            cases.retain(|case| case.passes.is_ok());
            let mut place = LazyGuest::to_count(
                &environment.name,
                cases.iter().map(|case| case.planned.clone()).collect(),
                Options::default(),
            );
            progress(0.0, &format!("booting {}", environment.name));
            let all = cases.len() as f64;
            for (done, case) in cases.iter_mut().enumerate() {
                let counted = place.counted(&self.workers, done);
                let interrupted = self.workers.interrupt.check();
                match (interrupted.and(counted), &mut case.passes) {
                    (Ok((counted, _)), Ok(passes)) => passes.counted = Some(counted),
                    (Err(failure), passes) => *passes = Err(failure),
                    _ => {}
                }
                progress((done + 1) as f64 / all, &case.planned.case.to_string());
            }
            // After all counts: tracing leaves objects in the kernel, which would change them.
            let is_traced = self.options.verify && environment.unverified.is_none();
            for case in cases
                .into_iter()
                .filter(|case| is_traced && !only_for_speed(&case.planned))
            {
                if let Ok(passes) = &mut case.passes {
                    passes.proof = prove(&mut place, &self.workers, &case.planned);
                }
            }
            self.facts.extend(place.facts(&self.workers));
        }
    }
}

fn refuse_cold(Passed { planned, passes }: &mut Passed) {
    if planned.case.is_displaced() && passes.is_ok() {
        let text = "cold: an emulated machine has no caches to evict";
        *passes = Err(Failure::unsupported(text));
    }
}

fn prove(place: &mut LazyGuest, workers: &Workers, planned: &Planned) -> Proof {
    if workers.interrupt.is_set() {
        return Proof::none(&Failure::interrupted().message);
    }
    let traced = place.traced(workers, &planned.case.alone());
    traced
        .and_then(|traced| prove_by(planned, |n| traced.request(n)))
        .unwrap_or_else(|failure| Proof::none(&format!("tracing in the guest: {failure}")))
}
