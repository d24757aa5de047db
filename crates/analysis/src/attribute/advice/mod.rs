//! What could be saved, in seconds: rules over what each process did.
//!
//! Each kind of repetition is looked for by its item: the path that is opened again, the process or sync for each record. A rule applies
//! only where that takes a share of the wall time that matters (`Rule::least`), and claims no more than the profile shows: costs are the
//! program's own (`Part::left_out`). Rules overlap, so savings do not add up. A rule is a file.

mod caller;
mod connection_per_item;
mod delayed_acks;
mod descriptor_sweep;
mod empty_polls;
mod empty_reads;
mod failures;
mod fork_for_exec;
mod found;
mod futex_traffic;
mod groups;
mod herd;
mod large_poll_sets;
mod locks;
mod look_up_again;
mod open_again;
mod paths;
mod process_per_item;
mod real_clock_calls;
mod repeats;
mod same_answer;
mod search;
mod seeks;
mod small_file_maps;
mod small_maps;
mod small_transfers;
mod spin;
mod sync_per_record;
mod temporary_files;
mod thread_per_item;
mod tree;
mod wake_ups;
mod wakes_of_nobody;
mod workload;

pub use found::{Advice, PathUse, Time};
pub use groups::{Group, largest};

use super::spent::Spent;
use caller::{Caller, Rule, s};
use model::Profile;
use workload::Workload;

const RULES: &[&Rule] = &[
    &open_again::RULE,
    &look_up_again::RULE,
    &search::RULE,
    &real_clock_calls::RULE,
    &same_answer::RULE,
    &seeks::RULE,
    &spin::RULE,
    &descriptor_sweep::RULE,
    &failures::RULE,
    &process_per_item::RULE,
    &fork_for_exec::RULE,
    &thread_per_item::RULE,
    &connection_per_item::RULE,
    &sync_per_record::RULE,
    &temporary_files::RULE,
    &locks::RULE,
    &small_file_maps::RULE,
    &small_maps::RULE,
    &small_transfers::RULE,
    &empty_reads::RULE,
    &empty_polls::RULE,
    &large_poll_sets::RULE,
    &delayed_acks::RULE,
    &herd::RULE,
    &wake_ups::RULE,
    &wakes_of_nobody::RULE,
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
    let elsewhere_ns = usage.concurrency.as_ref().map_or(0, |told| told.waiting_ns);
    let wall_s = usage
        .wall_ns
        .map_or(cpu_s, |wall| s(wall.saturating_sub(elsewhere_ns)));
    let all_calls = profile.all_calls().calls as f64;
    let bare_s = all_calls * null_call_ns.unwrap_or(0.0) / 1e9;
    let traced_s = time.whole_s().zip(time.untraced_s(bare_s));
    let wall_s = wall_s - traced_s.map_or(0.0, |(whole_s, untraced_s)| whole_s - untraced_s);
    let workload = Workload::new(profile);
    let callers: Vec<Caller> = workload.callers(null_call_ns).collect();
    let mut found = Vec::new();
    for rule in RULES {
        let own = callers
            .iter()
            .flat_map(|caller| (rule.find)(caller))
            .map(|advice| Advice {
                rule: rule.name,
                phrase: rule.phrase,
                change: rule.change,
                ..advice
            });
        found.extend(own.filter(|advice| {
            let Some(saved) = advice.saved else {
                return advice.calls as f64 >= rule.least * all_calls.max(1.0);
            };
            // An idle process wastes CPU time, not wall time.
            let idle = rule.name == wake_ups::RULE.name && advice.time == Time::Cpu;
            let least_s = rule.least * if idle { cpu_s } else { wall_s };
            saved.value > 0.0 && saved.value >= least_s
        }));
    }
    let saved_s = |advice: &Advice| advice.saved.map_or(-1.0, |saved| saved.value);
    found.sort_by(|a, b| {
        let by_time = saved_s(b).total_cmp(&saved_s(a));
        by_time.then(b.calls.cmp(&a.calls))
    });
    found
}
