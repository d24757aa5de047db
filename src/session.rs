//! One measurement from start to end: the run's directory, CPUs, signals and the catalogue; then the untimed passes and the
//! engine, which give a `Run`. Called by the commands that measure; it prints nothing.

mod company;
mod launch;

use crate::engine::{self, Clock, Config, Measured, Observer, Slots};
use crate::kernel::Sources;
use crate::kernel::affinity::{Placement, Wanted};
use crate::kernel::host::{self, StealClock};
use crate::kernel::limits::{Limits, Needs};
use crate::model::{
    Case, Facts, Failure, Host, ModeSamples, Operation, Outcome, Planned, Record, Run, SingleCalls, StudyView, THREADS,
};
use crate::proof::{Proof, prove};
use crate::runner::{self, Fixture, Interrupt, RunDirectory, Workers, read_catalogue};
use crate::singles::{Singles, time_singles};
use crate::split::split;
use crate::store::{self, StoreError};
use anyhow::{Context, Result};
use company::Company;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What the user chooses for a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunOptions {
    /// The CPU to measure on.
    pub cpu: Wanted,
    /// Wall time for measuring; if not given, it depends on the number of cases.
    pub budget: Option<Duration>,
    /// Wall time for each case, baselines included, all of which is spent; replaces `budget`.
    pub per_case: Option<Duration>,
    /// Target half-width of every interval, in percent of its median.
    pub precision_percent: f64,
    /// Seed of all random orders; if not given, the clock.
    pub seed: Option<u64>,
    /// How long a worker may take for one request.
    pub timeout: Duration,
    /// Whether to count kernel entries.
    pub verify: bool,
    /// Whether to time single calls, and how many.
    pub latency: Option<Singles>,
}

impl Default for RunOptions {
    fn default() -> RunOptions {
        RunOptions {
            cpu: Wanted::Best,
            budget: None,
            per_case: None,
            precision_percent: 1.0,
            seed: None,
            timeout: Duration::from_secs(10),
            verify: true,
            latency: None,
        }
    }
}

/// Receives progress.
pub trait Watch {
    /// A stage begins.
    fn stage(&self, stage: Stage);
    /// Progress within the stage: `share` from 0 to 1, and what is being done.
    fn at(&self, share: f64, doing: &str);
}

/// A stage of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Counting kernel entries and sampling modes.
    Proving,
    /// Timing single calls.
    Singles,
    /// Measuring times.
    Measuring,
}

/// A measurement that is ready to start.
pub struct Session {
    /// The probe's operations.
    pub catalogue: Vec<Operation>,
    /// The study that the run is for, as far as its file keeps it.
    pub study: Option<StudyView>,
    options: RunOptions,
    workers: Workers,
    interrupt: Interrupt,
    host: Host,
    steal: Option<StealClock>,
}

/// Default time per case, and the bounds of the sum over all cases.
const BUDGET_PER_CASE: Duration = Duration::from_millis(350);
const LEAST_BUDGET: Duration = Duration::from_secs(2);
const MOST_BUDGET: Duration = Duration::from_secs(100);
/// Wall time per second of samples in long slots: the rest goes to launches, cold batches and requests.
const BESIDE_SAMPLES: f64 = 1.25;

impl Session {
    /// Creates the run's directory, chooses CPUs and handles ^C, SIGTERM and SIGHUP.
    ///
    /// # Errors
    /// If one of these fails; the message says which.
    pub fn open(options: RunOptions) -> Result<Session> {
        let sources = Sources::default();
        // Before this process moves to the driver's CPUs, so that the facts hold the original affinity.
        let mut host = host::facts(&sources, None);
        let placement = Placement::choose(options.cpu)?;
        let directory = RunDirectory::create()?;
        host.file_system = host::file_system(directory.path());
        let catalogue = read_catalogue(&directory.probe())?;
        let interrupt = Interrupt::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
            signal_hook::flag::register(signal, interrupt.0.clone()).context("cannot watch for ^C")?;
        }
        let steal = StealClock::start(&sources, placement.measuring);
        let workers = Workers::new(directory, placement, interrupt.clone(), options.timeout);
        Ok(Session { catalogue, study: None, options, workers, interrupt, host, steal })
    }

    /// Starts workers, for callers that examine them other than by time.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Checks, before anything is started, that limits allow as many workers at once as `planned` needs.
    ///
    /// # Errors
    /// Which limit is too low, and what to do.
    pub fn check_limits(&self, planned: &[Planned]) -> Result<()> {
        let crowd = |p: &Planned| p.case.params.get(THREADS).copied().unwrap_or(1).max(1);
        let cases = planned.len() as u64;
        let processes = planned.iter().map(crowd).fold(0, u64::saturating_add);
        let needs = Needs { cases, descriptors: Workers::descriptors(cases), processes };
        Limits::here(&Sources::default()).check(&needs)
    }

    /// Checks, before anything is written, that there is room for the fixtures.
    ///
    /// # Errors
    /// How much they need and how much is free.
    pub fn check_room(&self, fixtures: &[Fixture]) -> Result<()> {
        if fixtures.is_empty() {
            return Ok(());
        }
        let directory = self.workers.fixture_directory()?;
        host::room(&directory).map_or(Ok(()), |room| runner::check_room(fixtures, &directory, &room))
    }

    /// Creates the fixtures that snippets work on. An interrupt stops that, and then the run.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn make_fixtures(&self, fixtures: &[Fixture]) -> Result<()> {
        if fixtures.is_empty() {
            return Ok(());
        }
        let directory = self.workers.fixture_directory()?;
        let mut each = fixtures.iter().take_while(|_| !self.interrupt.is_set());
        each.try_for_each(|fixture| fixture.make(&directory, &self.interrupt))
    }

    /// What a probe reports about itself and the clock.
    ///
    /// # Errors
    /// Why it did not start.
    pub fn probe_facts(&mut self) -> Result<Facts, Failure> {
        Ok(self.workers.start_ready(&Case::native("call.empty_loop"), 0)?.1)
    }

    /// Counts the kernel entries of `planned` and samples their modes, then measures the cases that work. Intermediate
    /// results are written to `out` after each look, so that an interrupted or killed run keeps what it has.
    ///
    /// Returns the run even if `out` could not be written at the end (the second value says why): it can still be shown.
    pub fn measure(
        mut self,
        planned: Vec<Planned>,
        watch: &dyn Watch,
        out: Option<&Path>,
    ) -> (Run, Result<(), StoreError>) {
        let company = Company::begin(&self.workers);
        let mut passes = self.pass_all(&planned, watch);
        self.time_singles(&planned, &mut passes, watch);
        let sound: Vec<Planned> =
            planned.iter().zip(&passes).filter(|(_, p)| p.is_ok()).map(|(p, _)| p.clone()).collect();
        let config = self.config(planned.len());
        let mut recorder = Recorder {
            run: self.empty_run(&config),
            planned: &planned,
            passes: &passes,
            steal: self.steal,
            out,
            watch,
            interrupt: &self.interrupt,
            looked: false,
            company,
            began: Instant::now(),
        };
        self.workers.make_room(sound.len() as u64);
        watch.stage(Stage::Measuring);
        let clock = Wall(Instant::now());
        // No interval is as narrow as 0, so all of the budget is spent.
        let target = if self.options.per_case.is_some() { 0.0 } else { config.precision_percent };
        let config = Config { precision_percent: target, ..config };
        let measured = engine::measure(&sound, &mut self.workers, &clock, &config, &mut recorder);
        recorder.finish(&measured)
    }

    fn config(&self, cases: usize) -> Config {
        let cases = u32::try_from(cases).unwrap_or(u32::MAX);
        let by_cases = (BUDGET_PER_CASE * cases).clamp(LEAST_BUDGET, MOST_BUDGET);
        let per_case = self.options.per_case.map(|each| each.mul_f64(BESIDE_SAMPLES).saturating_mul(cases));
        let wanted = per_case.or(self.options.budget);
        Config {
            budget: wanted.unwrap_or(by_cases),
            precision_percent: self.options.precision_percent,
            seed: self.options.seed.unwrap_or_else(seed_by_clock),
            timeout: self.options.timeout,
            slots: if per_case.is_some() { Slots::LONG } else { Slots::SHORT },
        }
    }

    fn pass_all(&self, planned: &[Planned], watch: &dyn Watch) -> Vec<Result<Passes, Failure>> {
        watch.stage(Stage::Proving);
        let pass_one = |(i, case): (usize, &Planned)| {
            watch.at(i as f64 / planned.len() as f64, &case.case.to_string());
            self.pass_one(case)
        };
        planned.iter().enumerate().map(pass_one).collect()
    }

    /// Samples the mode even with --no-verify: that needs no tracer, and the table shows it.
    fn pass_one(&self, planned: &Planned) -> Result<Passes, Failure> {
        if self.interrupt.is_set() {
            return Err(Failure::interrupted());
        }
        self.workers.prepare(&planned.case)?;
        let alone = Planned { case: planned.case.alone(), ..planned.clone() };
        let proof = match self.options.verify {
            true => prove(&self.workers, &alone)?,
            false => Proof::none("not counted, as asked (--no-verify)"),
        };
        Ok(Passes { proof, mode_samples: split(&self.workers, &alone), latency: None })
    }

    /// Times single calls of the cases that work, one case after the other, if that was asked for.
    fn time_singles(&self, planned: &[Planned], passes: &mut [Result<Passes, Failure>], watch: &dyn Watch) {
        let Some(wanted) = &self.options.latency else { return };
        watch.stage(Stage::Singles);
        let all = planned.len() as f64;
        for (i, (planned, passes)) in planned.iter().zip(passes).enumerate() {
            watch.at(i as f64 / all, &planned.case.to_string());
            if let Ok(passes) = passes {
                passes.latency = Some(time_singles(&self.workers, planned, wanted).map_err(|failure| failure.message));
            }
        }
    }

    fn empty_run(&self, config: &Config) -> Run {
        let placement = &self.workers.placement;
        let host = Host {
            measuring_cpu: placement.measuring,
            measuring_cpu_reason: Some(placement.reason.clone()),
            driver_cpus: placement.driver.clone(),
            ..self.host.clone()
        };
        Run {
            host,
            started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
            seed: config.seed,
            budget_s: config.budget.as_secs_f64(),
            precision_percent: config.precision_percent,
            warnings: self.workers.warnings(),
            study: self.study.clone(),
            ..Run::default()
        }
    }
}

fn seed_by_clock() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_nanos() as u64)
}

struct Wall(Instant);

impl Clock for Wall {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// What the untimed passes found of a case.
struct Passes {
    proof: Proof,
    mode_samples: Option<ModeSamples>,
    latency: Option<Result<SingleCalls, String>>,
}

fn record(planned: &Planned, passes: &Result<Passes, Failure>, measured: &mut std::slice::Iter<Measured>) -> Record {
    let mut warm_up = None;
    let (outcome, proof, mode_samples) = match passes {
        Err(failure) => (Outcome::Failed(failure.clone()), Proof::none("the operation failed"), None),
        Ok(passes) => {
            let measured = measured.next();
            let outcome = measured.map_or_else(|| Outcome::Failed(Failure::interrupted()), |m| m.outcome.clone());
            warm_up = measured.and_then(|m| m.facts.number("warmed_ms"));
            (outcome, passes.proof.clone(), passes.mode_samples)
        }
    };
    let warm_up = warm_up.map(|ms| format!("managed runtime, warmed up for {:.1} s before measuring", ms / 1000.0));
    let device =
        planned.traits.machine.then(|| "depends on a device (disk, timer) more than on the kernel".to_string());
    Record {
        case: planned.case.clone(),
        role: planned.role,
        outcome,
        entries: proof.entries,
        entries_status: proof.status,
        mode_samples,
        latency: passes.as_ref().ok().and_then(|passes| passes.latency.clone()),
        warnings: proof.warning.into_iter().chain(device).chain(warm_up).collect(),
    }
}

/// Observes the engine: passes progress on and keeps the result file up to date.
struct Recorder<'a> {
    planned: &'a [Planned],
    passes: &'a [Result<Passes, Failure>],
    /// The run without records.
    run: Run,
    out: Option<&'a Path>,
    watch: &'a dyn Watch,
    interrupt: &'a Interrupt,
    steal: Option<StealClock>,
    /// Whether the result file holds an earlier look.
    looked: bool,
    company: Company,
    began: Instant,
}

impl Recorder<'_> {
    fn write(&self, run: &Run) -> Result<(), StoreError> {
        let written = self.out.map_or(Ok(()), |path| store::write(run, path));
        written.map_err(|error| if self.looked { error.after_a_look() } else { error })
    }

    /// The run so far; `measured` has one element for each case whose passes did not fail.
    fn run(&mut self, measured: &[Measured]) -> Run {
        self.company.look(&Sources::default());
        let mut run = self.run.clone();
        run.elapsed_s = self.began.elapsed().as_secs_f64();
        run.warnings.extend(self.company.warnings());
        let mut measured = measured.iter();
        run.records =
            self.planned.iter().zip(self.passes).map(|(p, passes)| record(p, passes, &mut measured)).collect();
        run
    }

    fn finish(mut self, measured: &[Measured]) -> (Run, Result<(), StoreError>) {
        let mut run = self.run(measured);
        run.complete = !self.interrupt.is_set();
        run.host.steal_percent = self.steal.as_ref().and_then(|steal| steal.percent_since(&Sources::default()));
        add_facts(&mut run.host, measured.iter().map(|m| &m.facts));
        let written = self.write(&run);
        (run, written)
    }
}

impl Observer for Recorder<'_> {
    fn progress(&mut self, share: f64, doing: &str) {
        self.watch.at(share, doing);
    }

    fn results(&mut self, measured: &[Measured]) {
        let run = self.run(measured);
        // A failed write here is no error: the one at the end decides.
        self.looked |= self.write(&run).is_ok();
    }

    fn interrupted(&self) -> bool {
        self.interrupt.is_set()
    }
}

/// Adds what probes report about the machine: libc, and the clock's cost and step in nanoseconds (medians over all probes).
pub fn add_facts<'a>(host: &mut Host, facts: impl Iterator<Item = &'a Facts> + Clone) {
    let numbers = |name: &str| crate::stats::median(facts.clone().filter_map(|f| f.number(name)).collect());
    host.clock_cost_ns = numbers("clock_cost_ns");
    host.clock_step_ns = numbers("clock_step_ns");
    host.libc = facts.clone().find_map(|f| f.get("libc")).map(str::to_string);
}
