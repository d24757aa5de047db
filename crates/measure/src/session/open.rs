//! Makes a run from a session, which is opened on this machine or on those to which a user's commands lead:
//! a job is checked, then prepared, then measured.

use super::cpu_monitor::CpuMonitor;
use super::entry_cache::EntryCache;
use super::remote::Remote;
use super::{Job, Keep, RunOptions, Sides, Watch};
use crate::runner::{self, Fixture, Interrupt, RunDirectory, Workers, read_catalogue};
use anyhow::Result;
use model::{Case, EnvironmentFacts, Facts, Failure, Host, Operation, Planned, Run, THREADS};
use std::collections::BTreeMap;
use std::time::Instant;
use store::StoreError;
use sys::Sources;
use sys::affinity::{Placement, Wanted};
use sys::host::{self, BusyClock, StealClock};
use sys::limits::Limits;
use sys::taxes::taxes;

pub struct Session {
    pub catalogue: Vec<Operation>,
    pub(super) options: RunOptions,
    /// The time of its opening, or of its renewal for a further run.
    pub(super) opened: Instant,
    pub workers: Workers,
    pub(super) interrupt: Interrupt,
    /// The facts of the machine that is measured, before the run.
    pub host: Host,
    pub(super) clocks: Clocks,
    pub(super) sides: Sides,
    pub(super) facts: BTreeMap<String, EnvironmentFacts>,
    /// Environments whose cases fail for this reason; known after the check.
    pub(super) unusable: BTreeMap<String, Failure>,
    pub(super) remote: Remote,
}

impl Session {
    /// # Errors
    /// No directory to work in, a probe that does not start, or a CPU or a side that cannot be used.
    pub fn open(options: RunOptions, sides: Sides) -> Result<Session> {
        let opened = Instant::now();
        let sources = Sources::default();
        // Before this process moves to the driver's CPUs, so that the facts hold the original affinity.
        let mut host = Host {
            taxes: taxes(&sources),
            ..host::facts(&sources, None)
        };
        let alone = sides.is_all_elsewhere();
        let placement = Placement::choose(if alone { Wanted::None } else { options.cpu })?;
        let directory = sides.directory()?;
        host.file_system = host::file_system(directory.path());
        let mut catalogue = read_catalogue(&directory.probe())?;
        let interrupt = Interrupt::on_signals()?;
        let clocks = Clocks::start(&sources, placement.measuring, alone);
        let (workers, mut remote) = start(directory, placement, &interrupt, &options, &sides)?;
        // All cases are on that machine: facts of this one would describe the wrong hardware.
        if let Some(there) = &mut remote.machine {
            host = there.host.clone();
            catalogue = std::mem::take(&mut there.operations);
        }
        Ok(Session {
            catalogue,
            options,
            opened,
            workers,
            interrupt,
            host,
            clocks,
            sides,
            facts: std::mem::take(&mut remote.environments),
            unusable: BTreeMap::new(),
            remote,
        })
    }

    /// The facts that a native probe reports about its machine.
    ///
    /// # Errors
    /// It does not start.
    pub fn probe_facts(&mut self) -> Result<Facts, Failure> {
        Ok(self
            .workers
            .start_ready(&Case::native("call.empty_loop"), 0)?
            .1)
    }
}

pub(super) fn start(
    directory: RunDirectory,
    placement: Placement,
    interrupt: &Interrupt,
    options: &RunOptions,
    sides: &Sides,
) -> Result<(Workers, Remote)> {
    let mut workers = Workers::new(directory, placement, interrupt.clone(), options.timeout);
    workers.cpu_elsewhere = cpu_elsewhere(options.cpu);
    sides.add_to(&mut workers)?;
    let remote = Remote::visit(&mut workers, sides.environments(), sides.is_all_elsewhere())?;
    Ok((workers, remote))
}

/// On other machines, probes choose the last allowed CPU themselves.
fn cpu_elsewhere(wanted: Wanted) -> String {
    match wanted {
        Wanted::Best => "last".to_string(),
        Wanted::Cpu(cpu) => cpu.to_string(),
        Wanted::None => "none".to_string(),
    }
}

/// Clocks of the rest of this machine's work during a run; another machine's are unknown.
#[derive(Default)]
pub(super) struct Clocks {
    pub steal: Option<StealClock>,
    pub busy: Option<BusyClock>,
}

impl Clocks {
    /// None if all cases are on another machine (`alone`).
    pub fn start(sources: &Sources, measuring: Option<u32>, alone: bool) -> Clocks {
        if alone {
            return Clocks::default();
        }
        Clocks {
            steal: StealClock::start(sources, measuring),
            busy: BusyClock::start(sources),
        }
    }
}

pub struct Ready {
    session: Session,
    job: Job,
    cache: EntryCache,
}

impl Session {
    /// Limits allow as many workers at once, there is room for fixtures, and the first environment and the snippets that the user
    /// named can be used. Returns a line for each other environment that cannot: its cases will fail.
    ///
    /// # Errors
    /// The first check that fails, with the numbers or reasons.
    pub fn check(&mut self, job: &Job) -> Result<Vec<String>> {
        let cases = job.planned.len() as u64;
        let processes = job
            .planned
            .iter()
            .map(|p| p.case.params.get(THREADS).copied().unwrap_or(1).max(1))
            .fold(0, u64::saturating_add);
        let limits = Limits::here(&Sources::default());
        limits.check(cases, Workers::descriptors(cases), processes)?;
        if !job.fixtures.is_empty() {
            self.workers
                .fixture_directories()?
                .iter()
                .try_for_each(|directory| {
                    host::room(directory).map_or(Ok(()), |room| {
                        runner::check_room(&job.fixtures, directory, &room)
                    })
                })?;
        }
        self.unusable = self.check_named(job)?;
        self.check_parameters(job)?;
        let failed = self.unusable.iter();
        Ok(failed
            .map(|(name, why)| {
                format!(
                    "environment {name} fails: {why}; the others are measured ('syscost list --envs' shows what can be used here)"
                )
            })
            .collect())
    }

    /// # Errors
    /// A fixture cannot be made.
    pub fn prepare(self, job: Job) -> Result<Ready> {
        self.make_fixtures(&job.fixtures)?;
        let planned = self.with_controls(self.with_switches(job.planned));
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
        let mut each = directories
            .iter()
            .flat_map(|directory| fixtures.iter().map(move |fixture| (directory, fixture)))
            .take_while(|_| !self.interrupt.is_set());
        each.try_for_each(|(directory, fixture)| fixture.make(directory, &self.interrupt))
    }

    /// Notes for each case whether its environment adds processes. In one that does not exist, the case fails
    /// when it is started.
    fn with_switches(&self, planned: Vec<Planned>) -> Vec<Planned> {
        planned
            .into_iter()
            .map(|case| Planned {
                adds_processes: self
                    .workers
                    .environment(&case.case.environment)
                    .is_ok_and(|environment| environment.switches),
                ..case
            })
            .collect()
    }
}

impl Ready {
    /// The promised time is too short for the job.
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
        // Begun before the passes, which need the CPU for themselves as well.
        let cpu_monitor = CpuMonitor::begin(&session.workers);
        let mut findings = session.pass(&job, cache, watch);
        session.measure_runs(&job, &mut findings, cpu_monitor, watch, out)
    }
}
