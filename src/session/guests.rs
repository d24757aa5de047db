//! Cases in guests. Where a machine is emulated, their instructions are counted, one guest after the other; where it keeps time,
//! its cases are measured in the same rounds as all others.

use super::{Passes, Session, Stage, Watch};
use crate::engine::{Launcher, Worker};
use crate::guest::{self, Channel, Guest, Options};
use crate::model::{Case, Counted, EnvironmentFacts, Facts, Failure, FailureKind, Planned, Reply, Unit};
use crate::runner::{Environment, Workers};
use std::collections::BTreeMap;
use std::time::Duration;

/// A guest that ends during a case is booted again for the next one, so many times.
const BOOTS: u32 = 3;

impl Session {
    /// Counts the instructions of the cases whose environment has them for a unit, and adds them to their passes.
    pub(super) fn count_in_guests(
        &mut self,
        planned: &[Planned],
        passes: &mut [Result<Passes, Failure>],
        watch: &dyn Watch,
    ) {
        let environments = environments(&self.workers, planned);
        let counted: Vec<&Environment> = environments.iter().filter(|own| is_counted(own)).collect();
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

fn is_counted(environment: &Environment) -> bool {
    environment.is_guest && environment.unit == Unit::Instructions
}

/// The environments of `planned` but the native one, in their order.
fn environments(workers: &Workers, planned: &[Planned]) -> Vec<Environment> {
    let mut environments: Vec<Environment> = Vec::new();
    for planned in planned {
        let name = &planned.case.environment;
        if environments.iter().all(|known| known.name != *name) {
            let found = workers.environment(name).ok();
            environments.extend(found.filter(|found| found.name != crate::runner::NATIVE));
        }
    }
    environments
}

/// Replaces what is known of environments before their guests are booted.
pub(super) fn tell(known: &BTreeMap<String, EnvironmentFacts>, environments: &mut [EnvironmentFacts]) {
    for own in environments {
        if let Some(known) = known.get(&own.name) {
            *own = known.clone();
        }
    }
}

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
    let counted: Counted = guest::count(planned.limit, deferred, |n, k| channel.request(n, k, workers.timeout))?;
    Ok(Passes { counted: Some(counted), ..passes })
}

/// The guest of one environment, booted when it is first needed.
struct Place {
    name: String,
    guest: Option<Result<Guest, Failure>>,
    boots: u32,
}

impl Place {
    fn new(name: &str) -> Place {
        Place { name: name.to_string(), guest: None, boots: 0 }
    }

    fn booted(&self) -> Option<&Guest> {
        self.guest.as_ref()?.as_ref().ok()
    }

    /// What is known of the environment by its guest; `None` if that did not come up.
    fn facts(&self, workers: &Workers) -> Option<(String, EnvironmentFacts)> {
        let (environment, guest) = (workers.environment(&self.name).ok()?, self.booted()?);
        let facts = EnvironmentFacts {
            name: self.name.clone(),
            unit: environment.unit,
            started_with: guest.command(),
            kernel: Some(guest.release().to_string()),
            emulator: guest.emulator(),
            notes: environment.misleads,
            host: None,
        };
        Some((self.name.clone(), facts))
    }

    /// A process in it that is ready for `case`. A guest that never came up is not booted again, one that has ended is.
    fn channel(&mut self, workers: &Workers, options: &Options, case: &Case) -> Result<Channel, Failure> {
        let has_ended = self.booted().is_some_and(|guest| !guest.is_alive());
        if self.guest.is_none() || (has_ended && self.boots < BOOTS) {
            self.guest = None;
            self.boots += 1;
            self.guest = Some(Guest::boot(workers, &self.name, options));
        }
        match &self.guest {
            Some(Ok(guest)) => guest.channel(&Workers::greeting(case)),
            Some(Err(failure)) => Err(failure.clone()),
            None => Err(Failure::new(FailureKind::Start, "no guest")),
        }
    }
}

/// Where workers of timed cases are: here, or in guests.
pub(super) struct Places<'a> {
    workers: &'a mut Workers,
    options: &'a Options,
    guests: BTreeMap<String, Place>,
}

impl<'a> Places<'a> {
    pub fn new(workers: &'a mut Workers, options: &'a Options) -> Places<'a> {
        Places { workers, options, guests: BTreeMap::new() }
    }

    /// What is known of the guests that were booted.
    pub fn facts(&self) -> Vec<(String, EnvironmentFacts)> {
        self.guests.values().filter_map(|place| place.facts(self.workers)).collect()
    }
}

impl Launcher for Places<'_> {
    fn launch(&mut self, case: &Case, padding: usize) -> Result<Box<dyn Worker>, Failure> {
        let name = &case.environment;
        if !self.workers.environment(name)?.is_guest {
            return self.workers.launch(case, padding);
        }
        let place = self.guests.entry(name.clone()).or_insert_with(|| Place::new(name));
        Ok(Box::new(place.channel(self.workers, self.options, case)?))
    }
}

impl Worker for Channel {
    fn request(&mut self, n: u64, k: u32, timeout: Duration) -> Result<Reply, Failure> {
        Channel::request(self, n, k, timeout)
    }

    fn facts(&self) -> &Facts {
        Channel::facts(self)
    }
}
