use indexmap::IndexMap;

/// The events of one case, counted in an untimed pass: by event, the count per iteration of each launch. A count is a difference of two
/// readings, so it may be a little below 0.
pub type Counters = IndexMap<String, Vec<f64>>;

#[derive(Clone, Copy)]
pub struct Event {
    /// As perf spells it; `:u` and `:k` are user and kernel mode alone.
    pub name: &'static str,
    /// `type` and `config` of perf_event_open(2).
    pub kind: u32,
    pub config: u64,
}

impl Event {
    pub fn is_hardware(&self) -> bool {
        self.kind != SOFTWARE
    }

    /// Cycles and instructions.
    pub fn is_never_zero(&self) -> bool {
        self.kind == HARDWARE && self.config <= 1
    }
}

const HARDWARE: u32 = 0;
const SOFTWARE: u32 = 1;
const CACHE: u32 = 3;
/// PERF_COUNT_HW_CACHE_RESULT_MISS of loads (PERF_COUNT_HW_CACHE_OP_READ, 0), to which the number of a cache is added.
const MISSES: u64 = 1 << 16;

const fn event(name: &'static str, kind: u32, config: u64) -> Event {
    Event { name, kind, config }
}

/// In the order in which they are counted and shown (linux/perf_event.h).
pub const EVENTS: &[Event] = &[
    event("instructions:k", HARDWARE, 1),
    event("instructions:u", HARDWARE, 1),
    event("cycles:k", HARDWARE, 0),
    event("cycles:u", HARDWARE, 0),
    event("branches", HARDWARE, 4),
    event("branch-misses", HARDWARE, 5),
    event("L1-dcache-load-misses", CACHE, MISSES),
    event("L1-icache-load-misses", CACHE, MISSES + 1),
    event("LLC-load-misses", CACHE, MISSES + 2),
    event("cache-misses", HARDWARE, 3),
    event("dTLB-load-misses", CACHE, MISSES + 3),
    event("iTLB-load-misses", CACHE, MISSES + 4),
    event("page-faults", SOFTWARE, 2),
    event("context-switches", SOFTWARE, 3),
    event("cpu-migrations", SOFTWARE, 4),
];
