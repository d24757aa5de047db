//! Says what to do about each tax, and what an absence of taxes is worth.

use super::finding::{Answer, Finding, State};
use crate::kernel::checks::Checks;
use crate::kernel::taxes::kind;
use crate::model::{Host, Tax};

/// What each kind means. Those that only some calls meet, or that are a suspicion, are to be known.
const ADVICE: &[(&str, State, &str)] = &[
    (
        kind::SECCOMP,
        State::Spoils,
        "Run outside the sandbox or container that set it, or read figures as including it.",
    ),
    (kind::TRACED, State::Spoils, "Run without it: every system call stops twice for a tracer."),
    (kind::TRACEPOINTS, State::Spoils, "Every process pays for them: stop the tracing session."),
    (kind::OTHER_TRACEPOINTS, State::Notice, "Calls that pass them cost more: stop the tracing session."),
    (kind::TRACER, State::Spoils, "Kernel functions report each call: write nop to its current_tracer."),
    (kind::KPROBES, State::Notice, "Calls that pass those places cost more; find out who set them."),
    (kind::BPF, State::Spoils, "Every process pays for it: stop that program for the run."),
    (
        kind::PERF,
        State::Notice,
        "If it traces system calls, every process pays, by tens of nanoseconds a call: stop it.",
    ),
    (kind::AUDIT, State::Spoils, "Every system call is recorded for rules: start the kernel without it."),
    (
        kind::AUDIT_DAEMON,
        State::Notice,
        "`auditctl -l`, as root, lists the rules; stop it for the run if there are any.",
    ),
    (
        kind::CONTEXT_TRACKING,
        State::Notice,
        "Measure on a CPU that is not in the list, or read figures as including it.",
    ),
    (kind::LOCK_DEBUGGING, State::Spoils, "This kernel is built for finding errors: use an ordinary one."),
];

pub fn finding(tax: &Tax) -> Finding {
    let known = ADVICE.iter().find(|(kind, _, _)| *kind == tax.kind);
    let (state, advice) = known.map_or((State::Notice, "It may add to each system call."), |row| (row.1, row.2));
    Finding { subject: tax.kind.clone(), state, found: tax.detail.clone(), advice: advice.to_string() }
}

/// Says so where no tax was seen, and how far one could see.
pub fn none(host: &Host, checks: &Checks) -> Option<Answer> {
    // Root in a container sees that container's processes only.
    let root = host.user.as_deref() == Some("root") && host.container.is_none();
    match (host.taxes.is_empty(), checks.tracing_visible, root) {
        (false, _, _) => None,
        (true, true, true) => Answer::good("none seen: filters, tracing, audit daemon"),
        (true, true, false) => {
            Answer::notice("none seen", "To see what other processes trace, run doctor as root, outside of containers.")
        }
        (true, false, true) => {
            let advice =
                "The kernel's tracing state is hidden: to see it, mount -t tracefs tracefs /sys/kernel/tracing";
            Answer::notice("none seen", advice)
        }
        (true, false, false) => Answer::notice(
            "none seen",
            "The kernel's tracing state is hidden: run doctor as root, outside of containers.",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::fake::{hardware, permitted, state};
    use super::*;

    #[test]
    fn taxes_are_findings_with_advice() {
        let tax = Tax { kind: kind::BPF.to_string(), detail: "x is attached".to_string() };
        let found = finding(&tax);
        assert_eq!((found.subject.as_str(), found.state), (kind::BPF, State::Spoils));
        let stranger = finding(&Tax { kind: "new".to_string(), detail: String::new() });
        assert_eq!(stranger.state, State::Notice);
    }

    #[test]
    fn an_absence_says_how_far_one_could_see() {
        assert_eq!(state(none(&hardware(), &permitted())), Some(State::Good));
        let hidden = Checks { tracing_visible: false, ..permitted() };
        assert_eq!(state(none(&hardware(), &hidden)), Some(State::Notice));
        let taxed = Host { taxes: vec![Tax::default()], ..hardware() };
        assert_eq!(state(none(&taxed, &permitted())), None);
    }
}
