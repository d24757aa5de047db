//! Where the time of a workload went, as the rows of `why` and as one bar of pages: the same parts under the same names.

use super::notes;
use super::rows::{self, Row, shortened};
use super::why::Length;
use crate::Table;
use crate::figure::{Chart, Figure, Share, ShareKind};
use crate::numbers::{duration, percent};
use analysis::attribute::spent::{Part, PartKind, Spent, spent};
use analysis::attribute::waited::Wait;
use analysis::attribute::waits::Reason;
use model::Profile;
use model::prose::some;
use std::collections::HashSet;

pub const NOT_KNOWN: &str = "not known";
/// Woken or preempted, and not on a CPU yet.
pub const RUNNABLE: &str = "waiting for a CPU (runnable)";

/// Smaller shares of the time are not drawn.
const LEAST: f64 = 0.0005;
const MOST_NAMES: usize = 4;

/// The name of a part, which tables, bars and CSV share, and its colour.
pub fn name(kind: PartKind) -> (String, ShareKind) {
    let (name, share) = match kind {
        PartKind::UserMode => ("user mode", ShareKind::User),
        PartKind::Calls => ("in system calls", ShareKind::Calls),
        PartKind::PageFaults => ("page faults", ShareKind::Kernel),
        PartKind::Interrupts => ("interrupts", ShareKind::Kernel),
        PartKind::Kernel => ("kernel outside calls", ShareKind::Kernel),
        PartKind::Tracer => ("tracing", ShareKind::Kernel),
        PartKind::Stops => ("tracing, and the kernel", ShareKind::Kernel),
        PartKind::OtherSystem => ("page faults, interrupts", ShareKind::Kernel),
        PartKind::UserOrSystem => ("user mode, page faults, interrupts", ShareKind::User),
        PartKind::AllSystem => ("kernel", ShareKind::Calls),
        PartKind::All => ("user mode and kernel", ShareKind::User),
        PartKind::WaitingForCpu => (RUNNABLE, ShareKind::Waiting),
        PartKind::Blocked { reason } => {
            return (
                format!("waiting for {}", awaited(reason)),
                ShareKind::Blocked,
            );
        }
        PartKind::OutsideCalls => ("outside system calls", ShareKind::User),
        PartKind::BlockedOutside => ("waiting outside calls", ShareKind::Blocked),
        PartKind::Rest => (NOT_KNOWN, ShareKind::Unknown),
    };
    (name.to_string(), share)
}

fn awaited(reason: Reason) -> &'static str {
    match reason {
        Reason::Disk => "disk",
        Reason::Socket => "a socket",
        Reason::Pipe => "a pipe",
        Reason::Terminal => "a terminal",
        Reason::Lock => "a lock or thread",
        Reason::Timer => "a timer",
        Reason::Children => "children",
        Reason::Events => "events (poll)",
        Reason::Other => "something else",
    }
}

/// Rows that add up to the wall time, else to the CPU time.
pub fn time_rows(spent: &Spent, waits: &[Wait], names: usize) -> Vec<Row> {
    let is_parallel = spent.parallel_s().is_some();
    spent
        .parts
        .iter()
        .map(|part| Row {
            name: name(part.kind).0,
            seconds: part.seconds(),
            range: spent.sampled_s(part),
            cpu_s: if is_parallel { part.cpu_s } else { None },
            what: match part.kind {
                PartKind::Blocked { reason } => some(awaited_by(&part.what, reason, waits), names),
                _ => some(&part.what, names),
            },
            waits: None,
        })
        .collect()
}

/// `0.1683 s of wall time`; with CPU time too if threads ran in parallel.
pub fn whole(spent: &Spent) -> String {
    let parallel = spent.parallel_s().and(spent.cpu_s);
    match (spent.wall_s, spent.cpu_s, parallel) {
        (Some(wall_s), _, Some(cpu_s)) => {
            let [wall, cpu] = [wall_s, cpu_s].map(duration);
            format!("{wall} of wall time, {cpu} of CPU time")
        }
        (Some(wall_s), ..) => format!("{} of wall time", duration(wall_s)),
        (None, Some(cpu_s), _) => format!("{} of CPU time", duration(cpu_s)),
        (None, None, _) => spent.calls_s.map_or_else(
            || "time unknown".to_string(),
            |calls_s| format!("{} in system calls", duration(calls_s)),
        ),
    }
}

/// The parts of the wall time, else of the CPU time, the largest first.
pub fn time_table(title: &str, spent: &Spent, waits: &[Wait], length: Length) -> Table {
    let rows = time_rows(spent, waits, length.names);
    let rows = shortened(rows, length.parts, length.names, "others");
    let whole_s = spent
        .whole_s()
        .unwrap_or_else(|| spent.parts.iter().map(Part::seconds).sum());
    let shared = spent.parallel_s().map(|parallel_s| {
        format!(
            "Threads share the wall time: for {} one was on a CPU, for {} several were.",
            duration(spent.on_cpus_s[0]),
            duration(parallel_s)
        )
    });
    rows::table(&rows, whole_s)
        .titled(format!("{title}: {}", whole(spent)))
        .noted(shared)
}

/// The objects that calls waited for while nothing else ran, the longest waits first, and the names of the other calls.
fn awaited_by(calls: &[String], reason: Reason, waits: &[Wait]) -> Vec<String> {
    let mut stalls: Vec<&Wait> = waits
        .iter()
        .filter(|wait| wait.reason == reason && wait.stalled_s > Some(0.0))
        .collect();
    stalls.sort_by(|a, b| {
        b.stalled_s
            .unwrap_or(0.0)
            .total_cmp(&a.stalled_s.unwrap_or(0.0))
    });
    let waited: HashSet<&str> = stalls.iter().map(|wait| wait.call.as_str()).collect();
    // A call without a recorded wait is at least named.
    let bare = calls
        .iter()
        .filter(|call| !waited.contains(call.as_str()))
        .cloned();
    stalls
        .iter()
        .map(|wait| notes::wait(wait))
        .chain(bare)
        .collect()
}

/// The same parts as one bar; `None` if no time is known.
pub fn time_figure(profile: &Profile) -> Option<Figure> {
    let spent = spent(profile);
    let whole_s = spent.whole_s().filter(|whole_s| *whole_s > 0.0)?;
    let of_wall = if spent.wall_s.is_some() {
        "wall time"
    } else {
        "CPU time"
    };
    let mut parts: Vec<Share> = spent
        .parts
        .iter()
        .map(|part| {
            let (name, kind) = name(part.kind);
            let what = if part.what.is_empty() {
                String::new()
            } else {
                format!(": {}", some(&part.what, MOST_NAMES))
            };
            let share = part.seconds() / whole_s;
            Share {
                kind,
                label: format!("{name}{what}"),
                words: format!("{}, {}%", duration(part.seconds()), percent(100.0 * share)),
                share,
            }
        })
        .filter(|part| part.share > LEAST)
        .collect();
    parts.sort_by_key(|part| part.kind);
    let words: Vec<String> = parts
        .iter()
        .map(|part| format!("{} {}", part.label, part.words))
        .collect();
    Some(Figure {
        title: format!("Where {} of {of_wall} went", duration(whole_s)),
        description: format!("One bar of {of_wall}: {}.", some(&words, words.len())),
        chart: Chart::Shares(parts),
    })
}
