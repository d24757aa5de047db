//! What a race shows: what each command took, which of them differ certainly, and what of their system calls changed. Pure;
//! `cli::race` calls it.
//!
//! Commands are compared round by round, so that what slowed a whole round down cancels; rounds that were disturbed for one of
//! them are left out by the trimmed mean. Verdicts are by the same rules as those on operations (`judge`).

use super::judge::marked;
use super::profiles::{Part, ProfileColumn, ProfileRow, Span, compare_profiles};
use super::verdict::{Ratio, RatioOf};
use crate::model::{By, CallCount, Contender, Profile, Race, TimedRun};
use crate::stats::{BetweenRuns, median, trimmed};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Page faults that differ by less, as a share, are not named.
const FAULTS_APART: f64 = 0.05;

/// What page faults are called among system calls.
pub const FAULTS: &str = "page faults";

/// A race analysed.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RaceFound {
    /// False if it was interrupted.
    pub complete: bool,
    /// Differences up to this share are called unchanged.
    pub margin: f64,
    pub rounds: usize,
    pub seed: u64,
    /// A process that does nothing but start has at least this much memory; smaller peaks cannot be seen.
    pub least_memory_byte: u64,
    /// One for each command. Names and units of its fields are those of hyperfine's exports where it has them: seconds.
    pub results: Vec<RaceResult>,
    pub versus: Vec<Versus>,
}

/// What one command took, in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct RaceResult {
    pub command: String,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    pub mean: f64,
    pub stddev: Option<f64>,
    pub median: f64,
    /// The mean without the highest and the lowest fifth, and the ends of its 95% interval; null for fewer than 5 rounds.
    pub trimmed_mean: Option<f64>,
    pub low: Option<f64>,
    pub high: Option<f64>,
    /// Means.
    pub user: f64,
    pub system: f64,
    pub min: f64,
    pub max: f64,
    /// Wall times of all rounds, in their order.
    pub times: Vec<f64>,
    /// User and system time together, of all rounds.
    pub cpu_times: Vec<f64>,
    pub memory_usage_byte: Vec<u64>,
    pub page_faults: Vec<u64>,
    pub exit_codes: Vec<i32>,
    /// Null if they were not counted.
    pub system_calls: Option<u64>,
    /// Why not.
    pub not_counted: Option<String>,
}

/// A command compared with another, by their index in `results`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Versus {
    pub base: usize,
    pub head: usize,
    /// The head's figures over the base's; null for fewer than 5 rounds.
    pub wall: Option<Ratio>,
    pub cpu: Option<Ratio>,
    pub memory: Option<Ratio>,
    /// Wall time of the head minus that of the base, in seconds, with the ends of its 95% interval.
    pub difference: Option<[f64; 3]>,
    /// Calls whose number changed, those that take most of the difference first; null if one of the two was not counted.
    pub calls: Option<Vec<CallChange>>,
    pub unchanged_calls: usize,
}

/// A system call whose number differs, or page faults.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct CallChange {
    pub call: String,
    pub base: Span,
    pub head: Span,
    /// The classes and errors with more of them, in the head and in the base.
    pub grew: Vec<Part>,
    pub fell: Vec<Part>,
    /// The head's time in these calls minus the base's, in seconds: on a CPU, or blocked with the whole program. As traced; null
    /// where the tracer does not time calls.
    pub measured: Option<f64>,
    /// The same by unit costs, with its range; null without them.
    pub by_unit_cost: Option<[f64; 3]>,
}

/// Analyses `race`; `margin` is the share up to which differences do not matter.
pub fn race(race: &Race, margin: f64) -> RaceFound {
    let heads = race.contenders.iter().enumerate().filter_map(|(head, own)| Some((own.base?, head)));
    RaceFound {
        complete: race.complete,
        margin,
        rounds: race.contenders.first().map_or(0, |own| own.runs.len()),
        seed: race.seed,
        least_memory_byte: race.least_rss_kib * 1024,
        results: race.contenders.iter().map(result).collect(),
        versus: heads.map(|(base, head)| versus(&race.contenders, base, head, margin)).collect(),
    }
}

fn result(own: &Contender) -> RaceResult {
    let of = |value: fn(&TimedRun) -> u64| -> Vec<f64> { own.runs.iter().map(|run| value(run) as f64 / 1e9).collect() };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let times = of(|run| run.wall_ns);
    let average = mean(&times);
    let squares: f64 = times.iter().map(|time| (time - average).powi(2)).sum();
    let trimmed = trimmed(times.clone());
    let end = |which: usize| trimmed.map(|own| ends(&own)[which]);
    RaceResult {
        command: own.command.clone(),
        parameters: own.parameters.clone(),
        mean: average,
        stddev: (times.len() > 1).then(|| (squares / (times.len() as f64 - 1.0)).sqrt()),
        median: median(times.clone()).unwrap_or(f64::NAN),
        trimmed_mean: end(0),
        low: end(1),
        high: end(2),
        user: mean(&of(|run| run.user_ns)),
        system: mean(&of(|run| run.system_ns)),
        min: times.iter().copied().fold(f64::INFINITY, f64::min),
        max: times.iter().copied().fold(0.0, f64::max),
        cpu_times: of(TimedRun::cpu_ns),
        memory_usage_byte: own.runs.iter().map(|run| run.peak_rss_kib * 1024).collect(),
        page_faults: own.runs.iter().map(|run| run.faults).collect(),
        exit_codes: own.runs.iter().map(|run| run.status).collect(),
        system_calls: own.counted.as_ref().ok().map(|profile| profile.all_calls().calls),
        not_counted: own.counted.as_ref().err().cloned(),
        times,
    }
}

/// The value and the ends of its 95% interval, of values that are no logarithms.
fn ends(own: &BetweenRuns) -> [f64; 3] {
    let (low, high) = own.low_high();
    [own.log_ratio, low.ln(), high.ln()]
}

fn versus(all: &[Contender], base: usize, head: usize, margin: f64) -> Versus {
    let (old, new) = (&all[base], &all[head]);
    let pairs = || new.runs.iter().zip(&old.runs);
    let ratio = |of: fn(&TimedRun) -> u64| {
        let found = trimmed(pairs().map(|(new, old)| (of(new) as f64).ln() - (of(old) as f64).ln()).collect())?;
        Some((found, RatioOf::Time { as_measured: found.ratio(), relative: None }))
    };
    let found = [ratio(|run| run.wall_ns), ratio(TimedRun::cpu_ns), ratio(|run| run.peak_rss_kib)];
    let [wall, cpu, memory] = marked(found, margin);
    let seconds = |(new, old): (&TimedRun, &TimedRun)| (new.wall_ns as f64 - old.wall_ns as f64) / 1e9;
    let difference = trimmed(pairs().map(seconds).collect()).map(|own| ends(&own));
    let profiles = old.counted.as_ref().ok().zip(new.counted.as_ref().ok());
    let (calls, unchanged_calls) = match profiles {
        Some((old, new)) => {
            let (mut calls, unchanged) = changes(old, new);
            calls.extend(faults(&all[base], &all[head]));
            (Some(calls), unchanged)
        }
        None => (None, 0),
    };
    Versus { base, head, wall, cpu, memory, difference, calls, unchanged_calls }
}

/// The calls whose number differs in every pair of runs, and how many others there are.
fn changes(old: &Profile, new: &Profile) -> (Vec<CallChange>, usize) {
    let columns = [ProfileColumn::new("base", old), ProfileColumn::new("head", new)];
    let grew = compare_profiles(&columns, 0, |_| true);
    let fell = compare_profiles(&columns, 1, |_| true);
    let all = grew.rows.len();
    let times = [time_by_call(old), time_by_call(new)];
    let mut changed: Vec<CallChange> =
        grew.rows.iter().filter_map(|row| change(row, fell.row(&row.call)?, &times)).collect();
    let unchanged = all - changed.len();
    let weight = |change: &CallChange| {
        let calls = change.head.median.abs_diff(change.base.median) as f64;
        (change.measured.unwrap_or(0.0).abs(), calls)
    };
    changed.sort_by(|a, b| {
        let ((a_time, a_calls), (b_time, b_calls)) = (weight(a), weight(b));
        b_time.total_cmp(&a_time).then(b_calls.total_cmp(&a_calls))
    });
    (changed, unchanged)
}

fn change(grew: &ProfileRow, fell: &ProfileRow, times: &[BTreeMap<String, f64>; 2]) -> Option<CallChange> {
    let (base, head) = (grew.counts[0]?.calls, grew.counts[1]?.calls);
    let apart = base.most < head.least || head.most < base.least;
    let time = |side: usize| times[side].get(&grew.call).copied();
    let measured =
        (!times[0].is_empty() && !times[1].is_empty()).then(|| time(1).unwrap_or(0.0) - time(0).unwrap_or(0.0));
    apart.then(|| CallChange {
        call: grew.call.clone(),
        base,
        head,
        grew: grew.grew[1].clone(),
        fell: fell.grew[0].clone(),
        measured,
        by_unit_cost: None,
    })
}

/// Seconds in calls by name, on a CPU or blocked with the whole program; empty where calls were not timed.
fn time_by_call(profile: &Profile) -> BTreeMap<String, f64> {
    let totals = profile.totals(By::Call);
    let seconds = |count: &CallCount| Some((count.on_cpu_ns? + count.stalled_ns.unwrap_or(0)) as f64 / 1e9);
    totals.into_iter().filter_map(|total| Some((total.count.call.clone(), seconds(&total.count)?))).collect()
}

/// Page faults as a change, by the timed runs.
fn faults(old: &Contender, new: &Contender) -> Option<CallChange> {
    let span = |own: &Contender| Span::of(own.runs.iter().map(|run| run.faults).collect());
    let (base, head) = (span(old), span(new));
    let share = head.median.abs_diff(base.median) as f64 / base.median.max(1) as f64;
    (share > FAULTS_APART).then(|| CallChange {
        call: FAULTS.to_string(),
        base,
        head,
        grew: Vec::new(),
        fell: Vec::new(),
        measured: None,
        by_unit_cost: None,
    })
}

impl RaceFound {
    /// The commands that certainly take longer than what they are compared with by more than `limit`, a share.
    pub fn grown(&self, limit: f64) -> Vec<usize> {
        let grown = |versus: &&Versus| versus.wall.is_some_and(|wall| wall.low > 1.0 + limit);
        self.versus.iter().filter(grown).map(|versus| versus.head).collect()
    }
}

impl Versus {
    /// The calls that changed and whose time is not known, if there is a difference to explain.
    pub fn unpriced(&self) -> impl Iterator<Item = &str> {
        let differs = self.wall.is_some_and(|wall| wall.mark.is_better() || wall.mark.is_worse());
        let open = self.changed().iter().filter(move |own| differs && own.measured.is_none() && own.call != FAULTS);
        open.map(|own| own.call.as_str())
    }

    /// Prices the calls that were not timed, by what each side's cost by unit costs: a value and the ends of its range. Both have the
    /// same unit costs, and so the same error.
    pub fn price(&mut self, base: &BTreeMap<String, [f64; 3]>, head: &BTreeMap<String, [f64; 3]>) {
        for change in self.calls.iter_mut().flatten().filter(|own| own.measured.is_none()) {
            let of = |side: &BTreeMap<String, [f64; 3]>| side.get(&change.call).copied();
            if let (None, None) = (of(base), of(head)) {
                continue;
            }
            let [old, new] = [base, head].map(|side| of(side).unwrap_or_default());
            let [value, low, high] = [0, 1, 2].map(|end| new[end] - old[end]);
            change.by_unit_cost = Some([value, low.min(high), low.max(high)]);
        }
    }

    /// The calls whose number changed.
    pub fn changed(&self) -> &[CallChange] {
        self.calls.as_deref().unwrap_or_default()
    }

    /// Seconds of the difference that the calls that changed take, and whether all of it was measured rather than priced.
    pub fn explained(&self) -> Option<(f64, bool)> {
        let time = |change: &CallChange| change.measured.or(change.by_unit_cost.map(|[value, ..]| value));
        let known: Vec<f64> = self.changed().iter().filter_map(time).collect();
        let measured = self.changed().iter().all(|change| change.by_unit_cost.is_none());
        (!known.is_empty()).then(|| (known.iter().sum(), measured))
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Mark;
    use super::*;
    use crate::model::{Class, ProcessGroup};

    fn count(call: &str, calls: u64, ns: u64) -> CallCount {
        let class = Class { depth: Some(2), ..Class::default() };
        CallCount { call: call.into(), class, calls, on_cpu_ns: Some(ns), ..CallCount::default() }
    }

    fn contender(base: Option<usize>, wall_ms: &[u64], calls: Vec<CallCount>) -> Contender {
        let run = |ms: &u64| TimedRun {
            wall_ns: ms * 1_000_000,
            user_ns: 1_000_000,
            system_ns: 1_000_000,
            peak_rss_kib: 4096,
            faults: 100,
            status: 0,
        };
        let group = ProcessGroup { calls, ..ProcessGroup::default() };
        Contender {
            command: "x".into(),
            shell: false,
            parameters: BTreeMap::new(),
            base,
            runs: wall_ms.iter().map(run).collect(),
            counted: Ok(Profile { groups: vec![group], complete: true, ..Profile::default() }),
        }
    }

    fn found(old: &[u64], new: &[u64]) -> RaceFound {
        let old = contender(None, old, vec![count("openat", 4168, 50_000_000), count("read", 7, 1000)]);
        let new = contender(Some(0), new, vec![count("openat", 110, 2_000_000), count("read", 7, 1000)]);
        race(&Race { complete: true, contenders: vec![old, new], ..Race::default() }, 0.01)
    }

    #[test]
    fn a_drift_of_the_machine_cancels_and_a_disturbed_round_does_not_count() {
        let old: Vec<u64> = (0..12).map(|i| 100 + 10 * i).collect();
        let mut new: Vec<u64> = old.iter().map(|ms| ms / 2).collect();
        new[4] *= 9;
        let versus = &found(&old, &new).versus[0];
        let wall = versus.wall.unwrap();
        assert!((wall.ratio - 0.5).abs() < 1e-3 && wall.high < 0.51 && wall.mark == Mark::Faster, "{wall:?}");
        assert_eq!(versus.cpu.unwrap().mark, Mark::Unchanged);
        let same = &found(&old, &old).versus[0];
        assert_eq!(same.wall.unwrap().mark, Mark::Unchanged);
        assert_eq!(found(&old[..4], &new[..4]).versus[0].wall, None);
    }

    #[test]
    fn calls_that_changed_are_named_with_their_classes_and_times() {
        let versus = &found(&[100; 6], &[50; 6]).versus[0];
        let [open] = versus.changed() else { panic!("{versus:?}") };
        assert_eq!((&*open.call, open.base.median, open.head.median), ("openat", 4168, 110));
        assert_eq!((open.grew.len(), open.fell[0].class.depth), (0, Some(2)));
        assert!((open.measured.unwrap() + 0.048).abs() < 1e-9);
        assert_eq!((versus.unchanged_calls, versus.explained()), (1, Some((-0.048, true))));
        let [value, low, high] = versus.difference.unwrap();
        assert!((value + 0.05).abs() < 1e-6 && low <= value && value <= high);
    }

    #[test]
    fn results_have_the_figures_that_hyperfine_exports() {
        let result = &found(&[10, 20, 30, 40, 50], &[1; 5]).results[0];
        assert!((result.mean - 0.03).abs() < 1e-9 && (result.median - 0.03).abs() < 1e-9);
        assert!((result.stddev.unwrap() - 0.015_811_388).abs() < 1e-8);
        assert_eq!((result.min, result.max, result.exit_codes.len()), (0.01, 0.05, 5));
    }
}
