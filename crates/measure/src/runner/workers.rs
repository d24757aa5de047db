//! Starts the worker of any case: the native probe, a probe built for an environment, or a snippet's program.

use super::builds::{Builds, Built};
use super::environment::Places;
use super::{Child, Cpus, Environment, Interrupt, Meeting, NATIVE, RunDirectory};
use assets::DYNAMIC_PROBE;
use model::{Case, Facts, Failure};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::time::{Duration, Instant};
use sys::affinity::Placement;
use sys::limits::{self, Raised};
use sys::private::RUN_VARIABLE;

pub struct Workers {
    pub placement: Placement,
    pub interrupt: Interrupt,
    pub timeout: Duration,
    directory: Rc<RefCell<RunDirectory>>,
    builds: RefCell<Builds>,
    added_environments: BTreeMap<String, Environment>,
    /// The CPU asked of probes on other machines: a number, `last` for the last allowed one, or
    /// `none`.
    pub cpu_elsewhere: String,
    variants: BTreeMap<String, Variant>,
    /// Raised; workers do not inherit it.
    raised: Option<Raised>,
    /// A worker was seen off the measuring CPU.
    pub strayed: Rc<Cell<bool>>,
}

#[derive(Default)]
struct Variant {
    probe: Option<PathBuf>,
    directory: Option<Rc<RefCell<RunDirectory>>>,
}

const DESCRIPTORS_PER_WORKER: u64 = 2;
const SPARE_DESCRIPTORS: u64 = 32;

impl Workers {
    /// `timeout` is for each answer.
    pub fn new(
        directory: RunDirectory,
        placement: Placement,
        interrupt: Interrupt,
        timeout: Duration,
    ) -> Workers {
        Workers {
            placement,
            interrupt,
            timeout,
            builds: RefCell::new(Builds::new(directory.path())),
            directory: Rc::new(RefCell::new(directory)),
            added_environments: BTreeMap::new(),
            cpu_elsewhere: "last".to_string(),
            variants: BTreeMap::new(),
            raised: None,
            strayed: Rc::default(),
        }
    }

    /// Cases in the environment `name` are native ones run in `directory`, if not in the run's own.
    pub fn add_directory(&mut self, name: &str, directory: Option<RunDirectory>) {
        let directory = directory.map(|directory| Rc::new(RefCell::new(directory)));
        self.variants.entry(name.to_string()).or_default().directory = directory;
    }

    /// One that a user's command makes.
    pub fn add_environment(&mut self, environment: Environment) {
        self.added_environments
            .insert(environment.name.clone(), environment);
    }

    /// Cases in the environment `name` are native ones run by another probe, which is copied.
    ///
    /// # Errors
    /// The file is missing, not executable, or needs a loader that this machine lacks.
    pub fn add_probe(&mut self, name: &str, path: &Path) -> anyhow::Result<()> {
        // Copied, so that a build that replaces it meanwhile does not change the run.
        let probe = self.directory.borrow().add_program("probe-versus", path)?;
        self.variants.entry(name.to_string()).or_default().probe = Some(probe);
        Ok(())
    }

    /// How many open files this process needs for so many workers at once.
    pub fn descriptors(workers: u64) -> u64 {
        workers.saturating_mul(DESCRIPTORS_PER_WORKER)
            + limits::open_descriptors()
            + SPARE_DESCRIPTORS
    }

    /// Raises the limit of open files.
    pub fn make_room(&mut self, workers: u64) {
        // If it fails, each worker beyond the limit fails with its own message.
        self.raised = self
            .raised
            .or(limits::raise(Workers::descriptors(workers)).ok().flatten());
    }

    pub fn probe(&self) -> PathBuf {
        self.directory.borrow().probe()
    }

    pub fn directory(&self) -> PathBuf {
        self.directory.borrow().path().to_path_buf()
    }

    /// Starts a program that is not a worker itself but, say, the machine of some.
    pub fn start_program(&self, command: impl FnOnce(&Path) -> Command) -> Result<Child, Failure> {
        let (run, interrupt) = (&self.directory, &self.interrupt);
        self.placement
            .on_measuring_cpu(|| Child::start(command, run, interrupt, self.timeout, None))
    }

    /// Built if need be.
    ///
    /// # Errors
    /// The compiler is missing or fails.
    pub fn probe_of(&self, environment: &str) -> Result<PathBuf, Failure> {
        self.builds.borrow_mut().probe(environment)
    }

    /// A directory of the cache of builds, made by `make` if it is not there.
    ///
    /// # Errors
    /// Those of `make`, or the cache cannot be written.
    pub fn kept(
        &self,
        key: &str,
        make: impl FnOnce(&Path) -> anyhow::Result<()>,
    ) -> anyhow::Result<PathBuf> {
        self.builds.borrow().cache.get(key, make)
    }

    /// Building takes seconds.
    pub fn lacks_probe_of(&self, environment: &str) -> bool {
        self.builds.borrow().lacks(environment)
    }

    /// # Errors
    /// Its build fails.
    pub fn program(&self, case: &Case) -> Result<PathBuf, Failure> {
        Ok(self.built(case)?.map_or_else(
            || self.probe(),
            |built| built.command().get_program().into(),
        ))
    }

    /// One in each directory in which workers run.
    ///
    /// # Errors
    /// One cannot be created.
    pub fn fixture_directories(&self) -> anyhow::Result<Vec<PathBuf>> {
        let others = self
            .variants
            .values()
            .filter_map(|variant| variant.directory.as_ref());
        std::iter::once(&self.directory)
            .chain(others)
            .map(|run| run.borrow().fixture_directory())
            .collect()
    }

    /// Builds the case's program, so that its first start takes no longer than others.
    ///
    /// # Errors
    /// The build fails.
    pub fn prepare(&self, case: &Case) -> Result<(), Failure> {
        self.built(case).map(drop)
    }

    /// Warnings about the cache of builds.
    pub fn warnings(&self) -> Vec<String> {
        self.builds.borrow().cache.warnings()
    }

    /// `padding` bytes are added to its environment block. A probe behind a user's command has answered a greeting; no operation is
    /// chosen yet.
    ///
    /// # Errors
    /// The program cannot be built or started, or the command's probe does not answer.
    pub fn start(&self, case: &Case, padding: usize) -> Result<Child, Failure> {
        let environment = self.environment(&case.environment)?;
        self.check_startable(&environment)?;
        let built = self.built(case)?;
        let launcher = self.launcher(built.as_ref(), &environment)?;
        let program = built
            .as_ref()
            .map_or_else(|| Command::new(self.probe()), Built::command);
        let wording = built.and_then(Built::wording);
        let variant = self.variants.get(&case.environment);
        let directory = variant
            .and_then(|variant| variant.directory.as_ref())
            .unwrap_or(&self.directory);
        let start = || {
            Child::start(
                |at| {
                    let mut command = self.command(&environment, launcher, program, at);
                    // The probe there makes a directory for itself, and a path of it may be relative to the user's.
                    if environment.is_elsewhere() {
                        command.current_dir(".");
                    }
                    // The size of the environment block moves the stack, and with it every alignment (METHOD.md).
                    command.env("SYSCOST_PADDING", "x".repeat(padding));
                    command
                },
                directory,
                &self.interrupt,
                self.timeout,
                wording,
            )
        };
        if environment.is_elsewhere() {
            return self.met(start()?, &environment);
        }
        let child = match environment.cpus {
            Cpus::Measuring => self.placement.on_measuring_cpu(start)?,
            Cpus::Driver => start()?,
            Cpus::All => self.placement.on_all_cpus(start)?,
        };
        if case.language.is_some() {
            Ok(child)
        } else {
            self.met(child, &environment)
        }
    }

    fn command(
        &self,
        environment: &Environment,
        launcher: Option<PathBuf>,
        program: Command,
        at: &Path,
    ) -> Command {
        let builds = self.builds.borrow();
        let places = Places {
            run: &self.directory(),
            cache: builds.cache.directory(),
            directory: at,
            work: at,
            measuring: self.placement.measuring,
        };
        let mut command = match launcher {
            Some(launcher) if environment.translates => {
                launched(&launcher, &environment.started(program, &places))
            }
            Some(launcher) => environment.started(launched(&launcher, &program), &places),
            None => environment.started(program, &places),
        };
        if environment.is_elsewhere() {
            // The janitor ends all processes that have the variable. A probe elsewhere ends by itself, and then removes its directory.
            command.env_remove(RUN_VARIABLE);
        }
        if let Some(raised) = self.raised {
            raised.undo_for(&mut command);
        }
        command
    }

    fn check_startable(&self, environment: &Environment) -> Result<(), Failure> {
        if environment.is_guest {
            return Err(Failure::unsupported(format!(
                "environment {}: not available for emulated machines",
                environment.name
            )));
        }
        // Before the start: if this process is killed meanwhile, the janitor must know that it has to ask podman.
        if environment.keeps_containers {
            let noted = self.directory.borrow().note_containers();
            noted.map_err(|e| Failure::start(format!("no note for the janitor: {e:#}")))?;
        }
        Ok(())
    }

    /// The probe that starts a snippet's program: it must run where the program is to run.
    fn launcher(
        &self,
        built: Option<&Built>,
        environment: &Environment,
    ) -> Result<Option<PathBuf>, Failure> {
        if !matches!(built, Some(Built::Snippet(_))) {
            return Ok(None);
        }
        if environment.has_starter() && !environment.translates && !environment.is_built_natively()
        {
            self.probe_of(&environment.name).map(Some)
        } else {
            Ok(Some(self.probe()))
        }
    }

    fn met(&self, mut child: Child, environment: &Environment) -> Result<Child, Failure> {
        let (cpu, guard) = match &environment.meeting {
            Meeting::Known => return Ok(child),
            Meeting::Command { .. } => {
                let measuring = self.placement.measuring;
                let cpu = measuring.map_or("none".to_string(), |cpu| cpu.to_string());
                (cpu, 0)
            }
            Meeting::Elsewhere(_) => (self.cpu_elsewhere.clone(), 1),
        };
        let at = child.directory().display().to_string();
        child.meet(&format!("hello cpu={cpu} guard={guard} at={at}"))?;
        Ok(child)
    }

    /// Ready for requests.
    ///
    /// # Errors
    /// As `start`, or the operation's own failure to prepare.
    pub fn start_greeted(&self, case: &Case) -> Result<Child, Failure> {
        let mut child = self.start(case, 0)?;
        child.send(&Workers::greeting(case))?;
        child.ready()?;
        Ok(child)
    }

    /// After the environment's time to settle.
    pub fn start_ready(&self, case: &Case, padding: usize) -> Result<(Child, Facts), Failure> {
        let mut child = self.start(case, padding)?;
        self.settle(case)?;
        child.send(&Workers::greeting(case))?;
        let mut facts = child.ready()?;
        if let Some(built) = self.built(case)? {
            facts.add_defaults(built.clock());
        }
        Ok((child, facts))
    }

    /// Waits as long as the environment asks for: a process that has just been started is not as fast as it will be.
    fn settle(&self, case: &Case) -> Result<(), Failure> {
        let until =
            Instant::now() + Duration::from_secs_f64(self.environment(&case.environment)?.settle_s);
        while Instant::now() < until && !self.interrupt.is_set() {
            let left = until.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_millis(100)));
        }
        Ok(())
    }

    /// The operation with its parameters, or `go` for a snippet.
    pub fn greeting(case: &Case) -> String {
        if case.language.is_some() {
            return "go".to_string();
        }
        let params = case
            .params
            .iter()
            .map(|(name, value)| format!(" {name}={value}"));
        format!("op {}{}", case.operation, params.collect::<String>())
    }

    /// The environment of this name, with those of the run's own commands.
    ///
    /// # Errors
    /// There is none, or this machine lacks a program that it needs.
    pub fn environment(&self, name: &str) -> Result<Environment, Failure> {
        // Variants differ only in their probe or directory.
        let name = if self.variants.contains_key(name) {
            NATIVE
        } else {
            name
        };
        let known = self
            .added_environments
            .get(name)
            .map_or_else(|| Environment::find(name), |place| Ok(place.clone()));
        known
            .and_then(|environment| environment.check_needs().map(|()| environment))
            .map_err(|error| Failure::unsupported(format!("{error:#}")))
    }

    fn dynamic_probe(&self, environment: &Environment) -> Option<PathBuf> {
        let path = self.directory().join(DYNAMIC_PROBE);
        (environment.is_dynamic && path.exists()).then_some(path)
    }

    fn built(&self, case: &Case) -> Result<Option<Built>, Failure> {
        if let Some(variant) = self.variants.get(&case.environment) {
            return match &variant.probe {
                Some(probe) if case.language.is_none() => Ok(Some(Built::Probe(probe.clone()))),
                _ => self.built(&case.in_environment(NATIVE)),
            };
        }
        if let Some(place) = self.added_environments.get(&case.environment) {
            return match &place.meeting {
                Meeting::Elsewhere(probe) => Ok(Some(Built::Probe(probe.clone()))),
                Meeting::Command { build } => self.built(&case.in_environment(build)),
                Meeting::Known => Ok(None),
            };
        }
        let environment = self.environment(&case.environment)?;
        if case.language.is_none() && environment.is_built_natively() {
            return Ok(self.dynamic_probe(&environment).map(Built::Probe));
        }
        self.builds.borrow_mut().get(case).map(Some)
    }
}

fn launched(launcher: &Path, program: &Command) -> Command {
    let mut command = Command::new(launcher);
    command
        .arg("--launch")
        .arg(program.get_program())
        .args(program.get_args());
    command
}
