//! Rules about files: created for each transaction, and synced for each record.

use super::caller::{Caller, is_one_of};
use super::rule::{Advice, Rule, SOME, Time};
use super::transfers::{OPENS, SYNCS};
use crate::attribute::spread::{MODEL_SD, Seconds, less};
use crate::attribute::units::bare_name;
use crate::model::{CallCount, DescriptorKind};
use indexmap::IndexMap;

fn creates(count: &CallCount) -> bool {
    is_one_of(count, &["open", "openat", "openat2", "creat"]) && count.class.operation.as_deref() == Some("create")
}

fn unlinks(count: &CallCount) -> bool {
    is_one_of(count, &["unlink", "unlinkat"]) && count.class.operation.as_deref() != Some("directory")
}

fn closes(count: &CallCount) -> bool {
    bare_name(&count.call) == "close" && matches!(count.class.descriptor, None | Some(DescriptorKind::File))
}

/// Files that are opened and unlinked under one path, by what is known of paths; those that are published by a link or a rename
/// are not temporary.
fn unlinked_again(caller: &Caller) -> u64 {
    let mut by_path: IndexMap<&str, (u64, u64)> = IndexMap::new();
    for object in caller.paths() {
        let (opened, unlinked) = by_path.entry(&object.name).or_default();
        let done = object.count.calls.saturating_sub(object.count.failures());
        *opened = opened.saturating_add(if is_one_of(&object.count, OPENS) { done } else { 0 });
        *unlinked = unlinked.saturating_add(if is_one_of(&object.count, &["unlink", "unlinkat"]) { done } else { 0 });
    }
    let files = by_path.values().fold(0, |sum: u64, (opened, unlinked)| sum.saturating_add(*opened.min(unlinked)));
    files.saturating_sub(caller.succeeded(&["link", "linkat", "rename", "renameat", "renameat2"]))
}

/// Creates, unlinks and as many closes; a file that is kept and emptied takes their place. Not of files that hold nothing, which
/// are locks, nor of those that are synced: there the name is part of a protocol.
pub fn temporary_files(caller: &Caller) -> Vec<Advice> {
    let done = |keep: fn(&CallCount) -> bool| {
        let sum = caller.sum(keep);
        (sum.calls.saturating_sub(sum.failures()), sum.calls.max(1))
    };
    let (created, unlinked, closed) = (done(creates), done(unlinks), done(closes));
    let files = created.0.min(unlinked.0).min(unlinked_again(caller));
    let kept = caller.named(WRITES).calls < files || caller.named(SYNCS).calls >= files;
    // Many for each process, so that there is a file to keep.
    if kept || !caller.are_many(files.saturating_mul(10)) {
        return Vec::new();
    }
    let share = |(_, calls): (u64, u64)| files.min(calls) as f64 / calls as f64;
    let part = caller.part(|count| match count {
        count if creates(count) => share(created),
        count if unlinks(count) => share(unlinked),
        count if closes(count) => share(closed),
        _ => 0.0,
    });
    let empties = caller.costs.price_of("file.truncate");
    let found = empties.and_then(|price| part.replaced(Rule::TemporaryFiles, files, price));
    found.map(|advice| Advice { calls: files, ..advice }).into_iter().collect()
}

const WRITES: &[&str] = &["write", "pwrite64", "writev", "pwritev", "pwritev2"];

/// Records that share a sync in the advice.
pub const GROUP: f64 = 10.0;

/// One sync for ten records would save nine of ten waits.
pub fn sync_per_record(caller: &Caller) -> Vec<Advice> {
    let part = caller.whole(|count| is_one_of(count, &["fsync", "fdatasync"]));
    let writes = caller.named(WRITES).calls;
    // Files of their own, and records that others wait for, cannot share a sync.
    let own = caller.succeeded(OPENS).max(caller.processes()).saturating_mul(SOME);
    let is_asked = caller.received() >= part.calls / 2;
    if part.calls < own || is_asked || writes >= part.calls.saturating_mul(SOME) {
        return Vec::new();
    }
    let saved = match part.measured_s(Time::Elapsed) {
        // What a device takes changes from one run to the next.
        Some(waited) => Seconds::within(waited * (1.0 - 1.0 / GROUP), MODEL_SD).at_most(waited * (1.0 + MODEL_SD)),
        None => match part.takes(Time::Elapsed) {
            Some(priced) => less(priced, Seconds::exactly(priced.value / GROUP)),
            None => return Vec::new(),
        },
    };
    let measured_s = part.measured_s(Time::Elapsed);
    let advice = part.advice(Rule::SyncPerRecord { writes }, Some(saved), []);
    vec![Advice { measured_s, time: Time::Elapsed, ..advice }]
}
