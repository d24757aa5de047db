//! Reads and writes of few bytes, which a buffer would turn into a few large ones.

use super::caller::{Caller, OPENS, POLLS, Rule, SEEKS, SYNCS, added, is_one_of, share, waited};
use super::found::Advice;
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
    /// Whether each may answer what another program or a person sent.
    answers: bool,
}

/// Reads of files, and of streams whose data was there already; not with an offset, whose neighbours may be elsewhere. Writes to
/// all but terminals.
const SMALLS: &[Small] = &[
    Small {
        names: "read",
        kinds: &[File, Device],
        apart: &[OPENS, SEEKS],
        answers: false,
    },
    Small {
        names: "read recvfrom",
        kinds: &[Pipe, Socket, Terminal],
        apart: &[OPENS, POLLS, POLLS, NEW],
        answers: false,
    },
    Small {
        names: "write writev",
        kinds: &[File, Device],
        apart: &[OPENS, SEEKS, SYNCS],
        answers: true,
    },
    Small {
        names: "write writev",
        kinds: &[Pipe],
        apart: &[SYNCS, POLLS, NEW],
        answers: true,
    },
    Small {
        names: "write writev sendto sendmsg",
        kinds: &[Socket],
        apart: &[POLLS, NEW],
        answers: true,
    },
    Small {
        names: "getrandom",
        kinds: &[],
        apart: &[],
        answers: false,
    },
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
        let asked = |count: &CallCount| count.calls.saturating_mul(count.class.size.unwrap_or(0));
        let asked = || {
            added(
                caller
                    .counts
                    .iter()
                    .filter(|count| self.is(count))
                    .map(asked),
            )
        };
        let bytes = sum.bytes.unwrap_or_else(asked);
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
        let part = caller.part(|count| {
            if self.is(count) {
                share(merged, sum.calls)
            } else {
                0.0
            }
        });
        let saved = part.left_out().less(bytes as f64 * COPY_S);
        let each = bytes.saturating_add(sum.calls / 2) / sum.calls.max(1);
        let advice = part.advice(&RULE, saved);
        Some(Advice {
            calls: sum.calls,
            items: buffered,
            of: Some(each.max(1).to_string()),
            ..advice
        })
    }
}
