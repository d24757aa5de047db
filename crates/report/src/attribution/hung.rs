//! Sentences about hung threads and deadlocks.

use super::notes::{self, lock};
use crate::numbers::{counted, duration};
use analysis::attribute::Attribution;
use analysis::attribute::hung::Hung;
use analysis::attribute::ledger::Ledger;
use model::prose::some;
use model::runtime::is_awaited;
use std::net::SocketAddr;

const MOST: usize = 3;
pub const SHOWS_ALL: &str = "'--view all' shows all.";
/// Nothing in a Lock shows its owner.
const PYTHON_LOCK: &str = " threading.Lock";
/// The port of name servers.
const DNS: u16 = 53;
/// Other waits of the same call may be short, and for something else.
const HARDLY_ANYTHING_ELSE: f64 = 0.9;

/// Deadlocks and long waits: those for locks, and all of them if no thread was busy or every thread that is left waits.
pub fn hung_lines(attribution: &Attribution) -> Vec<String> {
    let ledger = attribution.threads.as_ref();
    // A server between two requests waits too.
    let hangs = ledger.is_none_or(|ledger| {
        ledger.requests.is_none() && (ledger.busy == 0 || attribution.all_hang)
    });
    let all = all_hung(attribution);
    let mut lines: Vec<String> = all
        .into_iter()
        .filter(|(hung, _)| {
            hangs || hung.lock || ledger.is_none_or(|ledger| holds_up(ledger, hung))
        })
        .map(|(_, line)| line)
        .collect();
    if lines.len() > MOST {
        let more = counted((lines.len() - MOST) as u64, "more long wait");
        lines.truncate(MOST);
        lines.push(format!("{more}: {SHOWS_ALL}"));
    }
    lines
}

/// With their lines; one for each deadlock.
pub fn all_hung(attribution: &Attribution) -> Vec<(&Hung, String)> {
    let mut cycles: Vec<Vec<u32>> = Vec::new();
    let mut lines = Vec::new();
    for hung in &attribution.hung {
        let mut members = hung.cycle.get(1..).unwrap_or_default().to_vec();
        members.sort_unstable();
        if members.is_empty() || !cycles.contains(&members) {
            lines.push((hung, hung_line(hung, &attribution.hung)));
        }
        cycles.push(members);
    }
    lines
}

/// Whether such waits are not waits for work.
fn holds_up(ledger: &Ledger, hung: &Hung) -> bool {
    ledger.parts.iter().any(|part| {
        let wait = part.wait.as_ref();
        !part.state.is_idle()
            && part.seconds >= HARDLY_ANYTHING_ELSE * hung.waited_s
            && wait.is_some_and(|wait| wait.call == hung.call && wait.process == hung.process)
    })
}

fn hung_line(hangs: &Hung, all: &[Hung]) -> String {
    if hangs.cycle.is_empty() {
        return format!(
            "{} waited {} in {}{}.",
            who(hangs),
            since(hangs),
            place(hangs),
            held(hangs)
        );
    }
    let links: Vec<String> = hangs
        .cycle
        .windows(2)
        .map(|pair| {
            let waits = all.iter().find(|hung| hung.threads.contains(&pair[0]));
            let waits = waits.map_or_else(String::new, place);
            format!("thread {} in {waits}, which {} holds", pair[0], pair[1])
        })
        .collect();
    let threads = counted(links.len() as u64, "thread");
    let members = all
        .iter()
        .filter(|hung| hung.cycle.contains(&hangs.cycle[0]));
    let last = members.min_by(|a, b| a.waited_s.total_cmp(&b.waited_s));
    format!(
        "Deadlock of {threads} {}: {}.",
        since(last.unwrap_or(hangs)),
        links.join("; ")
    )
}

/// `sort (process 12)`, `app (thread 14)`, `3 threads of app`
fn who(hung: &Hung) -> String {
    let name = &hung.process;
    match &hung.threads[..] {
        [only] if name.is_empty() && *only > 0 => format!("process {only}"),
        _ if name.is_empty() => counted(hung.threads.len() as u64, "thread"),
        [only] if *only == hung.pid => named(name, "process", *only),
        [only] => named(name, "thread", *only),
        threads => format!("{} of {name}", counted(threads.len() as u64, "thread")),
    }
}

fn named(name: &str, kind: &str, number: u32) -> String {
    format!("{name} ({kind} {number})")
}

fn since(hung: &Hung) -> String {
    if hung.before {
        return "since before tracing began".to_string();
    }
    format!("for at least {}", duration(hung.waited_s))
}

/// `transfer() for lock accounts`, `transfer() for futex 0x563d6257e060`
fn place(hung: &Hung) -> String {
    let function = hung.function.as_ref();
    let function = function.map_or_else(|| hung.call.clone(), |name| notes::function(name));
    match (&hung.on, hung.lock) {
        (Some(on), is_lock) if is_lock || on.contains(PYTHON_LOCK) || is_awaited(on) => {
            format!("{function} for {}", lock(on))
        }
        (Some(on), _) if hung.function.is_none() => format!("{function} {}", object(on)),
        (Some(on), _) => format!("{function}: {} {}", hung.call, object(on)),
        (None, _) if hung.function.is_none() => function,
        (None, _) => format!("{function}: {}", hung.call),
    }
}

/// `on /tmp/a`, `at 0x563d6257e060`, `on the name server 127.0.0.53:53`, `on clients of 0.0.0.0:80`
fn object(on: &str) -> String {
    if let Some(futex) = on.strip_prefix("futex ") {
        let (address, variable) = futex.split_once(' ').unwrap_or((futex, ""));
        return match variable {
            "" => format!("at {address}"),
            _ => format!("at {variable}"),
        };
    }
    if let Some(listener) = on.strip_prefix("own ") {
        return format!("on clients of {listener}");
    }
    match on.split(' ').next().map(str::parse::<SocketAddr>) {
        Some(Ok(address)) if address.port() == DNS => format!("on the name server {on}"),
        _ => format!("on {on}"),
    }
}

fn held(hung: &Hung) -> String {
    if let Some(taker) = hung.taken_by {
        return format!("; its holder is not known (process {taker} that took it has ended)");
    }
    let kind = if hung.lock { "thread" } else { "process" };
    if !hung.lock && hung.holder == Some(hung.pid) {
        return ", held by the process itself through another descriptor".to_string();
    }
    let holders = hung.holders.iter();
    let holders: Vec<String> = holders
        .map(|holder| named(&holder.name, kind, holder.pid))
        .collect();
    let holders = some(&holders, holders.len());
    let Some(holder) = hung.holder else {
        let end = if hung.call.starts_with("read") {
            "writing"
        } else {
            "reading"
        };
        return match hung.holders.len() {
            0 => String::new(),
            1 => format!("; {holders} has its other end open for {end}"),
            _ => format!("; {holders} have its other end open for {end}"),
        };
    };
    let holder = if holders.is_empty() {
        format!("{kind} {holder}")
    } else {
        holders
    };
    let does = match &hung.holder_in {
        Some((call, Some(function))) => {
            format!(", which is in {call}, in {}", notes::function(function))
        }
        Some((call, None)) => format!(", which is in {call}"),
        None => String::new(),
    };
    format!(", held by {holder}{does}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::attribute::requests::Answered;

    fn line(call: &str, on: &str) -> String {
        let hung = Hung {
            threads: vec![7],
            pid: 7,
            process: "app".to_string(),
            call: call.to_string(),
            on: Some(on.to_string()),
            before: true,
            ..Hung::default()
        };
        hung_line(&hung, &[])
    }

    #[test]
    fn objects_of_hung_calls_are_named_by_kind() {
        for (call, on, expected) in [
            (
                "poll",
                "127.0.0.5:53",
                "poll on the name server 127.0.0.5:53.",
            ),
            (
                "epoll_wait",
                "10.0.0.1:80 and 2 more",
                "epoll_wait on 10.0.0.1:80 and 2 more.",
            ),
            (
                "accept4",
                "own 0.0.0.0:80",
                "accept4 on clients of 0.0.0.0:80.",
            ),
            ("futex", "futex 0x10", "futex at 0x10."),
            ("futex", "futex 0x10 queue", "futex at queue."),
            (
                "futex",
                "futex 0x10 threading.Lock",
                "futex for lock threading.Lock (which records no owner).",
            ),
        ] {
            let expected =
                format!("app (process 7) waited since before tracing began in {expected}");
            assert_eq!(line(call, on), expected);
        }
    }

    #[test]
    fn a_lock_may_be_held_through_another_descriptor() {
        let hung = Hung {
            pid: 7,
            call: "flock".to_string(),
            holder: Some(7),
            ..Hung::default()
        };
        assert!(held(&hung).contains("itself"));
    }

    /// Threads of a server wait between two requests.
    #[test]
    fn a_server_without_requests_for_a_while_does_not_hang() {
        let waits = Hung {
            threads: vec![7],
            ..Hung::default()
        };
        let mut attribution = Attribution {
            hung: vec![waits],
            all_hang: true,
            threads: Some(Ledger {
                busy: 1,
                ..Ledger::default()
            }),
            ..Attribution::default()
        };
        assert_eq!(hung_lines(&attribution).len(), 1);
        let ledger = attribution.threads.as_mut().unwrap();
        ledger.requests = Some(Answered::default());
        assert!(hung_lines(&attribution).is_empty());
    }
}
