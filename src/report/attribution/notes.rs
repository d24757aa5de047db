//! The values of an attribution in words: seconds with their range, and what each part and line is. All formats of attributions
//! call it.

use crate::attribute::breakdown::{AccountNote, PartKind};
use crate::attribute::costs::{Basis, Interpolation};
use crate::attribute::lines::{ChangeLine, LineKind};
use crate::attribute::path::{PathKind, TimeInCall};
use crate::attribute::spread::Seconds;
use crate::attribute::waits::Reason;
use crate::model::parameter_value;
use crate::prose::some;
use crate::report::numbers::{significant, thousands};
use crate::report::profile::RUNNABLE;

/// Seconds with enough decimals to show what there is: `4.55`, `0.0312`, `0.000152`.
pub fn seconds(value: f64) -> String {
    match value.abs() {
        // Thirty thousand years: its digits would fill the screen.
        v if v >= 1e12 => format!("{value:.2e}"),
        v if v >= 1000.0 => thousands(value),
        v if v >= 1.0 || v == 0.0 => format!("{value:.2}"),
        v if v >= 0.01 => format!("{value:.4}"),
        _ => significant(value),
    }
}

/// `2.28 to 9.10`; empty where the value is known exactly, or as exactly as it is shown.
pub fn range(time: Seconds) -> String {
    let (low, high) = (seconds(time.low), seconds(time.high));
    if low == high { String::new() } else { format!("{low} to {high}") }
}

/// `io.read_file size=4K`, `nearest io.read_zero size=1`, `file.open_close depth=2 (depth=1 to 8) less fd.close`.
pub fn basis(basis: &Basis) -> String {
    let mut text = basis.operation.clone();
    if let Some(Interpolation { parameter, value, low, high }) = basis.at {
        let [at, first, last] = [value, low, high].map(|value| parameter_value(parameter, value));
        text = match low == high {
            true if value != low => format!("nearest {text} {parameter}={first}"),
            true => format!("{text} {parameter}={first}"),
            false => format!("{text} {parameter}={at} ({parameter}={first} to {last})"),
        };
    }
    if basis.less.is_empty() { text } else { format!("{text} less {}", basis.less.join(", ")) }
}

/// What a part of the account is called, and how it is known.
pub fn part(kind: &PartKind) -> (&'static str, String) {
    let (name, note) = match kind {
        PartKind::Faults { count, each_ns, basis } => {
            let from = self::basis(basis);
            let note = format!("{count} x {each_ns:.0} ns ({from}), at most the system time left over by calls");
            return ("page faults", note);
        }
        PartKind::Priced { calls } => {
            return ("calls with a unit cost", format!("calls x unit cost, for the {calls} calls that have one"));
        }
        PartKind::AllCrossings { calls } => {
            return ("bare crossings of all calls", format!("{calls} calls x cost of a null call"));
        }
        PartKind::Blocked { reason, calls } => {
            let note = format!("threads waiting in {}, which takes no CPU time", some(calls, NAMED));
            return (blocked(*reason), note);
        }
        PartKind::UserMode => ("user mode", "by the kernel's accounting, sampled by ticks"),
        PartKind::UserOrSystem => {
            ("user mode and other system time", "too short to be told apart: the rest of the CPU time")
        }
        PartKind::Crossings => ("bare crossings", "calls x cost of a null call, at most their measured time"),
        PartKind::Work => ("work in calls", "measured CPU time minus the crossings"),
        PartKind::Creation => ("process creation", "the same of fork, clone, execve, exit and wait"),
        PartKind::Tracer => ("tracer", "calls x what it adds to a null call"),
        PartKind::UnexplainedSystem => (
            "unexplained system time",
            "interrupts, scheduling, entry and exit outside the tracer's hooks, faults that cost more than their unit cost",
        ),
        PartKind::OffCpu => ("not on a CPU", "blocked, runnable, or fewer threads than CPUs"),
    };
    (name, note.to_string())
}

/// Calls that are named in a line.
const NAMED: usize = 4;

/// Time blocked for this reason.
fn blocked(reason: Reason) -> &'static str {
    match reason {
        Reason::Disk => "blocked: disk",
        Reason::Socket => "blocked: socket",
        Reason::Pipe => "blocked: pipe",
        Reason::Terminal => "blocked: terminal",
        Reason::Lock => "blocked: lock (futex)",
        Reason::Timer => "blocked: timer",
        Reason::Children => "blocked: children",
        Reason::Events => "blocked: events (poll)",
        Reason::Other => "blocked: other",
    }
}

/// What a part of the wall time is called, and how it is known.
pub fn path(kind: &PathKind) -> (String, String) {
    let (name, note) = match kind {
        PathKind::OnCpu { threads: 1, .. } => ("on a CPU".to_string(), "one thread"),
        PathKind::OnCpu { threads, or_more } => {
            let more = if *or_more { " or more" } else { "" };
            (format!("on {threads}{more} CPUs"), "as many threads at once")
        }
        PathKind::Blocked { reason, calls } => {
            let one = |call: &TimeInCall| format!("{} {} s", call.name, seconds(call.seconds));
            let calls: Vec<String> = calls.iter().map(one).collect();
            return (blocked(*reason).to_string(), some(&calls, NAMED));
        }
        PathKind::WaitingForCpu => (RUNNABLE.to_string(), "at least one thread, and none on a CPU"),
        PathKind::Rest => ("rest".to_string(), "runnable, blocked outside calls, or not seen"),
    };
    (name, note.to_string())
}

/// A note below the account.
pub fn account_note(note: &AccountNote) -> String {
    match note {
        AccountNote::ExceedsAccounting => {
            "The calls' time exceeds the kernel's accounting of system time: part of each \
                                           crossing is user mode, and the accounting may be by ticks."
                .to_string()
        }
        AccountNote::NoWhole => "User or system time is not known, so the parts do not add up to a whole.".to_string(),
        AccountNote::FewTicks { processes } => {
            let of = match processes {
                Some(count) if *count > 1 => format!(" for {count} processes"),
                _ => String::new(),
            };
            format!("User and system time are sampled by ticks of 1 to 10 ms: too few here{of} to tell them apart.")
        }
        AccountNote::CountsOnly => {
            "The profile has counts but no CPU time, so times are calls x unit cost.".to_string()
        }
        AccountNote::TracerAdded { calls, each_ns } => format!(
            "The tracer added about {:.3} s ({calls} calls x {each_ns:.0} ns), which wall and system time include.",
            *calls as f64 * each_ns / 1e9
        ),
    }
}

/// What a line of a comparison is called, and how it is known.
pub fn line(line: &ChangeLine) -> (&'static str, String) {
    match &line.kind {
        LineKind::Calls => ("calls", "class by class, as listed".to_string()),
        LineKind::Waits => ("calls that wait", "fsync and the like, with the time blocked".to_string()),
        LineKind::Creation => ("process creation", "fork, clone, execve, exit, wait".to_string()),
        LineKind::Faults { count, basis } => ("page faults", format!("{count} faults, by {}", self::basis(basis))),
        LineKind::Unpriced(c) => {
            let crossings = format!("{} calls x {:.1} ns here, {:.1} ns there", c.calls, c.here_ns, c.there_ns);
            (
                "calls without a unit cost",
                format!("{crossings}; the range holds work that changes as that of other calls"),
            )
        }
        LineKind::AllCrossings(c) => {
            let note = format!("{} calls x {:.1} ns here, {:.1} ns there", c.calls, c.here_ns, c.there_ns);
            ("all crossings", note)
        }
        LineKind::Family { name } => (name, String::new()),
        LineKind::Total => ("total", String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_shown_where_they_have_a_width() {
        assert_eq!(range(Seconds::exactly(3.0)), "");
        assert_eq!(range(Seconds { value: 4.552, low: 2.276, high: 9.104 }), "2.28 to 9.10");
        assert_eq!([4.552, 0.03125, 0.0, 12345.0].map(seconds), ["4.55", "0.0312", "0.00", "12,345"]);
    }

    #[test]
    fn a_basis_names_operation_parameter_and_what_is_subtracted() {
        let of = |at, less| basis(&Basis { operation: "io.read_zero".into(), at, less });
        assert_eq!(of(None, &["fd.close", "fd.lseek"]), "io.read_zero less fd.close, fd.lseek");
        let at = |value, low, high| of(Some(Interpolation { parameter: "size", value, low, high }), &[]);
        assert_eq!(at(4096, 4096, 4096), "io.read_zero size=4K");
        assert_eq!(at(0, 1, 1), "nearest io.read_zero size=1");
        assert_eq!(at(512, 64, 4096), "io.read_zero size=512 (size=64 to 4K)");
    }
}
