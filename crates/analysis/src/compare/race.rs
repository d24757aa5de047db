//! What each command of a race took, which of them differ certainly, and what of their system calls changed.
//!
//! Commands are compared round by round, so that what slowed a whole round down cancels; rounds that were disturbed for one of
//! them are left out by the trimmed mean. In environments, each one's own start-up is subtracted before (`net`).

mod cause;
mod net;

use super::judge::marked;
use super::profiles::{ProfileColumn, ProfileComparison, ProfileRow, Span, compare_profiles};
use super::verdict::{Ratio, RatioOf};
pub use cause::{Cause, CauseOf};
use cause::{LEAST, Side, Sides, are_faults_apart, causes, seconds, with_waits};
use model::{Contender, InEnvironment, JsonDocument, Race, TimedRun};
use net::{Net, in_seconds, net};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use stats::{BetweenRuns, change_points, median, next_trimmed_ratio, trimmed};
use std::collections::BTreeMap;

/// Changes of the wall time by a smaller factor are not named, and blocks of rounds that are searched for them.
const LASTING: f64 = 1.5;
const MOST_BLOCKS: usize = 60;

/// What `syscost race` prints and writes: commands, or one command in several environments, timed in turn.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct RaceFound {
    /// False if it was interrupted.
    pub complete: bool,
    /// Differences up to this share are called unchanged.
    pub margin: f64,
    /// Rounds: in each, every command was timed once.
    pub rounds: usize,
    /// The seed of the order of commands within rounds.
    pub seed: u64,
    /// Whether each execution started in a fresh copy of the working directory.
    pub fresh_copies: bool,
    /// A process that does nothing but start has at least this much memory; smaller peaks cannot be seen.
    pub least_memory_byte: u64,
    /// One for each command. Names and units of its fields are those of hyperfine's exports where it has them: seconds.
    pub results: Vec<RaceResult>,
    /// One for each command that is compared with another.
    pub versus: Vec<Versus>,
}

impl JsonDocument for RaceFound {
    const SCHEMA: &'static str = "syscost.race/1";
}

/// What one command took, in seconds.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct RaceResult {
    /// As it was asked for, with the values of its parameters.
    pub command: String,
    /// Its parameters; absent without.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub parameters: BTreeMap<String, String>,
    /// What it took in an environment, if environments are compared.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub inside: Option<InsideResult>,
    /// The mean of the wall time.
    pub mean: f64,
    /// Its standard deviation; null for one round.
    pub stddev: Option<f64>,
    /// The median.
    pub median: f64,
    /// The mean without the highest and the lowest fifth; null for fewer than 5 rounds.
    pub trimmed_mean: Option<f64>,
    /// The lower end of its 95% interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// Mean time in user mode; null if the kernel's accounting does not include the command: `cpu_times`, `memory_usage_byte` and `page_faults` are then empty.
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

/// What a command took in an environment, in seconds. The other times of a result include the environment's start-up.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct InsideResult {
    /// Its name.
    pub environment: String,
    /// What a program that does nothing takes there more than natively, and the ends of its 95% interval; null for fewer than 5 rounds.
    pub start_up: Option<[f64; 3]>,
    /// Wall time of the first execution there, before the rounds.
    #[serde(default)]
    pub first: Option<f64>,
    /// Wall time without the start-up.
    pub net: Option<[f64; 3]>,
    /// User and system time without that of the start-up; null if the kernel's accounting does not include the command.
    pub net_cpu: Option<[f64; 3]>,
    /// Wall times of the program that does nothing, in all rounds.
    pub empty_times: Vec<f64>,
    /// Its peak memory, the median: smaller peaks of the command cannot be seen.
    pub empty_memory_byte: u64,
}

/// A command compared with another, both by their index in `results`. In an environment, `net` and `net_cpu` are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Versus {
    /// The command that it is compared with.
    pub base: usize,
    /// The command.
    pub head: usize,
    /// The head's wall time over the base's; null for fewer than 5 rounds.
    pub wall: Option<Ratio>,
    /// The same of user and system time together.
    pub cpu: Option<Ratio>,
    /// The same of peak memory.
    pub memory: Option<Ratio>,
    /// Wall time of the head minus that of the base, in seconds, with the ends of its 95% interval.
    pub difference: Option<[f64; 3]>,
    /// The system calls of base and head that differ, in number or in time; null if those of one were not counted.
    pub calls: Option<ProfileComparison>,
    /// What a certain difference in wall time consists of, the largest part first.
    #[serde(default)]
    pub causes: Vec<Cause>,
    /// Page faults of base and head, the medians, where they differ by more than 5%.
    pub page_faults: Option<[u64; 2]>,
}

pub fn race(race: &Race, margin: f64) -> RaceFound {
    let heads = race
        .contenders
        .iter()
        .enumerate()
        .filter_map(|(head, own)| Some((own.base?, head)));
    RaceFound {
        complete: race.complete,
        margin,
        rounds: race.contenders.first().map_or(0, |own| own.runs.len()),
        seed: race.seed,
        fresh_copies: race.is_copied,
        least_memory_byte: race.least_rss_kib * 1024,
        results: race
            .contenders
            .iter()
            .map(|own| result(&race.contenders, own))
            .collect(),
        versus: heads
            .map(|(base, head)| versus(&race.contenders, base, head, margin))
            .collect(),
    }
}

fn result(all: &[Contender], own: &Contender) -> RaceResult {
    let of = |value: fn(&TimedRun) -> u64| seconds_of(&own.runs, value);
    let accounted = if own.is_accounted() {
        &own.runs[..]
    } else {
        &[]
    };
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let times = of(|run| run.wall_ns);
    let average = mean(&times);
    let squares: f64 = times.iter().map(|time| (time - average).powi(2)).sum();
    let trimmed = trimmed(times.clone()).map(|own| own.with_ends());
    let end = |which: usize| trimmed.map(|ends| ends[which]);
    RaceResult {
        command: own.command.clone(),
        parameters: own.parameters.clone(),
        inside: own
            .environment
            .as_ref()
            .map(|there| inside(there, net(all, own))),
        mean: average,
        stddev: (times.len() > 1).then(|| (squares / (times.len() as f64 - 1.0)).sqrt()),
        median: median(times.clone()).unwrap_or(f64::NAN),
        trimmed_mean: end(0),
        low: end(1),
        high: end(2),
        user: own.is_accounted().then(|| mean(&of(|run| run.user_ns))),
        system: own.is_accounted().then(|| mean(&of(|run| run.system_ns))),
        min: times.iter().copied().fold(f64::INFINITY, f64::min),
        max: times.iter().copied().fold(0.0, f64::max),
        cpu_times: seconds_of(accounted, TimedRun::cpu_ns),
        memory_usage_byte: accounted
            .iter()
            .map(|run| run.peak_rss_kib * 1024)
            .collect(),
        page_faults: accounted.iter().map(|run| run.faults).collect(),
        exit_codes: own.runs.iter().map(|run| run.status).collect(),
        system_calls: own
            .counted
            .as_ref()
            .ok()
            .map(|profile| profile.all_calls().calls),
        not_counted: own.counted.as_ref().err().cloned(),
        left_running: own.left_running.iter().cloned().collect(),
        changed: changed(all, own, &times),
        times,
    }
}

/// A command that fills a cache has two times, and the mean is neither. Changes are those relative to the other commands, as what
/// these do at the same time is the machine's, and of its own time.
fn changed(all: &[Contender], own: &Contender, times: &[f64]) -> Option<Changed> {
    let others = all.iter().filter(|other| !std::ptr::eq(*other, own));
    let others: Vec<Vec<f64>> = others
        .map(|other| seconds_of(&other.runs, |run| run.wall_ns))
        .collect();
    let machine = |round: usize| {
        median(
            others
                .iter()
                .filter_map(|other| other.get(round).copied())
                .collect(),
        )
    };
    let relative = times
        .iter()
        .enumerate()
        .map(|(round, time)| time / machine(round).unwrap_or(1.0));
    let relative: Vec<f64> = relative.collect();
    // Finding changes takes quadratic time: blocks of rounds, by their medians.
    let length = times.len().div_ceil(MOST_BLOCKS).max(1);
    let blocks: Vec<f64> = relative
        .chunks(length)
        .filter_map(|block| median(block.to_vec()))
        .map(f64::ln)
        .collect();
    let at = |block: usize| {
        let rounds = block * length;
        let sides =
            |times: &[f64]| [&times[..rounds], &times[rounds..]].map(|side| median(side.to_vec()));
        let ([before, after], [was, is]) = (sides(times), sides(&relative));
        let found = Changed {
            rounds,
            before: before?,
            after: after?,
        };
        let size = (found.after / found.before)
            .ln()
            .abs()
            .min((is? / was?).ln().abs());
        (size > LASTING.ln()).then_some((size, found))
    };
    let all = change_points(&blocks).into_iter().filter_map(at);
    all.max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, found)| found)
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
        start_up: in_seconds(&net.start_up.unwrap_or_default()),
        net: in_seconds(&net.wall),
        net_cpu: net.cpu.and_then(|cpu| in_seconds(&cpu)),
        empty_times: seconds_of(&there.empty, |run| run.wall_ns),
        empty_memory_byte: Span::of(peaks).median,
    }
}

fn versus(all: &[Contender], base: usize, head: usize, margin: f64) -> Versus {
    let (old, new) = (&all[base], &all[head]);
    let is_inside = new.environment.is_some();
    let times = [old, new].map(|own| net(all, own));
    let memory = |own: &Contender| {
        own.runs
            .iter()
            .map(|run| run.peak_rss_kib as f64)
            .collect::<Vec<_>>()
    };
    let memory = (!is_inside)
        .then(|| of_logs(&memory(new), &memory(old)))
        .flatten();
    // What is left after a subtraction may be below 0.
    let ratio = |new: &[f64], old: &[f64]| {
        if is_inside {
            next_trimmed_ratio(new, old)
        } else {
            of_logs(new, old)
        }
    };
    let cpu = times[1]
        .cpu
        .as_ref()
        .zip(times[0].cpu.as_ref())
        .and_then(|(new, old)| ratio(new, old));
    let found = [ratio(&times[1].wall, &times[0].wall), cpu, memory];
    let of = |found: BetweenRuns| (found, RatioOf::time(found.ratio()));
    let [wall, cpu, memory] = marked(found.map(|found| found.map(of)), margin);
    let differences: Vec<f64> = times[1]
        .wall
        .iter()
        .zip(&times[0].wall)
        .map(|(new, old)| new - old)
        .collect();
    let mut found = Versus {
        base,
        head,
        wall,
        cpu,
        memory,
        difference: in_seconds(&differences),
        causes: Vec::new(),
        calls: None,
        page_faults: if is_inside {
            None
        } else {
            page_faults(old, new)
        },
    };
    found.explain([old, new], &times);
    found
}

fn of_logs(new: &[f64], old: &[f64]) -> Option<BetweenRuns> {
    let logs = new.iter().zip(old).map(|(new, old)| new.ln() - old.ln());
    trimmed(logs.collect()).map(stats::Trimmed::as_log_ratio)
}

fn page_faults(old: &Contender, new: &Contender) -> Option<[u64; 2]> {
    let median = |own: &Contender| Span::of(own.runs.iter().map(|run| run.faults).collect()).median;
    let both = [old, new].map(median);
    are_faults_apart(both[0], both[1]).then_some(both)
}

impl RaceFound {
    pub fn grown(&self, limit: f64) -> Vec<usize> {
        let grown = |versus: &&Versus| versus.wall.is_some_and(|wall| wall.low > 1.0 + limit);
        self.versus
            .iter()
            .filter(grown)
            .map(|versus| versus.head)
            .collect()
    }
}

impl RaceResult {
    pub fn name(&self) -> &str {
        self.inside
            .as_ref()
            .map_or(&self.command, |inside| &inside.environment)
    }
}

impl Versus {
    pub fn changed(&self) -> &[ProfileRow] {
        self.calls.as_ref().map_or(&[], |calls| &calls.rows)
    }

    fn explain(&mut self, both: [&Contender; 2], times: &[Net; 2]) {
        let has_others = both.iter().any(|own| {
            own.environment
                .as_ref()
                .is_some_and(|there| there.has_others)
        });
        self.calls = all_calls(both);
        let [base, head] = [0, 1].map(|which| Side::of(both[which], &times[which], has_others));
        let is_certain = self.wall.is_some_and(|wall| wall.mark.is_change());
        let difference = self.difference.filter(|_| is_certain);
        let Some(((base, head), [difference, ..])) = base.zip(head).zip(difference) else {
            self.calls
                .iter_mut()
                .for_each(|calls| calls.keep_differing(0.0, |_| false));
            return;
        };
        let sides = Sides::of(self.changed(), [base, head]);
        let weight = |row: &ProfileRow| seconds(row, &sides).unwrap_or(0.0) / difference;
        self.causes = causes(self.changed(), &sides, difference);
        if let Some(calls) = &mut self.calls {
            calls.keep_differing(0.0, |row| weight(row).abs() >= LEAST);
            calls
                .rows
                .sort_by(|a, b| weight(b).abs().total_cmp(&weight(a).abs()));
        }
    }
}

fn all_calls(both: [&Contender; 2]) -> Option<ProfileComparison> {
    let column = |label: &str, own: &Contender| {
        Some(ProfileColumn::new(
            label,
            &with_waits(own.counted.as_ref().ok()?),
        ))
    };
    Some(compare_profiles(
        &[column("before", both[0])?, column("after", both[1])?],
        0,
        |_| true,
    ))
}

#[cfg(test)]
mod tests {
    use super::super::verdict::Mark;
    use super::*;
    use model::fixtures::profile;
    use std::collections::BTreeSet;

    fn contender(base: Option<usize>, wall_ms: &[u64]) -> Contender {
        let run = |ms: &u64| TimedRun {
            wall_ns: ms * 1_000_000,
            user_ns: 1_000_000,
            system_ns: 1_000_000,
            peak_rss_kib: 4096,
            faults: 100,
            status: 0,
        };
        Contender {
            command: "x".into(),
            shell: false,
            parameters: BTreeMap::new(),
            base,
            environment: None,
            left_running: BTreeSet::new(),
            runs: wall_ms.iter().map(run).collect(),
            counted: Ok(profile(Vec::new())),
        }
    }

    fn found(old: &[u64], new: &[u64]) -> RaceFound {
        let both = Race {
            complete: true,
            contenders: vec![contender(None, old), contender(Some(0), new)],
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
        let both = found(&changing, &scattering).results;
        let changed = both[0].changed.unwrap();
        assert_eq!((changed.rounds, changed.before), (12, 0.051));
        assert_eq!(both[1].changed, None);
        let many: Vec<u64> = (0..6001).map(|i| if i < 3000 { 50 } else { 2 }).collect();
        let both = found(&many, &[100; 6001]).results;
        assert!(both[0].changed.unwrap().rounds.abs_diff(3000) <= 101);
        let twice: Vec<u64> = changing.iter().map(|ms| 2 * ms).collect();
        let both = found(&changing, &twice).results;
        let has_changed = both.iter().any(|own| own.changed.is_some());
        assert!(!has_changed, "the machine changed");
    }

    #[test]
    fn a_drift_of_the_machine_cancels_and_a_disturbed_round_does_not_count() {
        let old: Vec<u64> = (0..12).map(|i| 100 + 10 * i).collect();
        let mut new: Vec<u64> = old.iter().map(|ms| ms / 2).collect();
        new[4] *= 9;
        let versus = &found(&old, &new).versus[0];
        let wall = versus.wall.unwrap();
        assert!(
            (wall.ratio - 0.5).abs() < 1e-3 && wall.high < 0.51 && wall.mark == Mark::Faster,
            "{wall:?}"
        );
        assert_eq!(versus.cpu.unwrap().mark, Mark::Unchanged);
        let same = &found(&old, &old).versus[0];
        assert_eq!(same.wall.unwrap().mark, Mark::Unchanged);
        assert_eq!(found(&old[..4], &new[..4]).versus[0].wall, None);
    }

    #[test]
    fn results_have_the_figures_that_hyperfine_exports() {
        let result = &found(&[10, 20, 30, 40, 50], &[1; 5]).results[0];
        let figures = [result.mean, result.median, result.stddev.unwrap()];
        for (found, expected) in figures.into_iter().zip([0.03, 0.03, 0.015_811_388]) {
            assert!((found - expected).abs() < 1e-8);
        }
        assert_eq!((result.min, result.max), (0.01, 0.05));
    }
}
