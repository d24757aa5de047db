//! Reads that find nothing: of streams without input (EAGAIN), and at the end.

use super::{Again, Remedy, failing_with};
use crate::attribute::advice::caller::{
    Caller, INPUTS, OPENS, POLLS, done, errors, is_one_of, share,
};
use model::CallCount;

static EMPTY: Remedy = Remedy::instead_of_waiting(
    "{calls} with nothing to read (EAGAIN)",
    "stop after a short read, or wait with poll or epoll before reading",
);
static ENDED: Remedy = Remedy::instead_of_waiting(
    "{calls} at the end of input, which return 0",
    "stop at the first 0: the other end is closed, or the file has ended",
);

const MANY: u64 = 1000;
/// After these the end may be another one.
const PAUSES: &str =
    "nanosleep clock_nanosleep socket socketpair accept accept4 connect pipe pipe2 lseek";

pub(super) fn again<'a>(caller: &'a Caller<'a>) -> Vec<Again<'a>> {
    [empty(caller), ended(caller)]
        .into_iter()
        .flatten()
        .collect()
}

/// Beyond one for each poll: a program with edge-triggered notification may read until there is none, and with `accept` it must. A
/// program that tries before it waits, as Go's runtime does, tries once for each message.
fn empty<'a>(caller: &'a Caller<'a>) -> Option<Again<'a>> {
    let reads = |count: &CallCount| is_one_of(count, INPUTS) && !is_one_of(count, "accept accept4");
    let all = caller.sum(reads);
    let (empty, polls) = (errors(&all, "EAGAIN"), caller.named(POLLS).calls);
    // With hardly any polls, the program does not wait in them, so its failures do not precede waits.
    let tries = if polls.saturating_mul(20) > done(&all) {
        done(&all)
    } else {
        0
    };
    let surplus = empty.saturating_sub(polls).saturating_sub(tries);
    if surplus < MANY {
        return None;
    }
    let mut part = failing_with(caller, "EAGAIN", reads);
    part.keep(share(surplus, empty));
    Some(Again::new(part, &EMPTY))
}

/// One at the end of each file and stream, and two, as some libraries look again.
fn ended<'a>(caller: &'a Caller<'a>) -> Option<Again<'a>> {
    let reads = |count: &CallCount| {
        is_one_of(count, "read recvfrom recvmsg pread64") && count.class.size == Some(0)
    };
    let ends = done(&caller.sum(reads));
    let reasons = [OPENS, POLLS, PAUSES].map(|names| caller.named(names).calls);
    let beyond = reasons.iter().fold(ends, |left, calls| {
        left.saturating_sub(calls.saturating_mul(2))
    });
    if beyond < MANY {
        return None;
    }
    let mut part = caller.part(|count| {
        if reads(count) {
            share(done(count), count.calls)
        } else {
            0.0
        }
    });
    part.keep(share(beyond, ends));
    Some(Again::new(part, &ENDED))
}
