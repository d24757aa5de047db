//! What only Linux declares: raw system calls by number, and ptrace's requests. On other systems these are stand-ins, so that
//! everything above compiles there and gets ENOSYS: no tracing, no counters, no proof. Used by the rest of `kernel`, and
//! for constants by `trace` and `store`.
//!
//! Rejected: `cfg` at each use, which would have to be right in a hundred places that nobody can test.

/// `system_call!(SYS_name, arguments...)`: the raw call where it exists, else -1 with ENOSYS in errno.
#[cfg(target_os = "linux")]
macro_rules! system_call {
    ($number:ident $(, $argument:expr)* $(,)?) => { libc::syscall(libc::$number $(, $argument)*) };
}
#[cfg(not(target_os = "linux"))]
macro_rules! system_call {
    ($number:ident $(, $argument:expr)* $(,)?) => {{
        $( let _ = $argument; )*
        $crate::kernel::linux::no_such_call()
    }};
}
pub(crate) use system_call;

#[cfg(target_os = "linux")]
pub use libc::{__WALL, __WNOTHREAD, CLONE_FILES, CLONE_THREAD, O_PATH, O_TMPFILE, PR_SET_NAME, wait4};
#[cfg(target_os = "linux")]
pub use libc::{
    PTRACE_EVENT_CLONE, PTRACE_EVENT_EXEC, PTRACE_EVENT_FORK, PTRACE_EVENT_SECCOMP, PTRACE_EVENT_STOP,
    PTRACE_EVENT_VFORK,
};
#[cfg(target_os = "linux")]
pub const SYS_GETPPID: i64 = libc::SYS_getppid;
#[cfg(target_os = "linux")]
pub use nix::sys::ptrace;
#[cfg(target_os = "linux")]
pub use nix::{
    sched::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity},
    sys::memfd::{MFdFlags, memfd_create},
    sys::mman::MmapAdvise,
    unistd::{getgrouplist, gettid, pipe2},
};

#[cfg(not(target_os = "linux"))]
pub use elsewhere::*;

#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod elsewhere;
