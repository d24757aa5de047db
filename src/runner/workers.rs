//! Starts the worker of any case: the native probe, a probe built for an environment, or a snippet's program.

use super::builds::{Builds, Built};
use super::child::Child;
use super::interrupt::Interrupt;
use super::{NATIVE, RunDirectory};
use crate::kernel::affinity::Placement;
use crate::kernel::limits::{self, Raised};
use crate::model::{Case, Facts, Failure};
use std::cell::{Cell, RefCell};
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

/// Starts workers.
pub struct Workers {
    /// The CPUs of workers and of this process.
    pub placement: Placement,
    /// Ends waiting for workers.
    pub interrupt: Interrupt,
    /// How long a worker may take for its set-up, and for one request.
    pub timeout: Duration,
    directory: Rc<RefCell<RunDirectory>>,
    builds: RefCell<Builds>,
    /// The raised limit of open files, which workers do not inherit.
    raised: Option<Raised>,
    /// Whether a worker was found on another CPU than the measuring one.
    strayed: Rc<Cell<bool>>,
}

/// Pipes to each worker, and room for other files.
const DESCRIPTORS_PER_WORKER: u64 = 2;
const SPARE_DESCRIPTORS: u64 = 32;

impl Workers {
    /// Workers in the run's `directory`; nothing is started yet.
    pub fn new(directory: RunDirectory, placement: Placement, interrupt: Interrupt, timeout: Duration) -> Workers {
        let builds = RefCell::new(Builds::new(directory.path()));
        let directory = Rc::new(RefCell::new(directory));
        Workers { placement, interrupt, timeout, directory, builds, raised: None, strayed: Rc::default() }
    }

    /// The descriptors that this process needs for so many workers at once.
    pub fn descriptors(workers: u64) -> u64 {
        workers.saturating_mul(DESCRIPTORS_PER_WORKER) + limits::open_descriptors() + SPARE_DESCRIPTORS
    }

    /// Raises the limit of open files for so many workers at once, as far as permitted. Workers keep the original limit.
    pub fn make_room(&mut self, workers: u64) {
        // If it fails, each worker beyond the limit fails with its own message.
        self.raised = self.raised.or(limits::raise(Workers::descriptors(workers)).ok().flatten());
    }

    /// Set if a worker was found on another CPU than it was started on.
    pub fn strayed(&self) -> Rc<Cell<bool>> {
        Rc::clone(&self.strayed)
    }

    /// The path of the embedded probe.
    pub fn probe(&self) -> PathBuf {
        self.directory.borrow().probe()
    }

    /// The directory of fixtures.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn fixture_directory(&self) -> anyhow::Result<PathBuf> {
        self.directory.borrow().fixture_directory()
    }

    /// Builds what `case` needs, if that has not been done.
    ///
    /// # Errors
    /// What is missing, or the compiler's message about the user's text.
    pub fn prepare(&self, case: &Case) -> Result<(), Failure> {
        self.built(case).map(drop)
    }

    /// Warnings about damaged builds in the cache.
    pub fn warnings(&self) -> Vec<String> {
        self.builds.borrow().warnings()
    }

    /// Starts the process, which then waits for its first line; `padding` is in bytes.
    ///
    /// # Errors
    /// A failure of kind `Start`, or of the build.
    pub fn start(&self, case: &Case, padding: usize) -> Result<Child, Failure> {
        let built = self.built(case)?;
        let mut command = match &built {
            Some(built) => built.command(&self.probe()),
            None => Command::new(self.probe()),
        };
        // The size of the environment block moves the stack, and with it every alignment: METHOD.md, "Workers".
        command.env("SYSCOST_PADDING", "x".repeat(padding));
        if let Some(raised) = self.raised {
            raised.undo_for(&mut command);
        }
        let voice = built.and_then(Built::voice);
        self.placement.on_measuring_cpu(|| Child::start(command, &self.directory, &self.interrupt, voice))
    }

    /// Starts the process and waits until it is ready; returns the worker and what it reports about itself.
    ///
    /// # Errors
    /// As `start`, or the worker's error.
    pub fn start_ready(&self, case: &Case, padding: usize) -> Result<(Child, Facts), Failure> {
        let mut child = self.start(case, padding)?;
        child.send(&Workers::greeting(case))?;
        let mut facts = child.ready(self.timeout)?;
        if let Some(built) = self.built(case)? {
            facts.add_defaults(built.clock());
        }
        Ok((child, facts))
    }

    /// The first line to send to the worker of `case`.
    pub fn greeting(case: &Case) -> String {
        if case.language.is_some() {
            return "go".to_string();
        }
        let params = case.params.iter().map(|(name, value)| format!(" {name}={value}"));
        format!("op {}{}", case.operation, params.collect::<String>())
    }

    /// What was built for a case; `None` for the embedded probe.
    fn built(&self, case: &Case) -> Result<Option<Built>, Failure> {
        if case.language.is_none() && case.environment == NATIVE {
            return Ok(None);
        }
        self.builds.borrow_mut().get(case).map(Some)
    }
}
