//! Paths that are asked for again and again, which only the paths of `trace --paths` show, and not counts.

use super::caller::{Caller, OPENS, Part, RENAMES, STATS, UNLINKS, added, done, is_one_of, share};
use super::output::{Advice, PathUse};
use indexmap::IndexMap;
use model::{CallCount, ObjectCount, Profile, sum_by_key};
use std::cmp::Reverse;
use std::collections::BTreeMap;

pub const QUESTIONS: &str =
    "access faccessat faccessat2 readlink readlinkat getxattr lgetxattr statfs chdir";
pub const LOCKS: &str = "flock fcntl fcntl64";

const NAMED: usize = 3;

/// A process that asks for a path no more often than this may want to see it change.
const AGAIN: u64 = 10;

pub type ByPath<'a> = IndexMap<&'a str, Vec<&'a ObjectCount>>;

/// Paths that each process uses again and again, and more often than somebody removes or renames them: lock files, temporary files
/// and those that are replaced change.
pub fn again<'a>(caller: &'a Caller, keep: impl Fn(&ObjectCount) -> u64) -> ByPath<'a> {
    let changes = &caller.workload.changes;
    let mut paths: ByPath = IndexMap::new();
    for object in caller.paths.iter().filter(|object| keep(object) > 0) {
        paths.entry(&object.name).or_default().push(object);
    }
    paths.retain(|path, calls| {
        let reasons = caller
            .processes
            .max(changes.get(path).copied().unwrap_or(0));
        added(calls.iter().map(|call| keep(call))) > reasons.saturating_mul(AGAIN)
    });
    paths
}

pub fn changes(profile: &Profile) -> BTreeMap<&str, u64> {
    let changes = profile
        .objects
        .iter()
        .filter(|object| is_one_of(&object.count, UNLINKS) || is_one_of(&object.count, RENAMES));
    sum_by_key(changes.map(|object| (object.name.as_str(), done(&object.count))))
}

/// The calls on these paths without the first of each process, and how often each path was used. `number` counts those of an object.
pub fn repeated<'a>(
    caller: &'a Caller,
    paths: &ByPath<'a>,
    number: impl Fn(&ObjectCount) -> u64,
) -> (Part<'a>, Vec<PathUse>) {
    let mut part = Part::new(caller);
    let mut uses = Vec::new();
    for (path, objects) in paths {
        let calls = added(objects.iter().map(|object| number(object)));
        let left = share(calls.saturating_sub(caller.processes), calls);
        objects.iter().for_each(|object| {
            part.add(
                &object.count,
                left * share(number(object), object.count.calls),
            )
        });
        uses.push(PathUse {
            path: (*path).to_string(),
            calls,
            elapsed_ns: elapsed_ns(objects.iter().copied()),
        });
    }
    (part, uses)
}

/// The paths with most time, or without times the most used; the number of all of them is the items.
pub fn about(advice: Advice, mut paths: Vec<PathUse>) -> Advice {
    paths.sort_by_key(|used| Reverse((used.elapsed_ns, used.calls)));
    let items = paths.len() as u64;
    paths.truncate(NAMED);
    Advice {
        items,
        paths,
        ..advice
    }
}

/// Of all calls of these objects; 0 if it is not known.
pub fn elapsed_ns<'a>(objects: impl Iterator<Item = &'a ObjectCount>) -> u64 {
    added(objects.filter_map(|object| object.count.elapsed_ns()))
}

pub fn is_lookup(count: &CallCount) -> bool {
    [STATS, QUESTIONS, OPENS, "execve"]
        .iter()
        .any(|names| is_one_of(count, names))
}
