//! Rules about reads and writes: few bytes at a time, and reads that find nothing.

use super::caller::{Caller, INPUTS, OPENS, POLLS, SYNCS, added, done, errors, is_one_of, share};
use super::rule::{Advice, Rule};
use crate::attribute::seconds::Seconds;
use crate::model::{CallCount, DescriptorKind};
use DescriptorKind::{Device, File, Pipe, Socket, Terminal};

/// Bytes of a standard library's usual buffer.
const BUFFER: u64 = 4096;

/// Calls that move fewer bytes than this are small.
const SMALL: u64 = 1024;

/// Seconds to copy a byte, which a larger call does too.
const COPY_S: f64 = 0.1e-9;

const SEEKS: &[&str] = &["lseek", "_llseek"];
const NEW: &[&str] = &["pipe", "pipe2", "socket", "socketpair", "accept", "accept4"];

/// Small calls on one kind of descriptor, except those that cannot be merged with the one before: `apart` at most.
struct Small {
    names: &'static [&'static str],
    kinds: &'static [DescriptorKind],
    apart: &'static [&'static [&'static str]],
    /// Whether each may answer what another program or a person sent.
    answers: bool,
}

/// Reads of files, and of streams whose data was there already; not with an offset, whose neighbours may be elsewhere. Writes to
/// all but terminals.
const SMALLS: &[Small] = &[
    Small { names: &["read"], kinds: &[File, Device], apart: &[OPENS, SEEKS], answers: false },
    Small {
        names: &["read", "recvfrom"],
        kinds: &[Pipe, Socket, Terminal],
        apart: &[OPENS, POLLS, POLLS, NEW],
        answers: false,
    },
    Small { names: &["write", "writev"], kinds: &[File, Device], apart: &[OPENS, SEEKS, SYNCS], answers: true },
    Small { names: &["write", "writev"], kinds: &[Pipe], apart: &[SYNCS, POLLS, NEW], answers: true },
    Small { names: &["write", "writev", "sendto", "sendmsg"], kinds: &[Socket], apart: &[POLLS, NEW], answers: true },
    Small { names: &["getrandom"], kinds: &[], apart: &[], answers: false },
];

pub fn small_transfers(caller: &Caller) -> Vec<Advice> {
    SMALLS.iter().filter_map(|small| small.advice(caller)).collect()
}

impl Small {
    fn is(&self, count: &CallCount) -> bool {
        let kind = count.class.descriptor.map_or(self.kinds.is_empty(), |kind| self.kinds.contains(&kind));
        is_one_of(count, self.names) && kind && count.class.size.is_some_and(|size| (1..SMALL).contains(&size))
    }

    fn advice(&self, caller: &Caller) -> Option<Advice> {
        let sum = caller.sum(|count| self.is(count));
        let bytes = sum.bytes.unwrap_or(sum.calls);
        let apart = added(self.apart.iter().map(|names| caller.succeeded(names)));
        let answers = if self.answers { caller.received() } else { 0 };
        let buffered = bytes.div_ceil(BUFFER).saturating_add(apart).saturating_add(answers);
        // Who waits in them takes what arrives.
        let waits = !self.answers && sum.blocked_ns > sum.on_cpu_ns;
        let merged = sum.calls.saturating_sub(buffered);
        if waits || merged < MANY || merged < buffered.saturating_mul(2) {
            return None;
        }
        let part = caller.part(|count| if self.is(count) { share(merged, sum.calls) } else { 0.0 });
        let Seconds { value, low, high } = part.left_out();
        let copied = bytes as f64 * COPY_S;
        let saved = Seconds { value: (value - copied).max(0.0), low: (low * 0.8 - 2.0 * copied).max(0.0), high };
        Some(Advice {
            calls: sum.calls,
            items: buffered,
            of: Some(each(bytes, sum.calls)),
            ..part.advice(Rule::SmallTransfers, saved)
        })
    }
}

/// Fewer calls than this do not matter.
const MANY: u64 = 1000;

/// Bytes of each call, as a whole number.
fn each(bytes: u64, calls: u64) -> String {
    (bytes.saturating_add(calls / 2) / calls.max(1)).max(1).to_string()
}

/// Reads beyond one for each poll that find nothing: who is notified of input by the edge may read until there is none. Of `accept`
/// there is no other way. A program that tries before it waits, as Go's runtime does, tries once for each message.
pub fn empty_reads(caller: &Caller) -> Vec<Advice> {
    let reads = |count: &CallCount| is_one_of(count, INPUTS) && !is_one_of(count, &["accept", "accept4"]);
    let all = caller.sum(reads);
    let (empty, polls) = (errors(&all, "EAGAIN"), caller.named(POLLS).calls);
    let tries = if polls.saturating_mul(20) > done(&all) { done(&all) } else { 0 };
    let surplus = empty.saturating_sub(polls).saturating_sub(tries);
    if surplus < MANY {
        return Vec::new();
    }
    let left = share(surplus, empty);
    let part = caller.part(|count| if reads(count) { left * share(errors(count, "EAGAIN"), count.calls) } else { 0.0 });
    vec![part.avoid(Rule::EmptyReads)]
}
