//! Rules about paths that are opened, looked up and searched for again and again. They need the paths of `trace --paths`: whether a
//! name is asked for again cannot be derived from counts.

use super::caller::{Caller, OPENS, Part, UNLINKS, added, does, done, errors, is_one_of, share};
use super::rule::{Advice, PathUse, Rule};
use crate::attribute::seconds::Seconds;
use crate::model::{CallCount, DescriptorKind, ObjectCount, Profile};
use indexmap::IndexMap;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

const STATS: &[&str] = &["stat", "lstat", "stat64", "lstat64", "newfstatat", "fstatat64", "statx"];
const QUESTIONS: &[&str] =
    &["access", "faccessat", "faccessat2", "readlink", "readlinkat", "getxattr", "lgetxattr", "statfs", "chdir"];
const RENAMES: &[&str] = &["rename", "renameat", "renameat2", "link", "linkat"];
const LOCKS: &[&str] = &["flock", "fcntl", "fcntl64"];

const READS: &[&str] = &["read", "pread64", "readv"];

const NAMED: usize = 3;

/// A process that asks for a path no more often than this may want to see it change.
const AGAIN: u64 = 10;

/// The calls on each path that `keep`, of paths that each process uses again and again, and more often than somebody removes or
/// renames them: lock files, temporary files and those that are replaced change.
fn again<'a>(caller: &'a Caller, keep: impl Fn(&ObjectCount) -> u64) -> IndexMap<&'a str, Vec<&'a ObjectCount>> {
    let changes = changes(caller.profile);
    let mut paths: IndexMap<&str, Vec<&ObjectCount>> = IndexMap::new();
    for object in caller.paths.iter().filter(|object| keep(object) > 0) {
        paths.entry(&object.name).or_default().push(object);
    }
    paths.retain(|path, calls| {
        let reasons = caller.processes.max(changes.get(path).copied().unwrap_or(0));
        added(calls.iter().map(|call| keep(call))) > reasons.saturating_mul(AGAIN)
    });
    paths
}

/// How often each path was removed or renamed.
fn changes(profile: &Profile) -> BTreeMap<&str, u64> {
    let mut changes = BTreeMap::new();
    let is_change = |object: &&ObjectCount| is_one_of(&object.count, UNLINKS) || is_one_of(&object.count, RENAMES);
    for object in profile.objects.iter().filter(is_change) {
        let times: &mut u64 = changes.entry(object.name.as_str()).or_default();
        *times = times.saturating_add(done(&object.count));
    }
    changes
}

/// The calls that were not the first of their process, and the paths with most of them.
fn repeated<'a>(
    caller: &'a Caller,
    paths: &IndexMap<&'a str, Vec<&'a ObjectCount>>,
    number: impl Fn(&ObjectCount) -> u64,
) -> (Part<'a>, Vec<PathUse>) {
    let mut part = Part::new(caller);
    let mut uses = Vec::new();
    for (path, objects) in paths {
        let calls = added(objects.iter().map(|object| number(object)));
        let left = share(calls.saturating_sub(caller.processes), calls);
        objects.iter().for_each(|object| part.add(&object.count, left * share(number(object), object.count.calls)));
        uses.push(PathUse { path: (*path).to_string(), calls });
    }
    uses.sort_by_key(|used| Reverse(used.calls));
    (part, uses)
}

/// Advice about paths, of which the most used are named.
fn about(advice: Advice, paths: Vec<PathUse>) -> Vec<Advice> {
    let items = paths.len() as u64;
    vec![Advice { items, paths: paths.into_iter().take(NAMED).collect(), ..advice }]
}

fn closes(count: &CallCount) -> bool {
    is_one_of(count, &["close"])
        && !matches!(count.class.descriptor, Some(DescriptorKind::Socket | DescriptorKind::Pipe | DescriptorKind::None))
}

/// What programs and libraries call for each file that they open, besides reads and writes.
const WITH_EACH_OPEN: &[&[&str]] =
    &[&["fstat"], &["lseek"], &["ioctl"], &["fcntl"], &["mmap"], &["munmap"], &["fadvise64"]];

/// All opens of a path but the first of each process. Not those that take a lock each: the lock ends with the descriptor.
pub fn opened_again(caller: &Caller) -> Vec<Advice> {
    let opened = |object: &ObjectCount| if is_one_of(&object.count, OPENS) { done(&object.count) } else { 0 };
    let paths = again(caller, opened);
    let (mut part, uses) = repeated(caller, &paths, opened);
    let opens = part.calls;
    let locks = caller.sum(|count| {
        is_one_of(count, LOCKS) && count.class.operation.as_deref().is_none_or(|name| name.contains("setlk"))
    });
    if opens == 0 || locks.calls.saturating_mul(2) >= opens {
        return Vec::new();
    }
    // Directories are listed again.
    let listed = share(opens, caller.succeeded(OPENS));
    let lists = caller.counts.iter().filter(|count| is_one_of(count, &["getdents64", "getdents"]));
    lists.for_each(|count| part.add(count, listed));
    let part =
        part.with_each(opens, closes).with_each(opens, |count| is_one_of(count, STATS) && count.class.depth == Some(0));
    let part = WITH_EACH_OPEN
        .iter()
        .fold(part, |part, names| part.with_each(opens, |count| is_one_of(count, names) && !does(count, "anonymous")));
    let reads = caller.part(|count| if is_one_of(count, READS) { listed } else { 0.0 });
    let saved = part.left_out();
    // What was read may be kept as well.
    let saved = Seconds { high: saved.high + reads.left_out().value, ..saved };
    about(Advice { calls: opens, ..part.advice(Rule::OpenAgain, saved) }, uses)
}

fn looks(object: &ObjectCount) -> u64 {
    let count = &object.count;
    match count {
        count if is_one_of(count, STATS) || is_one_of(count, QUESTIONS) => count.calls,
        count => count.failures(),
    }
}

/// All lookups of a path but the first of each process. Not of names that are searched for, nor of one that is absent while locks
/// are taken, such as a journal: there the absence is the answer.
pub fn looked_up_again(caller: &Caller) -> Vec<Advice> {
    let searched = searched(caller);
    let locks = caller.named(LOCKS).calls;
    let mut paths = again(caller, looks);
    paths.retain(|path, objects| {
        let is_absent = objects.iter().all(|object| done(&object.count) == 0);
        let calls = added(objects.iter().map(|object| looks(object)));
        !(searched.contains_key(path) || is_absent && locks.saturating_mul(2) >= calls)
    });
    let (part, uses) = repeated(caller, &paths, looks);
    about(part.avoid(Rule::LookUpAgain), uses)
}

fn is_lookup(count: &CallCount) -> bool {
    is_one_of(count, STATS) || is_one_of(count, QUESTIONS) || is_one_of(count, OPENS) || is_one_of(count, &["execve"])
}

/// A file's name without extensions: `x` of `/a/x.so.1`, as a search tries several.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let end = name.get(1..).and_then(|rest| rest.find('.')).map_or(name.len(), |at| at + 1);
    &name[..end]
}

/// Paths that this process missed in a search, with the misses: the name is missing in two places at least, and found in another
/// one. A name that is missing in one place is not searched for; its absence is the answer.
fn searched<'a>(caller: &Caller<'a>) -> BTreeMap<&'a str, u64> {
    let all = caller.profile.objects.iter().filter(|object| object.is_one_object() && is_lookup(&object.count));
    let found: BTreeSet<&str> = all.filter(|object| done(&object.count) > 0).map(|object| stem(&object.name)).collect();
    let changes = changes(caller.profile);
    let missed = caller.paths.iter().filter(|object| is_lookup(&object.count) && errors(&object.count, "ENOENT") > 0);
    let missed = missed.filter(|object| {
        found.contains(stem(&object.name)) && changes.get(object.name.as_str()).is_none_or(|times| *times == 0)
    });
    let mut places: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for object in missed {
        let own = places.entry(stem(&object.name)).or_default().entry(&object.name).or_default();
        *own += errors(&object.count, "ENOENT");
    }
    places.into_values().filter(|places| places.len() > 1).flatten().collect()
}

/// Lookups of names that are found elsewhere.
pub fn search(caller: &Caller) -> Vec<Advice> {
    let searched = searched(caller);
    let mut part = Part::new(caller);
    for object in caller.paths.iter().filter(|object| is_lookup(&object.count)) {
        if searched.contains_key(object.name.as_str()) {
            part.add(&object.count, share(errors(&object.count, "ENOENT"), object.count.calls));
        }
    }
    let stems: BTreeSet<&str> = searched.keys().map(|path| stem(path)).collect();
    let found = caller.paths.iter().filter(|object| is_lookup(&object.count) && stems.contains(stem(&object.name)));
    let items = added(found.map(|object| done(&object.count)));
    let mut uses: Vec<PathUse> =
        searched.iter().map(|(path, calls)| PathUse { path: (*path).to_string(), calls: *calls }).collect();
    uses.sort_by_key(|used| Reverse(used.calls));
    vec![Advice { items, ..about(part.avoid(Rule::Search), uses).remove(0) }]
}
