//! Small files that are mapped: a read copies less than a mapping, its page faults and its end take. Loaders map several parts of a file
//! and keep them.

use super::caller::{Caller, Rule, does, is_one_of};
use super::memory_again::faults_s;
use super::output::Advice;
use model::CallCount;

pub static RULE: Rule = Rule {
    name: "small-file-maps",
    least: 0.12,
    phrase: "{calls} for {items} short-lived mappings",
    change: "read small files into a buffer that is kept: a mapping costs page faults and an unmapping",
    find,
};

/// Files from this size on are not small: copying matters more than calls.
const LARGE_FILE: u64 = 256 << 10;

const SOME: u64 = 100;

fn find(caller: &Caller) -> Vec<Advice> {
    let pairs = caller.sum(maps).calls.min(caller.sum(unmaps).calls);
    if pairs < caller.processes.saturating_mul(SOME) {
        return Vec::new();
    }
    let part = caller.some(pairs, maps).and(pairs, unmaps);
    // A read takes their place.
    let saved = part.left_out().times([0.5, 0.7, 1.0]);
    let saved = saved.plus(faults_s(caller.profile, pairs as f64).times([0.0, 1.0, 1.0]));
    vec![part.advice(pairs, saved)]
}

fn is_small(count: &CallCount) -> bool {
    count.class.size.is_some_and(|size| size < LARGE_FILE)
}

fn maps(count: &CallCount) -> bool {
    is_one_of(count, "mmap mmap2") && does(count, "file") && is_small(count)
}

fn unmaps(count: &CallCount) -> bool {
    is_one_of(count, "munmap") && is_small(count)
}
