//! Cases in guests, which are started when a case needs one. If the emulated machine keeps time, its cases are
//! measured in the same rounds as all others; `counting` has those whose instructions are counted.

use crate::engine::{Launcher, Worker};
use crate::guest::{Channel, Guest, Machine, Options, Traced, line_to_count};
use crate::runner::{Workers, names_fixtures};
use model::{Case, Counted, EnvironmentFacts, Facts, Failure, Planned, Reply};
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::PathBuf;

const STARTS: u32 = 3;

pub(super) struct LazyGuest {
    name: String,
    snippets: Vec<Case>,
    /// The cases that its guests count first, and the range of them that the present guest was asked for.
    plan: Vec<Planned>,
    asked: Range<usize>,
    options: Options,
    machine: Option<Result<Machine, Failure>>,
    guest: Option<Result<Guest, Failure>>,
    starts: u32,
}

impl LazyGuest {
    /// A guest for all cases of the environment `name` that are timed; it is not booted yet.
    pub fn new(name: &str, planned: &[Planned]) -> LazyGuest {
        let mut snippets: Vec<Case> = planned
            .iter()
            .map(|planned| &planned.case)
            .filter(|case| case.environment == name)
            .filter(|case| case.language.is_some())
            .cloned()
            .collect();
        snippets.dedup();
        LazyGuest {
            name: name.to_string(),
            snippets,
            plan: Vec::new(),
            asked: 0..0,
            options: Options::default(),
            machine: None,
            guest: None,
            starts: 0,
        }
    }

    pub fn to_count(name: &str, plan: Vec<Planned>, options: Options) -> LazyGuest {
        let place = LazyGuest::new(name, &plan);
        LazyGuest {
            plan,
            options,
            ..place
        }
    }

    /// Ask for the cases in order, and for all else afterwards. If the machine's state is saved, each case begins there, else in the
    /// state that those before have left.
    ///
    /// # Errors
    /// The guest does not boot, or the operation's own failure.
    pub fn counted(
        &mut self,
        workers: &Workers,
        place: usize,
    ) -> Result<(Counted, Facts), Failure> {
        self.greeting(&self.plan[place].case)?;
        let is_kept = self.machine(workers)?.is_kept();
        if is_kept || self.booted().is_none_or(|guest| !guest.is_alive()) {
            // A guest whose state is restored counts one case per boot; otherwise one boot counts all that are left.
            self.asked = place..if is_kept { place + 1 } else { self.plan.len() };
            self.guest = None;
        }
        let place = place - self.asked.start;
        self.guest(workers)?.planned(place)
    }

    fn machine(&mut self, workers: &Workers) -> Result<&Machine, Failure> {
        let machine = self.machine.take().unwrap_or_else(|| {
            self.options.programs = self.programs(workers);
            Machine::new(workers, &self.name, &self.options)
        });
        self.machine
            .insert(machine)
            .as_ref()
            .map_err(Failure::clone)
    }

    fn asked(&self) -> Vec<String> {
        self.plan[self.asked.clone()]
            .iter()
            .map(|planned| {
                line_to_count(planned, &self.greeting(&planned.case).unwrap_or_default())
            })
            .collect()
    }

    /// The guest, if it is running.
    pub fn booted(&self) -> Option<&Guest> {
        self.guest.as_ref()?.as_ref().ok()
    }

    /// None before a guest has booted.
    pub fn facts(&self, workers: &Workers) -> Option<(String, EnvironmentFacts)> {
        let (environment, guest) = (workers.environment(&self.name).ok()?, self.booted()?);
        let machine = self.machine.as_ref();
        let note = machine.and_then(|machine| machine.as_ref().ok()?.note.clone());
        let idle = environment.idle_mitigations();
        let facts = EnvironmentFacts {
            name: self.name.clone(),
            unit: environment.unit,
            started_with: guest.command.clone(),
            kernel: Some(guest.release.clone()),
            emulator: guest.emulator(),
            notes: environment
                .misleads
                .into_iter()
                .chain(note)
                .chain(idle)
                .collect(),
            ..EnvironmentFacts::default()
        };
        Some((self.name.clone(), facts))
    }

    /// A guest that never came up is not started again; one that has ended is.
    pub fn channel(&mut self, workers: &Workers, case: &Case) -> Result<Channel, Failure> {
        let greeting = self.greeting(case)?;
        self.guest(workers)?.channel(&greeting)
    }

    /// # Errors
    /// As `channel`.
    pub fn traced(&mut self, workers: &Workers, case: &Case) -> Result<Traced, Failure> {
        let greeting = self.greeting(case)?;
        self.guest(workers)?.traced(&greeting)
    }

    fn greeting(&self, case: &Case) -> Result<String, Failure> {
        if case.language.is_none() {
            return Ok(Workers::greeting(case));
        }
        if names_fixtures(case) {
            let text = "an emulated machine has no fixtures: its files are in memory";
            return Err(Failure::unsupported(text));
        }
        let number = self.snippets.iter().position(|snippet| snippet == case);
        number
            .map(|number| format!("run {}", program(number)))
            .ok_or_else(|| Failure::start("its program is not in the guest"))
    }

    fn guest(&mut self, workers: &Workers) -> Result<&Guest, Failure> {
        // Each start takes seconds: a guest that keeps dying is given up after a few.
        let has_ended = self.booted().is_some_and(|guest| !guest.is_alive());
        if self.guest.is_none() || (has_ended && self.starts < STARTS) {
            self.guest = None;
            self.starts += 1;
            let plan = self.asked();
            let guest = self.machine(workers)?.ask(workers, &plan);
            self.guest = Some(guest);
        }
        self.guest
            .get_or_insert_with(|| Err(Failure::start("no guest")))
            .as_ref()
            .map_err(Failure::clone)
    }

    fn programs(&self, workers: &Workers) -> Vec<(String, PathBuf)> {
        self.snippets
            .iter()
            .enumerate()
            .filter_map(|(number, case)| Some((program(number), workers.program(case).ok()?)))
            .collect()
    }
}

fn program(number: usize) -> String {
    format!("snippet-{number}")
}

pub(super) struct GuestLauncher<'a> {
    workers: &'a mut Workers,
    planned: &'a [Planned],
    guests: BTreeMap<String, LazyGuest>,
}

impl<'a> GuestLauncher<'a> {
    /// Guests are booted when a case in them is launched.
    pub fn new(workers: &'a mut Workers, planned: &'a [Planned]) -> GuestLauncher<'a> {
        GuestLauncher {
            workers,
            planned,
            guests: BTreeMap::new(),
        }
    }

    /// The facts of all guests that were booted.
    pub fn facts(&self) -> Vec<(String, EnvironmentFacts)> {
        self.guests
            .values()
            .filter_map(|place| place.facts(self.workers))
            .collect()
    }
}

impl Launcher for GuestLauncher<'_> {
    fn launch(&mut self, case: &Case, padding: usize) -> Result<Box<dyn Worker>, Failure> {
        let name = &case.environment;
        if !self.workers.environment(name)?.is_guest {
            return self.workers.launch(case, padding);
        }
        let place = self
            .guests
            .entry(name.clone())
            .or_insert_with(|| LazyGuest::new(name, self.planned));
        Ok(Box::new(place.channel(self.workers, case)?))
    }
}

impl Worker for Channel {
    fn request(&mut self, n: u64, k: u32) -> Result<Reply, Failure> {
        Channel::request(self, n, k)
    }

    fn facts(&self) -> &Facts {
        Channel::facts(self)
    }
}
