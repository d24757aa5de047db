//! What hardware and software events happened per iteration, and the table of events.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Hardware and software events of one case, counted in an untimed pass.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Counters {
    /// By event, in perf's spelling: for each launch of a worker, the counts per iteration of its repeats. A count is a
    /// difference of two readings, so it may be a little below 0.
    #[schemars(with = "std::collections::BTreeMap<String, Vec<Vec<f64>>>")]
    pub counted: IndexMap<String, Vec<Vec<f64>>>,
    /// Events that could not be counted for this case, and why.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, String>")]
    pub not_counted: IndexMap<String, String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// As perf spells it; `:u` and `:k` are user and kernel mode alone.
    pub name: &'static str,
    /// In CSV, and in other names that allow no punctuation.
    pub field: &'static str,
    pub what: &'static str,
    /// Whether the processor counts it, or the kernel.
    pub hardware: bool,
    /// Whether the same work always gives the same count, whatever the state of caches and predictors, so that two runs are
    /// as comparable as two launches within a run.
    pub exact: bool,
    /// Whether a request without a single one of these cannot be.
    pub never_zero: bool,
}

pub const INSTRUCTIONS_USER: &str = "instructions:u";
pub const INSTRUCTIONS_KERNEL: &str = "instructions:k";
pub const CYCLES_USER: &str = "cycles:u";
pub const CYCLES_KERNEL: &str = "cycles:k";
pub const PAGE_FAULTS: &str = "page-faults";

const fn hardware(name: &'static str, field: &'static str, what: &'static str) -> Event {
    Event { name, field, what, hardware: true, exact: false, never_zero: false }
}

const fn software(name: &'static str, field: &'static str, what: &'static str) -> Event {
    Event { hardware: false, ..hardware(name, field, what) }
}

/// All events, in the order in which they are shown.
pub const EVENTS: &[Event] = &[
    Event {
        exact: true,
        never_zero: true,
        ..hardware(INSTRUCTIONS_KERNEL, "instructions_kernel", "instructions retired in the kernel")
    },
    Event {
        exact: true,
        never_zero: true,
        ..hardware(INSTRUCTIONS_USER, "instructions_user", "instructions retired in user mode")
    },
    Event { never_zero: true, ..hardware(CYCLES_KERNEL, "cycles_kernel", "CPU cycles in the kernel") },
    Event { never_zero: true, ..hardware(CYCLES_USER, "cycles_user", "CPU cycles in user mode") },
    Event { exact: true, ..hardware("branches", "branches", "branch instructions retired") },
    hardware("branch-misses", "branch_misses", "branches that were predicted wrongly"),
    hardware("L1-dcache-load-misses", "l1_dcache_load_misses", "loads that missed the first-level data cache"),
    hardware("L1-icache-load-misses", "l1_icache_load_misses", "fetches that missed the first-level instruction cache"),
    hardware("LLC-load-misses", "llc_load_misses", "loads that missed the last-level cache"),
    hardware("cache-misses", "cache_misses", "what the kernel maps to cache misses on this processor"),
    hardware("dTLB-load-misses", "dtlb_load_misses", "loads that missed the data TLB"),
    hardware("iTLB-load-misses", "itlb_load_misses", "fetches that missed the instruction TLB"),
    Event { exact: true, ..software(PAGE_FAULTS, "page_faults", "page faults") },
    software("context-switches", "context_switches", "context switches"),
    software("cpu-migrations", "cpu_migrations", "moves to another CPU"),
];

/// What ends the name of an event of which only user mode could be counted.
pub const USER_ONLY: &str = ":u";

impl Event {
    /// The event of this name, or the one of which it is the part in user mode.
    pub fn find(name: &str) -> Option<&'static Event> {
        let named = |name: &str| EVENTS.iter().find(|event| event.name == name);
        named(name).or_else(|| named(name.strip_suffix(USER_ONLY)?).filter(|event| event.is_of_both_modes()))
    }

    /// Whether both modes are counted together.
    pub fn is_of_both_modes(&self) -> bool {
        !self.name.contains(':')
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn events_are_unique_and_found_by_name() {
        let names: HashSet<&str> = EVENTS.iter().flat_map(|event| [event.name, event.field]).collect();
        let same = EVENTS.iter().filter(|event| event.name == event.field).count();
        assert_eq!(names.len() + same, 2 * EVENTS.len());
        assert_eq!(Event::find("page-faults:u").map(|event| event.name), Some(PAGE_FAULTS));
        assert_eq!(Event::find("instructions"), None);
        assert_eq!(Event::find("instructions:k:u"), None);
    }
}
