//! Polls that find nothing.

use super::caller::{Caller, INPUTS, POLLS, Rule, is_one_of, keeps_up, share, waited};
use super::output::Advice;
use super::same_answer::spun;

pub static RULE: Rule = Rule {
    name: "empty-polls",
    least: 0.05,
    phrase: "{calls} that found nothing ready, besides the {items} followed by a read",
    change: "let one poll block (timeout -1) instead of polling again and again",
    find,
};

/// Calls that a poll may have announced besides reads.
const OUTPUTS: &str =
    "write writev sendto sendmsg sendmmsg send connect sendfile splice getsockopt ioctl wait4";

const MANY: u64 = 1000;
/// Fewer reads than one for so many polls are those of a program's start.
const RARE: u64 = 100;

/// Profiles have no results of polls. But each that announces something is followed by a call on that descriptor. Polls that waited
/// are left alone: a timer may be meant.
fn find(caller: &Caller) -> Vec<Advice> {
    let polls = caller.named(POLLS);
    let [inputs, outputs] = [INPUTS, OUTPUTS].map(|names| caller.named(names).calls);
    let empty = polls.calls.saturating_sub(inputs);
    if polls.blocked_ns.is_none()
        || waited(&polls)
        || empty < MANY
        // Any of these may have been announced by a poll that found something.
        || empty < inputs.saturating_add(outputs)
    {
        return Vec::new();
    }
    let part = caller.some(empty, |count| is_one_of(count, POLLS));
    let surely = share(empty.saturating_sub(outputs), empty);
    let saved = spun(&part).times([surely, 1.0, 1.0]);
    let without_set = caller.sum(|count| is_one_of(count, POLLS) && count.class.set == Some(0));
    vec![Advice {
        spins: true,
        phrase: if inputs < polls.calls / RARE {
            "{calls} that found nothing ready"
        } else {
            ""
        },
        // It would block for ever.
        change: if keeps_up(without_set.calls, polls.calls) {
            "sleep until there is work (clock_nanosleep, or a descriptor to wait for)"
        } else {
            ""
        },
        ..part.advice(inputs, saved)
    }]
}
