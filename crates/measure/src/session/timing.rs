//! The timed part of a run.

use super::cpu_monitor::CpuMonitor;
use super::guests::GuestLauncher;
use super::passes::PassResults;
use super::recorder::Recorder;
use super::{Job, Keep, Session, Stage, Watch};
use crate::engine::{self, Clock, Config, Slots};
use crate::runner::{Environment, Workers};
use indexmap::IndexSet;
use model::{EnvironmentFacts, Host, Plan, Planned, Run, Tool, Unit};
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use store::StoreError;
use sys::clock::since_1970;

/// The time for each case, and bounds of the sum over all cases.
const BUDGET_PER_CASE: Duration = Duration::from_millis(350);
const LEAST_BUDGET: Duration = Duration::from_secs(2);
const MOST_BUDGET: Duration = Duration::from_secs(100);
/// Added for cold cases: displacing takes nearly all of the time.
const MORE_IF_COLD: Duration = Duration::from_millis(650);
/// The time to prove a case whose entries are rare, as a share of its time in the rounds.
const PROOF_OF_TIMED: f64 = 0.6;
/// Seconds of a run for each second of samples in long slots: the rest goes to launches, cold batches and requests.
const BESIDE_SAMPLES: f64 = 1.25;

impl Session {
    /// Results go to `out` after each look, so that an interrupted or killed run keeps them. `index` counts from 0.
    pub(super) fn time(
        &mut self,
        job: &Job,
        findings: &mut PassResults,
        index: u32,
        cpu_monitor: CpuMonitor,
        watch: &dyn Watch,
        out: &Keep,
    ) -> (Run, Result<(), StoreError>) {
        let timed: Vec<Planned> = findings
            .cases
            .iter()
            .filter(|passed| passed.is_timed())
            .map(|passed| passed.planned.clone())
            .collect();
        let mut config = self.config(&job.planned, findings);
        let mut recorder = Recorder {
            run: self.empty_run(&config, job, findings),
            passed: &mut findings.cases,
            clocks: std::mem::take(&mut self.clocks),
            out,
            watch,
            interrupt: &self.interrupt,
            looked: false,
            cpu_monitor,
            began: Instant::now(),
            first: index == 0,
            last: job.runs <= 1,
        };
        // Now that the number of workers is known: each has two pipes.
        self.workers.make_room(timed.len() as u64);
        watch.stage(Stage::Measuring);
        let clock = Wall(Instant::now());
        // No interval is as narrow as 0, so all of the budget is spent.
        if self.options.per_case.is_some() {
            config.precision_percent = 0.0;
        }
        let mut places = GuestLauncher::new(&mut self.workers, &job.planned);
        let measured = if timed.is_empty() {
            Vec::new()
        } else {
            engine::measure(&timed, &mut places, &clock, &config, &mut recorder)
        };
        self.facts.extend(places.facts());
        // Again, since guests have told their kernels by now.
        recorder.run.environments = environment_facts(&self.workers, job, &self.facts);
        // Repeats have the same programs, so the first run's proof is theirs.
        if index == 0 {
            self.prove_timed(recorder.passed, &measured, job.runs, watch);
        }
        recorder.finish(&measured)
    }

    fn config(&self, planned: &[Planned], findings: &PassResults) -> Config {
        fn saturated(cases: usize) -> u32 {
            u32::try_from(cases).unwrap_or(u32::MAX)
        }

        let cases = saturated(planned.len());
        let cold = saturated(planned.iter().filter(|p| p.case.is_displaced()).count());
        let whole = BUDGET_PER_CASE
            .saturating_mul(cases)
            .saturating_add(MORE_IF_COLD.saturating_mul(cold));
        let by_cases = whole.clamp(LEAST_BUDGET, MOST_BUDGET);
        let per_case = self
            .options
            .per_case
            .map(|each| each.mul_f64(BESIDE_SAMPLES).saturating_mul(cases));
        let rare = findings
            .cases
            .iter()
            .filter(|passed| matches!(&passed.passes, Ok(passes) if passes.proof.is_rare()))
            .count();
        let proofs = 1.0 + PROOF_OF_TIMED * rare as f64 / f64::from(cases.max(1));
        // The proofs come after the rounds and must fit in too.
        let left = self.left().map(|left| left.div_f64(proofs));
        let wanted = per_case.or(left).or(self.options.budget);
        Config {
            budget: wanted.unwrap_or(by_cases),
            includes_start: per_case.is_none() && left.is_some(),
            precision_percent: self.options.precision_percent,
            seed: self
                .options
                .seed
                .unwrap_or_else(|| since_1970().as_nanos() as u64),
            slots: if per_case.is_some() {
                Slots::LONG
            } else {
                self.slots(cases)
            },
        }
    }

    fn empty_run(&self, config: &Config, job: &Job, findings: &PassResults) -> Run {
        let placement = &self.workers.placement;
        let host = if self.sides.is_all_elsewhere() {
            self.host.clone()
        } else {
            Host {
                measuring_cpu: placement.measuring,
                measuring_cpu_reason: Some(placement.reason.clone()),
                driver_cpus: placement.driver.clone(),
                ..self.host.clone()
            }
        };
        let tool = match &self.remote.machine {
            Some(there) => Tool {
                compiler: there.compiler.clone(),
                ..assets::tool()
            },
            None => assets::tool(),
        };
        Run {
            tool,
            host,
            started_unix_s: since_1970().as_secs(),
            plan: Plan {
                seed: config.seed,
                budget_s: config.budget.as_secs_f64(),
                whole_s: self.options.whole.map(|whole| whole.as_secs_f64()),
                precision_percent: config.precision_percent,
            },
            warnings: self
                .remote
                .warnings
                .iter()
                .cloned()
                .chain(self.workers.warnings())
                .chain(findings.warning.clone())
                .collect(),
            study: job.study.clone(),
            labels: job.labels.clone(),
            environments: environment_facts(&self.workers, job, &self.facts),
            ..Run::default()
        }
    }
}

struct Wall(Instant);

impl Clock for Wall {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}

/// Facts of environments that are started by a command, mislead, or have another unit than time. One that
/// is missing is reported by its cases. `known` are facts that only a visit or a boot tells.
fn environment_facts(
    workers: &Workers,
    job: &Job,
    known: &BTreeMap<String, EnvironmentFacts>,
) -> Vec<EnvironmentFacts> {
    let names: IndexSet<&str> = job
        .planned
        .iter()
        .map(|planned| planned.case.environment.as_str())
        .collect();
    names
        .into_iter()
        .filter_map(|name| {
            let facts = known
                .get(name)
                .cloned()
                .or_else(|| facts_of(name, workers.environment(name).ok()?))?;
            Some(EnvironmentFacts {
                start_up: job.start_ups.get(name).cloned(),
                ..facts
            })
        })
        .collect()
}

fn facts_of(name: &str, environment: Environment) -> Option<EnvironmentFacts> {
    let started_with = if environment.has_starter() {
        environment.run
    } else {
        Vec::new()
    };
    let plain = started_with.is_empty()
        && environment.misleads.is_empty()
        && environment.unit == Unit::Nanoseconds;
    if plain {
        return None;
    }
    Some(EnvironmentFacts {
        name: name.to_string(),
        unit: environment.unit,
        started_with,
        notes: environment.misleads,
        ..EnvironmentFacts::default()
    })
}
