//! One measurement from start to end: the run's directory, CPUs, signals and the catalogue; then the untimed passes and the
//! engine, which give a `Run`. Called by the commands that measure; it prints nothing.

mod company;
mod counting;
mod environments;
mod guests;
mod keep;
mod launch;
mod learn;
mod readiness;
mod remote;
mod repeats;
mod sides;

use crate::counters;
use crate::engine::{self, Clock, Config, Measured, Observer, Slots};
use crate::guest;
use crate::kernel::Sources;
use crate::kernel::affinity::{Placement, Wanted};
use crate::kernel::counters::Offer;
use crate::kernel::host::{self, BusyClock, StealClock};
use crate::kernel::limits::{Limits, Needs};
use crate::model::{
    Case, Counted, Counters, EnvironmentFacts, Facts, Failure, FailureKind, Host, ModeSamples, Operation, Outcome,
    Planned, Record, Role, Run, SingleCalls, StudyView, THREADS, Tool,
};
use crate::proof::{Proof, prove};
use crate::runner::{self, Fixture, Interrupt, Workers, read_catalogue};
use crate::singles::{Singles, time_singles};
use crate::split::split;
use crate::store::StoreError;
use crate::summary;
use anyhow::Result;
use company::Company;
use guests::Places;
pub use keep::Keep;
pub use readiness::{Readiness, readiness};
use remote::Remote;
pub use sides::Sides;
use std::collections::{BTreeMap, HashMap};
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
    /// Whether to count hardware and software events.
    pub counters: bool,
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
            counters: false,
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
    /// Starting environments to see whether they can be.
    Starting,
    /// Counting kernel entries and sampling modes.
    Proving,
    /// Booting guests and counting instructions in them.
    Counting,
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
    /// What the user says of the run.
    pub labels: BTreeMap<String, String>,
    options: RunOptions,
    workers: Workers,
    interrupt: Interrupt,
    host: Host,
    clocks: Clocks,
    /// Whether no other run of the same cases follows.
    last: bool,
    /// What is measured side by side.
    sides: Sides,
    /// How guests are booted.
    pub boot: guest::Options,
    /// What is known of guests that were booted, by environment.
    facts: BTreeMap<String, EnvironmentFacts>,
    /// What is known of the environments that the user's own commands make.
    remote: Remote,
}

/// Default time per case, and the bounds of the sum over all cases.
const BUDGET_PER_CASE: Duration = Duration::from_millis(350);
const LEAST_BUDGET: Duration = Duration::from_secs(2);
const MOST_BUDGET: Duration = Duration::from_secs(100);
/// What a case that displaces caches gets in addition: displacing takes nearly all of its time.
const MORE_IF_COLD: Duration = Duration::from_millis(650);
/// Wall time per second of samples in long slots: the rest goes to launches, cold batches and requests.
const BESIDE_SAMPLES: f64 = 1.25;

impl Session {
    /// Creates the run's directory, chooses CPUs and handles ^C, SIGTERM and SIGHUP.
    ///
    /// # Errors
    /// If one of these fails; the message says which.
    pub fn open(options: RunOptions) -> Result<Session> {
        Session::open_sides(options, Sides::One)
    }

    /// The same for measuring two sides in the same rounds.
    ///
    /// # Errors
    /// Also if a side is not what it should be.
    pub fn open_sides(options: RunOptions, sides: Sides) -> Result<Session> {
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
        let mut workers = Workers::new(directory, placement, interrupt.clone(), options.timeout);
        workers.cpu_elsewhere = cpu_elsewhere(options.cpu);
        sides.add_to(&mut workers)?;
        let mut remote = Remote::visit(&mut workers, sides.own(), alone)?;
        if let Some(there) = &mut remote.machine {
            host = there.host.clone();
            catalogue = std::mem::take(&mut there.operations);
        }
        let (boot, facts) = (guest::Options::default(), BTreeMap::new());
        let (study, last) = (None, true);
        let labels = BTreeMap::new();
        Ok(Session {
            catalogue,
            study,
            labels,
            options,
            workers,
            interrupt,
            host,
            clocks,
            last,
            sides,
            boot,
            facts,
            remote,
        })
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
        let mut directories = self.workers.fixture_directories()?.into_iter();
        let check = |at: &Path| host::room(at).map_or(Ok(()), |room| runner::check_room(fixtures, at, &room));
        directories.try_for_each(|directory| check(&directory))
    }

    /// Creates the fixtures that snippets work on. An interrupt stops that, and then the run.
    ///
    /// # Errors
    /// If one cannot be written.
    pub fn make_fixtures(&self, fixtures: &[Fixture]) -> Result<()> {
        if fixtures.is_empty() {
            return Ok(());
        }
        let directories = self.workers.fixture_directories()?;
        let each = directories.iter().flat_map(|directory| fixtures.iter().map(move |fixture| (directory, fixture)));
        let mut each = each.take_while(|_| !self.interrupt.is_set());
        each.try_for_each(|(directory, fixture)| fixture.make(directory, &self.interrupt))
    }

    /// What a probe reports about itself and the clock.
    ///
    /// # Errors
    /// Why it did not start.
    pub fn probe_facts(&mut self) -> Result<Facts, Failure> {
        Ok(self.workers.start_ready(&Case::native("call.empty_loop"), 0)?.1)
    }

    /// Counts the kernel entries of `planned` and samples their modes, then measures the cases that work. Intermediate
    /// results are kept in `out` after each look, so that an interrupted or killed run keeps what it has.
    ///
    /// Returns the run even if `out` could not be written at the end (the second value says why): it can still be shown.
    pub fn measure(mut self, planned: Vec<Planned>, watch: &dyn Watch, out: &Keep) -> (Run, Result<(), StoreError>) {
        let company = Company::begin(&self.workers);
        let planned = self.with_company(planned);
        let (mut passes, refused) = self.pass_all(&planned, watch);
        self.count_in_guests(&planned, &mut passes, watch);
        self.time_singles(&planned, &mut passes, watch);
        self.time(&planned, &passes, (company, refused), watch, out)
    }

    /// The cases, each with whether its environment adds processes. In one that does not exist, it fails when it is started.
    fn with_company(&self, planned: Vec<Planned>) -> Vec<Planned> {
        let company = |name: &str| self.workers.environment(name).is_ok_and(|environment| environment.switches);
        planned.into_iter().map(|case| Planned { company: company(&case.case.environment), ..case }).collect()
    }

    /// Measures the times of the cases whose passes did not fail.
    fn time(
        &mut self,
        planned: &[Planned],
        passes: &[Result<Passes, Failure>],
        (company, refused): (Company, Option<String>),
        watch: &dyn Watch,
        out: &Keep,
    ) -> (Run, Result<(), StoreError>) {
        let is_timed = |passes: &Result<Passes, Failure>| passes.as_ref().is_ok_and(|passes| passes.counted.is_none());
        let sound: Vec<Planned> =
            planned.iter().zip(passes).filter(|(_, passes)| is_timed(passes)).map(|(p, _)| p.clone()).collect();
        let config = self.config(planned);
        let mut recorder = Recorder {
            run: Run { environments: self.environments(planned), ..self.empty_run(&config, refused) },
            planned,
            passes,
            clocks: std::mem::take(&mut self.clocks),
            out,
            watch,
            interrupt: &self.interrupt,
            looked: false,
            company,
            began: Instant::now(),
            last: self.last,
        };
        self.workers.make_room(sound.len() as u64);
        watch.stage(Stage::Measuring);
        let clock = Wall(Instant::now());
        // No interval is as narrow as 0, so all of the budget is spent.
        let target = if self.options.per_case.is_some() { 0.0 } else { config.precision_percent };
        let config = Config { precision_percent: target, ..config };
        let mut places = Places::new(&mut self.workers, &self.boot);
        let measured = match sound.is_empty() {
            true => Vec::new(),
            false => engine::measure(&sound, &mut places, &clock, &config, &mut recorder),
        };
        self.facts.extend(places.facts());
        guests::tell(&self.facts, &mut recorder.run.environments);
        recorder.finish(&measured)
    }

    /// What is known of the environments of `planned` before it is measured.
    fn environments(&self, planned: &[Planned]) -> Vec<EnvironmentFacts> {
        let visited = |name: &str| self.remote.environments.iter().find(|facts| facts.name == name).cloned();
        let known = environments::facts(&self.workers, planned).into_iter();
        known.map(|own| visited(&own.name).unwrap_or(own)).collect()
    }

    fn config(&self, planned: &[Planned]) -> Config {
        let count = |cases: usize| u32::try_from(cases).unwrap_or(u32::MAX);
        let cases = count(planned.len());
        let cold = count(planned.iter().filter(|p| p.case.cold().is_some_and(|bytes| bytes > 0)).count());
        let whole = BUDGET_PER_CASE.saturating_mul(cases).saturating_add(MORE_IF_COLD.saturating_mul(cold));
        let by_cases = whole.clamp(LEAST_BUDGET, MOST_BUDGET);
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

    /// What the untimed passes find of each case, and a warning about events that cannot be counted.
    fn pass_all(&self, planned: &[Planned], watch: &dyn Watch) -> (Vec<Result<Passes, Failure>>, Option<String>) {
        let cpu = self.workers.placement.measuring;
        let mut offer = self.options.counters.then(|| Offer::here(&Sources::default(), cpu));
        let refused = offer.as_ref().and_then(counters::warning);
        watch.stage(Stage::Proving);
        let mut done: HashMap<Case, Result<Passes, Failure>> = HashMap::new();
        let mut pass_one = |(i, case): (usize, &Planned)| {
            watch.at(i as f64 / planned.len() as f64, &case.case.to_string());
            if case.case.cold().is_none() {
                let passes = self.pass_one(case, offer.as_mut());
                done.insert(case.case.alone(), passes.clone());
                return passes;
            }
            not_cold(case)?;
            let warm = case.case.alone();
            let passes = done.entry(warm).or_insert_with(|| self.pass_one(case, offer.as_mut())).clone();
            // The shares and events of a warm loop are not those of a cold call.
            passes.map(|passes| Passes { mode_samples: None, counters: None, ..passes })
        };
        (planned.iter().enumerate().map(&mut pass_one).collect(), refused)
    }

    /// Samples the mode even with --no-verify: that needs no tracer, and the table shows it.
    fn pass_one(&self, planned: &Planned, offer: Option<&mut Offer>) -> Result<Passes, Failure> {
        if self.interrupt.is_set() {
            return Err(Failure::interrupted());
        }
        self.workers.prepare(&planned.case)?;
        let environment = self.workers.environment(&planned.case.environment)?;
        if environment.is_guest {
            return Ok(Passes::none(&environment.unverified.unwrap_or_default()));
        }
        if only_for_speed(planned) {
            return Ok(Passes::none("not counted: it only shows the machine's speed"));
        }
        let alone = Planned { case: planned.case.alone(), ..planned.clone() };
        let proof = match self.options.verify {
            true => prove(&self.workers, &alone)?,
            false => Proof::none("not counted, as asked (--no-verify)"),
        };
        let counters = offer.and_then(|offer| counters::count(&self.workers, &alone, offer));
        Ok(Passes { proof, mode_samples: split(&self.workers, &alone), counters, latency: None, counted: None })
    }

    /// Times single calls of the cases that work, one case after the other, if that was asked for. Cold cases and the panel
    /// are left out.
    fn time_singles(&self, planned: &[Planned], passes: &mut [Result<Passes, Failure>], watch: &dyn Watch) {
        let Some(wanted) = &self.options.latency else { return };
        watch.stage(Stage::Singles);
        let all = planned.len() as f64;
        for (i, (planned, passes)) in planned.iter().zip(passes).enumerate() {
            watch.at(i as f64 / all, &planned.case.to_string());
            let is_guest = self.workers.environment(&planned.case.environment).is_ok_and(|own| own.is_guest);
            let shown = planned.case.cold().is_none() && !only_for_speed(planned) && !is_guest;
            if let Some(passes) = passes.as_mut().ok().filter(|_| shown) {
                passes.latency = Some(time_singles(&self.workers, planned, wanted).map_err(|failure| failure.message));
            }
        }
    }

    fn empty_run(&self, config: &Config, refused: Option<String>) -> Run {
        let placement = &self.workers.placement;
        let host = match self.sides.is_all_elsewhere() {
            true => self.host.clone(),
            false => Host {
                measuring_cpu: placement.measuring,
                measuring_cpu_reason: Some(placement.reason.clone()),
                driver_cpus: placement.driver.clone(),
                ..self.host.clone()
            },
        };
        let tool = match &self.remote.machine {
            Some(there) => Tool { compiler: there.compiler.clone(), ..Tool::default() },
            None => Tool::default(),
        };
        Run {
            tool,
            host,
            started_unix_s: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs()),
            seed: config.seed,
            budget_s: config.budget.as_secs_f64(),
            precision_percent: config.precision_percent,
            warnings: self.remote.warnings.iter().cloned().chain(self.workers.warnings()).chain(refused).collect(),
            study: self.study.clone(),
            labels: self.labels.clone(),
            ..Run::default()
        }
    }
}

/// What probes on other machines are asked for: there, the last allowed CPU is chosen by them.
fn cpu_elsewhere(wanted: Wanted) -> String {
    match wanted {
        Wanted::Best => "last".to_string(),
        Wanted::Cpu(cpu) => cpu.to_string(),
        Wanted::None => "none".to_string(),
    }
}

/// What the rest of this machine does during a run; nothing is known of another one's.
#[derive(Default)]
struct Clocks {
    steal: Option<StealClock>,
    busy: Option<BusyClock>,
}

impl Clocks {
    fn start(sources: &Sources, measuring: Option<u32>, alone: bool) -> Clocks {
        if alone {
            return Clocks::default();
        }
        Clocks { steal: StealClock::start(sources, measuring), busy: BusyClock::start(sources) }
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

/// Fails for an operation whose single calls say nothing of it.
fn not_cold(planned: &Planned) -> Result<(), Failure> {
    let text = "cold: only some iterations enter the kernel, and the median of single ones would not show those";
    if planned.enters_rarely() { Err(Failure::new(FailureKind::Unsupported, text)) } else { Ok(()) }
}

/// Whether it is only measured as a member of the panel that shows the machine's speed.
fn only_for_speed(planned: &Planned) -> bool {
    planned.role == Role::Baseline && !summary::is_baseline(&planned.case)
}

/// What the untimed passes found of a case.
#[derive(Clone)]
struct Passes {
    proof: Proof,
    mode_samples: Option<ModeSamples>,
    counters: Option<Counters>,
    latency: Option<Result<SingleCalls, String>>,
    /// Instructions, in place of times.
    counted: Option<Counted>,
}

impl Passes {
    /// Nothing was done, for this reason.
    fn none(reason: &str) -> Passes {
        Passes { proof: Proof::none(reason), mode_samples: None, counters: None, latency: None, counted: None }
    }
}

fn record(planned: &Planned, passes: &Result<Passes, Failure>, measured: &mut std::slice::Iter<Measured>) -> Record {
    let mut warm_up = None;
    let counters = passes.as_ref().ok().and_then(|passes| passes.counters.clone());
    let (outcome, proof, mode_samples) = match passes {
        Err(failure) => (Outcome::Failed(failure.clone()), Proof::none("the operation failed"), None),
        Ok(Passes { counted: Some(counted), proof, .. }) => (Outcome::Counted(counted.clone()), proof.clone(), None),
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
        counters,
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
    out: &'a Keep,
    watch: &'a dyn Watch,
    interrupt: &'a Interrupt,
    clocks: Clocks,
    /// Whether the result file holds an earlier look.
    looked: bool,
    company: Company,
    began: Instant,
    /// Whether the whole is complete once this run is.
    last: bool,
}

impl Recorder<'_> {
    fn write(&self, run: &Run) -> Result<(), StoreError> {
        self.out.write(run).map_err(|error| if self.looked { error.after_a_look() } else { error })
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
        run.complete = self.last && !self.interrupt.is_set();
        let clocks = &self.clocks;
        run.host.steal_percent = clocks.steal.as_ref().and_then(|steal| steal.percent_since(&Sources::default()));
        run.host.busy_cpus = clocks.busy.as_ref().and_then(|busy| busy.cpus_since(&Sources::default()));
        add_facts(&mut run.host, measured.iter().map(|m| &m.facts));
        if !self.interrupt.is_set() {
            learn::learn(&mut run);
        }
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
