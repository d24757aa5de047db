//! Advice in words: who makes which calls, where, and what to change. All formats of attributions call it.

use crate::attribute::advice::{Advice, Group, PathUse, Rule, Time, advice, largest};
use crate::model::Profile;
use crate::prose::{counted, some};
use crate::report::attribution::notes::{range, seconds};
use crate::report::numbers::{percent, thousands};

/// A sentence for each piece of advice: `0.0312 s (0.0156 to 0.0624): reads of under 128 bytes: ...`; that there is none, if so.
pub fn advice_lines(profile: &Profile) -> Vec<String> {
    let advice = advice(profile, profile.null_call_ns);
    if advice.is_empty() { none(profile) } else { advice.iter().map(line).collect() }
}

/// The most of the wall time that system calls take where there is nothing to save in them.
const LITTLE: f64 = 0.02;

/// That no rule applies, and which items take most.
pub fn none(profile: &Profile) -> Vec<String> {
    let (groups, share) = largest(profile, 3);
    let mut lines = match share {
        Some(share) if share < LITTLE => {
            vec![format!("No rule applies: system calls take {}% of the wall time.", percent(100.0 * share))]
        }
        _ => {
            let one = |group: &Group| {
                let takes =
                    if group.takes_s > 0.0 { format!(" ({} s)", seconds(group.takes_s)) } else { String::new() };
                format!("{} calls for {}{takes}", thousands(group.calls as f64), group.items)
            };
            let named: Vec<String> = groups.iter().map(one).collect();
            let most_of = if groups.iter().any(|group| group.takes_s > 0.0) { "time" } else { "calls" };
            let most = if named.is_empty() { String::new() } else { format!(" Most {most_of}: {}.", named.join(", ")) };
            vec![format!("No rule applies.{most}")]
        }
    };
    if profile.source.is_none() && profile.objects.is_empty() {
        lines.push("Which paths were asked for again is not known: 'syscost trace --paths' records them.".to_string());
    }
    lines
}

/// One line: `0.0312 s (0.0156 to 0.0624): cat: read of 1 byte each of a file: ...`
fn line(advice: &Advice) -> String {
    let range = Some(range(advice.saved))
        .filter(|range| !range.is_empty())
        .map_or_else(String::new, |range| format!(" ({range})"));
    format!("{} s{range}: {}", seconds(advice.saved.value), what(advice))
}

/// Who makes the calls, where, and what to change.
pub fn what(advice: &Advice) -> String {
    let process = if advice.process.is_empty() { String::new() } else { format!("{}: ", advice.process) };
    let function = advice.function.as_ref().map_or_else(String::new, |name| format!(" in {name}()"));
    let waiting = if advice.time == Time::Elapsed { " (with waiting)" } else { "" };
    format!("{process}{}{function}{}: {}{waiting}", calls(advice), most(&advice.paths), change(advice))
}

/// The calls that are meant, as a phrase: `20,000 read of 1 byte each`.
fn calls(advice: &Advice) -> String {
    let names = format!("{} {}", thousands(advice.calls as f64), some(&advice.names, 4));
    let items = thousands(advice.items as f64);
    let of = advice.of.as_deref().unwrap_or_default();
    match advice.rule {
        Rule::ProcessPerItem => format!("{items} processes of {of}"),
        Rule::OpenAgain => format!("{names} of the same {}", counted(advice.items, "file")),
        Rule::LookUpAgain => format!("{names} of the same {}", counted(advice.items, "path")),
        Rule::Search => format!("{names} of names that are in another directory, {items} found"),
        Rule::SmallFileMaps | Rule::SmallMaps if advice.items > 0 => {
            format!("{names} for {items} short-lived mappings")
        }
        Rule::ThreadPerItem => format!("{names} for {items} threads"),
        Rule::ConnectionPerItem => format!("{names} for {items} connections"),
        Rule::SyncPerRecord => format!("{names} for {items} writes"),
        Rule::TemporaryFiles => format!("{items} files created and unlinked"),
        Rule::SmallTransfers => format!("{names} of {of} {} each", if of == "1" { "byte" } else { "bytes" }),
        Rule::DescriptorSweep => format!("{names} of descriptors that are not open"),
        Rule::Failures => format!("{names} that fail with {of}"),
        Rule::EmptyReads => format!("{names} with nothing to read (EAGAIN)"),
        Rule::EmptyPolls => format!("{names} with nothing ready, beyond the {items} reads"),
        Rule::LargePollSets => format!("{names} of 64 or more descriptors"),
        Rule::WakeUps => format!("{items} wake-ups by {} with nothing to do", some(&advice.names, 4)),
        Rule::WakesOfNobody => format!("{names} that wake nobody"),
        Rule::FutexTraffic => format!("{names}, {items} of them waits"),
        Rule::Locks => format!("{names} that nobody else wanted"),
        Rule::ForkForExec => format!("{names} of a large process before an exec"),
        _ => names,
    }
}

/// What to change.
fn change(advice: &Advice) -> &'static str {
    match advice.rule {
        Rule::OpenAgain => "keep it open, or keep what was read",
        Rule::LookUpAgain => "keep the first answer, or let inotify tell of a change",
        Rule::Search => "put the right directory first, shorten the search path, or remember what is where",
        Rule::SmallFileMaps => {
            "read small files into a buffer that is kept: a mapping costs page faults and an unmapping"
        }
        Rule::SmallMaps => {
            "keep the memory: reuse the buffer, or raise M_MMAP_THRESHOLD and M_TRIM_THRESHOLD (mallopt)"
        }
        Rule::ProcessPerItem => "give many items to one process (find -exec +, xargs), or do it in the program itself",
        Rule::ForkForExec => "posix_spawn or vfork copies no page tables",
        Rule::ThreadPerItem => "keep a pool of threads",
        Rule::ConnectionPerItem => "keep the connection open for the next item",
        Rule::SyncPerRecord => "put many records into one transaction, with one sync",
        Rule::TemporaryFiles => "keep one file and empty it with ftruncate, or keep the data in memory",
        Rule::Locks => {
            "if no other process uses the file, lock it once (in SQLite: a transaction, or locking_mode=exclusive)"
        }
        Rule::SmallTransfers => "move more with each call: a buffer of 4 KiB and more",
        Rule::DescriptorSweep => "close_range closes or marks all of them at once; /proc/self/fd lists the open ones",
        Rule::Failures => "the answer is known after the first: remember it, or wait for a change",
        Rule::EmptyReads => "stop after a short read, or wait with poll or epoll before reading",
        Rule::EmptyPolls => "let one poll wait (timeout -1) instead of asking again",
        Rule::LargePollSets => "epoll keeps the set in the kernel and looks at what is ready",
        Rule::Spin => "wait in a call that sleeps until it is time: a futex, a lock or wait that blocks, poll",
        Rule::WakeUps => "wait for the event itself (poll without a time-out, a condition), or sleep longer",
        Rule::WakesOfNobody => "count who waits, and wake only if somebody does",
        Rule::FutexTraffic => "at most this: hand over several items for each wake, and hold locks for less time",
        Rule::RealClockCalls => {
            "the vDSO could answer without a call; another clock source, a static or 32-bit program or a direct syscall() prevents \
             that"
        }
        Rule::SameAnswer => "ask or set it once: the answer does not change",
        Rule::Seeks => "pread and pwrite take the offset, and need no seek",
    }
}

/// ` (most: a.h 150,000, b.h 149,000)`
fn most(paths: &[PathUse]) -> String {
    let one = |path: &PathUse| format!("{} {}", path.path, thousands(path.calls as f64));
    let named: Vec<String> = paths.iter().map(one).collect();
    if named.is_empty() { String::new() } else { format!(" (most: {})", named.join(", ")) }
}
