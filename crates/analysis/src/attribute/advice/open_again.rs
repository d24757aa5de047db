//! Files that are opened again: all opens of a path but the first of each process.

use super::caller::{
    Caller, FILE_S, LISTS, OPENS, READS, Rule, STATS, does, done, is_one_of, share,
};
use super::output::Advice;
use super::paths::{LOCKS, about, again, repeated};
use crate::attribute::seconds::Seconds;
use model::{CallCount, DescriptorKind, ObjectCount};

pub static RULE: Rule = Rule {
    name: "open-again",
    least: 0.08,
    phrase: "{turns} of {same}",
    change: "keep it open, or cache its contents",
    find,
};

/// Besides reads and writes.
const WITH_EACH_OPEN: &[&str] = &[
    "fstat",
    "lseek",
    "ioctl",
    "fcntl",
    "mmap",
    "munmap",
    "fadvise64",
];

fn closes(count: &CallCount) -> bool {
    use DescriptorKind::{None, Pipe, Socket};
    is_one_of(count, "close") && !matches!(count.class.descriptor, Some(Socket | Pipe | None))
}

/// Not those that take a lock each: the lock ends with the descriptor. At least the opens are saved; at most what was read and made of
/// it is kept as well.
fn find(caller: &Caller) -> Vec<Advice> {
    let paths = again(caller, opened);
    let (part, uses) = repeated(caller, &paths, opened);
    let opens = part.calls;
    let locks = caller.sum(|count| {
        is_one_of(count, LOCKS)
            && count
                .class
                .operation
                .as_deref()
                .is_none_or(|name| name.contains("setlk"))
    });
    if opens == 0 || locks.calls.saturating_mul(2) >= opens {
        return Vec::new();
    }
    // Directories are listed again.
    let part = [closes, lists, stats]
        .into_iter()
        .fold(part, |part, keep| part.with_each(opens, keep));
    let part = WITH_EACH_OPEN.iter().fold(part, |part, names| {
        part.with_each(opens, |count| {
            is_one_of(count, names) && !does(count, "anonymous")
        })
    });
    // At most, the contents are kept as well, which saves the reads.
    let mut kept = part.clone();
    let again = share(opens, caller.succeeded(OPENS));
    caller
        .counts
        .iter()
        .filter(|count| is_one_of(count, READS))
        .for_each(|count| kept.add(count, again));
    let [opened, kept] = [&part, &kept].map(|part| part.with_around(opens, FILE_S));
    let saved = Seconds {
        low: opened.low,
        ..kept
    };
    vec![about(
        Advice {
            calls: opens,
            ..part.advice(0, saved)
        },
        uses,
    )]
}

fn opened(object: &ObjectCount) -> u64 {
    if is_one_of(&object.count, OPENS) {
        done(&object.count)
    } else {
        0
    }
}

fn lists(count: &CallCount) -> bool {
    is_one_of(count, LISTS)
}

fn stats(count: &CallCount) -> bool {
    is_one_of(count, STATS) && count.class.depth == Some(0)
}
