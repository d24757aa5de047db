use indexmap::IndexMap;
use model::{CallCount, Class, Histogram, ObjectCount, ObjectKind, ProcessGroup, Profile, grouped};
use std::collections::BTreeMap;

/// The largest number of calls on objects that are counted, as by the tracers.
const MOST_OBJECTS: usize = 65_536;

/// The object of a path or descriptor, and the directory of a path that was relative.
pub type Object = (ObjectKind, String, Option<String>);

/// A thread, and how many programs it had started.
pub type Caller = (u64, usize);

#[derive(Default)]
pub struct Tally {
    counts: IndexMap<(Caller, String, Class), CallCount>,
    latencies: BTreeMap<String, Histogram>,
    objects: IndexMap<(Caller, String, Object), CallCount>,
    dropped: u64,
}

impl Tally {
    pub fn add(&mut self, caller: Caller, count: CallCount) {
        add(
            &mut self.counts,
            (caller, count.call.clone(), count.class.clone()),
            count,
        );
    }

    /// Counts a call by its object.
    pub fn add_object(&mut self, caller: Caller, object: Object, count: CallCount) {
        let key = (caller, count.call.clone(), object);
        if self.objects.len() < MOST_OBJECTS || self.objects.contains_key(&key) {
            add(&mut self.objects, key, count);
        } else {
            self.dropped += 1;
        }
    }

    /// Records the duration of one call for the percentiles.
    pub fn took(&mut self, call: &str, elapsed_ns: u64) {
        let histogram = self.latencies.entry(call.to_string()).or_default();
        histogram.record(elapsed_ns);
    }

    /// Moves the counts of a thread to another number, when its real number becomes known.
    pub fn rename(&mut self, from: u64, to: u64) {
        for (((thread, index), call, class), count) in std::mem::take(&mut self.counts) {
            let thread = if thread == from { to } else { thread };
            add(&mut self.counts, ((thread, index), call, class), count);
        }
        for (((thread, index), call, object), count) in std::mem::take(&mut self.objects) {
            let thread = if thread == from { to } else { thread };
            add(&mut self.objects, ((thread, index), call, object), count);
        }
    }

    /// All calls, including those that did not return.
    pub fn calls(&self) -> u64 {
        self.counts.values().map(|count| count.calls).sum()
    }

    pub fn by_caller(&self) -> impl Iterator<Item = (Caller, u64)> {
        let counts = self.counts.iter();
        counts.map(|((caller, ..), count)| (*caller, count.calls))
    }

    /// Calls whose result the log has.
    pub fn returned(&self) -> u64 {
        self.counts
            .values()
            .map(|count| count.calls - count.unfinished)
            .sum()
    }

    pub fn failures(&self) -> u64 {
        self.counts
            .values()
            .flat_map(|count| count.errors.values())
            .sum()
    }

    pub fn profile(self, name: impl Fn(Caller) -> String) -> Profile {
        let mut named = IndexMap::new();
        for ((caller, call, class), count) in self.counts {
            add(&mut named, (name(caller), call, class), count);
        }
        let named = named
            .into_iter()
            .map(|((name, ..), count): ((String, _, _), _)| (name, count));
        let mut objects = IndexMap::new();
        for ((caller, call, object), count) in self.objects {
            add(&mut objects, (object, name(caller), call), count);
        }
        let objects = objects.into_iter();
        let objects = ObjectCount::sorted(objects.map(
            |(((kind, name, directory), process, _), count)| ObjectCount {
                kind,
                name,
                process,
                directory,
                count,
            },
        ));
        Profile {
            objects_dropped: if objects.is_empty() {
                None
            } else {
                Some(self.dropped)
            },
            objects,
            complete: true,
            groups: grouped(named)
                .into_iter()
                .map(|(name, calls)| ProcessGroup {
                    name,
                    calls,
                    ..ProcessGroup::default()
                })
                .collect(),
            latencies: self.latencies,
            ..Profile::default()
        }
    }
}

fn add<K: std::hash::Hash + Eq>(counts: &mut IndexMap<K, CallCount>, key: K, count: CallCount) {
    match counts.get_mut(&key) {
        Some(sum) => sum.add(&count),
        None => drop(counts.insert(key, count)),
    }
}

/// `None` if it is not a number, negative, or beyond 2^63.
pub fn nanoseconds(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    if !plain {
        return None;
    }
    let ns = text.parse::<f64>().ok()? * 1e9;
    (ns < 9.2e18).then_some(ns.round() as u64)
}

/// Below 2^48, so that thousands of them can be added without overflow.
pub fn parse_count(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|count| *count < 1 << 48)
}

/// For calls without a name strace prints `syscall_0x1ce`, old ones `syscall_462`, or `????` if it does not know which one it is.
pub fn call_name(text: &str) -> Option<String> {
    if let Some(number) = text.strip_prefix("syscall_").and_then(number_of) {
        return Some(format!("syscall({number})"));
    }
    let named = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    match text {
        "????" => Some("unknown".to_string()),
        _ => {
            if named && begins && text.len() <= 64 {
                Some(text.to_string())
            } else {
                None
            }
        }
    }
}

/// Addresses in the upper half wrap to negative numbers.
pub fn number_of(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16)
            .ok()
            .map(|value| value as i64),
        None => text.parse().ok(),
    }
}
