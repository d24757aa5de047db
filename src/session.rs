//! One measurement from the machine's side: directory, CPUs, signals, catalogue; then untimed passes and the engine, to
//! a `Run`.
//! The commands that measure call it; it prints nothing.

mod company;
mod launch;

use crate::engine::{self, Clock, Config, Measured, Observer, Slots};
use crate::kernel::Sources;
use crate::kernel::affinity::{Placement, Wanted};
use crate::kernel::host::{self, StealClock};
use crate::kernel::limits::{Limits, Needs};
use crate::model::{
    Case, Facts, Failure, FailureKind, Host, ModeSamples, Operation, Outcome, Planned, Record, Run, StudyView, THREADS,
};
use crate::proof::{Proof, prove};
use crate::runner::{self, Fixture, Interrupt, RunDirectory, Workers, read_catalogue};
use crate::split::split;
use crate::store::{self, StoreError};
use anyhow::{Context, Result};
use company::Company;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What the user decides.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wishes {
    pub cpu: Wanted,
    /// Wall time for measuring; by the number of cases where it is not given.
    pub budget: Option<Duration>,
    /// Wall time for each case, baselines included, all of which is spent; takes the place of `budget`.
    pub per_case: Option<Duration>,
    pub precision_percent: f64,
    pub seed: Option<u64>,
    pub timeout: Duration,
    /// Whether kernel entries are counted.
    pub verify: bool,
}

impl Default for Wishes {
    fn default() -> Wishes {
        Wishes {
            cpu: Wanted::Best,
            budget: None,
            per_case: None,
            precision_percent: 1.0,
            seed: None,
            timeout: Duration::from_secs(10),
            verify: true,
        }
    }
}

/// Told how far the work has come.
pub trait Watch {
    /// A stage of the work begins.
    fn stage(&self, stage: Stage);
    /// `share` from 0 to 1 of the stage, and what is being done.
    fn at(&self, share: f64, doing: &str);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Kernel entries are counted and modes sampled.
    Proving,
    Measuring,
}

/// A machine ready to measure.
pub struct Session {
    pub catalogue: Vec<Operation>,
    wishes: Wishes,
    /// What the run keeps of the study that it is for.
    pub study: Option<StudyView>,
    workers: Workers,
    interrupt: Interrupt,
    host: Host,
    steal: Option<StealClock>,
}

/// Time that each case gets unless the user decides, and the bounds of their sum.
const BUDGET_PER_CASE: Duration = Duration::from_millis(350);
const LEAST_BUDGET: Duration = Duration::from_secs(2);
/// Wall time for each second of samples in long slots: launches, cold batches and the way to the worker and back.
const BESIDE_SAMPLES: f64 = 1.25;
const MOST_BUDGET: Duration = Duration::from_secs(100);

impl Session {
    /// Makes the run's directory, chooses CPUs and takes over ^C and SIGTERM.
    ///
    /// # Errors
    /// When one of these is refused; the message says which.
    pub fn open(wishes: Wishes) -> Result<Session> {
        let sources = Sources::default();
        // Before this process moves to the driver's CPUs: the facts hold what it was allowed at first.
        let mut host = host::facts(&sources, None);
        let placement = Placement::choose(wishes.cpu)?;
        let directory = RunDirectory::create()?;
        host.file_system = host::file_system(directory.path());
        let catalogue = read_catalogue(&directory.probe())?;
        let interrupt = Interrupt::default();
        for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM, signal_hook::consts::SIGHUP] {
            signal_hook::flag::register(signal, interrupt.0.clone()).context("cannot watch for ^C")?;
        }
        let steal = StealClock::start(&sources, placement.measuring);
        let workers = Workers::new(directory, placement, interrupt.clone(), wishes.timeout);
        Ok(Session { catalogue, study: None, wishes, workers, interrupt, host, steal })
    }

    /// How workers are started, for those who look at them by other means than time.
    pub fn workers(&self) -> &Workers {
        &self.workers
    }

    /// Whether this process may have as many workers at once as `planned` needs; asked before anything is started.
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

    /// Whether there is room for what snippets work on; asked before anything is made.
    ///
    /// # Errors
    /// How much is missing.
    pub fn check_room(&self, fixtures: &[Fixture]) -> Result<()> {
        if fixtures.is_empty() {
            return Ok(());
        }
        let directory = self.workers.fixture_directory()?;
        host::room(&directory).map_or(Ok(()), |room| runner::check_room(fixtures, &directory, &room))
    }

    /// Makes what snippets work on. An interrupt ends that, and then the run.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn make_fixtures(&self, fixtures: &[Fixture]) -> Result<()> {
        if fixtures.is_empty() {
            return Ok(());
        }
        let directory = self.workers.fixture_directory()?;
        let mut each = fixtures.iter().take_while(|_| !self.interrupt.is_set());
        each.try_for_each(|fixture| fixture.make(&directory, &self.interrupt))
    }

    /// What a probe says of itself and of the clock.
    ///
    /// # Errors
    /// Why it did not start.
    pub fn probe_facts(&mut self) -> Result<Facts, Failure> {
        Ok(self.workers.start_ready(&Case::native("call.empty_loop"), 0)?.1)
    }

    /// Counts the kernel entries of `planned` and samples their modes, then measures what works. What there is is
    /// written to `out` after each look, so that nothing is lost when the run is interrupted or killed.
    ///
    /// The second half is why `out` could not be written at the end. The run is there all the same: what was measured
    /// for minutes can still be shown.
    pub fn measure(
        mut self,
        planned: Vec<Planned>,
        watch: &dyn Watch,
        out: Option<&Path>,
    ) -> (Run, Result<(), StoreError>) {
        let company = Company::begin(&self.workers);
        let passes = self.pass_all(&planned, watch);
        let sound: Vec<Planned> =
            planned.iter().zip(&passes).filter(|(_, p)| p.is_ok()).map(|(p, _)| p.clone()).collect();
        let config = self.config(planned.len());
        let frame = Frame { planned: &planned, passes: &passes, run: self.empty_run(&config) };
        self.workers.make_room(sound.len() as u64);
        watch.stage(Stage::Measuring);
        let mut recorder = Recorder {
            steal: self.steal,
            frame,
            out,
            watch,
            interrupt: &self.interrupt,
            looked: false,
            company,
            began: Instant::now(),
        };
        let clock = Wall(Instant::now());
        // No interval is as narrow as 0: then all of the budget is spent.
        let target = if self.wishes.per_case.is_some() { 0.0 } else { config.precision_percent };
        let config = Config { precision_percent: target, ..config };
        let measured = engine::measure(&sound, &mut self.workers, &clock, &config, &mut recorder);
        recorder.finish(&measured)
    }

    fn config(&self, cases: usize) -> Config {
        let cases = u32::try_from(cases).unwrap_or(u32::MAX);
        let by_cases = (BUDGET_PER_CASE * cases).clamp(LEAST_BUDGET, MOST_BUDGET);
        let per_case = self.wishes.per_case.map(|each| each.mul_f64(BESIDE_SAMPLES).saturating_mul(cases));
        let wanted = per_case.or(self.wishes.budget);
        Config {
            budget: wanted.unwrap_or(by_cases),
            precision_percent: self.wishes.precision_percent,
            seed: self.wishes.seed.unwrap_or_else(seed_by_clock),
            timeout: self.wishes.timeout,
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

    /// The mode is sampled even with --no-verify: no tracer is needed for it, and the table shows it.
    fn pass_one(&self, planned: &Planned) -> Result<Passes, Failure> {
        if self.interrupt.is_set() {
            return Err(Failure::new(FailureKind::Interrupted, "the run was interrupted"));
        }
        self.workers.prepare(&planned.case)?;
        let alone = Planned { case: planned.case.alone(), ..planned.clone() };
        let proof = match self.wishes.verify {
            true => prove(&self.workers, &alone)?,
            false => Proof::none("not counted, as asked (--no-verify)"),
        };
        Ok(Passes { proof, mode_samples: split(&self.workers, &alone) })
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
}

/// The run but for what the engine adds.
struct Frame<'a> {
    planned: &'a [Planned],
    passes: &'a [Result<Passes, Failure>],
    run: Run,
}

impl Frame<'_> {
    /// The run with `measured`, which has one element for each case whose passes did not fail.
    fn filled(&self, measured: &[Measured], elapsed: Duration) -> Run {
        let mut run = self.run.clone();
        run.elapsed_s = elapsed.as_secs_f64();
        let mut measured = measured.iter();
        run.records =
            self.planned.iter().zip(self.passes).map(|(p, passes)| record(p, passes, &mut measured)).collect();
        run
    }
}

fn record(planned: &Planned, passes: &Result<Passes, Failure>, measured: &mut std::slice::Iter<Measured>) -> Record {
    let interrupted = || Failure::new(FailureKind::Interrupted, "the run was interrupted");
    let mut warm_up = None;
    let (outcome, proof, mode_samples) = match passes {
        Err(failure) => (Outcome::Failed(failure.clone()), Proof::none("the operation failed"), None),
        Ok(passes) => {
            let measured = measured.next();
            let outcome = measured.map_or_else(|| Outcome::Failed(interrupted()), |m| m.outcome.clone());
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
        warnings: proof.warning.into_iter().chain(device).chain(warm_up).collect(),
    }
}

/// Watches the engine: passes progress on and keeps the result file up to date.
struct Recorder<'a> {
    frame: Frame<'a>,
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

    /// The run as far as it has come.
    fn run(&mut self, measured: &[Measured]) -> Run {
        self.company.look(&Sources::default());
        let mut run = self.frame.filled(measured, self.began.elapsed());
        run.warnings.extend(self.company.warnings());
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
        // What cannot be written now may be at the end; that decides.
        self.looked |= self.write(&run).is_ok();
    }

    fn interrupted(&self) -> bool {
        self.interrupt.is_set()
    }
}

/// What probes say of the machine: libc, and the clock's cost and step (medians over all of them).
pub fn add_facts<'a>(host: &mut Host, facts: impl Iterator<Item = &'a Facts> + Clone) {
    let numbers = |name: &str| crate::stats::median(facts.clone().filter_map(|f| f.number(name)).collect());
    host.clock_cost_ns = numbers("clock_cost_ns");
    host.clock_step_ns = numbers("clock_step_ns");
    host.libc = facts.clone().find_map(|f| f.get("libc")).map(str::to_string);
}
