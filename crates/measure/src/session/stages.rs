//! From a session to a run: a job is checked, then prepared, then measured.

use super::cpu_monitor::CpuMonitor;
use super::entry_cache::EntryCache;
use super::job::Job;
use super::keep::Keep;
use super::open::Session;
use super::options::Watch;
use crate::runner::{self, Fixture, Workers};
use anyhow::Result;
use model::{Planned, Run, THREADS};
use std::path::Path;
use store::StoreError;
use sys::Sources;
use sys::host;
use sys::limits::{Limits, Needs};

pub struct Ready {
    session: Session,
    job: Job,
    cache: EntryCache,
}

impl Session {
    /// Checks that limits allow as many workers at once, that there is room for fixtures, and that
    /// what was named can be had.
    pub fn check(&self, job: &Job) -> Result<()> {
        let crowd = |p: &Planned| p.case.params.get(THREADS).copied().unwrap_or(1).max(1);
        let cases = job.planned.len() as u64;
        let processes = job.planned.iter().map(crowd).fold(0, u64::saturating_add);
        let needs = Needs {
            cases,
            descriptors: Workers::descriptors(cases),
            processes,
        };
        Limits::here(&Sources::default()).check(&needs)?;
        let room = |at: &Path| {
            host::room(at).map_or(Ok(()), |room| runner::check_room(&job.fixtures, at, &room))
        };
        if !job.fixtures.is_empty() {
            self.workers
                .fixture_directories()?
                .iter()
                .try_for_each(|directory| room(directory))?;
        }
        self.check_named(job)
    }

    pub fn prepare(self, job: Job) -> Result<Ready> {
        self.make_fixtures(&job.fixtures)?;
        let planned = self.with_switches(job.planned);
        let cache = self.entry_cache();
        Ok(Ready {
            session: self,
            job: Job { planned, ..job },
            cache,
        })
    }

    pub(super) fn make_fixtures(&self, fixtures: &[Fixture]) -> Result<()> {
        if fixtures.is_empty() {
            return Ok(());
        }
        let directories = self.workers.fixture_directories()?;
        let each = directories
            .iter()
            .flat_map(|directory| fixtures.iter().map(move |fixture| (directory, fixture)));
        let mut each = each.take_while(|_| !self.interrupt.is_set());
        each.try_for_each(|(directory, fixture)| fixture.make(directory, &self.interrupt))
    }

    /// Whether the environment of each adds processes. In one that does not exist, the case fails
    /// when it is started.
    fn with_switches(&self, planned: Vec<Planned>) -> Vec<Planned> {
        let switches = |name: &str| {
            self.workers
                .environment(name)
                .is_ok_and(|environment| environment.switches)
        };
        planned
            .into_iter()
            .map(|case| Planned {
                adds_processes: switches(&case.case.environment),
                ..case
            })
            .collect()
    }
}

impl Ready {
    pub fn shortfall(&mut self) -> Option<String> {
        self.session.shortfall(&self.job.planned, &mut self.cache)
    }

    /// Measures as often as the job says; the seed of each run is that of the one before plus 1. An
    /// interrupt, and a run that cannot be prepared, keep the runs that came to their end, or what
    /// there is of the first.
    ///
    /// Returns the run even if `out` could not be written at the end: it can still be shown.
    pub fn measure(self, watch: &dyn Watch, out: &Keep) -> (Run, Result<(), StoreError>) {
        let Ready {
            mut session,
            job,
            cache,
        } = self;
        let cpu_monitor = CpuMonitor::begin(&session.workers);
        let found = session.pass(&job, cache, watch);
        session.measure_runs((&job, &found), cpu_monitor, watch, out)
    }
}
