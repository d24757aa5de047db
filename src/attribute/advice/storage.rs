//! Rules about files that are synced, locked, created and mapped for each item, and memory that comes and goes.

use super::caller::{Caller, OPENS, SYNCS, UNLINKS, WRITES, added, does, done, errors, is_one_of, share, total};
use super::rule::{Advice, Rule};
use crate::attribute::seconds::Seconds;
use crate::model::{CallCount, DescriptorKind};
use crate::syscall_names::bare_name;
use std::collections::BTreeMap;

/// Fewer do not matter, of what costs a thousand times as much as a call.
const SOME: u64 = 10;

fn creates(count: &CallCount) -> bool {
    is_one_of(count, &["creat"]) || (is_one_of(count, OPENS) && does(count, "create"))
}

fn unlinks(count: &CallCount) -> bool {
    is_one_of(count, UNLINKS) && !does(count, "directory")
}

/// Files opened and unlinked under one path, by what is known of paths.
fn unlinked_again(caller: &Caller) -> u64 {
    let mut by_path: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
    for object in &caller.paths {
        let (opened, unlinked) = by_path.entry(&object.name).or_default();
        *opened = opened.saturating_add(if is_one_of(&object.count, OPENS) { done(&object.count) } else { 0 });
        *unlinked = unlinked.saturating_add(if is_one_of(&object.count, UNLINKS) { done(&object.count) } else { 0 });
    }
    added(by_path.values().map(|(opened, unlinked)| *opened.min(unlinked)))
}

/// Writes that wait for the device, as with O_SYNC.
fn waits_for_device(count: &CallCount) -> bool {
    let small = count.class.size.is_some_and(|size| size < 1 << 16);
    is_one_of(count, WRITES)
        && small
        && count.class.descriptor == Some(DescriptorKind::File)
        && count.blocked_ns > count.on_cpu_ns
}

/// A sync for each record; one for many of them is enough. Files of their own cannot share one, nor can records that somebody
/// waits for.
pub fn sync_per_record(caller: &Caller) -> Vec<Advice> {
    let syncs = |count: &CallCount| is_one_of(count, SYNCS) || waits_for_device(count);
    let part = caller.whole(syncs);
    let created = done(&caller.sum(creates));
    // Journals that come and go are one file.
    let files = created.saturating_sub(unlinked_again(caller)).saturating_sub(recreated(caller));
    let writes = caller.named(WRITES).calls;
    let is_asked = caller.received() >= part.calls / 2;
    if part.calls < files.max(1).saturating_mul(SOME) || is_asked || writes >= part.calls.saturating_mul(SOME) {
        return Vec::new();
    }
    let waited_s = part.waited_s();
    let with = caller.whole(|count| creates(count) || unlinks(count) || (is_one_of(count, WRITES) && !syncs(count)));
    // What a device takes changes from one run to the next.
    let saved = Seconds { value: waited_s * 0.9, low: waited_s * 0.6, high: waited_s * 1.3 + with.left_out().high };
    let mut advice = part.advice(Rule::SyncPerRecord, saved);
    advice.items = writes;
    vec![advice]
}

/// Files that are created again and again under one path: renamed to their place each time, or emptied.
fn recreated(caller: &Caller) -> u64 {
    let opens = caller.paths.iter().filter(|object| is_one_of(&object.count, OPENS));
    let again = opens.filter(|object| done(&object.count) > SOME);
    added(again.map(|object| done(&object.count))).saturating_sub(unlinked_again(caller))
}

/// A process id, and a host beside it: what a lock file holds.
const LOCK_BYTES: u64 = 64;

/// Creates, unlinks and as many closes; a file that is kept and emptied takes their place. Not of files that hold nothing or a
/// process id, which are locks, nor of those that are synced or published: there the name is part of a protocol.
pub fn temporary_files(caller: &Caller) -> Vec<Advice> {
    let (created, unlinked) = (caller.sum(creates), caller.sum(unlinks));
    let published = caller.succeeded(&["link", "linkat", "rename", "renameat", "renameat2"]);
    let files = done(&created).min(done(&unlinked)).min(unlinked_again(caller)).saturating_sub(published);
    let bytes = caller.sum(|count| is_one_of(count, WRITES) && count.class.descriptor == Some(DescriptorKind::File));
    let holds_little = bytes.bytes.is_none_or(|bytes| bytes < files.saturating_mul(LOCK_BYTES));
    if holds_little || caller.named(SYNCS).calls >= files || files < caller.processes.saturating_mul(SOME * 2) {
        return Vec::new();
    }
    let part = caller.part(|count| match count {
        count if creates(count) => share(files, created.calls),
        count if unlinks(count) => share(files, unlinked.calls),
        _ => 0.0,
    });
    let part = part
        .with_each(files, |count| is_one_of(count, &["close"]) && count.class.descriptor == Some(DescriptorKind::File));
    let Seconds { value, low, high } = part.left_out();
    // To empty a file is about half of what its unlink does.
    let emptied = total(caller.counts.iter().filter(|count| unlinks(count))).on_cpu_ns.unwrap_or(0) as f64 / 2e9;
    let saved = Seconds { value: (value - emptied).max(0.0), low: (low - 2.0 * emptied).max(0.0), high };
    vec![Advice { calls: files, items: files, ..part.advice(Rule::TemporaryFiles, saved) }]
}

/// Locks on files that one process takes, again and again, and never had to wait for.
pub fn locks(caller: &Caller) -> Vec<Advice> {
    let locks = |count: &CallCount| {
        let sets = count.class.operation.as_deref().is_some_and(|name| name.contains("setlk"));
        is_one_of(count, &["flock"]) || (is_one_of(count, &["fcntl", "fcntl64"]) && sets)
    };
    let all = caller.sum(locks);
    let everybody = total(caller.profile.groups.iter().flat_map(|group| &group.calls).filter(|count| locks(count)));
    // One process may wait for the device; of several, those that wait wait for each other.
    let waited = all.blocked_ns > if caller.processes > 1 { Some(0) } else { all.on_cpu_ns };
    let is_wanted = ["EAGAIN", "EACCES", "EINTR"].iter().any(|error| errors(&all, error) > 0) || waited;
    if everybody.calls > all.calls || is_wanted || all.calls < SOME * 10 {
        return Vec::new();
    }
    let part = caller.whole(locks);
    let Seconds { value, low, high } = part.left_out();
    vec![part.advice(Rule::Locks, Seconds { value, low, high: high * 2.0 })]
}

/// Mappings from this size on are not small. Above it the copying and zeroing of pages matters more than the calls.
const LARGE: u64 = 4 << 20;
const LARGE_FILE: u64 = 256 << 10;
const PAGE: u64 = 4096;

fn maps(count: &CallCount, operation: &str) -> bool {
    matches!(bare_name(&count.call), "mmap" | "mmap2") && does(count, operation)
}

fn is_sized(count: &CallCount, below: u64) -> bool {
    count.class.size.is_some_and(|size| size < below)
}

/// Small files that are mapped: a read copies less than a mapping, its page faults and its end take. Loaders map several parts of a
/// file and keep them.
pub fn small_file_maps(caller: &Caller) -> Vec<Advice> {
    let mapped = |count: &CallCount| maps(count, "file") && is_sized(count, LARGE_FILE);
    let unmapped = |count: &CallCount| is_one_of(count, &["munmap"]) && is_sized(count, LARGE_FILE);
    pairs(caller, Rule::SmallFileMaps, mapped, unmapped, 1.0)
}

/// Anonymous memory that comes and goes, with the page faults of each mapping.
pub fn small_maps(caller: &Caller) -> Vec<Advice> {
    let mapped = |count: &CallCount| maps(count, "anonymous") && is_sized(count, LARGE);
    let unmapped = |count: &CallCount| is_one_of(count, &["munmap"]) && is_sized(count, LARGE);
    let size = |count: &CallCount| count.calls.saturating_mul(count.class.size.unwrap_or(0));
    let bytes = added(caller.counts.iter().filter(|count| mapped(count)).map(size));
    let resident = caller.profile.usage.peak_rss_kib.map(|kib| kib.saturating_mul(1024));
    // More than was ever resident at once: the same memory could have served again.
    if resident.is_none_or(|resident| bytes < resident.saturating_mul(2)) {
        return Vec::new();
    }
    pairs(caller, Rule::SmallMaps, mapped, unmapped, bytes as f64 / PAGE as f64)
}

/// Seconds of a page fault: a minor one of a page that is there, and of a page that is zeroed.
const FAULT_S: (f64, f64) = (0.25e-6, 1e-6);

fn pairs(
    caller: &Caller,
    rule: Rule,
    mapped: impl Fn(&CallCount) -> bool,
    unmapped: impl Fn(&CallCount) -> bool,
    pages: f64,
) -> Vec<Advice> {
    let (maps, unmaps) = (caller.sum(&mapped).calls, caller.sum(&unmapped).calls);
    let pairs = maps.min(unmaps);
    if pairs < caller.processes.saturating_mul(SOME * 10) {
        return Vec::new();
    }
    let part = caller.part(|count| match count {
        count if mapped(count) => share(pairs, maps),
        count if unmapped(count) => share(pairs, unmaps),
        _ => 0.0,
    });
    let faults = caller.profile.usage.minor_faults.unwrap_or(0) as f64;
    let faults = faults.min(pages.max(pairs as f64));
    let calls = part.left_out();
    let (low, value, high) = match rule {
        // A read takes their place.
        Rule::SmallFileMaps => (calls.low * 0.5, calls.value + faults * FAULT_S.0, calls.high + caller.outside_s()),
        // Pages that nobody touches have no faults.
        _ => (calls.low, calls.value + faults * FAULT_S.0, calls.high + faults * FAULT_S.1 * 1.5),
    };
    vec![Advice { items: pairs, ..part.advice(rule, Seconds { value, low, high }) }]
}
