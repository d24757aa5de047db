//! The kernel seam: the only place that uses ptrace, perf, bpf, signals and CPU affinity, and reads facts about the
//! host. `unsafe` is allowed only here, each block with its reason.

pub mod affinity;
pub mod bpf;
pub mod cgroup;
pub mod checks;
pub mod clock;
pub mod counters;
pub mod embedded;
#[cfg(any(test, feature = "fixtures"))]
pub mod fake;
pub mod family;
pub mod follow;
pub mod functions;
pub mod host;
pub mod launch;
pub mod libraries;
pub mod limits;
pub mod lock;
pub mod memory;
pub mod neighbour;
pub mod null_call;
pub mod open;
pub mod output;
pub mod owner;
mod perf;
pub mod pidfd;
pub mod private;
pub mod proc_stat;
pub mod process;
pub mod ptrace;
pub mod regular;
pub mod sources;
pub mod standard_output;
pub mod status;
pub mod step;
pub mod syscall_stop;
pub mod taxes;
pub mod temporary;
pub mod threads;
pub mod tracee;
pub mod tree;
pub mod usage;
pub mod wake;

pub use sources::Sources;
