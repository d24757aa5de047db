//! Advice for each tax, and how much it means if none was seen.

use super::{Finding, State};
use model::tax::kind;
use model::{Host, Tax};
use sys::checks::Checks;

/// Taxes of some calls only, or that are only suspected, are notices.
const ADVICE: &[(&str, State, &str)] = &[
    (
        kind::SECCOMP,
        State::Problem,
        "Run outside the sandbox or container that set it, or treat it as part of the results.",
    ),
    (
        kind::TRACED,
        State::Problem,
        "Run without the tracer: it stops every system call twice.",
    ),
    (
        kind::TRACEPOINTS,
        State::Problem,
        "They slow every process: stop the tracing session.",
    ),
    (
        kind::OTHER_TRACEPOINTS,
        State::Notice,
        "Calls that hit them cost more: stop the tracing session.",
    ),
    (
        kind::TRACER,
        State::Problem,
        "Every kernel function call is traced: write nop to current_tracer.",
    ),
    (
        kind::KPROBES,
        State::Notice,
        "Calls that hit them cost more: find out who set them.",
    ),
    (
        kind::BPF,
        State::Problem,
        "It slows every process: stop that program for the run.",
    ),
    (
        kind::PERF,
        State::Notice,
        "If it traces system calls, every process pays tens of nanoseconds per call: stop it.",
    ),
    (
        kind::AUDIT,
        State::Problem,
        "Every system call is checked against rules: boot without audit.",
    ),
    (
        kind::AUDIT_DAEMON,
        State::Notice,
        "`auditctl -l`, as root, lists the rules; stop it for the run if there are any.",
    ),
    (
        kind::CONTEXT_TRACKING,
        State::Notice,
        "Measure on a CPU that is not in the list, or treat it as part of the results.",
    ),
    (
        kind::LOCK_DEBUGGING,
        State::Problem,
        "This is a debugging kernel: use a production one.",
    ),
];

/// A kind that `ADVICE` does not know is a notice, so that a newer check is not lost.
pub fn finding(tax: &Tax) -> Finding {
    let (state, advice) = ADVICE.iter().find(|(kind, _, _)| *kind == tax.kind).map_or(
        (State::Notice, "It may slow down every system call."),
        |row| (row.1, row.2),
    );
    Finding {
        subject: tax.kind.clone(),
        state,
        observation: tax.detail.clone(),
        advice: advice.to_string(),
    }
}

/// Good only if this user could have seen all of them.
pub fn none(host: &Host, checks: &Checks) -> Option<Finding> {
    let advice = match (checks.tracing_visible, !host.hides_tracers()) {
        _ if !host.taxes.is_empty() => return None,
        (true, true) => return Finding::good("none found (filters, tracing, audit daemon)"),
        (true, false) => {
            "To see what other processes trace, run doctor as root, outside of containers."
        }
        (false, true) => {
            "The kernel's tracing state is hidden: to see it, mount -t tracefs tracefs /sys/kernel/tracing"
        }
        (false, false) => {
            "The kernel's tracing state is hidden: run doctor as root, outside of containers."
        }
    };
    Finding::notice("none seen", advice)
}
