//! A sync for each record; one for many of them is enough.

use super::caller::{
    Caller, OPENS, Rule, SYNCS, WRITES, added, done, is_on, is_one_of, keeps_up, waited,
};
use super::output::{Advice, PathUse};
use super::temporary_files::{creates, unlinked_again, unlinks};
use crate::attribute::seconds::Seconds;
use model::{CallCount, DescriptorKind, ObjectKind};

pub static RULE: Rule = Rule {
    name: "sync-per-record",
    least: 0.01,
    phrase: "{calls} for {items} writes",
    change: "put many records into one transaction with a single sync",
    find,
};

/// A sync costs a thousand times as much as a call.
const SOME: u64 = 10;

/// Writes that wait for the device, as with O_SYNC.
fn waits_for_device(count: &CallCount) -> bool {
    let small = count.class.size.is_some_and(|size| size < 1 << 16);
    is_one_of(count, WRITES) && small && is_on(count, DescriptorKind::File) && waited(count)
}

/// Files of their own cannot share a sync, nor can records that somebody waits for.
fn find(caller: &Caller) -> Vec<Advice> {
    let syncs = |count: &CallCount| is_one_of(count, SYNCS) || waits_for_device(count);
    let part = caller.whole(syncs);
    let created = done(&caller.sum(creates));
    // Journals that come and go are one file.
    let files = created
        .saturating_sub(unlinked_again(caller))
        .saturating_sub(recreated(caller));
    let writes = caller.named(WRITES).calls;
    let is_asked = keeps_up(caller.received(), part.calls / 2);
    if part.calls < files.max(1).saturating_mul(SOME)
        || is_asked
        || writes >= part.calls.saturating_mul(SOME)
    {
        return Vec::new();
    }
    let with = caller.whole(|count| {
        creates(count) || unlinks(count) || (is_one_of(count, WRITES) && !syncs(count))
    });
    // A device's time differs from one run to the next.
    let saved = Seconds::scaled(part.waited_s(), [0.6, 0.9, 1.3]);
    let saved = saved.plus(with.left_out().times([0.0, 0.0, 1.0]));
    vec![Advice {
        paths: synced(caller),
        ..part.advice_with_waiting(writes, saved)
    }]
}

/// The files, where descriptors are known by their objects.
fn synced(caller: &Caller) -> Vec<PathUse> {
    let objects = caller.profile.objects.iter();
    let files = objects.filter(|object| {
        object.kind == ObjectKind::Descriptor
            && object.process == caller.name
            && is_one_of(&object.count, SYNCS)
    });
    let files = files.map(|object| PathUse {
        path: object.name.clone(),
        calls: object.count.calls,
        elapsed_ns: object.count.elapsed_ns().unwrap_or(0),
    });
    let most = files.max_by_key(|file| (file.elapsed_ns, file.calls));
    most.into_iter().collect()
}

/// Created again and again under one path: renamed to their place each time, or emptied.
fn recreated(caller: &Caller) -> u64 {
    let again = caller
        .paths
        .iter()
        .filter(|object| is_one_of(&object.count, OPENS))
        .filter(|object| done(&object.count) > SOME);
    added(again.map(|object| done(&object.count))).saturating_sub(unlinked_again(caller))
}
