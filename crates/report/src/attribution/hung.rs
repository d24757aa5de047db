//! Sentences about hung threads and deadlocks.

use super::notes::{is_thread, lock, waiting};
use crate::numbers::{counted, duration};
use analysis::attribute::Attribution;
use analysis::attribute::hung::Hung;
use analysis::attribute::ledger::Ledger;
use model::prose::some;

const MOST: usize = 2;
/// Other waits of the same call may be short, and for something else.
const HARDLY_ANYTHING_ELSE: f64 = 0.9;

/// Deadlocks and long waits: those for locks, and all of them if no thread was busy.
pub fn hung_lines(attribution: &Attribution) -> Vec<String> {
    let mut cycles: Vec<Vec<u32>> = Vec::new();
    let mut lines = Vec::new();
    for hung in &attribution.hung {
        let mut members = hung.cycle.get(1..).unwrap_or_default().to_vec();
        members.sort_unstable();
        if !members.is_empty() && cycles.contains(&members) {
            continue;
        }
        let ledger = attribution.threads.as_ref();
        if hung.lock || ledger.is_none_or(|ledger| holds_up(ledger, hung)) {
            lines.push(hung_line(hung, &attribution.hung));
        }
        cycles.push(members);
    }
    lines.truncate(MOST);
    lines
}

/// Whether such waits are not waits for work, or all that the program does.
fn holds_up(ledger: &Ledger, hung: &Hung) -> bool {
    let does_nothing_else = ledger.busy == 0 && ledger.requests.is_none();
    does_nothing_else
        || ledger.parts.iter().any(|part| {
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
    let function = function.map_or_else(
        || hung.call.clone(),
        |name| match hung.lock {
            true => format!("{name}()"),
            false => waiting(name),
        },
    );
    match (&hung.on, hung.lock) {
        (Some(on), true) => format!("{function} for {}", lock(on)),
        (Some(on), false) if is_thread(on) => format!("{function} for {on}"),
        (Some(on), false) if hung.function.is_none() => match on.strip_prefix("futex ") {
            Some(address) => format!("{function} at {address}"),
            None => format!("{function} on {on}"),
        },
        (Some(on), false) => format!("{function}: {} on {on}", hung.call),
        (None, _) if hung.function.is_none() => function,
        (None, _) => format!("{function}: {}", hung.call),
    }
}

fn held(hung: &Hung) -> String {
    if let Some(taker) = hung.taken_by {
        return format!("; its holder is not known (process {taker} that took it has ended)");
    }
    let kind = if hung.lock { "thread" } else { "process" };
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
        Some((call, Some(function))) => format!(", which is in {call}, in {function}()"),
        Some((call, None)) => format!(", which is in {call}"),
        None => String::new(),
    };
    format!(", held by {holder}{does}")
}
