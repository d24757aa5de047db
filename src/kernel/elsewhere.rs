//! Stand-ins for what only Linux declares, on other systems: constants that nothing there will ever report, and calls that fail
//! with ENOSYS. Re-exported by `linux`; never part of a build for Linux.

use nix::errno::Errno;
use nix::unistd::Pid;

/// What a raw system call gives here.
///
/// # Safety
/// Always sound; unsafe as the call that it stands for.
#[allow(unsafe_code)]
pub unsafe fn no_such_call() -> i64 {
    Errno::ENOSYS.set();
    -1
}

/// The process stands for its thread: nothing here traces threads.
pub fn gettid() -> Pid {
    nix::unistd::getpid()
}

/// No call has it.
pub const SYS_GETPPID: i64 = -1;
pub const __WALL: i32 = 0;
pub const __WNOTHREAD: i32 = 0;
pub const CLONE_FILES: i32 = 0x400;
pub const CLONE_THREAD: i32 = 0x10000;
/// No flag: files get names at once.
pub const O_TMPFILE: i32 = 0;
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

    pub fn seize(_: Pid, _: Options) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    pub fn interrupt(_: Pid) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    pub fn read(_: Pid, _: AddressType) -> Result<i64, Errno> {
        Err(Errno::ENOSYS)
    }

    pub fn write(_: Pid, _: AddressType, _: i64) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    pub fn cont<T: Into<Option<Signal>>>(_: Pid, _: T) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    pub fn step<T: Into<Option<Signal>>>(_: Pid, _: T) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    pub fn detach<T: Into<Option<Signal>>>(_: Pid, _: T) -> Result<(), Errno> {
        Err(Errno::ENOSYS)
    }

    pub fn getevent(_: Pid) -> Result<i64, Errno> {
        Err(Errno::ENOSYS)
    }
}
