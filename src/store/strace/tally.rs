//! Gathers calls into a profile, and reads names and numbers, for both readers.

use crate::model::{CallCount, Class, Histogram, ProcessGroup, Profile};
use indexmap::IndexMap;
use std::collections::BTreeMap;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub call: String,
    pub class: Class,
    pub error: Option<String>,
    pub elapsed_ns: Option<u64>,
    pub bytes: Option<u64>,
    pub unfinished: bool,
}

#[derive(Clone, Debug, Default)]
pub struct Tally {
    counts: IndexMap<(String, String, Class), CallCount>,
    latencies: BTreeMap<String, Histogram>,
}

impl Tally {
    /// Adds one call by a process of this name.
    pub fn add(&mut self, process: &str, seen: Seen) {
        if let Some(ns) = seen.elapsed_ns {
            self.latencies.entry(seen.call.clone()).or_default().record(ns);
        }
        self.add_count(
            process,
            CallCount {
                calls: 1,
                unfinished: u64::from(seen.unfinished),
                errors: seen.error.into_iter().map(|errno| (errno, 1)).collect(),
                elapsed_ns: seen.elapsed_ns,
                bytes: seen.bytes,
                call: seen.call,
                class: seen.class,
                ..CallCount::default()
            },
        );
    }

    /// Adds the count of a call by processes of this name.
    pub fn add_count(&mut self, process: &str, count: CallCount) {
        let key = (process.to_string(), count.call.clone(), count.class.clone());
        match self.counts.get_mut(&key) {
            Some(own) => own.add(&count),
            None => drop(self.counts.insert(key, count)),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    pub fn profile(self) -> Profile {
        let mut groups: IndexMap<String, ProcessGroup> = IndexMap::new();
        for ((name, ..), count) in self.counts {
            let group = groups.entry(name.clone()).or_insert_with(|| ProcessGroup { name, ..ProcessGroup::default() });
            group.calls.push(count);
        }
        Profile {
            complete: true,
            groups: groups.into_values().collect(),
            latencies: self.latencies,
            ..Profile::default()
        }
    }
}

/// A decimal number in units of `unit_ns`, as nanoseconds; `None` if it is not a number, negative, or beyond 2^63.
pub fn nanoseconds(text: &str, unit_ns: f64) -> Option<u64> {
    let plain = !text.is_empty() && text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let ns = text.parse::<f64>().ok().filter(|_| plain)? * unit_ns;
    (ns < 9.2e18).then_some(ns.round() as u64)
}

/// A count below 2^48, so that thousands of them can be added without overflow.
pub fn parse_count(text: &str) -> Option<u64> {
    text.parse::<u64>().ok().filter(|count| *count < 1 << 48)
}

/// A system call's name; strace prints `syscall_0x1ff` for calls without one.
pub fn call_name(text: &str) -> Option<String> {
    let named = text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    (named && begins && text.len() <= 64).then(|| text.to_string())
}

/// A returned value. Addresses in the upper half wrap to negative numbers.
pub fn number_of(text: &str) -> Option<i64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok().map(|value| value as i64),
        None => text.parse().ok(),
    }
}
