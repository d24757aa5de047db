//! Title and notes of the table of a profile: the command, the kernel's accounting, the tracer, doubts.

use crate::conditions::tracers;
use crate::numbers::{TimeUnit, counted, duration, percent, size, thousands, three_figures};
use analysis::attribute::advice::is_wrapper;
use indexmap::IndexMap;
use itertools::Itertools;
use model::prose::{more, some};
use model::{By, CallCount, Ending, ProcessPath, Profile, sum_by_key};
use stats::share_interval;
use std::cmp::Reverse;

/// The command, the name of the log, or the target.
pub fn title(profile: &Profile) -> String {
    match (&profile.source, profile.command.is_empty()) {
        (_, false) => profile.command.join(" "),
        (Some(source), true) => source.title.clone(),
        (None, true) => profile.scope.clone().unwrap_or_default(),
    }
}

/// The note for an empty table, with the command that records what it lacks; `None` if the table is clear without one.
pub fn none(profile: &Profile, by: By) -> Option<String> {
    let (what, flag) = match by {
        By::Call | By::Class | By::Process | By::Cgroup | By::Section => return None,
        By::Error => return Some("No call failed.".to_string()),
        By::Thread => ("threads", "--by thread"),
        By::Path => ("paths", "--paths"),
        By::Descriptor => ("descriptors", "--descriptors"),
    };
    let command = match profile.command.is_empty() {
        true => "COMMAND".to_string(),
        false => profile.command.join(" "),
    };
    Some(format!(
        "This profile has no {what}: no call ended that had one, or they were not recorded. To record them: syscost trace {flag} -o \
         FILE -- {command}"
    ))
}

/// A note on calls that did not fit into the table of paths and descriptors.
pub fn dropped(profile: &Profile) -> Option<String> {
    let calls = profile.objects_dropped.filter(|calls| *calls > 0)?;
    Some(format!(
        "{} are not attributed to objects, because the table was full.",
        counted(calls, "more call")
    ))
}

/// The words of classes.
pub const CLASSES: &str =
    "Classes: 'file 64' is a file and at least 64 bytes, below 128; 'depth 2' a path of two names.";

/// Notes on the columns and rows of a table `by` something.
pub fn of_rows(profile: &Profile, by: By) -> Vec<String> {
    if profile.samples().is_some() {
        let note = "% CPU: the share of samples that found a CPU there; ±: its 95% interval. Time off the CPU is not sampled.";
        let bias = "For calls shorter than a microsecond, up to a third of the share is attributed to user mode; without '--sampled' they are timed.";
        return vec![note.to_string(), bias.to_string()];
    }
    let mut notes = Vec::new();
    if by == By::Class {
        notes.push(CLASSES.to_string());
    }
    if matches!(by, By::Path | By::Descriptor) {
        notes.extend(dropped(profile));
    }
    let over = profile
        .all_calls()
        .elapsed_ns()
        .zip(profile.usage.wall_ns)
        .is_some_and(|(all, wall)| all > wall && by != By::Error);
    if over {
        notes.push("% wall: time between entry and return, summed over threads; above 100, several were in calls at once.".to_string());
    }
    notes
}

/// The answer of a sampled profile: the largest shares of the CPU time, with their intervals, and the calls with the longest waits.
pub fn sampled_answer(profile: &Profile) -> Vec<String> {
    let all = profile.samples().unwrap_or(0);
    let totals = profile.totals(By::Call);
    let counts = totals.iter().map(|total| &total.count);
    let on_cpus = counts
        .clone()
        .filter_map(|count| Some((count, count.samples.filter(|samples| *samples > 0)?)))
        .sorted_by_key(|(_, samples)| Reverse(*samples));
    let on_cpus = on_cpus.map(|(count, samples)| {
        let [low, high] = share_interval(samples, all).map(|end| percent(100.0 * end));
        format!("{} {low} to {high}%", count.call.trim_matches(['[', ']']))
    });
    let waits = counts
        .filter_map(|count| Some((count, count.blocked_ns.filter(|ns| *ns >= LEAST_WAIT_NS)?)))
        .sorted_by_key(|(_, ns)| Reverse(*ns));
    let waits = waits.map(|(count, ns)| format!("{} {}", count.call, duration(ns as f64 / 1e9)));
    let titles = [
        format!("Most CPU time, by {}", counted(all, "sample")),
        "Longest waits, summed over threads".to_string(),
    ];
    let parts = [
        on_cpus.take(MOST_PARTS).join("; "),
        waits.take(MOST_PARTS).join("; "),
    ];
    let lines = titles.iter().zip(parts);
    lines
        .filter(|(_, parts)| !parts.is_empty())
        .map(|(title, parts)| format!("{title}: {parts}."))
        .collect()
}

/// Notes on the profile as a whole, with warnings last.
pub fn notes(profile: &Profile) -> Vec<String> {
    let mut notes = accounting(profile);
    notes.extend(ranges(profile));
    notes.extend(sampled(profile));
    notes.extend(incomplete(profile));
    let warnings = profile.warnings.iter().cloned().chain(doubts(profile));
    let warnings = warnings.chain(tracers(&profile.host));
    notes.extend(warnings.map(|text| format!("Warning: {text}")));
    notes
}

fn sampled(profile: &Profile) -> Option<String> {
    let calls = profile.stacks.iter().map(|stack| stack.calls).sum::<u64>();
    let sampled = profile.stacks_sampled.filter(|sampled| *sampled < calls)?;
    Some(format!(
        "Stacks were recorded for {} of {}; the others are split in proportion.",
        thousands(sampled as f64),
        counted(calls, "call")
    ))
}

/// `The first of 10 runs; calls whose number varies: futex 10 .. 14; ...`
fn ranges(profile: &Profile) -> Option<String> {
    let ranges = profile.ranges();
    let (same, vary): (Vec<_>, Vec<_>) =
        ranges.iter().partition(|(_, (least, most))| least == most);
    let runs = 1 + profile.repeats.len();
    if runs == 1 {
        return None;
    }
    let names = vary
        .iter()
        .map(|(call, (least, most))| format!("{call} {least} .. {most}"));
    let vary = if vary.is_empty() {
        "none".to_string()
    } else {
        some(names, 12)
    };
    Some(format!(
        "The first of {runs} runs; calls whose number varies: {vary}; the same in every run: {}.",
        counted(same.len() as u64, "call")
    ))
}

/// Only the warnings, for formats without notes.
pub fn cautions(profile: &Profile) -> Vec<String> {
    [
        incomplete(profile).into_iter().collect(),
        profile.warnings.clone(),
        doubts(profile),
        tracers(&profile.host).collect(),
    ]
    .concat()
}

/// The kernel's accounting of the whole command, and the tracer with its overhead.
pub fn accounting(profile: &Profile) -> Vec<String> {
    [
        times(profile),
        counts(profile),
        ended(profile),
        throttled(profile),
        tracer(profile),
        source(profile),
        unsplit(profile),
        unwoken(profile),
    ]
    .into_iter()
    .flatten()
    .chain(programs(profile, MOST_PATHS))
    .chain(tree(profile, MOST_PATHS))
    .collect()
}

/// A caution about a profile read from another tracer, such as times that its stops inflate.
pub fn source(profile: &Profile) -> Option<String> {
    let note = &profile.source.as_ref()?.note;
    (!note.is_empty()).then(|| note.clone())
}

fn throttled(profile: &Profile) -> Option<String> {
    let limits = profile.usage.throttled.as_ref()?;
    let for_s = duration(limits.throttled_ns as f64 / 1e9);
    Some(format!(
        "Waiting for a CPU: {}, for {for_s} summed over CPUs.",
        limits.words()
    ))
}

const MOST_PATHS: usize = 12;
const MOST_PARTS: usize = 3;
const LEAST_WAIT_NS: u64 = 1_000_000;

/// Who started whom, unless one process did everything: `Processes: make > sh x3: 1,204 calls (31%); make > cc: 900 calls (23%).`
pub fn tree(profile: &Profile, most: usize) -> Option<String> {
    if profile.tree.len() < 2 {
        return None;
    }
    let chains = chains(&profile.tree);
    let mut calls: Vec<u64> = chains.values().map(|chain| chain.calls).collect();
    let all: u64 = calls.iter().sum();
    calls.sort_unstable_by(|a, b| b.cmp(a));
    let least = calls.get(most - 1).copied().unwrap_or(0);
    let shown = chains
        .iter()
        .filter(|(_, chain)| chain.calls >= least)
        .take(most);
    let left_out = chains.len().saturating_sub(most);
    let left_out = more(left_out, "more, with fewer calls, are in the profile");
    let mut parts = shown
        .map(|(names, chain)| {
            let repeats = match chain.repeats {
                0 => String::new(),
                repeats => format!(" ({})", counted(repeats, "more shell")),
            };
            let times = if chain.processes > 1 {
                format!(" x{}", thousands(chain.processes as f64))
            } else {
                String::new()
            };
            let share = percent(100.0 * chain.calls as f64 / all.max(1) as f64);
            format!(
                "{}{repeats}{times}: {} ({share}%)",
                shortened(names),
                counted(chain.calls, "call")
            )
        })
        .chain(left_out);
    Some(format!("Processes: {}.", parts.join("; ")))
}

/// From so many names on, a chain of processes is long.
const LONG: usize = 6;

#[derive(Default)]
struct Chain {
    processes: u64,
    calls: u64,
    repeats: u64,
}

/// The paths of a tree. If one is long, shells of scripts that start scripts are named once, and paths that differ by them are one.
fn chains(tree: &[ProcessPath]) -> IndexMap<Vec<&str>, Chain> {
    let is_long = tree.iter().any(|path| path.names.len() >= LONG);
    let mut chains: IndexMap<Vec<&str>, Chain> = IndexMap::new();
    for path in tree {
        let mut names: Vec<&str> = Vec::new();
        for name in path.names.iter().map(String::as_str) {
            if !(is_long && is_wrapper(name) && names.contains(&name)) {
                names.push(name);
            }
        }
        let repeats = (path.names.len() - names.len()) as u64;
        let chain = chains.entry(names).or_default();
        // A process that executes another program counts under both names.
        chain.processes = chain.processes.max(path.processes);
        chain.calls += path.calls;
        chain.repeats = chain.repeats.max(repeats);
    }
    chains
}

pub const PROGRAMS: &str = "CPU time by program";

/// `CPU time by program: cc1 1.20 s (200 processes), sh 0.30 s.`, unless one process did everything.
pub fn programs(profile: &Profile, most: usize) -> Option<String> {
    if profile.tree.len() < 2 {
        return None;
    }
    let times = profile.groups.iter().flat_map(|group| {
        let times = [group.user_ns, group.system_ns, group.cpu_ns];
        times.map(|ns| (group.name.as_str(), ns.unwrap_or(0)))
    });
    let programs = sum_by_key(times).into_iter().filter(|(_, ns)| *ns > 0);
    let programs = programs.sorted_by_key(|(_, ns)| Reverse(*ns));
    let programs = programs.map(|(name, ns)| {
        let paths = profile.tree.iter();
        let paths = paths.filter(|path| path.names.last().is_some_and(|last| last == name));
        let processes = match paths.map(|path| path.processes).sum() {
            0 | 1 => String::new(),
            several => format!(" ({})", counted(several, "process")),
        };
        format!("{name} {}{processes}", duration(ns as f64 / 1e9))
    });
    match some(programs, most) {
        none if none.is_empty() => None,
        programs => Some(format!("{PROGRAMS}: {programs}.")),
    }
}

/// `make > .. > sh > cc > cc1`
fn shortened(names: &[&str]) -> String {
    const LAST: usize = 4;
    match names {
        [first, inner @ ..] if inner.len() >= LONG => {
            format!("{first} > .. > {}", inner[inner.len() - LAST..].join(" > "))
        }
        names => names.join(" > "),
    }
}

fn times(profile: &Profile) -> Option<String> {
    let usage = &profile.usage;
    let parts = [
        ("wall", usage.wall_ns),
        ("user", usage.user_ns),
        ("system", usage.system_ns),
    ];
    let unit = TimeUnit::for_seconds(
        parts.iter().filter_map(|(_, ns)| *ns).max().unwrap_or(0) as f64 / 1e9,
    );
    let known = parts.iter().filter_map(|(name, ns)| match (*ns)? {
        0 => Some(format!("{name} less than a clock tick")),
        ns => Some(format!("{name} {}", unit.with_name(ns as f64 / 1e9))),
    });
    joined(known)
}

fn counts(profile: &Profile) -> Option<String> {
    let usage = &profile.usage;
    let known = [
        (usage.processes, "process"),
        (usage.programs, "program"),
        (usage.threads, "more thread"),
        (usage.minor_faults, "minor fault"),
        (usage.major_faults, "major fault"),
        (usage.voluntary_switches, "voluntary switch"),
        (usage.involuntary_switches, "involuntary switch"),
    ]
    .into_iter()
    .filter_map(|(count, what)| {
        let count = count.filter(|count| *count > 0)?;
        Some(counted(count, what))
    });
    let rss = usage
        .peak_rss_kib
        .map(|kib| format!("peak RSS {}B", size(kib as f64 * 1024.0)));
    joined(known.chain(rss))
}

fn ended(profile: &Profile) -> Option<String> {
    match profile.ending? {
        Ending::Exited(0) => None,
        Ending::Exited(status) => Some(format!("The command exited with status {status}.")),
        Ending::Signalled(signal) => Some(format!("The command was killed by signal {signal}.")),
    }
}

/// `Tracer: bpf (...); it added about 0.007 s`; `None` for logs, which name no tracer.
pub fn tracer(profile: &Profile) -> Option<String> {
    let facts = &profile.tracer;
    let detail = if facts.detail.is_empty() {
        String::new()
    } else {
        format!(" ({})", facts.detail)
    };
    let name = Some(&facts.kind).filter(|kind| !kind.is_empty())?;
    let added = added(profile)
        .map(|added| format!("; it added {added}"))
        .unwrap_or_default();
    let within = match facts.kind.as_str() {
        "ptrace" if !facts.priced_by.is_empty() => {
            " Wall time includes its stops. CPU time does not: the time of calls is estimated from their cost here after the run."
        }
        "ptrace" | "seccomp" => " Wall and system time include its stops.",
        _ => "",
    };
    Some(format!("Tracer: {name}{detail}{added}.{within}"))
}

/// `about 0.007 s: 50,138 calls x 132 ns`, `an unknown time: the machine was busy (-20 .. 700 ns a call)`
pub fn added(profile: &Profile) -> Option<String> {
    let facts = &profile.tracer;
    let calls = profile.all_calls().calls;
    let range = facts
        .added_range_ns
        .map(|ends| ends.map(three_figures).join(" .. "));
    let Some(ns) = facts.added_per_call_ns else {
        return range
            .map(|range| format!("an unknown time: the machine was busy ({range} ns a call)"));
    };
    let range = range.map_or_else(String::new, |range| format!(" ({range} ns each)"));
    let total_s = facts
        .added_total_ns
        .map_or(calls as f64 * ns, |total| total as f64)
        / 1e9;
    Some(format!(
        "about {}: {} x {} ns{range}",
        duration(total_s),
        counted(calls, "call"),
        three_figures(ns)
    ))
}

/// Logs have only elapsed times.
fn unsplit(profile: &Profile) -> Option<String> {
    let elapsed = profile.all_calls().elapsed_ns?;
    Some(format!(
        "For {} inside calls it is not known whether they ran or waited: only % wall and {} include them.",
        duration(elapsed as f64 / 1e9),
        mean(profile)
    ))
}

/// The title of the mean of times whose split is not known.
pub fn mean(profile: &Profile) -> &'static str {
    if profile.is_table() {
        "us/call"
    } else {
        "elapsed us/call"
    }
}

/// Older tracers saw no wake-ups.
fn unwoken(profile: &Profile) -> Option<String> {
    if !profile.all_calls().is_blocked_until_it_ran() {
        return None;
    }
    Some(
        "Blocked time includes the wait for a CPU after the wake-up: an older version traced this."
            .to_string(),
    )
}

/// Whether counts are lower bounds, or those of the time until tracing ended.
pub fn incomplete(profile: &Profile) -> Option<String> {
    let lost = lost_events(profile.tracer.lost);
    if profile.complete || lost.is_some() {
        return lost;
    }
    let threads = profile.threads.iter();
    let open = threads.filter(|thread| !thread.ended && thread.open.is_some());
    let ended = "Tracing ended before the workload did";
    Some(match open.count() as u64 {
        0 => format!("{ended}."),
        open => format!("{ended}: {} had not returned.", counted(open, "call")),
    })
}

/// A warning if the tracer lost events.
pub fn lost_events(lost: u64) -> Option<String> {
    if lost == 0 {
        return None;
    }
    Some(format!(
        "INCOMPLETE: lost up to {}; all counts are lower bounds.",
        counted(lost, "event")
    ))
}

/// The file was edited, or its tracer has a bug.
pub fn doubts(profile: &Profile) -> Vec<String> {
    fn impossible(count: &CallCount) -> bool {
        [count.failures(), count.unfinished, count.untimed]
            .iter()
            .any(|part| *part > count.calls)
    }

    profile
        .totals(By::Call)
        .iter()
        .map(|total| &total.count)
        .filter(|count| impossible(count))
        .map(|count| {
            format!(
                "{}: more failures, unfinished or untimed calls than calls",
                count.call
            )
        })
        .collect()
}

fn joined(mut parts: impl Iterator<Item = String>) -> Option<String> {
    let text = parts.join(", ");
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Usage;

    #[test]
    fn a_long_chain_of_scripts_names_their_shell_once() {
        let path = |names: &str, processes, calls| ProcessPath {
            names: names.split(' ').map(str::to_string).collect(),
            processes,
            calls,
        };
        let mut profile = Profile {
            tree: vec![
                path("a bash", 1, 10),
                path("a bash b", 1, 20),
                path("a bash b bash", 3, 30),
                path("a bash b bash c bash python", 1, 40),
            ],
            ..Profile::default()
        };
        let expected = "Processes: a > bash: 10 calls (10%); a > bash > b (1 more shell) x3: 50 calls (50%); \
                        a > bash > b > c > python (2 more shells): 40 calls (40%).";
        assert_eq!(tree(&profile, 12).as_deref(), Some(expected));
        profile.tree.pop();
        let text = tree(&profile, 12).unwrap();
        assert!(
            text.contains("a > bash > b > bash x3: 30 calls (50%)"),
            "{text}"
        );
    }

    #[test]
    fn a_sampled_profile_has_an_answer_with_intervals() {
        let count = |call: &str, samples, blocked_ns| CallCount {
            call: call.into(),
            samples: Some(samples),
            blocked_ns: Some(blocked_ns),
            ..CallCount::default()
        };
        let calls = vec![
            count("[user mode]", 80, 0),
            count("read", 20, 2_000_000_000),
            count("close", 0, 10),
        ];
        let mut profile = model::fixtures::profile(calls);
        profile.tracer.sampled_hz = Some(499);
        let expected = [
            "Most CPU time, by 100 samples: user mode 71 to 87%; read 13 to 29%.",
            "Longest waits, summed over threads: read 2.00 s.",
        ];
        assert_eq!(sampled_answer(&profile), expected);
    }

    #[test]
    fn no_time_is_shown_as_zero() {
        let profile = Profile {
            usage: Usage {
                wall_ns: Some(2_000_000),
                user_ns: Some(1_000_000),
                system_ns: Some(0),
                ..Usage::default()
            },
            ..Profile::default()
        };
        assert_eq!(
            times(&profile).unwrap(),
            "wall 2.000 ms, user 1.000 ms, system less than a clock tick"
        );
    }
}
