//! Traces a command into a profile: which system calls it and its descendants make, how often, of which class, how long.
//! `attribute` judges the profile, and `report` shows it.
//!
//! The command is started and held before its execve, the tracer attaches, the command is released, and the tracer follows until
//! the whole tree has ended or a signal stops it. Counting begins with the execve, which is counted.

pub mod bpf;
mod cgroup;
mod choose;
mod container;
pub mod gather;
mod holders;
mod kept;
mod lineage;
mod mounts;
mod open_calls;
mod ptrace;
mod quotas;
pub mod race;
mod run;
mod sections;
mod signals;
mod stacks;
mod target;
mod tracer;
mod waited;
mod watched;

pub use ptrace::LOST_PRIVILEGE;
pub use run::{Bound, Watcher, run, run_bound, watch};
pub use target::{Command, LaunchError, Running, Target, words};
pub use tracer::{Detail, Grouping, More, Root, TraceOptions, Tracer, TracerKind, Until};
