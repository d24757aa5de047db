//! Looks at permissions and installed programs, judging by the checks.

use super::Finding;
use model::Host;
use model::prose::counted;
use sys::checks::Checks;

/// Whether a child can be traced, without which no system calls are counted.
pub fn ptrace(host: &Host, checks: &Checks) -> Option<Finding> {
    match &checks.ptrace_allowed {
        Ok(()) => Finding::good("tracing a child works"),
        Err(reason) => Finding::forbidden(reason, ptrace_advice(host, checks)),
    }
}

fn ptrace_advice(host: &Host, checks: &Checks) -> &'static str {
    match checks.ptrace_scope {
        Some(3) => {
            "kernel.yama.ptrace_scope is 3, which cannot be changed until reboot; records will say `unverified`."
        }
        Some(2) => "kernel.yama.ptrace_scope is 2: run as root, or lower it to 1.",
        _ if host.taxes.iter().any(|tax| tax.kind == "ptrace") => {
            "Run without the tracer that is attached to this process."
        }
        _ if host.container.is_some() => {
            "Allow it in the container (docker: --cap-add=SYS_PTRACE), or run outside."
        }
        _ => "Look for a system call filter or a security module; records will say `unverified`.",
    }
}

/// The refusal shown is that of a hardware event: software events are nearly always permitted.
pub fn counters(_: &Host, checks: &Checks) -> Option<Finding> {
    let countable: Vec<&str> = checks
        .counters
        .iter()
        .filter(|(_, refused)| refused.is_ok())
        .map(|(event, _)| event.name)
        .collect();
    // Virtual machines often offer software events only: that is worth a notice, though something can be counted.
    let refused = checks.counters.iter().find_map(|(event, refused)| {
        if event.is_hardware() {
            refused.as_ref().err()
        } else {
            None
        }
    });
    let Some(refusal) = refused else {
        return Finding::good(format!(
            "{} can be counted (run --view counters)",
            counted(countable.len(), "event")
        ));
    };
    let rest = if countable.is_empty() {
        "Times can be measured all the same.".to_string()
    } else {
        format!(
            "`run --view counters` counts {}; times can be measured all the same.",
            countable.join(", ")
        )
    };
    Finding::notice(refusal, rest)
}

/// The C compiler's version, or a notice that snippets in C need one.
pub fn compiler(_: &Host, checks: &Checks) -> Option<Finding> {
    match &checks.cc {
        Some(version) => Finding::good(version),
        None => Finding::notice(
            "none found (cc, gcc, clang)",
            "Install one to measure snippets in C.",
        ),
    }
}
