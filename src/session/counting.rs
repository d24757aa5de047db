//! Cases in emulated machines: their instructions are counted, one guest after the other, before times are measured.

use super::guests::Place;
use super::{Passes, Session, Stage, Watch};
use crate::guest::{self, Options};
use crate::model::{Failure, FailureKind, Planned, Unit};
use crate::runner::{Environment, Workers};

impl Session {
    /// Counts the instructions of the cases whose environment has them for a unit, and adds them to their passes.
    pub(super) fn count_in_guests(
        &mut self,
        planned: &[Planned],
        passes: &mut [Result<Passes, Failure>],
        watch: &dyn Watch,
    ) {
        let counted = counted_environments(&self.workers, planned);
        if !counted.is_empty() {
            watch.stage(Stage::Counting);
        }
        for (i, environment) in counted.iter().enumerate() {
            let at = |share: f64, doing: &str| watch.at((i as f64 + share) / counted.len() as f64, doing);
            let mut place = Place::new(&environment.name);
            let own = |(_, planned): &(usize, &Planned)| planned.case.environment == environment.name;
            let cases: Vec<(usize, &Planned)> = planned.iter().enumerate().filter(own).collect();
            at(0.0, &format!("booting {}", environment.name));
            for (done, (index, planned)) in cases.iter().enumerate() {
                passes[*index] = count(&mut place, &self.workers, &self.boot, (planned, passes[*index].clone()));
                at((done + 1) as f64 / cases.len() as f64, &planned.case.to_string());
            }
            self.facts.extend(place.facts(&self.workers));
        }
    }
}

/// The environments of `planned` that are emulated machines, in their order.
fn counted_environments(workers: &Workers, planned: &[Planned]) -> Vec<Environment> {
    let mut environments: Vec<Environment> = Vec::new();
    for planned in planned {
        let name = &planned.case.environment;
        if environments.iter().all(|known| known.name != *name) {
            let found = workers.environment(name).ok();
            environments.extend(found.filter(|found| found.is_guest && found.unit == Unit::Instructions));
        }
    }
    environments
}

/// Counts the instructions of a case whose passes found nothing against it.
fn count(
    place: &mut Place,
    workers: &Workers,
    options: &Options,
    (planned, passes): (&Planned, Result<Passes, Failure>),
) -> Result<Passes, Failure> {
    let passes = passes?;
    if workers.interrupt.is_set() {
        return Err(Failure::interrupted());
    }
    if planned.case.cold().is_some_and(|bytes| bytes > 0) {
        let text = "cold: an emulated machine has no caches whose contents could be displaced";
        return Err(Failure::new(FailureKind::Unsupported, text));
    }
    let channel = place.channel(workers, options, &planned.case)?;
    let deferred = planned.traits.switches || planned.traits.children;
    let counted = guest::count(planned.limit, deferred, |n, k| channel.request(n, k, workers.timeout))?;
    Ok(Passes { counted: Some(counted), ..passes })
}
