//! Taxes on every system call.

use serde::{Deserialize, Serialize};

/// Something that adds cost to every system call on the machine, or of this process.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Tax {
    /// The kind of tax, e.g. `enabled tracepoints`.
    pub kind: String,
    /// The evidence, e.g. `raw_syscalls:sys_enter enabled in instance foo`.
    pub detail: String,
}

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

/// Taxes that stop or record every call, or are suspected to.
const TRACERS: [&str; 5] = [
    kind::TRACED,
    kind::TRACEPOINTS,
    kind::TRACER,
    kind::BPF,
    kind::PERF,
];
const LASTING: [&str; 4] = [
    kind::SECCOMP,
    kind::AUDIT,
    kind::CONTEXT_TRACKING,
    kind::LOCK_DEBUGGING,
];

impl Tax {
    /// Whether it stops or records every call, or is suspected to.
    pub fn is_tracer(&self) -> bool {
        TRACERS.contains(&self.kind.as_str())
    }

    /// Whether it comes and goes with what others do, so that a cost measured with it does not predict a later one.
    pub fn is_passing(&self) -> bool {
        !LASTING.contains(&self.kind.as_str())
    }
}
