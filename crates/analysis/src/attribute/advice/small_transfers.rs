//! Reads and writes of few bytes, which a buffer would turn into a few large ones.

use super::caller::{Caller, OPENS, POLLS, Rule, SEEKS, SYNCS, added, is_one_of, waited};
use super::output::Advice;
use model::DescriptorKind::{Device, File, Pipe, Socket, Terminal};
use model::{CallCount, DescriptorKind};

pub static RULE: Rule = Rule {
    name: "small-transfers",
    least: 0.05,
    phrase: "{calls} of {bytes} each",
    change: "move more with each call: use a buffer of 4 KiB or more",
    find: |caller| {
        SMALLS
            .iter()
            .filter_map(|small| small.advice(caller))
            .collect()
    },
};

const BUFFER: u64 = 4096;
const SMALL: u64 = 1024;
const MANY: u64 = 1000;
/// Seconds to copy a byte, which a larger call does too.
const COPY_S: f64 = 0.1e-9;

const NEW: &str = "pipe pipe2 socket socketpair accept accept4";

/// Small calls on one kind of descriptor, except those that cannot be merged with the one before: `apart` at most.
struct Small {
    names: &'static str,
    kinds: &'static [DescriptorKind],
    apart: &'static [&'static str],
    /// Each may answer what another program or a person sent.
    answers: bool,
}

const fn reads(
    names: &'static str,
    kinds: &'static [DescriptorKind],
    apart: &'static [&'static str],
) -> Small {
    Small {
        names,
        kinds,
        apart,
        answers: false,
    }
}

const fn writes(
    names: &'static str,
    kinds: &'static [DescriptorKind],
    apart: &'static [&'static str],
) -> Small {
    Small {
        answers: true,
        ..reads(names, kinds, apart)
    }
}

/// Reads of files, and of streams whose data was there already; not with an offset, whose neighbours may be elsewhere. Writes to
/// all but terminals.
const SMALLS: &[Small] = &[
    reads("read", &[File, Device], &[OPENS, SEEKS]),
    reads(
        "read recvfrom",
        &[Pipe, Socket, Terminal],
        &[OPENS, POLLS, POLLS, NEW],
    ),
    writes("write writev", &[File, Device], &[OPENS, SEEKS, SYNCS]),
    writes("write writev", &[Pipe], &[SYNCS, POLLS, NEW]),
    writes("write writev sendto sendmsg", &[Socket], &[POLLS, NEW]),
    reads("getrandom", &[], &[]),
];

impl Small {
    fn is(&self, count: &CallCount) -> bool {
        let kind = count
            .class
            .descriptor
            .map_or(self.kinds.is_empty(), |kind| self.kinds.contains(&kind));
        is_one_of(count, self.names)
            && kind
            && count
                .class
                .size
                .is_some_and(|size| (1..SMALL).contains(&size))
    }

    fn advice(&self, caller: &Caller) -> Option<Advice> {
        let sum = caller.sum(|count| self.is(count));
        let bytes = sum.bytes.unwrap_or_else(|| {
            let counts = caller.counts.iter().filter(|count| self.is(count));
            added(counts.map(|count| count.calls.saturating_mul(count.class.size.unwrap_or(0))))
        });
        let apart = added(self.apart.iter().map(|names| caller.succeeded(names)));
        let answers = if self.answers { caller.received() } else { 0 };
        let buffered = bytes
            .div_ceil(BUFFER)
            .saturating_add(apart)
            .saturating_add(answers);
        // Who waits in them takes what arrives.
        let waits = !self.answers && waited(&sum);
        let merged = sum.calls.saturating_sub(buffered);
        if waits || merged < MANY || merged < buffered.saturating_mul(2) {
            return None;
        }
        let part = caller.some(merged, |count| self.is(count));
        let mut saved = part.left_out().less(bytes as f64 * COPY_S);
        if self.kinds.contains(&Socket) && self.answers {
            // A datagram stays one, however many are sent with a call.
            saved.low = saved.low.min(0.5 * part.crossings_s());
        }
        let each = bytes.saturating_add(sum.calls / 2) / sum.calls.max(1);
        Some(Advice {
            calls: sum.calls,
            subject: Some(each.max(1).to_string()),
            ..part.advice(buffered, saved)
        })
    }
}
