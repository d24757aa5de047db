//! What could be saved, in seconds: rules over what each process did.
//!
//! Each kind of repetition is looked for by its item: the path that is opened again, the process or sync for each record. A rule applies
//! only where that takes a share of the wall time that matters (`Rule::least`), and claims no more than the profile shows: costs are the
//! program's own (`Part::left_out`). Rules overlap, so savings do not add up. A rule is a file.

mod caller;
mod connection_per_item;
mod delayed_acks;
mod empty_polls;
mod fork_for_exec;
mod found;
mod futex_traffic;
mod herd;
mod large_poll_sets;
mod locks;
mod memory_again;
mod open_again;
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

pub use found::{Advice, PathUse, Time};

use super::spent::{PartKind, Spent};
use super::stops;
use caller::{Caller, Rule, is_one_of, s};
use model::Profile;
use workload::Workload;

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
    let usage = &profile.usage;
    let cpu_s = s(caller::added(
        [usage.user_ns, usage.system_ns].into_iter().flatten(),
    ));
    // Not the time in which the machine ran other programs.
    let elsewhere_s = time.seconds_of(PartKind::WaitingForCpu);
    let wall_s = usage
        .wall_ns
        .map_or(cpu_s, |wall_ns| (s(wall_ns) - elsewhere_s).max(0.0));
    let all_calls = profile.all_calls().calls as f64;
    let bare_s = all_calls * null_call_ns.unwrap_or(0.0) / 1e9;
    let traced_s = time.whole_s().zip(time.untraced_s(bare_s));
    let tracing_s = match time.wall_s {
        Some(_) => traced_s.map_or(0.0, |(whole_s, untraced_s)| whole_s - untraced_s),
        None => stops::added_s(profile, wall_s, cpu_s),
    };
    let wall_s = wall_s - tracing_s;
    let workload = Workload::new(profile);
    let callers: Vec<Caller> = workload.callers(null_call_ns).collect();
    let mut found: Vec<(&Caller, Advice)> = Vec::new();
    for rule in RULES {
        let own = callers
            .iter()
            .flat_map(|caller| {
                (rule.find)(caller)
                    .into_iter()
                    .map(move |own| (caller, own))
            })
            .map(|(caller, advice)| (caller, worded(rule, advice)));
        found.extend(own.filter(|(_, advice)| {
            let least = rule.least.max(advice.least);
            let Some(saved) = advice.saved else {
                return advice.calls as f64 >= least * all_calls.max(1.0);
            };
            // An idle process wastes CPU time, not wall time.
            let idle = rule.name == wake_ups::RULE.name && advice.time == Time::Cpu;
            let least_s = least * if idle { cpu_s } else { wall_s };
            saved.value > 0.0 && saved.value >= least_s
        }));
    }
    let saved_s = |advice: &Advice| advice.saved.map_or(-1.0, |saved| saved.value);
    found.sort_by(|(_, a), (_, b)| {
        let by_time = saved_s(b).total_cmp(&saved_s(a));
        by_time.then(b.calls.cmp(&a.calls))
    });
    let is_parallel = !usage.has_one_thread();
    let there_s = |advice: &Advice| match advice.time {
        Time::Cpu if is_parallel => wall_s.max(cpu_s),
        _ => wall_s,
    };
    once_each(found)
        .into_iter()
        .map(|advice| {
            let most_s = there_s(&advice);
            Advice {
                saved: advice
                    .saved
                    .map(|saved| saved.at_most(most_s, most_s + tracing_s)),
                ..advice
            }
        })
        .collect()
}

fn worded(rule: &Rule, advice: Advice) -> Advice {
    let or = |own: &'static str, words| if own.is_empty() { words } else { own };
    Advice {
        rule: rule.name,
        phrase: or(advice.phrase, rule.phrase),
        change: or(advice.change, rule.change),
        ..advice
    }
}

/// Without advice about calls that greater advice was made of: there are not enough of them for both.
fn once_each(found: Vec<(&Caller, Advice)>) -> Vec<Advice> {
    let mut kept: Vec<Advice> = Vec::new();
    for (caller, advice) in found {
        let is_own = |name: &String| advice.names.contains(name);
        let all = caller.sum(|count| advice.names.iter().any(|name| is_one_of(count, name)));
        let taken = kept.iter().any(|own| {
            let same = own.process == advice.process
                && advice.names.iter().all(|name| own.names.contains(name));
            same && own.names.iter().any(is_own)
                && own.calls.saturating_add(advice.calls) > all.calls
        });
        if !taken {
            kept.push(advice);
        }
    }
    kept
}
