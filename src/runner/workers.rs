//! Starts the worker of any case: the native probe, a probe built for an environment, or a snippet's program.

use super::builds::{Builds, Built};
use super::child::Child;
use super::interrupt::Interrupt;
use super::variant::Variant;
use super::{Environment, NATIVE, RunDirectory};
use crate::kernel::affinity::Placement;
use crate::kernel::limits::{self, Raised};
use crate::model::{Case, Facts, Failure, FailureKind};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
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
    /// What is measured beside the environments, by the name that stands for an environment's.
    variants: BTreeMap<String, Variant>,
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
        let variants = BTreeMap::new();
        Workers { placement, interrupt, timeout, directory, builds, variants, raised: None, strayed: Rc::default() }
    }

    /// Cases in the environment `name` are from now on native ones run as `variant` says.
    pub fn add_variant(&mut self, name: &str, variant: Variant) {
        self.variants.insert(name.to_string(), variant);
    }

    /// Adds a variant whose probe is a copy of the program at `path`.
    ///
    /// # Errors
    /// If it is not an executable file, or cannot be copied.
    pub fn add_probe(&mut self, name: &str, path: &Path) -> anyhow::Result<()> {
        let probe = self.directory.borrow().add_program("probe-versus", path)?;
        self.add_variant(name, Variant { probe: Some(probe), directory: None });
        Ok(())
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

    /// The run's directory.
    pub fn directory(&self) -> PathBuf {
        self.directory.borrow().path().to_path_buf()
    }

    /// Starts a program in a worker's directory of its own, which is no worker itself but, say, the machine of some.
    ///
    /// # Errors
    /// A failure of kind `Start`.
    pub fn start_program(&self, command: impl FnOnce(&Path) -> Command) -> Result<Child, Failure> {
        self.placement.on_measuring_cpu(|| Child::start(command, &self.directory, &self.interrupt, None))
    }

    /// The probe that is built for an environment; its companions are beside it.
    ///
    /// # Errors
    /// What is missing, or the compiler's message.
    pub fn probe_of(&self, environment: &str) -> Result<PathBuf, Failure> {
        self.builds.borrow_mut().probe(environment)
    }

    /// The directories of fixtures: one, or one in each directory that operations work in.
    ///
    /// # Errors
    /// If one cannot be created.
    pub fn fixture_directories(&self) -> anyhow::Result<Vec<PathBuf>> {
        let others = self.variants.values().filter_map(|variant| variant.directory.as_ref());
        std::iter::once(&self.directory).chain(others).map(|own| own.borrow().fixture_directory()).collect()
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
        let environment = self.environment(&case.environment)?;
        if environment.is_guest {
            let text = format!("environment {}: not for a machine of its own", case.environment);
            return Err(Failure::new(FailureKind::Unsupported, text));
        }
        let built = self.built(case)?;
        let program = match &built {
            Some(built) => built.command(&self.probe()),
            None => Command::new(self.probe()),
        };
        let run = self.directory.borrow().path().to_path_buf();
        let command = |at: &Path| {
            let mut command = environment.started(program, &run, at);
            // The size of the environment block moves the stack, and with it every alignment: METHOD.md, "Workers".
            command.env("SYSCOST_PADDING", "x".repeat(padding));
            if let Some(raised) = self.raised {
                raised.undo_for(&mut command);
            }
            command
        };
        let voice = built.and_then(Built::voice);
        let variant = self.variants.get(&case.environment);
        let directory = variant.and_then(|variant| variant.directory.as_ref()).unwrap_or(&self.directory);
        self.placement.on_measuring_cpu(|| Child::start(command, directory, &self.interrupt, voice))
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

    /// The environment called `name`; the native one for a variant.
    ///
    /// # Errors
    /// That there is none, or what it needs.
    pub fn environment(&self, name: &str) -> Result<Environment, Failure> {
        let name = if self.variants.contains_key(name) { NATIVE } else { name };
        let found = Environment::find(name).and_then(|found| found.check_needs().map(|()| found));
        found.map_err(|error| Failure::new(FailureKind::Unsupported, format!("{error:#}")))
    }

    /// What was built for a case; `None` for the embedded probe.
    fn built(&self, case: &Case) -> Result<Option<Built>, Failure> {
        if let Some(variant) = self.variants.get(&case.environment) {
            let native = Case { environment: NATIVE.to_string(), ..case.clone() };
            return match &variant.probe {
                Some(probe) if case.language.is_none() => Ok(Some(Built::Probe(probe.clone()))),
                _ => self.built(&native),
            };
        }
        if case.language.is_none() && self.environment(&case.environment)?.is_built_natively() {
            return Ok(None);
        }
        self.builds.borrow_mut().get(case).map(Some)
    }
}
