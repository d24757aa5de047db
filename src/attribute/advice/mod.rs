//! What could be saved, in seconds: rules over what each process did. Pure; `attribute` calls it.
//!
//! Each kind of repetition is looked for by its item: the path that is opened again, the process or sync for each record, the
//! question that is asked again. A rule applies only where that takes a share of the wall time that matters (`Rule::least`), and
//! claims no more than the profile shows: costs are the program's own. The low end of a range is what these calls took less what
//! may take their place; the high end has the user mode around them as well. Rules overlap, so savings do not add up.

mod caller;
mod groups;
mod objects;
mod processes;
mod repeats;
mod rule;
mod storage;
mod transfers;
mod waits;

pub use groups::{Group, largest};
pub use rule::{Advice, PathUse, Rule, Time};

use crate::model::Profile;
use caller::{Caller, s};

/// The rules: what each finds in one process.
const RULES: &[fn(&Caller) -> Vec<Advice>] = &[
    objects::opened_again,
    objects::looked_up_again,
    objects::search,
    repeats::repeats,
    repeats::failures,
    processes::process_per_item,
    processes::subshells,
    processes::fork_for_exec,
    processes::thread_per_item,
    processes::connection_per_item,
    storage::sync_per_record,
    storage::temporary_files,
    storage::locks,
    storage::small_file_maps,
    storage::small_maps,
    transfers::small_transfers,
    transfers::empty_reads,
    waits::empty_polls,
    waits::large_poll_sets,
    waits::wake_ups,
    waits::wakes_of_nobody,
    waits::futex_traffic,
];

/// All advice, the greatest saving first. `null_call_ns` is what entering the kernel takes, if that is known.
pub fn advice(profile: &Profile, null_call_ns: Option<f64>) -> Vec<Advice> {
    let usage = &profile.usage;
    let cpu_s = s(caller::added([usage.user_ns, usage.system_ns].into_iter().flatten()));
    // Not the time in which the machine ran other programs.
    let elsewhere_ns = usage.concurrency.as_ref().map_or(0, |told| told.waiting_ns);
    let wall_s = usage.wall_ns.map_or(cpu_s, |wall| s(wall.saturating_sub(elsewhere_ns)));
    let matters = |advice: &Advice| {
        // An idle process wastes CPU time, not wall time.
        let whole_s = if advice.rule == Rule::WakeUps { cpu_s } else { wall_s };
        advice.saved.value > 0.0 && advice.saved.value >= whole_s * advice.rule.least()
    };
    let callers = caller::callers(profile, null_call_ns);
    let mut found: Vec<Advice> = callers.iter().flat_map(|caller| RULES.iter().flat_map(|rule| rule(caller))).collect();
    found.retain(matters);
    found.sort_by(|a, b| b.saved.value.total_cmp(&a.saved.value));
    found
}
