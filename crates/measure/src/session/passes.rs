//! The untimed passes over the cases: kernel entries, modes, events, single calls.

use super::entry_cache::EntryCache;
use super::job::only_for_speed;
use super::time_budget::Effort;
use super::{Job, Session, Stage, Watch};
use crate::counters;
use crate::proof::{Proof, on_line, prove};
use crate::singles::time_singles;
use crate::split::split;
use itertools::Itertools;
use model::{
    Case, Counted, Counters, Entries, EntriesStatus, Failure, ModeSamples, Planned, TimesOrError,
    parameter_value,
};
use std::collections::HashMap;
use std::time::Duration;
use sys::Sources;
use sys::counters::{Offer, offer};

impl Session {
    pub(super) fn pass(&mut self, job: &Job, cache: EntryCache, watch: &dyn Watch) -> PassResults {
        let mut findings = self.pass_all(&job.planned, cache, watch);
        self.count_in_guests(&mut findings.cases, watch);
        self.time_singles(&mut findings.cases, watch);
        findings
    }

    fn pass_all(&self, planned: &[Planned], cache: EntryCache, watch: &dyn Watch) -> PassResults {
        let offer = if self.options.counters {
            Some(offer(&Sources::default()))
        } else {
            None
        };
        let warning = offer.as_ref().and_then(counters::warning);
        let mut means = Means {
            offer,
            cache,
            effort: self.effort(planned.len()),
            done: HashMap::new(),
        };
        watch.stage(Stage::Proving);
        let mut cases = Vec::new();
        let all = planned.len() as f64;
        for (i, planned) in planned.iter().enumerate() {
            watch.advance(i as f64 / all, &planned.case.to_string());
            let passes = self.pass_warm_or_cold(planned, &mut means);
            cases.push(Passed {
                planned: planned.clone(),
                passes,
            });
        }
        // Before the rounds, so that an interrupted run keeps them too.
        means.cache.keep();
        add_scaled(&mut cases);
        PassResults { cases, warning }
    }

    /// The passes of a cold case are those of its warm one: cold calls enter the kernel as often.
    fn pass_warm_or_cold(&self, planned: &Planned, means: &mut Means) -> Result<Passes, Failure> {
        let is_cold = planned.case.cold().is_some();
        if is_cold {
            not_cold(planned)?;
        }
        let warm = planned.case.alone();
        let passes = match means.done.get(&warm) {
            Some(passes) if is_cold => passes.clone(),
            _ => {
                let passes = self.pass_one(planned, means);
                // Failures are remembered too: a cold case of a failing operation fails alike.
                means.done.insert(warm, passes.clone());
                passes
            }
        }?;
        // Shares and events do depend on warm caches.
        Ok(if is_cold {
            Passes {
                mode_samples: None,
                counters: None,
                ..passes
            }
        } else {
            passes
        })
    }

    /// The mode is sampled even with --no-verify: that needs no tracer, and the table shows it.
    fn pass_one(&self, planned: &Planned, means: &mut Means) -> Result<Passes, Failure> {
        self.interrupt.check()?;
        if let Some(failure) = self.unusable.get(&planned.case.environment) {
            return Err(failure.clone());
        }
        // Built here: a build must not run beside measurements.
        self.workers.prepare(&planned.case)?;
        let environment = self.workers.environment(&planned.case.environment)?;
        if only_for_speed(planned) {
            return Ok(Passes::none(ONLY_FOR_SPEED));
        }
        if environment.is_guest {
            return Ok(Passes::none(
                &environment
                    .unverified
                    .unwrap_or_else(|| NOT_ASKED.to_string()),
            ));
        }
        let alone = planned.with_case(planned.case.alone());
        let proof = if self.options.verify {
            self.proof(&alone, means)?
        } else {
            Proof::none(NOT_ASKED)
        };
        let Effort {
            sampling, counting, ..
        } = means.effort;
        let counters = means
            .offer
            .as_ref()
            .map(|offer| counters::count_events(&self.workers, &alone, offer, counting));
        let counters = counters.transpose()?;
        let mode_samples = split(&self.workers, &alone, sampling);
        Ok(Passes {
            mode_samples,
            counters,
            ..Passes::new(proof)
        })
    }

    fn proof(&self, planned: &Planned, means: &mut Means) -> Result<Proof, Failure> {
        if let Some(proof) = means.cache.find(self, planned) {
            return Ok(proof);
        }
        let proof = prove(&self.workers, planned, means.effort.request)?;
        means.cache.add(self, planned, &proof);
        Ok(proof)
    }

    fn time_singles(&self, passed: &mut [Passed], watch: &dyn Watch) {
        if !self.options.latency {
            return;
        }
        watch.stage(Stage::Singles);
        let all = passed.len() as f64;
        let asked = self.options.latency_time;
        let time = asked.unwrap_or(self.effort(passed.len()).singles);
        for (i, Passed { planned, passes }) in passed.iter_mut().enumerate() {
            watch.advance(i as f64 / all, &planned.case.to_string());
            let is_guest = self
                .workers
                .environment(&planned.case.environment)
                .is_ok_and(|environment| environment.is_guest);
            // Times of single cold calls are what the rounds measure anyway, and a guest has no clock that could show them.
            let shown = planned.case.cold().is_none() && !only_for_speed(planned) && !is_guest;
            if let Some(passes) = passes.as_mut().ok()
                && shown
            {
                let left = self.left();
                let most = left.map_or(UNPROMISED, |left| left / MOST_OF_LEFT);
                let most = asked.unwrap_or(most);
                let timed = time_singles(&self.workers, planned, time, most);
                passes.latency = Some(timed.map_or_else(
                    |failure| TimesOrError::Error(failure.message),
                    TimesOrError::Times,
                ));
            }
        }
    }
}

/// Single calls of one case take at most the remaining time divided by this to know their 99th percentile.
const MOST_OF_LEFT: u32 = 4;
/// The most that they take if no time was promised.
const UNPROMISED: Duration = Duration::from_secs(5);

struct Means {
    offer: Option<Offer>,
    cache: EntryCache,
    effort: Effort,
    done: HashMap<Case, Result<Passes, Failure>>,
}

/// Entries that are too many to count are extrapolated from the same case at smaller values of a parameter.
fn add_scaled(cases: &mut [Passed]) {
    for i in 0..cases.len() {
        let params = &cases[i].planned.case.params;
        let scaled = params
            .keys()
            .find_map(|name| scaled(&cases[i], name, cases));
        if let (Ok(passes), Some(proof)) = (&mut cases[i].passes, scaled) {
            passes.proof = proof;
        }
    }
}

fn scaled(unknown_case: &Passed, name: &str, all: &[Passed]) -> Option<Proof> {
    let unknown = unknown_case.passes.as_ref().ok()?;
    let EntriesStatus::Unverified(reason) = &unknown.proof.status else {
        return None;
    };
    let (case, value) = without_param(&unknown_case.planned.case, name);
    let mut counted: Vec<(u64, &Entries)> = all
        .iter()
        .filter_map(|passed| {
            let (same, value) = without_param(&passed.planned.case, name);
            let proof = &passed.passes.as_ref().ok()?.proof;
            let is_counted = same == case && proof.status == EntriesStatus::Verified;
            if is_counted {
                Some((value?, proof.entries.as_ref()?))
            } else {
                None
            }
        })
        .collect();
    counted.sort_by_key(|(value, _)| *value);
    let entries = on_line(&counted, value?)?;
    let mut values = counted
        .iter()
        .map(|(value, _)| parameter_value(name, *value));
    let values = values.join(", ");
    Some(Proof {
        entries: Some(entries),
        ..Proof::none(&format!(
            "{reason}; these are on the line of {name}={values}"
        ))
    })
}

fn without_param(case: &Case, name: &str) -> (Case, Option<u64>) {
    let mut case = case.clone();
    let value = case.params.remove(name);
    (case, value)
}

fn not_cold(planned: &Planned) -> Result<(), Failure> {
    let text = "cold: only some iterations enter the kernel, and a median of single iterations would hide those";
    if planned.enters_rarely() {
        Err(Failure::unsupported(text))
    } else {
        Ok(())
    }
}

const ONLY_FOR_SPEED: &str = "not counted: it only shows the speed of the machine";
const NOT_ASKED: &str = "not counted, as asked (--no-verify)";

#[derive(Clone)]
pub struct Passes {
    pub proof: Proof,
    pub mode_samples: Option<ModeSamples>,
    pub counters: Option<Counters>,
    pub latency: Option<TimesOrError>,
    pub instructions: Option<f64>,
    pub counted: Option<Counted>,
}

impl Passes {
    fn new(proof: Proof) -> Passes {
        Passes {
            proof,
            mode_samples: None,
            counters: None,
            latency: None,
            instructions: None,
            counted: None,
        }
    }

    /// The reason is the entries' status.
    pub fn none(reason: &str) -> Passes {
        Passes::new(Proof::none(reason))
    }
}

pub struct PassResults {
    pub cases: Vec<Passed>,
    pub warning: Option<String>,
}

pub struct Passed {
    pub planned: Planned,
    pub passes: Result<Passes, Failure>,
}

impl Passed {
    /// Whether the rounds time the case: it has not failed, and its instructions were not counted instead.
    pub fn is_timed(&self) -> bool {
        self.passes
            .as_ref()
            .is_ok_and(|passes| passes.counted.is_none())
    }
}
