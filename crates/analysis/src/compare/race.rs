//! The times of each command of a race, which of them differ certainly, and which of their system calls changed.
//!
//! Commands are compared round by round, so that what slowed a whole round down cancels; rounds that were disturbed for one of
//! them are left out by the trimmed mean. In environments, each one's own start-up is subtracted before (`net`).

mod cause;
mod net;
mod refused;
mod versus;

use super::profiles::Span;
pub use cause::{Cause, CauseOf};
use model::{Contender, InEnvironment, JsonDocument, Race, TimedRun};
use net::{Net, in_seconds, is_divided, net};
pub use refused::Refused;
use refused::refused;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{change_points, median, trimmed};
use std::collections::BTreeMap;
pub use versus::Versus;
use versus::all_versus;

/// Changes of the wall time by a smaller factor are not named, and blocks of rounds that are searched for them.
const LASTING: f64 = 1.5;
// The search takes quadratic time, and a permutation test repeats it a thousand times.
const MOST_BLOCKS: usize = 60;

/// The output and the file of `syscost race`: commands, or one command in several environments, timed in turn.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct RaceFound {
    /// False if it was interrupted.
    pub complete: bool,
    /// Differences up to this share are called equal.
    pub margin: f64,
    /// Rounds: in each, every command was timed once.
    pub rounds: usize,
    /// The seed of the order of commands within rounds.
    pub seed: u64,
    /// Whether each execution started in a fresh copy of the working directory.
    pub fresh_copies: bool,
    /// How often a command was started in all: in rounds, in the warm-up, and traced.
    #[serde(default)]
    pub executions: u32,
    /// A process that does nothing but start has at least this much memory; smaller peaks cannot be seen.
    pub least_memory_byte: u64,
    /// One for each command. Fields that hyperfine's exports have too have their names and units there: seconds.
    pub results: Vec<RaceResult>,
    /// One for each command that is compared with another.
    pub versus: Vec<Versus>,
}

impl JsonDocument for RaceFound {
    const SCHEMA: &'static str = "syscost.race/1";
}

/// The times of one command, in seconds.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct RaceResult {
    /// As it was asked for, with the values of its parameters.
    pub command: String,
    /// Its parameters; absent without.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// Its times in an environment, if environments are compared.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub inside: Option<InsideResult>,
    /// The mean of the wall time.
    pub mean: f64,
    /// Its standard deviation; null for one round.
    pub stddev: Option<f64>,
    /// The median.
    pub median: f64,
    /// The mean without the highest and the lowest fifth; null for fewer than 5 rounds. For a command that is compared, the base's times
    /// the ratio of both, which is of the same rounds.
    pub trimmed_mean: Option<f64>,
    /// The lower end of its 95% interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Mean time in user mode; null if too few ticks of the clock divide the CPU time into user mode and kernel, and if the kernel's
    /// accounting does not include the command: `cpu_times`, `memory_usage_byte` and `page_faults` are then empty.
    pub user: Option<f64>,
    /// Mean time in the kernel.
    pub system: Option<f64>,
    /// The shortest.
    pub min: f64,
    /// The longest.
    pub max: f64,
    /// Wall times of all rounds, in their order.
    pub times: Vec<f64>,
    /// User and system time together, of all rounds.
    pub cpu_times: Vec<f64>,
    /// Peak memory, of all rounds.
    pub memory_usage_byte: Vec<u64>,
    /// Page faults, of all rounds.
    pub page_faults: Vec<u64>,
    /// Exit status, of all rounds; 128 + N for signal N.
    pub exit_codes: Vec<i32>,
    /// System calls in one run; null if they were not counted.
    pub system_calls: Option<u64>,
    /// Why not.
    pub not_counted: Option<String>,
    /// The control: the command that others are compared with once more, in the same rounds.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub control: bool,
    /// Programs that it left running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_running: Vec<String>,
    /// The largest change of its wall time between two rounds, if it lasted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed: Option<Changed>,
}

/// Wall time changed between two rounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Changed {
    /// Rounds before it.
    pub rounds: usize,
    /// The median before it, in seconds.
    pub before: f64,
    /// The median after it.
    pub after: f64,
}

/// The times of a command in an environment, in seconds. The other times of a result include the environment's start-up.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct InsideResult {
    /// Its name.
    pub environment: String,
    /// The extra time of a program that does nothing there, compared with natively, and the ends of its 95% interval; null for fewer than 5 rounds.
    pub start_up: Option<[f64; 3]>,
    /// Wall time of the first execution there, before the rounds.
    #[serde(default)]
    pub first: Option<f64>,
    /// Wall time without the start-up, as `trimmed_mean`.
    pub net: Option<[f64; 3]>,
    /// User and system time without that of the start-up; null if the kernel's accounting does not include the command.
    pub net_cpu: Option<[f64; 3]>,
    /// Wall times of the program that does nothing, in all rounds.
    pub empty_times: Vec<f64>,
    /// Calls of the command that fail there and not natively; absent if there are none, or calls were not counted there.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub refused: Vec<Refused>,
    /// Its peak memory, the median: smaller peaks of the command cannot be seen.
    pub empty_memory_byte: u64,
}

/// Ratios within `1 / (1 + margin) .. 1 + margin` are equal.
pub fn race(race: &Race, margin: f64) -> RaceFound {
    let mut comparison = RaceFound {
        complete: race.complete,
        margin,
        rounds: race
            .contenders
            .first()
            .map_or(0, |contender| contender.runs.len()),
        seed: race.seed,
        fresh_copies: race.is_copied,
        executions: race.executions,
        least_memory_byte: race.least_rss_kib * 1024,
        results: race
            .contenders
            .iter()
            .map(|contender| result(&race.contenders, contender))
            .collect(),
        versus: all_versus(&race.contenders, margin),
    };
    comparison.relate();
    for (result, contender) in comparison.results.iter_mut().zip(&race.contenders) {
        let base = contender.base.map(|base| &race.contenders[base]);
        if let (Some(inside), Some(base)) = (&mut result.inside, base) {
            inside.refused = refused(base, contender);
        }
    }
    comparison
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn result(all: &[Contender], contender: &Contender) -> RaceResult {
    let accounted = if contender.is_accounted() {
        &contender.runs[..]
    } else {
        &[]
    };
    let times = seconds_of(&contender.runs, |run| run.wall_ns);
    let average = mean(&times);
    let squares: f64 = times.iter().map(|time| (time - average).powi(2)).sum();
    let trimmed = trimmed(times.clone()).map(|estimate| estimate.with_ends());
    let end = |which: usize| trimmed.map(|ends| ends[which]);
    RaceResult {
        command: contender.command.clone(),
        parameters: contender.parameters.clone(),
        inside: contender
            .environment
            .as_ref()
            .map(|there| inside(there, net(all, contender))),
        mean: average,
        stddev: if times.len() > 1 {
            Some((squares / (times.len() as f64 - 1.0)).sqrt())
        } else {
            None
        },
        median: median(times.clone()).unwrap_or(f64::NAN),
        trimmed_mean: end(0),
        low: end(1),
        high: end(2),
        user: divided_mean(contender, |run| run.user_ns),
        system: divided_mean(contender, |run| run.system_ns),
        min: times.iter().copied().fold(f64::INFINITY, f64::min),
        max: times.iter().copied().fold(0.0, f64::max),
        cpu_times: seconds_of(accounted, TimedRun::cpu_ns),
        memory_usage_byte: accounted
            .iter()
            .map(|run| run.peak_rss_kib * 1024)
            .collect(),
        page_faults: accounted.iter().map(|run| run.faults).collect(),
        exit_codes: contender.runs.iter().map(|run| run.status).collect(),
        system_calls: contender
            .counted
            .as_ref()
            .ok()
            .map(|profile| profile.all_calls().calls),
        not_counted: contender.counted.as_ref().err().cloned(),
        control: contender.is_control,
        left_running: contender.left_running.iter().cloned().collect(),
        changed: changed(all, contender, &times),
        times,
    }
}

/// `None` unless enough ticks divide the CPU time into user mode and kernel.
fn divided_mean(contender: &Contender, value: fn(&TimedRun) -> u64) -> Option<f64> {
    if contender.is_accounted() && is_divided(contender) {
        Some(mean(&seconds_of(&contender.runs, value)))
    } else {
        None
    }
}

/// The largest change of the wall time that lasted: a command that fills a cache has two times, and the mean is neither. It must show
/// in its own time and relative to the other commands, because what these do at the same time is the machine's.
fn changed(all: &[Contender], contender: &Contender, times: &[f64]) -> Option<Changed> {
    let others = all.iter().filter(|other| !std::ptr::eq(*other, contender));
    let others: Vec<Vec<f64>> = others
        .map(|other| seconds_of(&other.runs, |run| run.wall_ns))
        .collect();
    let relative = times.iter().enumerate().map(|(round, time)| {
        let others = others.iter().filter_map(|other| other.get(round).copied());
        time / median(others.collect()).unwrap_or(1.0)
    });
    let relative: Vec<f64> = relative.collect();
    // Finding changes takes quadratic time: blocks of rounds, by their medians.
    let length = times.len().div_ceil(MOST_BLOCKS).max(1);
    let blocks: Vec<f64> = relative
        .chunks(length)
        .filter_map(|block| median(block.to_vec()))
        .map(f64::ln)
        .collect();
    let all = change_points(&blocks).into_iter().filter_map(|block| {
        let rounds = block * length;
        let [[before, after], [was, is]] = [times, &relative]
            .map(|times| [&times[..rounds], &times[rounds..]].map(|side| median(side.to_vec())));
        let change = Changed {
            rounds,
            before: before?,
            after: after?,
        };
        let size = (change.after / change.before)
            .ln()
            .abs()
            .min((is? / was?).ln().abs());
        (size > LASTING.ln()).then_some((size, change))
    });
    all.max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, change)| change)
}

fn seconds_of(runs: &[TimedRun], value: fn(&TimedRun) -> u64) -> Vec<f64> {
    runs.iter().map(|run| value(run) as f64 / 1e9).collect()
}

fn inside(there: &InEnvironment, net: Net) -> InsideResult {
    let peaks = there
        .empty
        .iter()
        .map(|run| run.peak_rss_kib * 1024)
        .collect();
    InsideResult {
        environment: there.name.clone(),
        first: there.first.map(|run| run.wall_ns as f64 / 1e9),
        refused: Vec::new(),
        start_up: in_seconds(&net.start_up.unwrap_or_default()),
        net: in_seconds(&net.wall),
        net_cpu: net.cpu.and_then(|cpu| in_seconds(&cpu)),
        empty_times: seconds_of(&there.empty, |run| run.wall_ns),
        empty_memory_byte: Span::from_values(peaks).median,
    }
}

impl RaceFound {
    /// A command's time becomes its base's times their ratio, so that the figures of a table agree: whatever slowed both down in the
    /// same rounds is in neither.
    fn relate(&mut self) {
        for versus in &mut self.versus {
            let Some(ratio) = versus.wall.map(|wall| wall.ratio) else {
                continue;
            };
            let (Some(base), Some(head)) = (
                self.results[versus.base].figure(),
                self.results[versus.head].figure(),
            ) else {
                continue;
            };
            let scale = base[0] * ratio / head[0];
            self.results[versus.head].set_figure(head.map(|end| end * scale));
            if let Some(difference) = &mut versus.difference {
                // The difference follows the ratio and keeps its width.
                let moved = base[0] * (ratio - 1.0) - difference[0];
                difference.iter_mut().for_each(|end| *end += moved);
            }
        }
    }

    /// The control is not judged.
    pub fn grown(&self, limit: f64) -> Vec<(usize, &'static str)> {
        let has_grown = |ratio: Option<super::Ratio>| {
            ratio.is_some_and(|ratio| ratio.mark.is_worse() && ratio.low > 1.0 + limit)
        };
        self.versus
            .iter()
            .filter(|versus| !self.results[versus.head].control)
            .filter_map(|versus| {
                if has_grown(versus.wall) {
                    Some((versus.head, "is slower"))
                } else if versus.is_wall_unknown() && has_grown(versus.cpu) {
                    Some((versus.head, "takes more CPU time"))
                } else {
                    None
                }
            })
            .collect()
    }
}

impl RaceResult {
    /// Its wall time without the start-up of its environment, and the ends of the interval, in seconds.
    pub fn figure(&self) -> Option<[f64; 3]> {
        match &self.inside {
            Some(inside) => inside.net,
            None => Some([self.trimmed_mean?, self.low?, self.high?]),
        }
    }

    fn set_figure(&mut self, figure: [f64; 3]) {
        match &mut self.inside {
            Some(inside) => inside.net = Some(figure),
            None => [self.trimmed_mean, self.low, self.high] = figure.map(Some),
        }
    }

    /// The environment if environments are compared, otherwise the command.
    pub fn name(&self) -> &str {
        self.inside
            .as_ref()
            .map_or(&self.command, |inside| &inside.environment)
    }
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Mark;
    use super::*;
    use model::fixtures::profile;
    use std::collections::BTreeSet;

    fn contender(base: Option<usize>, is_control: bool, wall_ms: &[u64]) -> Contender {
        Contender {
            command: "x".into(),
            parameters: BTreeMap::new(),
            base,
            is_control,
            environment: None,
            left_running: BTreeSet::new(),
            runs: wall_ms
                .iter()
                .map(|ms| TimedRun {
                    wall_ns: ms * 1_000_000,
                    user_ns: 1_000_000,
                    system_ns: 1_000_000,
                    peak_rss_kib: 4096,
                    faults: 100,
                    status: 0,
                })
                .collect(),
            counted: Ok(profile(Vec::new())),
        }
    }

    fn raced(old: &[u64], new: &[u64]) -> RaceFound {
        beside(old, new, old)
    }

    fn beside(old: &[u64], new: &[u64], again: &[u64]) -> RaceFound {
        let both = Race {
            complete: true,
            contenders: vec![
                contender(None, false, old),
                contender(Some(0), false, new),
                contender(Some(0), true, again),
            ],
            ..Race::default()
        };
        race(&both, 0.01)
    }

    #[test]
    fn a_command_that_changes_is_named_and_one_that_scatters_is_not() {
        let changing: Vec<u64> = (0..24)
            .map(|i| if i < 12 { 50 + i % 3 } else { 2 })
            .collect();
        let scattering: Vec<u64> = (0..24).map(|i| 100 + 37 * (i * 7 % 5)).collect();
        let both = raced(&changing, &scattering).results;
        let changed = both[0].changed.unwrap();
        assert_eq!((changed.rounds, changed.before), (12, 0.051));
        assert_eq!(both[1].changed, None);
        let many: Vec<u64> = (0..6001).map(|i| if i < 3000 { 50 } else { 2 }).collect();
        let both = raced(&many, &[100; 6001]).results;
        assert!(both[0].changed.unwrap().rounds.abs_diff(3000) <= 101);
        let twice: Vec<u64> = changing.iter().map(|ms| 2 * ms).collect();
        let both = raced(&changing, &twice).results;
        let has_changed = both.iter().any(|result| result.changed.is_some());
        assert!(!has_changed, "the machine changed");
    }

    #[test]
    fn a_drift_of_the_machine_cancels_and_a_disturbed_round_does_not_count() {
        let old: Vec<u64> = (0..12).map(|i| 100 + 10 * i).collect();
        let mut new: Vec<u64> = old.iter().map(|ms| ms / 2).collect();
        new[4] *= 9;
        let versus = &raced(&old, &new).versus[0];
        let wall = versus.wall.unwrap();
        assert!(
            (wall.ratio - 0.5).abs() < 1e-3 && wall.high < 0.51 && wall.mark == Mark::Faster,
            "{wall:?}"
        );
        assert_eq!(versus.cpu.unwrap().mark, Mark::Equal);
        let same = &raced(&old, &old).versus[0];
        assert_eq!(same.wall.unwrap().mark, Mark::Equal);
        assert_eq!(raced(&old[..4], &new[..4]).versus[0].wall, None);
    }

    /// The baseline's interval reaches below 0, but nothing was subtracted from it.
    #[test]
    fn what_is_many_times_as_long_as_a_baseline_that_scatters_is_slower() {
        let old = [1, 1, 5, 1, 5, 1];
        assert!(raced(&old, &old).results[0].low < Some(0.0));
        let timed = beside(&old, &[300, 301, 300, 302, 301, 300], &[1, 5, 1, 3, 1, 1]);
        assert_eq!(timed.versus[0].wall.unwrap().mark, Mark::Slower);
        assert_eq!(timed.grown(0.5), [(1, "is slower")]);
    }

    /// Each with the wall time of an empty program there.
    fn in_environments(sides: [(&str, &[u64], u64); 2]) -> RaceFound {
        let [native, other] = sides.map(|(name, wall_ms, empty_ms)| {
            let empty = vec![empty_ms; wall_ms.len()];
            Contender {
                environment: Some(InEnvironment {
                    name: name.into(),
                    is_accounted: true,
                    is_traced: false,
                    first: None,
                    empty: contender(None, false, &empty).runs,
                }),
                base: if name == "native" { None } else { Some(0) },
                ..contender(None, false, wall_ms)
            }
        });
        let both = Race {
            complete: true,
            contenders: vec![native, other],
            ..Race::default()
        };
        race(&both, 0.01)
    }

    #[test]
    fn what_was_subtracted_hides_a_command_and_load_does_not() {
        let loaded = [1, 1, 5, 1, 5, 1];
        let traced = in_environments([("native", &loaded, 1), ("strace", &[300; 6], 10)]);
        assert_eq!(traced.versus[0].wall.unwrap().mark, Mark::Slower);
        let hidden = in_environments([("native", &loaded, 1), ("podman", &[3, 1, 5, 1, 6, 2], 4)]);
        assert_eq!(hidden.versus[0].wall, None);
    }

    #[test]
    fn what_the_control_differs_by_as_well_is_not_known() {
        let old: Vec<u64> = (0..12).map(|i| 100 + i % 3).collect();
        let longer = |percent: u64| -> Vec<u64> {
            old.iter().map(|ms| ms * (100 + percent) / 100).collect()
        };
        let mark =
            |new: &[u64], again: &[u64]| beside(&old, new, again).versus[0].wall.unwrap().mark;
        assert_eq!(mark(&longer(20), &old), Mark::Slower);
        assert_eq!(mark(&longer(20), &longer(30)), Mark::NotKnown);
        assert_eq!(mark(&longer(150), &longer(10)), Mark::Slower);
        let timed = beside(&old, &longer(20), &old);
        assert_eq!(timed.grown(0.1), [(1, "is slower")]);
        let grown = beside(&old, &old, &longer(20)).grown(0.1);
        assert!(grown.is_empty(), "the gate does not judge the control");
    }

    #[test]
    fn waits_of_the_control_are_no_cause() {
        let old: Vec<u64> = (0..12).map(|i| 100 + i % 3).collect();
        let more = |ms: u64| -> Vec<u64> { old.iter().map(|old| old + ms).collect() };
        for (again, is_named) in [(more(0), true), (more(30), false)] {
            let mut new = contender(Some(0), false, &more(70));
            for run in &mut new.runs {
                run.user_ns += 50_000_000;
            }
            let both = Race {
                complete: true,
                contenders: vec![
                    contender(None, false, &old),
                    new,
                    contender(Some(0), true, &again),
                ],
                ..Race::default()
            };
            let causes = race(&both, 0.01).versus[0].causes.clone();
            let waits = causes.iter().any(|cause| cause.kind == CauseOf::Waiting);
            assert_eq!(waits, is_named, "{causes:?}");
            assert_eq!(causes[0].kind, CauseOf::UserOrKernel);
        }
    }

    #[test]
    fn the_ratio_is_the_quotient_of_the_two_figures() {
        let old: Vec<u64> = (0..20).map(|i| 100 + 61 * (i * 7 % 5)).collect();
        let new: Vec<u64> = (0..20).map(|i| 90 + 83 * (i * 3 % 4)).collect();
        let timed = raced(&old, &new);
        let [old, new] = [0, 1].map(|which| timed.results[which].trimmed_mean.unwrap());
        assert!((timed.versus[0].wall.unwrap().ratio - new / old).abs() < 1e-9);
    }

    #[test]
    fn results_have_the_figures_that_hyperfine_exports() {
        let result = &raced(&[10, 20, 30, 40, 50], &[1; 5]).results[0];
        let figures = [result.mean, result.median, result.stddev.unwrap()];
        for (actual, expected) in figures.into_iter().zip([0.03, 0.03, 0.015_811_388]) {
            assert!((actual - expected).abs() < 1e-8);
        }
        assert_eq!((result.min, result.max), (0.01, 0.05));
    }

    #[test]
    fn user_mode_is_told_from_the_kernel_by_enough_ticks() {
        for (runs, ms, user) in [(100, 2, None), (4, 20, None), (5, 20, Some(0.02))] {
            let mut contender = contender(None, false, &vec![100; runs]);
            for run in &mut contender.runs {
                (run.user_ns, run.system_ns) = (ms * 1_000_000, ms * 1_000_000);
            }
            let result = result(&[], &contender);
            assert_eq!((result.user, result.system), (user, user), "{runs} of {ms}");
        }
    }
}
