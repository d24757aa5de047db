//! What to do about each tax, and how much the absence of taxes means.

use super::finding::{Finding, State};
use model::{Host, Tax};
use sys::checks::Checks;
use sys::taxes::kind;

/// What each kind means. Those that affect only some calls, or are only suspected, are notices.
const ADVICE: &[(&str, State, &str)] = &[
    (
        kind::SECCOMP,
        State::Spoils,
        "Run outside the sandbox or container that set it, or take results to include it.",
    ),
    (
        kind::TRACED,
        State::Spoils,
        "Run without the tracer: every system call stops twice for it.",
    ),
    (
        kind::TRACEPOINTS,
        State::Spoils,
        "They slow every process: stop the tracing session.",
    ),
    (
        kind::OTHER_TRACEPOINTS,
        State::Notice,
        "Calls that hit them cost more: stop the tracing session.",
    ),
    (
        kind::TRACER,
        State::Spoils,
        "Every kernel function call is traced: write nop to current_tracer.",
    ),
    (
        kind::KPROBES,
        State::Notice,
        "Calls that hit them cost more: find out who set them.",
    ),
    (
        kind::BPF,
        State::Spoils,
        "It slows every process: stop that program for the run.",
    ),
    (
        kind::PERF,
        State::Notice,
        "If it traces system calls, every process pays tens of nanoseconds per call: stop it.",
    ),
    (
        kind::AUDIT,
        State::Spoils,
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
        "Measure on a CPU that is not in the list, or take results to include it.",
    ),
    (
        kind::LOCK_DEBUGGING,
        State::Spoils,
        "This is a debugging kernel: use a production one.",
    ),
];

pub fn finding(tax: &Tax) -> Finding {
    let known = ADVICE.iter().find(|(kind, _, _)| *kind == tax.kind);
    let (state, advice) = known.map_or((State::Notice, "It may add to each system call."), |row| {
        (row.1, row.2)
    });
    Finding {
        subject: tax.kind.clone(),
        state,
        found: tax.detail.clone(),
        advice: advice.to_string(),
    }
}

pub fn none(host: &Host, checks: &Checks) -> Option<Finding> {
    // Root in a container sees only that container's processes.
    let root = host.user.as_deref() == Some("root") && host.container.is_none();
    let advice = match (checks.tracing_visible, root) {
        _ if !host.taxes.is_empty() => return None,
        (true, true) => return Finding::good("none seen: filters, tracing, audit daemon"),
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
