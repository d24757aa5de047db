//! Files that are opened again: all opens of a path but the first of each process.

use super::caller::{
    Caller, FILE_S, LISTS, OPENS, Part, READS, Rule, STATS, does, done, is_one_of, share,
};
use super::output::Advice;
use super::paths::{LOCKS, about, again, repeated};
use crate::attribute::seconds::Seconds;
use model::{CallCount, DescriptorKind, ObjectCount};

pub static RULE: Rule = Rule {
    name: "open-again",
    least: 0.08,
    phrase: "{same} opened again {turns}",
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
        .fold(part, |part, keep| with_opens(part, opens, keep));
    let part = WITH_EACH_OPEN.iter().fold(part, |part, names| {
        with_opens(part, opens, |count| {
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

/// Adds the calls that accompany so many opens. The profile does not say which file a call on a descriptor used, so a call
/// counts only if the program makes it for every open, of each kind of file that these opens may be of.
fn with_opens<'a>(mut part: Part<'a>, opens: u64, keep: impl Fn(&CallCount) -> bool) -> Part<'a> {
    let caller = part.caller;
    let kinds = kinds_of(caller, opens);
    let comes_along = kinds.iter().all(|kind| {
        let calls = caller
            .sum(|count| keep(count) && kind.concerns(count))
            .calls;
        most(calls, kind.opens)
    });
    if comes_along {
        let share = share(opens, kinds.iter().map(|kind| kind.opens).sum());
        for count in caller.counts.iter().filter(|count| keep(count)) {
            if kinds.iter().any(|kind| kind.concerns(count)) {
                part.add(count, share);
            }
        }
    }
    part
}

/// A kind of file that is opened so often; `None` is any.
struct Opened {
    kind: Option<DescriptorKind>,
    opens: u64,
}

impl Opened {
    fn concerns(&self, count: &CallCount) -> bool {
        let known = count.class.descriptor;
        self.kind.is_none() || known.is_none() || known == self.kind
    }
}

/// The kinds that these opens may be of, by how often each is closed. Any if nearly all opens are meant, or none is known, as in
/// logs.
fn kinds_of(caller: &Caller, opens: u64) -> Vec<Opened> {
    let all = caller.succeeded(OPENS);
    let kinds = [DescriptorKind::File, DescriptorKind::Directory].map(|kind| Opened {
        kind: Some(kind),
        opens: caller
            .sum(|count| is_one_of(count, "close") && count.class.descriptor == Some(kind))
            .calls,
    });
    let mut kinds: Vec<Opened> = kinds.into_iter().collect();
    kinds.retain(|kind| most(kind.opens, opens));
    if most(opens, all) || kinds.is_empty() {
        kinds = vec![Opened {
            kind: None,
            opens: all,
        }];
    }
    kinds
}

/// A few may fail, or end without.
fn most(part: u64, whole: u64) -> bool {
    part.saturating_mul(5) >= whole.saturating_mul(4)
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
