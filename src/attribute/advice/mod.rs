//! What could be saved, in seconds: rules over what each process did. Pure; `attribute` calls it.
//!
//! A rule applies only where a process has many calls of its kind, and claims no more than the profile shows. The saving is
//! the time that these calls took, measured where the profile has times and by unit costs where it has only counts, minus
//! what would take their place by unit costs. Rules overlap (a lookup that fails may be repeated too), so savings do not add
//! up. A file for each group of rules; `caller` holds what they look at.

mod caller;
mod files;
mod lookups;
mod memory;
mod processes;
mod questions;
mod rule;
mod transfers;
mod waits;

pub use rule::{Advice, MANY, PathUse, Rule, Time};

use super::breakdown::s;
use super::costs::Costs;
use crate::model::Profile;
use caller::Caller;

/// The rules: what each finds in one process.
const RULES: &[fn(&Caller) -> Vec<Advice>] = &[
    transfers::small_reads,
    transfers::small_writes,
    transfers::empty_reads,
    waits::empty_polls,
    waits::large_poll_sets,
    waits::futex_traffic,
    lookups::probing,
    lookups::stat_storm,
    files::temporary_files,
    files::sync_per_record,
    questions::real_clock_calls,
    questions::identity_calls,
    memory::small_maps,
    processes::fork_for_exec,
];

/// Where a profile has many of these calls, the operations that rules price besides those that are like its calls: what would
/// take their place, and what part of them is saved.
pub const PRICED_BY_RULES: &[(&[&str], &[&str])] = &[
    (&["unlink", "unlinkat"], &["file.truncate"]),
    (
        &["stat", "lstat", "newfstatat", "statx", "access", "faccessat", "faccessat2"],
        &["file.stat", "file.stat_absent"],
    ),
    (&["futex"], &["sync.mutex", "sync.futex_pingpong", "sync.futex_wake", "sync.futex_wait_fails"]),
    (
        &["fork", "clone", "clone3"],
        &["process.fork_wait", "process.vfork_wait", "process.vfork_exec_static", "mem.fault_cow"],
    ),
    (&["clock_gettime"], &["time.clock_gettime"]),
    (&["gettimeofday"], &["time.gettimeofday"]),
    (&["time"], &["time.time"]),
];

/// All advice, the greatest saving first, and last what might be one. Savings under a thousandth of the wall time are left out.
pub fn advice(profile: &Profile, costs: &Costs) -> Vec<Advice> {
    let least = profile.usage.wall_ns.map_or(0.0, |ns| s(ns) / 1000.0);
    let callers = caller::callers(profile, costs);
    let mut found: Vec<Advice> = callers.iter().flat_map(|caller| RULES.iter().flat_map(|rule| rule(caller))).collect();
    found.retain(|advice| worth(advice) > 0.0 && worth(advice) >= least);
    let saved = |advice: &Advice| advice.saved.map_or(0.0, |saved| saved.value);
    found.sort_by(|a, b| saved(b).total_cmp(&saved(a)));
    found
}

/// The saving or, where it is not known, what the calls took: no more can be saved.
fn worth(advice: &Advice) -> f64 {
    match advice.saved {
        Some(saved) => saved.value,
        None => advice.measured_s.unwrap_or(f64::INFINITY),
    }
}
