//! The values of an attribution in words: seconds with their range, and what a call was priced by.

use crate::numbers::{counted, duration, seconds};
use analysis::attribute::costs::Basis;
use analysis::attribute::seconds::Seconds;
use analysis::attribute::spent::{PartKind, Spent};
use analysis::attribute::waited::Wait;
use analysis::attribute::waits::Reason;
use model::LockCount;
use model::runtime::{is_awaited, name_and_line};
use std::borrow::Cow;
use std::net::SocketAddr;

/// `2.28 to 9.10`; empty if both ends look the same.
pub fn range(time: Seconds) -> String {
    let (low, high) = (seconds(time.low), seconds(time.high));
    if low == high {
        String::new()
    } else {
        format!("{low} to {high}")
    }
}

/// From this share of the time on, tracing is named beside it.
const LEAST_TRACED: f64 = 0.005;

/// Whether tracing takes enough of the time to be named beside figures.
pub fn is_traced(time: &Spent) -> bool {
    let traced_s = time.seconds_of(PartKind::Tracer) + time.seconds_of(PartKind::Stops);
    time.whole_s()
        .is_some_and(|whole_s| traced_s >= LEAST_TRACED * whole_s)
}

/// `load()`, or `load() (app.py)` for a function of an interpreted program, `load() (app.c:12)` for one whose line is known.
pub fn function(name: &str) -> String {
    let script = name.strip_prefix("py::").and_then(|name| {
        let (name, file) = name.split_once(':')?;
        Some((name, file.rsplit('/').next()?))
    });
    let (bare, line) = name_and_line(name);
    match script.or(line.map(|line| (bare, line))) {
        Some(("<module>", file)) => file.to_string(),
        Some((name, file)) => format!("{}() ({file})", short(name)),
        None => format!("{}()", short(name)),
    }
}

/// Longer names would take several lines of a table.
const LONG_NAME: usize = 60;

/// A long name of C++ without the arguments of its templates: `std::map<>::find`.
fn short(name: &str) -> Cow<'_, str> {
    let is_balanced = name.matches('<').count() == name.matches('>').count();
    if name.len() <= LONG_NAME || name.starts_with('<') || !is_balanced {
        return Cow::Borrowed(name);
    }
    let mut level = 0;
    let kept = name.chars().filter(|c| {
        level -= i32::from(*c == '>');
        let is_outside = level <= 0;
        level += i32::from(*c == '<');
        is_outside
    });
    Cow::Owned(kept.collect())
}

/// `file.open_close less fd.close`
pub fn basis(basis: &Basis) -> String {
    [&[basis.operation.as_str()], &basis.less[..]]
        .concat()
        .join(" less ")
}

/// `lock shared_lock` for a futex that is a variable; other objects as they are.
pub fn lock(on: &str) -> Cow<'_, str> {
    let mut words = on.splitn(3, ' ');
    match (words.next(), words.nth(1)) {
        (Some("futex"), Some("threading.Lock")) => {
            Cow::Borrowed("lock threading.Lock (which records no owner)")
        }
        (Some("futex"), Some(variable)) => Cow::Owned(format!("lock {variable}")),
        _ => Cow::Borrowed(on),
    }
}

/// Beginnings of calls that write to a pipe, socket or queue.
const SENDING: [&str; 6] = [
    "write",
    "send",
    "connect",
    "pwrite",
    "mq_timedsend",
    "msgsnd",
];

/// `fsync of /var/db`, `recvfrom from 127.0.0.1:80 (nginx)`, `read from sort`, `wait4 for cc1`
pub fn wait(wait: &Wait) -> String {
    // A futex is in its own name.
    let futex = wait.on.as_deref().filter(|on| on.starts_with("futex "));
    let on = if futex.is_none() {
        wait.on.as_deref()
    } else {
        None
    };
    let futex = futex.map(lock);
    let call = futex.as_deref().unwrap_or(&wait.call);

    let is_listener = on.is_some_and(|on| on.starts_with("own "));
    let preposition = match wait.reason {
        Reason::Pipe | Reason::Socket if is_listener || call.starts_with("accept") => "on",
        Reason::Pipe | Reason::Socket if SENDING.iter().any(|name| call.starts_with(name)) => "to",
        Reason::Pipe | Reason::Socket => "from",
        Reason::Children => "for",
        _ if on.is_some_and(is_awaited) => "for",
        _ => "of",
    };
    let by = if on.is_some_and(is_remote) {
        None
    } else {
        wait.by.as_deref()
    };
    match (on, by, wait.reason) {
        (None, None, _) => call.to_string(),
        (None, Some(by), Reason::Lock | Reason::Events | Reason::Other) => {
            format!("{call} until {by}")
        }
        (None, Some(by), _) => format!("{call} {preposition} {by}"),
        (Some(on), None, _) => format!("{call} {preposition} {on}"),
        (Some(on), Some(by), _) => format!("{call} {preposition} {on} ({by})"),
    }
}

/// `mmap_lock in __vm_munmap (munmap) 1.20 s, 300 waits`
pub fn kernel_lock(lock_count: &LockCount) -> String {
    let place = match &lock_count.function {
        Some(function) => format!("{function} ({})", lock_count.call),
        None => lock_count.call.clone(),
    };
    format!(
        "{} in {place} {}, {}",
        lock_count.lock,
        duration(lock_count.waited_ns as f64 / 1e9),
        counted(lock_count.waits, "wait")
    )
}

/// `another thread` where all threads have one name, else the name.
pub fn other<'a>(by: &'a str, process: &str) -> Cow<'a, str> {
    match by.strip_prefix("thread ") {
        Some(name) if name == process => "another thread".into(),
        None if by == process => format!("another {process} process").into(),
        _ => by.into(),
    }
}

/// Another machine: its packets arrive by interrupts, in the name of whatever these interrupt.
fn is_remote(on: &str) -> bool {
    on.trim_start_matches("own ")
        .parse::<SocketAddr>()
        .is_ok_and(|address| !address.ip().is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_function_of_a_script_has_its_file() {
        assert_eq!(function("load"), "load()");
        assert_eq!(function("a::load (app.cc:12)"), "a::load() (app.cc:12)");
        assert_eq!(function("py::load:/srv/app/app.py"), "load() (app.py)");
        let long = "app::Table<std::pair<int const, app::Row>, app::Less<int> >::find_or_insert";
        assert_eq!(function(long), "app::Table<>::find_or_insert()");
    }

    #[test]
    fn locks_have_their_variables_and_those_of_python_what_is_known() {
        assert_eq!(lock("futex 0x10 app::queue+0x8"), "lock app::queue+0x8");
        assert_eq!(lock("futex 0x10"), "futex 0x10");
        assert_eq!(lock("/run/a b c"), "/run/a b c");
        assert_eq!(other("thread app", "app"), "another thread");
        assert_eq!(other("app", "app"), "another app process");
        assert_eq!(other("thread worker", "app"), "thread worker");
        assert!(lock("futex 0x10 threading.Lock").contains("records no owner"));
    }

    #[test]
    fn ranges_are_shown_where_they_have_a_width() {
        assert_eq!(
            range(Seconds {
                value: 3.0,
                low: 3.0,
                high: 3.0
            }),
            ""
        );
        assert_eq!(
            range(Seconds {
                value: 4.552,
                low: 2.276,
                high: 9.104
            }),
            "2.28 to 9.10"
        );
        assert_eq!(
            [4.552, 0.03125, 0.0, 12345.0].map(seconds),
            ["4.55", "0.0312", "0.00", "12,345"]
        );
    }

    #[test]
    fn a_wait_names_what_for() {
        fn wait_text(reason: Reason, call: &str, on: Option<&str>, by: Option<&str>) -> String {
            let [on, by] = [on, by].map(|name| name.map(str::to_string));
            wait(&Wait {
                reason,
                call: call.to_string(),
                on,
                by,
                ..Wait::default()
            })
        }

        let (sort, listener) = (Some("sort"), Some("own 0.0.0.0:80"));
        assert_eq!(
            wait_text(Reason::Disk, "fsync", Some("/a"), None),
            "fsync of /a"
        );
        assert_eq!(
            wait_text(Reason::Socket, "recvfrom", Some("127.0.0.1:80"), sort),
            "recvfrom from 127.0.0.1:80 (sort)"
        );
        assert_eq!(
            wait_text(Reason::Socket, "sendto", Some("192.0.2.1:80"), sort),
            "sendto to 192.0.2.1:80"
        );
        assert_eq!(
            wait_text(Reason::Socket, "accept4", listener, None),
            "accept4 on own 0.0.0.0:80"
        );
        assert_eq!(
            wait_text(Reason::Pipe, "read", None, sort),
            "read from sort"
        );
        assert_eq!(
            wait_text(Reason::Pipe, "write", Some("a pipe"), None),
            "write to a pipe"
        );
        assert_eq!(
            wait_text(Reason::Lock, "futex", None, Some("thread a")),
            "futex until thread a"
        );
        assert_eq!(
            wait_text(Reason::Events, "read", None, sort),
            "read until sort"
        );
        assert_eq!(
            wait_text(Reason::Children, "wait4", None, sort),
            "wait4 for sort"
        );
        assert_eq!(
            wait_text(Reason::Timer, "nanosleep", None, None),
            "nanosleep"
        );
    }
}
