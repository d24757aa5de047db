//! Paths that are looked up again: all lookups of a path but the first of each process.

use super::caller::{Caller, Rule, STATS, added, done, is_one_of};
use super::found::Advice;
use super::paths::{LOCKS, QUESTIONS, about, again, repeated};
use super::search::searched;
use model::ObjectCount;

pub static RULE: Rule = Rule {
    name: "look-up-again",
    least: 0.03,
    phrase: "{calls} on the same {paths}",
    change: "cache the first answer, or watch for changes with inotify",
    find,
};

fn looks(object: &ObjectCount) -> u64 {
    let count = &object.count;
    if is_one_of(count, STATS) || is_one_of(count, QUESTIONS) {
        count.calls
    } else {
        count.failures()
    }
}

/// Not of names that are searched for, nor of one that is absent while locks are taken, such as a journal: there the absence is the
/// answer.
fn find(caller: &Caller) -> Vec<Advice> {
    let searched = searched(caller);
    let locks = caller.named(LOCKS).calls;
    let mut paths = again(caller, looks);
    paths.retain(|path, objects| {
        let is_absent = objects.iter().all(|object| done(&object.count) == 0);
        let calls = added(objects.iter().map(|object| looks(object)));
        !(searched.contains_key(path) || is_absent && locks.saturating_mul(2) >= calls)
    });
    let (part, uses) = repeated(caller, &paths, looks);
    vec![about(part.avoid(0), uses)]
}
