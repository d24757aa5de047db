//! Kinds of taxes, and what those who look share.

use crate::Sources;
use model::Tax;

pub mod kind {
    pub const SECCOMP: &str = "seccomp";
    pub const TRACED: &str = "ptrace";
    pub const TRACEPOINTS: &str = "system call tracepoints";
    pub const OTHER_TRACEPOINTS: &str = "other tracepoints";
    pub const TRACER: &str = "kernel tracer";
    pub const KPROBES: &str = "kernel probes";
    pub const BPF: &str = "BPF programs";
    pub const PERF: &str = "perf events";
    pub const AUDIT: &str = "audit";
    pub const AUDIT_DAEMON: &str = "audit daemon";
    /// The CPU accounts every change between user and kernel mode.
    pub const CONTEXT_TRACKING: &str = "context tracking";
    pub const LOCK_DEBUGGING: &str = "lock debugging";
}

/// Whether it comes and goes with what others do: a cost with it says nothing of a later one.
pub fn is_passing(tax: &Tax) -> bool {
    ![
        kind::SECCOMP,
        kind::AUDIT,
        kind::CONTEXT_TRACKING,
        kind::LOCK_DEBUGGING,
    ]
    .contains(&tax.kind.as_str())
}

pub fn tax(kind: &str, detail: String) -> Tax {
    Tax {
        kind: kind.to_string(),
        detail,
    }
}

pub fn who(sources: &Sources, process: &str) -> String {
    match sources.text(&format!("proc/{process}/comm")) {
        Some(name) => format!("{name} (process {process})"),
        None => format!("process {process}"),
    }
}

pub fn processes(sources: &Sources) -> impl Iterator<Item = String> {
    sources
        .list("proc")
        .into_iter()
        .filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}
