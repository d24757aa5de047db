//! Calls that fail with the same error again and again: what is not supported, or not there.

use super::questions::AGAIN;
use super::{Again, Remedy};
use crate::attribute::advice::caller::{
    Caller, OPENS, POLLS, Part, done, errors, is_on, is_one_of, share,
};
use itertools::Itertools;
use model::{CallCount, DescriptorKind};
use std::collections::BTreeSet;

static REMEMBER: Remedy = Remedy::new(
    "{calls} failing with {of}",
    "the first failure gives the answer: remember it, or wait for a change",
);
static SWEEP: Remedy = Remedy {
    least: 0.01,
    ..Remedy::new(
        "{calls} on descriptors that are not open",
        "close_range closes or marks all of them at once; /proc/self/fd lists the open ones",
    )
};
static UNCHECKED: Remedy = Remedy {
    least: 0.01,
    ..Remedy::new(
        "{calls} on descriptors that are not open{after}",
        "check the result of open or socket: the descriptor is -1 or was closed",
    )
};
static LOCKED: Remedy = Remedy::instead_of_waiting(
    "{calls} failing with {of}",
    "use a call that blocks until the event: a futex, a blocking lock or wait, poll",
);

/// Programs that close all descriptors, or mark them, call these for each number.
const SWEEPING: &str = "close fcntl fcntl64";

/// Errors that are expected: time-outs, interruptions, those of look-ups and reads, and those without a name in tables of strace. EBADF
/// has remedies by call.
const USUAL: &str =
    "unknown EBADF EAGAIN EINTR ETIMEDOUT EINPROGRESS ENOENT ECHILD ERESTARTSYS ERESTARTNOHAND";

pub(super) fn again<'a>(caller: &'a Caller<'a>) -> Vec<Again<'a>> {
    let counts = caller.counts.iter();
    let mut names: BTreeSet<&String> = counts.flat_map(|count| count.errors.keys()).collect();
    // Without paths, it is unknown whether an absent name is asked for again.
    names.retain(|error| {
        !USUAL.split(' ').any(|usual| usual == *error)
            || *error == "ENOENT" && caller.profile.objects.is_empty()
    });
    let failing = names.into_iter().map(|error| {
        let part = failing_with(caller, error, is_surprise);
        (part, &REMEMBER, error.clone())
    });
    let repeated = failing
        .chain(held(caller))
        .chain(not_open(caller))
        .filter(|(part, ..)| part.calls > caller.processes.saturating_mul(AGAIN));
    repeated
        .map(|(part, remedy, error)| Again {
            error: Some(error),
            after: if *remedy == UNCHECKED {
                failed_open(caller)
            } else {
                None
            },
            ..Again::new(part, remedy)
        })
        .collect()
}

/// For a path the error is the answer, and another address may give another one.
fn is_surprise(count: &CallCount) -> bool {
    let is_answer =
        count.class.depth.is_some() || is_one_of(count, POLLS) || is_one_of(count, "connect");
    is_on(count, DescriptorKind::None) || !is_answer
}

/// Locks and files that must be new, which are tried again until they are free.
fn held<'a>(caller: &'a Caller<'a>) -> [(Part<'a>, &'static Remedy, String); 2] {
    let locks = failing_with(caller, "EAGAIN", |count| {
        is_one_of(count, "flock fcntl fcntl64")
    });
    let files = failing_with(caller, "EEXIST", |count| is_one_of(count, OPENS));
    [
        (locks, &LOCKED, "EAGAIN".to_string()),
        (files, &LOCKED, "EEXIST".to_string()),
    ]
}

fn not_open<'a>(caller: &'a Caller<'a>) -> [(Part<'a>, &'static Remedy, String); 2] {
    [(true, &SWEEP), (false, &UNCHECKED)].map(|(sweeps, remedy)| {
        let part = failing_with(caller, "EBADF", |count| {
            is_surprise(count) && is_one_of(count, SWEEPING) == sweeps
        });
        (part, remedy, "EBADF".to_string())
    })
}

/// `openat of /srv/out.txt failed with ENOENT`; `None` if there are several, which may have no part in it.
fn failed_open(caller: &Caller) -> Option<String> {
    let opens = caller.paths.iter();
    let object = opens
        .filter(|object| is_one_of(&object.count, OPENS) && done(&object.count) == 0)
        .exactly_one()
        .ok()?;
    let error = object.count.errors.keys().next()?;
    let (call, path) = (&object.count.call, &object.name);
    Some(format!("{call} of {path} failed with {error}"))
}

/// The share of the calls that fail with this error, of those that `keep` selects.
pub fn failing_with<'a>(
    caller: &'a Caller,
    error: &str,
    keep: impl Fn(&CallCount) -> bool,
) -> Part<'a> {
    caller.part(|count| {
        if keep(count) && done(count) < count.calls {
            share(errors(count, error), count.calls)
        } else {
            0.0
        }
    })
}
