//! Files that are created, used and unlinked, one after the other.

use super::caller::{
    Caller, FILE_S, LISTS, OPENS, READS, RENAMES, Rule, SEEKS, SYNCS, UNLINKS, WRITES, added, does,
    done, is_on, is_one_of, share,
};
use super::output::Advice;
use crate::attribute::seconds::{Seconds, s};
use model::{CallCount, DescriptorKind};
use std::collections::BTreeMap;

pub static RULE: Rule = Rule {
    name: "temporary-files",
    least: 0.1,
    phrase: "{items} files created and unlinked",
    change: "keep the data in memory, or keep one file and empty it with ftruncate",
    find,
};

/// A file costs ten times as much as a call.
const SOME: u64 = 20;
/// A process id, and a host beside it.
const LOCK_BYTES: u64 = 64;
/// The least bytes of a directory's entry (getdents64(2)).
const ENTRY_BYTES: u64 = 24;

pub fn creates(count: &CallCount) -> bool {
    is_one_of(count, "creat") || (is_one_of(count, OPENS) && does(count, "create"))
}

/// Whether these calls remove files, not directories.
pub fn unlinks(count: &CallCount) -> bool {
    is_one_of(count, UNLINKS) && !does(count, "directory")
}

/// Files that were opened and removed under the same path, however often: the smaller of both numbers, summed over all paths.
pub fn unlinked_again(caller: &Caller) -> u64 {
    let mut by_path: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for object in caller.paths {
        let (opened, unlinked) = by_path.entry(&object.name).or_default();
        for (names, sum) in [(OPENS, opened), (UNLINKS, unlinked)] {
            if is_one_of(&object.count, names) {
                *sum = sum.saturating_add(done(&object.count));
            }
        }
    }
    added(
        by_path
            .into_values()
            .map(|(opened, unlinked)| opened.min(unlinked)),
    )
}

/// Not of files that hold nothing or a process id, which are locks, nor of those that are synced or published. Nor of those that a
/// list of their directory may have found: a tree was removed.
fn find(caller: &Caller) -> Vec<Advice> {
    let (created, unlinked) = (caller.sum(creates), caller.sum(unlinks));
    let removed = caller.sum(|count| {
        is_one_of(count, "rmdir") || (is_one_of(count, UNLINKS) && does(count, "directory"))
    });
    let listed = if removed.calls > 0 {
        caller.named(LISTS).bytes.unwrap_or(0) / ENTRY_BYTES
    } else {
        0
    };
    // Files that were published, or were found in a tree that was removed, are not temporary.
    let meant = caller.succeeded(RENAMES).saturating_add(listed);
    let files = done(&created)
        .min(done(&unlinked))
        .min(unlinked_again(caller))
        .saturating_sub(meant);
    let on_file = |count: &CallCount| is_on(count, DescriptorKind::File);
    let bytes = caller.sum(|count| is_one_of(count, WRITES) && on_file(count));
    let holds_little = bytes
        .bytes
        .is_none_or(|bytes| bytes < files.saturating_mul(LOCK_BYTES));
    if holds_little
        || caller.named(SYNCS).calls >= files
        || files < caller.processes.saturating_mul(SOME)
    {
        return Vec::new();
    }
    let part = caller
        .some(files, creates)
        .and(files, unlinks)
        .with_each(files, |count| is_one_of(count, "close") && on_file(count));
    // In memory nothing is left of it; in one file, reads and writes are, and to empty it is about half of what its unlink does.
    let whole = ["fstat newfstatat", "ioctl", "fcntl", SEEKS, READS, WRITES]
        .iter()
        .fold(part.clone(), |part, names| {
            part.with_each(files, |count| {
                is_one_of(count, names) && count.class.depth.unwrap_or(0) == 0
            })
        });
    let emptied_s = s(unlinked.on_cpu_ns.unwrap_or(0)) * share(files, unlinked.calls) / 2.0;
    let kept = part.with_around(files, FILE_S).less(emptied_s);
    let none = whole.with_around(files, FILE_S);
    let saved = Seconds {
        low: kept.low,
        value: kept.value.max(none.value),
        high: none.high,
    };
    vec![Advice {
        calls: files,
        ..part.advice(files, saved)
    }]
}
