//! Version 1 of the profile: what is only there if it was asked for, or if the tracer sees context switches.

use crate::model::{Class, ObjectKind};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Calls of one kind on one path or descriptor.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Object {
    pub kind: ObjectKind,
    pub name: String,
    /// Name of the processes; empty if unknown.
    #[serde(default)]
    pub process: String,
    /// The directory that a relative path was relative to; left out for absolute paths and descriptors, and where relative
    /// paths were counted by their text alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The system call's name.
    #[schemars(length(min = 1))]
    pub call: String,
    pub calls: u64,
    /// Failures by errno name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub errors: BTreeMap<String, u64>,
    /// Time on a CPU between entry and return, in nanoseconds; null where it is not known.
    #[serde(default)]
    pub on_cpu_ns: Option<u64>,
    /// Time off the CPU because the call waited, in nanoseconds.
    #[serde(default)]
    pub blocked_ns: Option<u64>,
    /// The part of `blocked_ns` from the wake-up until on a CPU, in nanoseconds: runnable, waiting for a CPU; left out if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woken_ns: Option<u64>,
    /// Bytes moved, of calls that return a byte count.
    #[serde(default)]
    pub bytes: Option<u64>,
}

/// One call that took long.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct SlowCall {
    /// Name of the process; empty if unknown.
    #[serde(default)]
    pub process: String,
    #[serde(default)]
    pub pid: Option<u32>,
    /// The system call's name.
    #[schemars(length(min = 1))]
    pub call: String,
    /// What drives its cost.
    #[serde(default, skip_serializing_if = "Class::is_unknown")]
    pub class: Class,
    /// When it was entered, in nanoseconds since tracing began.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub at_ns: u64,
    /// Time between entry and return, in nanoseconds.
    pub elapsed_ns: u64,
    /// Time off the CPU because the call waited, in nanoseconds.
    #[serde(default)]
    pub blocked_ns: Option<u64>,
    /// The part of `blocked_ns` from the wake-up until on a CPU, in nanoseconds: runnable, waiting for a CPU; left out if
    /// unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub woken_ns: Option<u64>,
    /// The user stack, the outermost function first; left out if not recorded.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub frames: Vec<String>,
}

/// Whether a number can be left out.
pub fn is_zero(number: &u64) -> bool {
    *number == 0
}
