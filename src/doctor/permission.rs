//! Looks at what is permitted and installed, judging by the checks.

use super::finding::Answer;
use crate::kernel::checks::Checks;
use crate::model::Host;

/// Without ptrace, entries cannot be counted, and every record is marked `unverified`.
pub fn ptrace(host: &Host, checks: &Checks) -> Option<Answer> {
    match &checks.ptrace_allowed {
        Ok(()) => Answer::good("a child could be traced"),
        Err(reason) => Answer::forbidden(reason, ptrace_advice(host, checks)),
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
        _ if host.container.is_some() => "Allow it in the container (docker: --cap-add=SYS_PTRACE), or run outside.",
        _ => "Look for a system call filter or a security module; records will say `unverified`.",
    }
}

/// Without hardware counters, times can still be measured.
pub fn counters(_: &Host, checks: &Checks) -> Option<Answer> {
    let offered = checks.counters.iter().filter(|(_, refused)| refused.is_ok());
    let countable: Vec<&str> = offered.map(|(event, _)| event.name).collect();
    let refused =
        checks.counters.iter().find_map(|(event, refused)| refused.as_ref().err().filter(|_| event.is_hardware()));
    let Some(refusal) = refused else {
        return Answer::good(format!("{} events can be counted (run --view counters)", countable.len()));
    };
    let rest = match countable.is_empty() {
        true => "Times can be measured all the same.".to_string(),
        false => {
            format!("`run --view counters` counts {}; times can be measured all the same.", countable.join(", "))
        }
    };
    Answer::notice(refusal, rest)
}

pub fn compiler(_: &Host, checks: &Checks) -> Option<Answer> {
    match &checks.cc {
        Some(version) => Answer::good(version),
        None => Answer::notice("none found (cc, gcc, clang)", "Install one to measure snippets in C."),
    }
}

/// Silent if the architecture has no such programs, or there is no compiler.
pub fn m32(_: &Host, checks: &Checks) -> Option<Answer> {
    match checks.m32? {
        true => Answer::good("can be built"),
        false => {
            let advice = "Only needed for 32-bit system calls: install the 32-bit libraries (Debian: gcc-multilib).";
            Answer::notice("-m32 does not build", advice)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::super::fake::{hardware, permitted, state};
    use super::*;
    use crate::model::Tax;

    fn refused(scope: Option<u8>) -> Checks {
        let ptrace_allowed = Err("Operation not permitted".to_string());
        Checks { ptrace_allowed, ptrace_scope: scope, ..permitted() }
    }

    #[test]
    fn a_refused_trace_says_why() {
        let advice = |host: &Host, scope| ptrace(host, &refused(scope)).map(|answer| answer.advice).unwrap_or_default();
        assert!(advice(&hardware(), Some(2)).contains("lower it to 1"));
        let contained = Host { container: Some("docker".to_string()), ..hardware() };
        assert!(advice(&contained, Some(1)).contains("SYS_PTRACE"));
        let tax = Tax { kind: "ptrace".to_string(), detail: "strace".to_string() };
        assert!(advice(&Host { taxes: vec![tax], ..hardware() }, None).contains("without the tracer"));
    }

    #[test]
    fn missing_tools_are_named() {
        let bare = Checks { cc: None, m32: None, ..permitted() };
        assert_eq!(state(compiler(&hardware(), &bare)), Some(State::Notice));
        assert_eq!(state(m32(&hardware(), &bare)), None);
    }

    #[test]
    fn counters_that_are_missing_are_noticed() {
        assert_eq!(state(counters(&hardware(), &permitted())), Some(State::Good));
        let mut offer = permitted().counters;
        offer[0].1 = Err("this machine does not offer it".to_string());
        let missing = counters(&hardware(), &Checks { counters: offer, ..permitted() }).expect("an answer");
        assert_eq!((missing.state, missing.found.as_str()), (State::Notice, "this machine does not offer it"));
        assert!(missing.advice.contains("page-faults, context-switches"), "{}", missing.advice);
    }
}
