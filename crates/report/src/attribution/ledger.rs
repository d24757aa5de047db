//! Thread time as the first table of `why` (on CPU, runnable, held up, idle), and a line about requests.

use super::notes;
use super::rows::{self, Row, shortened};
use super::time::{RUNNABLE, name};
use super::why::Length;
use crate::Table;
use crate::numbers::{counted, duration, percent, seconds, thousands};
use analysis::attribute::blocked::Because;
use analysis::attribute::ledger::{Ledger, LedgerPart, LedgerWait, State};
use analysis::attribute::requests::Answered;
use analysis::attribute::waited::Wait;
use analysis::attribute::waits::Reason;
use model::Profile;
use model::prose::some;

const MOST_IDLE: usize = 2;
/// Parts of a request's time with a smaller share are left out.
const LEAST_OF_REQUEST: f64 = 0.05;

/// Busy parts first: on a CPU, runnable and held up.
pub fn ledger_rows(profile: &Profile, ledger: &Ledger, length: Length) -> Vec<Row> {
    let (idle, busy): (Vec<&LedgerPart>, Vec<&LedgerPart>) =
        ledger.parts.iter().partition(|part| part.state.is_idle());
    let [busy, idle] = [busy, idle].map(|parts| {
        let rows = parts.into_iter().map(|part| row(part, length.names));
        rows.collect()
    });
    let mut rows = shortened(busy, length.parts, length.names, "others");
    rows.extend(shortened(idle, MOST_IDLE, length.names, "idle: others"));
    if let (Some(row), Some(throttled)) = (
        rows.iter_mut().find(|row| row.name == RUNNABLE),
        &profile.usage.throttled,
    ) {
        row.what = throttled.waits();
    }
    rows
}

/// Thread time by state. It adds up over threads, so it exceeds the wall time of programs with several.
pub fn ledger_table(profile: &Profile, title: &str, ledger: &Ledger, length: Length) -> Table {
    rows::table(&ledger_rows(profile, ledger, length), ledger.thread_s)
        .titled(format!("{}: {}", short(title), whole(profile, ledger)))
        .noted(ledger.requests.iter().map(answered))
}

/// A program without its directory.
fn short(title: &str) -> &str {
    let program = title.split(' ').next().unwrap_or_default();
    &title[program.rfind('/').map_or(0, |at| at + 1)..]
}

/// `32.0 thread-s in 4.00 s; 8 threads busy, 6 idle`
fn whole(profile: &Profile, ledger: &Ledger) -> String {
    let wall = profile.usage.wall_ns.map_or_else(String::new, |ns| {
        format!(" in {}", duration(ns as f64 / 1e9))
    });
    let counts = [
        (ledger.busy, "busy"),
        (ledger.idle, "idle"),
        (ledger.unknown, "exited early"),
    ];
    let counts = counts.into_iter().filter(|(threads, _)| *threads > 0);
    let counts: Vec<String> = counts
        .map(|(threads, what)| format!("{} {what}", thousands(threads as f64)))
        .collect();
    let time = seconds(ledger.thread_s);
    format!("{time} thread-s{wall}; threads: {}", counts.join(", "))
}

fn row(part: &LedgerPart, names: usize) -> Row {
    let what = match (&part.wait, &part.cpu) {
        (Some(wait), _) => waited(wait),
        (_, Some(cpu)) => some(&cpu.what, names),
        _ => String::new(),
    };
    Row {
        name: match &part.cpu {
            Some(cpu) => format!("on a CPU: {}", name(cpu.kind).0),
            None => state(part.state, part.wait.as_ref().map(|wait| wait.reason)).to_string(),
        },
        seconds: part.seconds,
        waits: part.waits,
        what,
        ..Row::default()
    }
}

fn state(state: State, reason: Option<Reason>) -> &'static str {
    match state {
        State::OnCpu => "on a CPU",
        State::Runnable => RUNNABLE,
        State::BlockedElsewhere => "waiting outside calls",
        State::Blocked { because } => match because {
            Because::Lock => "held up: lock",
            Because::Thread => "held up: other thread",
            Because::Process => "held up: other process",
            Because::Disk => "held up: disk",
            Because::Peer => "held up: server",
            Because::Reader if reason == Some(Reason::Pipe) => "held up: full pipe",
            Because::Reader => "held up: full socket",
            Because::Sleep => "held up: sleep",
            Because::Other => "held up: in the kernel",
            Because::Clients => "idle: clients",
            Because::Connections => "idle: no connection",
            Because::Handover => match reason {
                Some(Reason::Lock) => "idle: other threads",
                Some(Reason::Events) => "idle: no event",
                _ => "idle: no work",
            },
            Because::Input => "idle: no input",
            Because::Timer => "idle: timer",
            Because::Children => "idle: children",
            Because::Signals => "idle: signals",
        },
    }
}

/// `mutex: lock shared_lock until thread worker, in serve()`, `httpd: recvfrom from clients of 127.0.0.1:80, 4,777 connections`
pub fn waited(wait: &LedgerWait) -> String {
    let text = notes::wait(&Wait {
        reason: wait.reason,
        call: wait.call.clone(),
        on: wait.on.clone(),
        by: wait
            .by
            .as_ref()
            .map(|by| notes::other(by, &wait.process).into_owned()),
        ..Wait::default()
    });
    let function = wait.function.as_ref();
    let function = function.map_or_else(String::new, |name| {
        format!(", in {}", notes::function(name))
    });
    let connections = wait.connections.map_or_else(String::new, |number| {
        format!(", {}", counted(number, "connection"))
    });
    format!("{}: {text}{connections}{function}", wait.process)
}

/// `Requests: 3,698 (1,849/s), from receive to first send: median 0.25 ms, p99 4.1 ms; 3.2 calls and 1.1 switches each. Their time: 61% on a CPU, ...`
fn answered(answered_requests: &Answered) -> String {
    let rate = answered_requests.per_s.map_or_else(String::new, |rate| {
        format!(" ({}/s)", thousands(rate.round()))
    });
    let switches = answered_requests
        .switches
        .map_or_else(String::new, |switches| {
            format!(" and {switches:.1} switches")
        });
    let time = [
        ("median", answered_requests.median_s),
        ("p99", answered_requests.p99_s),
    ];
    let time = time
        .into_iter()
        .filter_map(|(name, seconds)| Some(format!("{name} {}", duration(seconds?))));
    let time: Vec<String> = time.collect();
    let time = match &time[..] {
        [] => String::new(),
        known => format!(", from receive to first send: {}", known.join(", ")),
    };
    let delayed = match answered_requests.delayed {
        0 => String::new(),
        delayed => format!(
            " For {} the client waited 40 ms longer, for the rest of the answer.",
            thousands(delayed as f64)
        ),
    };
    let whole_s: f64 = answered_requests
        .parts
        .iter()
        .map(|(_, seconds)| seconds)
        .sum();
    let parts: Vec<String> = answered_requests
        .parts
        .iter()
        .filter(|(_, seconds)| *seconds >= LEAST_OF_REQUEST * whole_s)
        .map(|(thread_state, seconds)| {
            format!(
                "{} {}%",
                state(*thread_state, None),
                percent(100.0 * seconds / whole_s)
            )
        })
        .collect();
    let parts = match parts.len() {
        0 => String::new(),
        all => format!(" Their time: {}.", some(&parts, all)),
    };
    format!(
        "Requests: {}{rate}{time}; {:.1} calls{switches} each.{parts}{delayed}",
        thousands(answered_requests.requests as f64),
        answered_requests.calls,
    )
}
