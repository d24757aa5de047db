//! Stand-ins for what only Linux declares, on other systems: constants that nothing there will ever report, and calls that fail
//! with ENOSYS. Re-exported by `linux`; never part of a build for Linux.

use nix::errno::Errno;
use nix::fcntl::{FcntlArg, FdFlag, OFlag, fcntl};
use nix::unistd::{Gid, Pid, pipe};
use std::ffi::CStr;
use std::os::fd::OwnedFd;

/// What a raw system call gives here.
///
/// # Safety
/// Always sound; unsafe as the call that it stands for.
#[allow(unsafe_code)]
pub unsafe fn no_such_call() -> i64 {
    Errno::ENOSYS.set();
    -1
}

#[cfg(not(any(target_os = "illumos", target_os = "solaris")))]
pub use libc::wait4;

/// These systems report the usage of all children together only.
///
/// # Safety
/// Always sound; unsafe as the call that it stands for.
#[cfg(any(target_os = "illumos", target_os = "solaris"))]
#[allow(unsafe_code)]
pub unsafe fn wait4(_: i32, _: *mut i32, _: i32, _: *mut libc::rusage) -> i32 {
    Errno::ENOSYS.set();
    -1
}

/// The process stands for its thread: nothing here traces threads.
pub fn gettid() -> Pid {
    nix::unistd::getpid()
}

/// A pipe that programs which are started do not inherit; a fork between its two steps would.
///
/// # Errors
/// What the kernel refused.
pub fn pipe2(_: OFlag) -> Result<(OwnedFd, OwnedFd), Errno> {
    let (from, to) = pipe()?;
    for end in [&from, &to] {
        fcntl(end, FcntlArg::F_SETFD(FdFlag::FD_CLOEXEC))?;
    }
    Ok((from, to))
}

/// Functions that fail with ENOSYS.
macro_rules! no_such_calls {
    ($($name:ident($($argument:ty),*) -> $result:ty;)*) => {
        $(pub fn $name($(_: $argument),*) -> Result<$result, Errno> {
            Err(Errno::ENOSYS)
        })*
    };
}

no_such_calls! {
    getgrouplist(&CStr, Gid) -> Vec<Gid>;
    sched_getcpu() -> usize;
    memfd_create(&CStr, MFdFlags) -> OwnedFd;
    sched_getaffinity(Pid) -> CpuSet;
    sched_setaffinity(Pid, &CpuSet) -> ();
}

/// Advice about mappings; no BPF map is ever mapped here.
pub struct MmapAdvise;

impl MmapAdvise {
    pub const MADV_DONTFORK: nix::sys::mman::MmapAdvise = nix::sys::mman::MmapAdvise::MADV_NORMAL;
}

/// Flags without meaning here.
pub struct MFdFlags;

impl MFdFlags {
    pub const MFD_CLOEXEC: MFdFlags = MFdFlags;
}

/// CPUs that nothing can be pinned to.
#[derive(Clone, Copy, Debug, Default)]
pub struct CpuSet;

impl CpuSet {
    pub fn new() -> CpuSet {
        CpuSet
    }

    pub fn count() -> usize {
        0
    }

    pub fn is_set(&self, _: usize) -> Result<bool, Errno> {
        Ok(false)
    }

    pub fn set(&mut self, _: usize) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }
}

/// No call has it.
pub const SYS_GETPPID: i64 = -1;
pub const __WALL: i32 = 0;
pub const __WNOTHREAD: i32 = 0;
pub const CLONE_FILES: i32 = 0x400;
pub const CLONE_THREAD: i32 = 0x10000;
/// No flag: files get names at once.
pub const O_TMPFILE: i32 = 0;
/// No flag: what cannot be opened is an error at once.
pub const O_PATH: i32 = 0;
pub const PR_SET_NAME: i32 = 15;
pub const PTRACE_EVENT_FORK: i32 = 1;
pub const PTRACE_EVENT_VFORK: i32 = 2;
pub const PTRACE_EVENT_CLONE: i32 = 3;
pub const PTRACE_EVENT_EXEC: i32 = 4;
pub const PTRACE_EVENT_SECCOMP: i32 = 7;
pub const PTRACE_EVENT_STOP: i32 = 128;

/// Linux's ptrace requests, each of which is refused.
pub mod ptrace {
    use nix::errno::Errno;
    use nix::sys::signal::Signal;
    use nix::unistd::Pid;

    pub type AddressType = *mut libc::c_void;

    /// Flags without meaning here.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Options;

    impl Options {
        pub const PTRACE_O_EXITKILL: Options = Options;
        pub const PTRACE_O_TRACESECCOMP: Options = Options;
        pub const PTRACE_O_TRACESYSGOOD: Options = Options;
        pub const PTRACE_O_TRACEFORK: Options = Options;
        pub const PTRACE_O_TRACEVFORK: Options = Options;
        pub const PTRACE_O_TRACECLONE: Options = Options;
        pub const PTRACE_O_TRACEEXEC: Options = Options;

        pub fn empty() -> Options {
            Options
        }
    }

    impl std::ops::BitOr for Options {
        type Output = Options;
        fn bitor(self, _: Options) -> Options {
            Options
        }
    }

    no_such_calls! {
        seize(Pid, Options) -> ();
        interrupt(Pid) -> ();
        read(Pid, AddressType) -> i64;
        write(Pid, AddressType, i64) -> ();
        cont(Pid, impl Into<Option<Signal>>) -> ();
        step(Pid, impl Into<Option<Signal>>) -> ();
        detach(Pid, impl Into<Option<Signal>>) -> ();
        getevent(Pid) -> i64;
    }
}
