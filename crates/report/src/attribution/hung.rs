//! Sentences about hung threads and deadlocks.

use super::notes::{lock, waiting};
use crate::numbers::{counted, duration};
use analysis::attribute::Attribution;
use analysis::attribute::hung::Hung;
use analysis::attribute::ledger::Ledger;

const MOST: usize = 2;
/// Other waits of the same call may be short, and for something else.
const HARDLY_ANYTHING_ELSE: f64 = 0.9;

/// Deadlocks and long waits: those for locks, and all of them if no thread was busy.
pub fn hung_lines(attribution: &Attribution, ledger: &Ledger) -> Vec<String> {
    let mut cycles: Vec<Vec<u32>> = Vec::new();
    let mut lines = Vec::new();
    for hung in &attribution.hung {
        let mut members = hung.cycle.get(1..).unwrap_or_default().to_vec();
        members.sort_unstable();
        if !members.is_empty() && cycles.contains(&members) {
            continue;
        }
        if hung.lock || holds_up(ledger, hung) || (ledger.busy == 0 && ledger.requests.is_none()) {
            lines.push(hung_line(hung, &attribution.hung));
        }
        cycles.push(members);
    }
    lines.truncate(MOST);
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
        let threads = counted(hangs.threads.len() as u64, "thread");
        return format!(
            "{threads} waited {} in {}{}.",
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
        (Some(on), false) if hung.function.is_none() => format!("{function} on {on}"),
        (Some(on), false) => format!("{function}: {} on {on}", hung.call),
        (None, _) if hung.function.is_none() => function,
        (None, _) => format!("{function}: {}", hung.call),
    }
}

fn held(hung: &Hung) -> String {
    let Some(holder) = hung.holder else {
        return String::new();
    };
    let does = match &hung.holder_in {
        Some((call, Some(function))) => format!(", which is in {call}, in {function}()"),
        Some((call, None)) => format!(", which is in {call}"),
        None => String::new(),
    };
    let kind = if hung.lock { "thread" } else { "process" };
    format!(", held by {kind} {holder}{does}")
}
