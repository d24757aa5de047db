//! Memory that is mapped or changed and given back again, with the page faults of each mapping.

use super::caller::{Caller, Part, Rule, added, does, is_one_of, s};
use super::found::Advice;
use super::repeats::{Repeat, repeat, repeats};
use crate::attribute::seconds::Seconds;
use model::CallCount;

pub static RULE: Rule = Rule {
    name: "small-maps",
    least: 0.12,
    phrase: "{calls} for short-lived mappings",
    change: "keep the memory: reuse the buffer, or raise M_MMAP_THRESHOLD and M_TRIM_THRESHOLD (mallopt)",
    find,
};

const REPEATS: &[Repeat] = &[
    repeat("brk", &[]),
    repeat("mprotect pkey_mprotect", &[]),
    Repeat {
        operations: "dontneed free",
        ..repeat("madvise", &[])
    },
];

/// Mappings from this size on are not small: copying and zeroing of pages matters more than the calls.
const LARGE: u64 = 4 << 20;
const PAGE: u64 = 4096;
const SOME: u64 = 100;
/// Seconds of a page fault that was not sampled: of a page that is there, and of one that is zeroed.
const FAULT_S: (f64, f64) = (0.25e-6, 1.5e-6);

pub fn maps(count: &CallCount, operation: &str) -> bool {
    is_one_of(count, "mmap mmap2") && does(count, operation)
}

pub fn is_sized(count: &CallCount, below: u64) -> bool {
    count.class.size.is_some_and(|size| size < below)
}

fn find(caller: &Caller) -> Vec<Advice> {
    let mapped = |count: &CallCount| maps(count, "anonymous") && is_sized(count, LARGE);
    let unmapped = |count: &CallCount| is_one_of(count, "munmap") && is_sized(count, LARGE);
    let bytes = added(
        caller
            .counts
            .iter()
            .filter(|count| mapped(count))
            .map(|count| count.calls.saturating_mul(count.class.size.unwrap_or(0))),
    );
    let resident = caller
        .profile
        .usage
        .peak_rss_kib
        .map(|kib| kib.saturating_mul(1024));
    let mut found = repeats(caller, REPEATS, 0.0);
    // More than was ever resident at once: the same memory could have served again.
    let again = resident.is_some_and(|resident| bytes >= resident.saturating_mul(2));
    let pairs = if again {
        pairs(caller, mapped, unmapped, bytes as f64 / PAGE as f64)
    } else {
        None
    };
    found.extend(pairs.map(|own| {
        let saved = own.part.left_out().plus(own.faults);
        own.part.advice(own.pairs, saved)
    }));
    found
}

pub struct Pairs<'a> {
    pub part: Part<'a>,
    pub pairs: u64,
    pub faults: Seconds,
}

/// `pages` are those of the mappings, of which some may never be touched.
pub fn pairs<'a>(
    caller: &'a Caller,
    mapped: impl Fn(&CallCount) -> bool,
    unmapped: impl Fn(&CallCount) -> bool,
    pages: f64,
) -> Option<Pairs<'a>> {
    let (maps, unmaps) = (caller.sum(&mapped).calls, caller.sum(&unmapped).calls);
    let pairs = maps.min(unmaps);
    if pairs < caller.processes.saturating_mul(SOME) {
        return None;
    }
    let part = caller.some(pairs, mapped).and(pairs, unmapped);
    let all = caller.profile.usage.minor_faults.unwrap_or(0) as f64;
    let own = all.min(pages.max(pairs as f64));
    let sampled = caller
        .profile
        .usage
        .outside
        .as_ref()
        .filter(|outside| outside.samples > 0);
    let faults = match sampled {
        Some(outside) => {
            let own_s = s(outside.page_faults_ns) * own / all.max(1.0);
            Seconds::of(own_s, [0.7, 1.0, 1.3])
        }
        None => Seconds::of(own, [0.0, FAULT_S.0, FAULT_S.1]),
    };
    Some(Pairs {
        part,
        pairs,
        faults,
    })
}
