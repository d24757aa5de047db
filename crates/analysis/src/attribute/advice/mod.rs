//! Advice with the seconds that it would save: rules over the calls of each process.
//!
//! Each kind of repetition is looked for by its item: the path that is opened again, the process or sync for each record. A rule applies
//! only if that takes a share of the wall time that matters (`Rule::least`), and claims no more than the profile shows: costs are the
//! program's own (`Part::left_out`). Rules overlap, so savings do not add up. A rule is a file.

mod caller;
mod connection_per_item;
mod cpu_quota;
mod delayed_acks;
mod empty_polls;
mod fork_for_exec;
mod futex_traffic;
mod herd;
mod large_poll_sets;
mod locks;
mod memory_again;
mod open_again;
mod output;
mod paths;
mod process_per_item;
mod same_answer;
mod search;
mod small_file_maps;
mod small_transfers;
mod sync_per_record;
mod temporary_files;
mod thread_per_item;
mod tree;
mod wake_ups;
mod workload;

pub use output::{Advice, PathUse, Time};
pub use process_per_item::is_wrapper;

use super::spent::{PartKind, Spent};
use super::stops;
use caller::{Caller, Rule, is_one_of, s};
use model::Profile;
use workload::Workload;

// The factors in the rules were fitted to programs with the fault and are checked by bench/faults/check.
const RULES: &[&Rule] = &[
    &open_again::RULE,
    &search::RULE,
    &same_answer::RULE,
    &process_per_item::RULE,
    &fork_for_exec::RULE,
    &thread_per_item::RULE,
    &connection_per_item::RULE,
    &sync_per_record::RULE,
    &temporary_files::RULE,
    &locks::RULE,
    &small_file_maps::RULE,
    &memory_again::RULE,
    &small_transfers::RULE,
    &empty_polls::RULE,
    &large_poll_sets::RULE,
    &delayed_acks::RULE,
    &herd::RULE,
    &wake_ups::RULE,
    &futex_traffic::RULE,
];

/// The greatest saving first; where savings are not known, those of most calls. `null_call_ns` is what entering the kernel takes, `time`
/// where the time went.
pub fn advice(profile: &Profile, null_call_ns: Option<f64>, time: &Spent) -> Vec<Advice> {
    let scale = Scale::new(profile, null_call_ns, time);
    let workload = Workload::new(profile);
    let callers: Vec<Caller> = workload.callers(null_call_ns).collect();
    let mut candidates: Vec<(&Caller, Advice)> = Vec::new();
    for rule in RULES {
        for caller in &callers {
            let all = (rule.find)(caller).into_iter();
            // A program's author cannot change how its language's runtime schedules threads.
            let theirs = all.filter(|advice| !caller.is_scheduler(&advice.names));
            let worded = theirs.map(|advice| worded_by(rule, advice));
            candidates.extend(
                worded
                    .filter(|advice| scale.is_worth_a_line(rule, advice))
                    .map(|advice| (caller, advice)),
            );
        }
    }
    candidates.sort_by(|(_, a), (_, b)| {
        let by_time = saved_s(b).total_cmp(&saved_s(a));
        by_time.then(b.calls.cmp(&a.calls))
    });
    let kept = once_each(candidates).into_iter();
    let mut all: Vec<Advice> = kept
        .chain(cpu_quota::find(profile, time))
        .map(|advice| scale.bounded(advice))
        .collect();
    // Stable: where savings are not known, those of most calls come first.
    all.sort_by(|a, b| saved_s(b).total_cmp(&saved_s(a)));
    all
}

fn saved_s(advice: &Advice) -> f64 {
    advice.saved.map_or(-1.0, |saved| saved.value)
}

struct Scale {
    /// Without the time in which the machine ran other programs, and without tracing. The time of calls if no other is known.
    wall_s: f64,
    cpu_s: f64,
    tracing_s: f64,
    elsewhere_s: f64,
    calls: f64,
    has_one_thread: bool,
    is_table: bool,
}

impl Scale {
    fn new(profile: &Profile, null_call_ns: Option<f64>, time: &Spent) -> Scale {
        let usage = &profile.usage;
        let cpu_s = s(caller::added(
            [usage.user_ns, usage.system_ns].into_iter().flatten(),
        ));
        let elsewhere_s = time.seconds_of(PartKind::WaitingForCpu);
        let known_s = time.calls_s.unwrap_or(cpu_s);
        let wall_s = usage
            .wall_ns
            .map_or(known_s, |wall_ns| (s(wall_ns) - elsewhere_s).max(0.0));
        let calls = profile.all_calls().calls as f64;
        let bare_s = calls * null_call_ns.unwrap_or(0.0) / 1e9;
        let traced_s = time.whole_s().zip(time.untraced_s(bare_s));
        // If the wall time is not divided, only ptrace's stops are known to have lengthened it.
        let tracing_s = match time.wall_s {
            Some(_) => traced_s.map_or(0.0, |(whole_s, untraced_s)| whole_s - untraced_s),
            None => stops::added_s(profile, wall_s, cpu_s),
        };
        Scale {
            wall_s: wall_s - tracing_s,
            cpu_s,
            tracing_s,
            elsewhere_s,
            calls,
            has_one_thread: usage.has_one_thread(),
            is_table: profile.is_table(),
        }
    }

    fn is_worth_a_line(&self, rule: &Rule, advice: &Advice) -> bool {
        let least = rule.least.max(advice.least);
        let Some(saved) = advice.saved else {
            return advice.calls as f64 >= least * self.calls.max(1.0);
        };
        // An idle process wastes CPU time, not wall time.
        let is_idle = rule.name == wake_ups::RULE.name && advice.time == Time::Cpu;
        let whole_s = if is_idle { self.cpu_s } else { self.wall_s };
        saved.value > 0.0 && saved.value >= least * whole_s
    }

    /// No more can be saved than there is: CPU time of threads side by side may exceed the wall time.
    fn bounded(&self, advice: Advice) -> Advice {
        let (most_s, limit_s) = match advice.time {
            Time::Cpu if !self.has_one_thread => {
                let most_s = self.wall_s.max(self.cpu_s);
                (most_s, most_s + self.tracing_s)
            }
            _ if advice.spins => {
                let whole_s = self.wall_s + self.tracing_s + self.elsewhere_s;
                (whole_s, whole_s)
            }
            // It includes the wait for a CPU after each wake-up.
            Time::Elapsed => {
                let most_s = self.wall_s + self.elsewhere_s;
                (most_s, most_s + self.tracing_s)
            }
            _ => (self.wall_s, self.wall_s + self.tracing_s),
        };
        let saved = advice.saved;
        Advice {
            saved: saved.map(|saved| saved.at_most(most_s, limit_s)),
            time: if self.is_table {
                Time::Cpu
            } else {
                advice.time
            },
            ..advice
        }
    }
}

fn worded_by(rule: &Rule, advice: Advice) -> Advice {
    fn or<'a>(words: &'a str, default: &'a str) -> &'a str {
        if words.is_empty() { default } else { words }
    }

    Advice {
        rule: rule.name,
        phrase: or(advice.phrase, rule.phrase),
        change: or(advice.change, rule.change),
        ..advice
    }
}

// The greatest comes first, so the advice that remains is the one that saves most.
/// Without advice about calls that greater advice was made of.
fn once_each(candidates: Vec<(&Caller, Advice)>) -> Vec<Advice> {
    let mut kept: Vec<Advice> = Vec::new();
    for (caller, advice) in candidates {
        let all = caller.sum(|count| advice.names.iter().any(|name| is_one_of(count, name)));
        let taken = kept.iter().any(|greater| {
            greater.process == advice.process
                && !advice.names.is_empty()
                && advice.names.iter().all(|name| greater.names.contains(name))
                && greater.calls.saturating_add(advice.calls) > all.calls
        });
        if !taken {
            kept.push(advice);
        }
    }
    kept
}
