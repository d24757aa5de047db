//! Opens a session, on this machine and those that commands of the user's lead to.

use super::options::RunOptions;
use super::remote::Remote;
use super::sides::Sides;
use crate::runner::{Interrupt, RunDirectory, Workers, read_catalogue};
use anyhow::Result;
use model::{Case, EnvironmentFacts, Facts, Failure, Host, Operation};
use std::collections::BTreeMap;
use std::time::Instant;
use sys::Sources;
use sys::affinity::{Placement, Wanted};
use sys::host::{self, BusyClock, StealClock};

pub struct Session {
    pub catalogue: Vec<Operation>,
    pub(super) options: RunOptions,
    /// When it was opened, or renewed for a further run.
    pub(super) opened: Instant,
    pub(super) workers: Workers,
    pub(super) interrupt: Interrupt,
    pub(super) host: Host,
    pub(super) clocks: Clocks,
    pub(super) sides: Sides,
    pub(super) facts: BTreeMap<String, EnvironmentFacts>,
    pub(super) remote: Remote,
}

impl Session {
    pub fn open(options: RunOptions) -> Result<Session> {
        Session::open_sides(options, Sides::One)
    }

    pub fn open_sides(options: RunOptions, sides: Sides) -> Result<Session> {
        let opened = Instant::now();
        let sources = Sources::default();
        // Before this process moves to the driver's CPUs, so that the facts hold the original affinity.
        let mut host = host::facts(&sources, None);
        let alone = sides.is_all_elsewhere();
        let placement = Placement::choose(if alone { Wanted::None } else { options.cpu })?;
        let directory = sides.directory()?;
        host.file_system = host::file_system(directory.path());
        let mut catalogue = read_catalogue(&directory.probe())?;
        let interrupt = Interrupt::on_signals()?;
        let clocks = Clocks::start(&sources, placement.measuring, alone);
        let (workers, mut remote) = start(directory, placement, &interrupt, &options, &sides)?;
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
            remote,
        })
    }

    /// For callers that examine workers other than by time.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

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
    let remote = Remote::visit(&mut workers, sides.own(), sides.is_all_elsewhere())?;
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

/// What the rest of this machine does during a run; nothing is known of another one's.
#[derive(Default)]
pub(super) struct Clocks {
    pub steal: Option<StealClock>,
    pub busy: Option<BusyClock>,
}

impl Clocks {
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
