//! Thread time as the first table of `why` (on CPU, runnable, held up, idle), and a line about requests.

use super::hung::hung_lines;
use super::time::{RUNNABLE, name};
use super::{advice, notes};
use crate::numbers::{TimeUnit, counted, duration, percent, seconds, thousands};
use crate::{Cell, Columns, Table};
use analysis::attribute::Attribution;
use analysis::attribute::blocked::Because;
use analysis::attribute::ledger::{Ledger, LedgerPart, LedgerWait, State};
use analysis::attribute::requests::Answered;
use analysis::attribute::waited::Wait;
use analysis::attribute::waits::Reason;
use indexmap::IndexSet;
use model::Profile;
use model::prose::some;

const MOST_BUSY: usize = 8;
const MOST_IDLE: usize = 2;
const MOST_NAMES: usize = 4;
/// The largest saving stands above the table if it is at least this share of the time that is not idle.
const LARGE_SAVING: f64 = 0.1;
/// Parts with a smaller share of the time are summed in one row.
const LEAST: f64 = 0.01;
/// Parts of a request's time with a smaller share are left out.
const LEAST_OF_REQUEST: f64 = 0.05;

pub fn ledger_table(
    profile: &Profile,
    title: &str,
    attribution: &Attribution,
    ledger: &Ledger,
) -> Table {
    let (idle, busy): (Vec<&LedgerPart>, Vec<&LedgerPart>) =
        ledger.parts.iter().partition(|part| part.state.is_idle());
    let mut rows = shown(&busy, MOST_BUSY, "others");
    rows.extend(shown(&idle, MOST_IDLE, "idle: others"));
    if let (Some(row), Some(throttled)) = (
        rows.iter_mut().find(|row| row.name == RUNNABLE),
        &profile.usage.throttled,
    ) {
        row.what = throttled.words();
    }
    let unit = TimeUnit::of(ledger.thread_s);
    let columns = Columns::of(&rows)
        .left("part", |row| &row.name)
        .right(&unit.title("time"), |row| {
            Cell::number(unit.text(row.seconds), row.seconds)
        })
        .right("%", |row| {
            let share = row.seconds / ledger.thread_s.max(f64::MIN_POSITIVE);
            Cell::number(percent(100.0 * share), share)
        })
        .right("waits", |row| row.waits)
        .right("ms each", |row| {
            let each = row
                .waits
                .map(|waits| 1e3 * row.seconds / waits.max(1) as f64);
            Cell::known(each, |each| format!("{each:.2}"))
        })
        .left("what", |row| &row.what)
        .wrapping();
    columns
        .table()
        .titled(format!("{}: {}", short(title), whole(profile, ledger)))
        .cautioned(
            hung_lines(attribution, ledger)
                .into_iter()
                .chain(largest_saving(attribution, ledger)),
        )
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

struct Row {
    name: String,
    seconds: f64,
    waits: Option<u64>,
    what: String,
}

/// Rows for the largest parts; the rest is summed in one row.
fn shown(parts: &[&LedgerPart], most: usize, rest: &str) -> Vec<Row> {
    let whole_s: f64 = parts.iter().map(|part| part.seconds).sum();
    let large = parts
        .iter()
        .take_while(|part| part.seconds >= LEAST * whole_s)
        .count();
    let (large, small) = parts.split_at(large.min(most));
    let mut rows: Vec<Row> = large.iter().map(|part| row(part)).collect();
    let seconds: f64 = small.iter().map(|part| part.seconds).sum();
    if seconds > LEAST / 10.0 * whole_s {
        let names: IndexSet<String> = small.iter().map(|part| row(part).name).collect();
        let names: Vec<String> = names.into_iter().collect();
        rows.push(Row {
            name: rest.to_string(),
            seconds,
            waits: None,
            what: some(&names, MOST_NAMES),
        });
    }
    rows
}

fn row(part: &LedgerPart) -> Row {
    let what = match (&part.wait, &part.cpu) {
        (Some(wait), _) => waited(wait),
        (_, Some(cpu)) => some(&cpu.what, MOST_NAMES),
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

/// `mutex: futex 0x558b77bc5100 until thread worker, in serve()`, `httpd: recvfrom from clients of 127.0.0.1:80, 4,777 connections`
fn waited(wait: &LedgerWait) -> String {
    let text = notes::wait(&Wait {
        reason: wait.reason,
        call: wait.call.clone(),
        on: wait.on.clone(),
        by: wait.by.clone(),
        ..Wait::default()
    });
    let function = wait.function.as_ref();
    let function = function.map_or_else(String::new, |name| format!(", in {name}()"));
    let connections = wait.connections.map_or_else(String::new, |number| {
        format!(", {}", counted(number, "connection"))
    });
    format!("{}: {text}{connections}{function}", wait.process)
}

fn largest_saving(attribution: &Attribution, ledger: &Ledger) -> Option<String> {
    let first = attribution.advice.first()?;
    let large = first.saved?.value >= LARGE_SAVING * ledger.held_s();
    if !large {
        return None;
    }
    Some(format!("Could be saved: {}.", advice::line(first)))
}

/// `Requests: 3,698 (1,849/s), median 0.25 ms, p99 4.1 ms; each 3.2 calls and 1.1 switches. Their time: 61% on a CPU, ...`
fn answered(own: &Answered) -> String {
    let rate = own.per_s.map_or_else(String::new, |rate| {
        format!(" ({}/s)", thousands(rate.round()))
    });
    let switches = own.switches.map_or_else(String::new, |switches| {
        format!(" and {switches:.1} switches")
    });
    let time = [("median", own.median_s), ("p99", own.p99_s)];
    let time = time
        .into_iter()
        .filter_map(|(name, seconds)| Some(format!(", {name} {}", duration(seconds?))));
    let whole_s: f64 = own.parts.iter().map(|(_, seconds)| seconds).sum();
    let parts: Vec<String> = own
        .parts
        .iter()
        .filter(|(_, seconds)| *seconds >= LEAST_OF_REQUEST * whole_s)
        .map(|(of, seconds)| {
            format!(
                "{} {}%",
                state(*of, None),
                percent(100.0 * seconds / whole_s)
            )
        })
        .collect();
    format!(
        "Requests: {}{rate}{}; {:.1} calls{switches} each. Their time: {}.",
        thousands(own.requests as f64),
        time.collect::<String>(),
        own.calls,
        some(&parts, parts.len())
    )
}
