//! Kinds of taxes, and what those who look share.

use crate::kernel::Sources;
use crate::model::Tax;

/// Kinds of taxes, as `Tax::kind` names them.
pub mod kind {
    /// Seccomp filters run at every system call of this process.
    pub const SECCOMP: &str = "seccomp";
    /// This process is traced by ptrace.
    pub const TRACED: &str = "ptrace";
    /// Tracepoints at the entry or return of system calls are enabled.
    pub const TRACEPOINTS: &str = "system call tracepoints";
    /// Other tracepoints are enabled.
    pub const OTHER_TRACEPOINTS: &str = "other tracepoints";
    /// A tracer of kernel functions is active.
    pub const TRACER: &str = "kernel tracer";
    /// Kernel probes are set.
    pub const KPROBES: &str = "kernel probes";
    /// A process has BPF programs attached to tracing.
    pub const BPF: &str = "BPF programs";
    /// A process has perf events open.
    pub const PERF: &str = "perf events";
    /// System calls are audited.
    pub const AUDIT: &str = "audit";
    /// The audit daemon runs; its rules are unknown.
    pub const AUDIT_DAEMON: &str = "audit daemon";
    /// The CPU accounts every change between user and kernel mode.
    pub const CONTEXT_TRACKING: &str = "context tracking";
    /// The kernel was built to check its locks.
    pub const LOCK_DEBUGGING: &str = "lock debugging";
}

/// Whether a tax of this kind comes and goes with what others do: a cost with it says nothing of a later one.
pub fn is_passing(tax: &Tax) -> bool {
    ![kind::SECCOMP, kind::AUDIT, kind::CONTEXT_TRACKING, kind::LOCK_DEBUGGING].contains(&tax.kind.as_str())
}

pub fn tax(kind: &str, detail: String) -> Tax {
    Tax { kind: kind.to_string(), detail }
}

/// A process by its name and number.
pub fn who(sources: &Sources, process: &str) -> String {
    match sources.text(&format!("proc/{process}/comm")) {
        Some(name) => format!("{name} (process {process})"),
        None => format!("process {process}"),
    }
}

/// Numbers of the processes that can be seen.
pub fn processes(sources: &Sources) -> impl Iterator<Item = String> {
    sources.list("proc").into_iter().filter(|name| name.bytes().all(|byte| byte.is_ascii_digit()))
}
