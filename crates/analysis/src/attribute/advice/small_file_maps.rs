//! Small files that are mapped: a read copies less than a mapping, its page faults and its end take. Loaders map several parts of a file
//! and keep them.

use super::caller::{Caller, Rule, is_one_of};
use super::found::Advice;
use super::small_maps::{Pairs, is_sized, maps, pairs};

pub static RULE: Rule = Rule {
    name: "small-file-maps",
    least: 0.12,
    phrase: "{calls} for {items} short-lived mappings",
    change: "read small files into a buffer that is kept: a mapping costs page faults and an unmapping",
    find,
};

/// Files from this size on are not small: copying matters more than calls.
const LARGE_FILE: u64 = 256 << 10;

fn find(caller: &Caller) -> Vec<Advice> {
    let Some(Pairs {
        part,
        pairs,
        faults,
    }) = pairs(
        caller,
        |count| maps(count, "file") && is_sized(count, LARGE_FILE),
        |count| is_one_of(count, "munmap") && is_sized(count, LARGE_FILE),
        1.0,
    )
    else {
        return Vec::new();
    };
    // A read takes their place.
    let saved = part.left_out().times([0.5, 0.7, 1.0]);
    let saved = saved.plus(faults.times([0.0, 1.0, 1.0]));
    vec![part.advice(pairs, saved)]
}
