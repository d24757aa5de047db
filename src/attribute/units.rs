//! Which operation prices which call: one table, where the first match counts. Pure data.
//!
//! An operation is rarely one call and nothing else. `less` names operations whose cost is subtracted, `count` is the number
//! of calls of that kind that one iteration makes. What still differs between a call in a program and its operation is the
//! model's error, see `spread`.

use crate::model::{Class, DescriptorKind};
use DescriptorKind::{Device, Event, Pipe, Socket, Terminal};

/// The part of a class that is a parameter of the operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Per {
    /// None: the operation has one cost.
    Flat,
    /// Bytes: `size`.
    Size,
    /// Names in the path: `depth`.
    Depth,
    /// Descriptors in the set: `fds`.
    Set,
}

impl Per {
    /// The operation's parameter; `None` for `Flat`.
    pub fn parameter(self) -> Option<&'static str> {
        match self {
            Per::Flat => None,
            Per::Size => Some("size"),
            Per::Depth => Some("depth"),
            Per::Set => Some("fds"),
        }
    }

    /// The operation's parameter and its value in `class`.
    pub fn of(self, class: &Class) -> Option<(&'static str, u64)> {
        let value = match self {
            Per::Flat => None,
            Per::Size => class.size,
            Per::Depth => class.depth,
            Per::Set => class.set,
        };
        self.parameter().zip(value)
    }

    /// Values that span most classes, as `--param` takes them; `None` for `Flat`.
    pub fn measured_at(self) -> Option<&'static str> {
        match self {
            Per::Flat => None,
            Per::Size => Some("size=1,64,4K,64K"),
            Per::Depth => Some("depth=1,4,8"),
            Per::Set => Some("fds=1,16,256"),
        }
    }
}

/// The classes that a row of the table applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    Any,
    /// One of these kinds of descriptor.
    On(&'static [DescriptorKind]),
    /// The path is empty: the call acts on a descriptor.
    NoPath,
    /// This futex operation.
    Operation(&'static str),
}

impl When {
    fn holds(self, class: &Class) -> bool {
        match self {
            When::Any => true,
            When::On(kinds) => class.descriptor.is_some_and(|kind| kinds.contains(&kind)),
            When::NoPath => class.depth == Some(0),
            When::Operation(name) => class.operation.as_deref().is_some_and(|own| own.starts_with(name)),
        }
    }
}

/// How a call of a class is priced.
#[derive(Clone, Copy, Debug)]
pub struct Unit {
    pub calls: &'static [&'static str],
    pub when: When,
    /// The first that the run has prices the call.
    pub operations: &'static [&'static str],
    /// Operations whose cost is subtracted.
    pub less: &'static [&'static str],
    /// Calls of this kind per iteration.
    pub count: f64,
    pub per: Per,
}

const fn unit(calls: &'static [&'static str], operations: &'static [&'static str], per: Per) -> Unit {
    Unit { calls, when: When::Any, operations, less: &[], count: 1.0, per }
}

impl Unit {
    const fn when(self, when: When) -> Unit {
        Unit { when, ..self }
    }

    const fn less(self, less: &'static [&'static str]) -> Unit {
        Unit { less, ..self }
    }

    const fn count(self, count: f64) -> Unit {
        Unit { count, ..self }
    }
}

/// Reads and writes of messages, with both ends in one process: no context switch.
const MESSAGE: &[&str] = &["socket.send_recv"];
const MESSAGES: When = When::On(&[Socket, Pipe, Terminal, Event]);
const READS: &[&str] = &["read", "pread64", "readv", "preadv", "preadv2"];
const WRITES: &[&str] = &["write", "pwrite64", "writev", "pwritev", "pwritev2"];
pub const STATS: &[&str] = &["stat", "lstat", "newfstatat", "stat64", "lstat64", "fstatat64", "oldstat", "oldlstat"];
const FORKS: &[&str] = &["fork", "clone", "clone3"];

/// What prices each call.
pub const UNITS: &[Unit] = &[
    unit(READS, &["io.read_zero"], Per::Size).when(When::On(&[Device])),
    unit(READS, MESSAGE, Per::Flat).when(MESSAGES).count(2.0),
    unit(READS, &["io.read_file", "io.pread", "io.read_zero"], Per::Size),
    unit(WRITES, &["io.write_null"], Per::Size).when(When::On(&[Device])),
    unit(WRITES, MESSAGE, Per::Flat).when(MESSAGES).count(2.0),
    unit(WRITES, &["io.write_file", "io.pwrite", "io.write_null"], Per::Size),
    unit(&["recvfrom", "sendto", "recvmsg", "sendmsg", "recv", "send"], MESSAGE, Per::Flat).count(2.0),
    unit(&["getdents", "getdents64"], &["dir.getdents64"], Per::Flat).less(&["fd.lseek"]),
    unit(&["sendfile", "sendfile64"], &["io.sendfile"], Per::Size),
    unit(&["splice", "tee", "vmsplice"], &["io.splice"], Per::Size).count(2.0),
    unit(&["copy_file_range"], &["io.copy_file_range"], Per::Size),
    unit(STATS, &["file.fstat"], Per::Flat).when(When::NoPath),
    unit(&["fstat", "fstat64", "oldfstat"], &["file.fstat"], Per::Flat),
    unit(&["lstat", "lstat64", "oldlstat"], &["file.lstat", "file.stat"], Per::Depth),
    unit(STATS, &["file.stat", "file.lstat"], Per::Depth),
    unit(&["statx"], &["file.fstat"], Per::Flat).when(When::NoPath),
    unit(&["statx"], &["file.statx", "file.stat", "file.lstat"], Per::Depth),
    unit(&["access"], &["file.access", "file.stat"], Per::Depth),
    unit(&["faccessat", "faccessat2"], &["file.faccessat", "file.access"], Per::Depth),
    unit(&["readlink", "readlinkat"], &["file.readlink"], Per::Depth),
    unit(&["open", "openat", "openat2"], &["file.open_close", "file.openat_close"], Per::Depth).less(&["fd.close"]),
    unit(&["creat"], &["file.creat_unlink"], Per::Depth).count(3.0),
    unit(&["close"], &["fd.close"], Per::Flat),
    unit(&["link", "linkat", "unlink", "unlinkat"], &["file.link_unlink"], Per::Depth).count(2.0),
    unit(&["symlink", "symlinkat"], &["file.symlink_unlink"], Per::Depth).count(2.0),
    unit(&["rename", "renameat", "renameat2"], &["file.rename"], Per::Depth),
    unit(&["chmod", "fchmod", "fchmodat", "fchmodat2"], &["file.chmod"], Per::Depth),
    unit(&["truncate", "ftruncate"], &["file.truncate"], Per::Depth),
    unit(&["utimensat", "utime", "utimes"], &["file.utimensat"], Per::Depth),
    unit(&["getxattr", "lgetxattr", "fgetxattr"], &["file.getxattr_absent", "file.getxattr"], Per::Depth),
    unit(&["mkdir", "mkdirat", "rmdir"], &["dir.mkdir_rmdir"], Per::Flat).count(2.0),
    unit(&["chdir", "fchdir"], &["dir.chdir"], Per::Flat),
    unit(&["getcwd"], &["dir.getcwd"], Per::Flat),
    unit(&["dup"], &["fd.dup_close"], Per::Flat).less(&["fd.close"]),
    unit(&["dup2", "dup3"], &["fd.dup2"], Per::Flat),
    unit(&["fcntl", "fcntl64"], &["fd.fcntl_getfl"], Per::Flat),
    unit(&["ioctl"], &["fd.ioctl_fionread"], Per::Flat),
    unit(&["lseek", "_llseek"], &["fd.lseek"], Per::Flat),
    unit(&["pipe", "pipe2"], &["fd.pipe_close"], Per::Flat).less(&["fd.close", "fd.close"]),
    unit(&["eventfd", "eventfd2"], &["fd.eventfd_close"], Per::Flat).less(&["fd.close"]),
    unit(&["fsync"], &["io.fsync"], Per::Flat).less(&["io.pwrite"]),
    unit(&["fdatasync"], &["io.fdatasync"], Per::Flat).less(&["io.pwrite"]),
    unit(&["mmap", "mmap2", "munmap"], &["mem.mmap_munmap"], Per::Size).count(2.0),
    unit(&["mprotect"], &["mem.mprotect"], Per::Flat),
    unit(&["brk"], &["mem.brk"], Per::Flat).count(2.0),
    unit(&["madvise"], &["mem.madvise"], Per::Flat),
    unit(&["mremap"], &["mem.mremap"], Per::Flat),
    unit(&["mlock", "munlock"], &["mem.mlock_munlock"], Per::Flat).count(2.0),
    unit(&["memfd_create"], &["mem.memfd_create_close"], Per::Flat).less(&["fd.close"]),
    unit(FORKS, &["process.fork_wait"], Per::Flat),
    unit(&["vfork"], &["process.vfork_wait"], Per::Flat),
    unit(&["execve", "execveat"], &["process.fork_exec_dynamic"], Per::Flat).less(&["process.fork_wait"]),
    unit(&["exit", "exit_group"], &["process.vfork_wait"], Per::Flat),
    unit(&["waitid", "wait4", "waitpid"], &["process.waitid_nothing"], Per::Flat),
    unit(&["rt_sigaction"], &["signal.sigaction"], Per::Flat),
    unit(&["rt_sigprocmask"], &["signal.sigprocmask"], Per::Flat),
    unit(&["sigaltstack"], &["signal.sigaltstack"], Per::Flat),
    unit(&["kill", "tgkill", "tkill"], &["id.kill_self"], Per::Flat),
    unit(&["futex", "futex_time64"], &["sync.futex_wait_fails"], Per::Flat).when(When::Operation("wait")),
    unit(&["futex", "futex_time64"], &["sync.futex_wake"], Per::Flat),
    unit(&["socket"], &["socket.socket_close"], Per::Flat).less(&["fd.close"]),
    unit(&["getsockname", "getpeername"], &["socket.getsockname"], Per::Flat),
    unit(&["getsockopt"], &["socket.getsockopt"], Per::Flat),
    unit(&["setsockopt"], &["socket.setsockopt"], Per::Flat),
    unit(&["poll", "ppoll", "ppoll_time64"], &["event.poll_none", "event.poll_one"], Per::Set),
    unit(&["select", "pselect6", "_newselect"], &["event.select_none", "event.select_one"], Per::Set),
    unit(&["epoll_wait", "epoll_pwait", "epoll_pwait2"], &["event.epoll_wait_none", "event.epoll_wait_one"], Per::Set),
    unit(&["epoll_ctl"], &["event.epoll_add_del"], Per::Flat).count(2.0),
    unit(&["inotify_add_watch", "inotify_rm_watch"], &["event.inotify_add_rm"], Per::Flat).count(2.0),
    unit(&["time"], &["time.time_raw", "time.time"], Per::Flat),
    unit(&["gettimeofday"], &["time.gettimeofday_raw", "time.gettimeofday"], Per::Flat),
    unit(&["clock_gettime", "clock_gettime64"], &["time.clock_gettime_raw", "time.clock_gettime"], Per::Flat),
    unit(&["clock_getres"], &["time.clock_getres_raw", "time.clock_getres"], Per::Flat),
    unit(&["timer_settime"], &["time.timer_settime"], Per::Flat),
    unit(&["timerfd_settime"], &["time.timerfd_settime"], Per::Flat),
    unit(&["timerfd_gettime"], &["time.timerfd_gettime"], Per::Flat),
    unit(&["timerfd_create"], &["time.timerfd_create_close"], Per::Flat).less(&["fd.close"]),
    unit(&["getrandom"], &["id.getrandom_raw", "id.getrandom"], Per::Size),
    unit(&["getpid"], &["call.syscall_getpid", "call.getpid", "id.getppid"], Per::Flat),
    unit(&["getuid"], &["id.getuid", "id.getppid"], Per::Flat),
    unit(&["geteuid"], &["id.geteuid", "id.getppid"], Per::Flat),
    unit(&["getgid", "getegid"], &["id.getgid", "id.getppid"], Per::Flat),
    unit(&["gettid"], &["id.gettid", "id.getppid"], Per::Flat),
    unit(&["getpgid", "getpgrp", "getsid"], &["id.getpgid", "id.getppid"], Per::Flat),
    unit(&["getppid"], &["id.getppid"], Per::Flat),
    unit(&["umask"], &["id.umask"], Per::Flat),
    unit(&["getrlimit", "setrlimit", "prlimit64"], &["id.getrlimit"], Per::Flat),
    unit(&["getrusage"], &["id.getrusage"], Per::Flat),
    unit(&["times"], &["id.times"], Per::Flat),
    unit(&["uname"], &["id.uname"], Per::Flat),
    unit(&["sched_yield"], &["id.sched_yield"], Per::Flat),
    unit(&["sysinfo"], &["id.sysinfo"], Per::Flat),
    unit(&["getcpu"], &["id.getcpu_raw", "id.getcpu"], Per::Flat),
    unit(
        &["prctl", "arch_prctl", "set_tid_address", "set_robust_list", "rseq"],
        &["id.prctl", "id.getppid"],
        Per::Flat,
    ),
];

/// Calls that create and end processes and threads: listed separately.
pub const CREATION: &[&str] =
    &["fork", "vfork", "clone", "clone3", "execve", "execveat", "exit", "exit_group", "wait4", "waitid", "waitpid"];

/// Calls that do almost nothing in the kernel; the first that a run has is the cost of a bare crossing.
pub const NULL_CALLS: &[&str] = &["id.getppid", "id.umask", "id.getuid", "call.syscall_getpid"];

/// The most common faults of a program that starts; the first that a run has prices all faults.
pub const FAULTS: &[&str] = &["mem.fault_anonymous", "mem.fault_file", "mem.fault_cow"];

/// Calls that conclusions name together.
pub const FAMILIES: &[(&str, &[&str])] = &[
    (
        "the stat family",
        &["stat", "lstat", "fstat", "newfstatat", "statx", "stat64", "lstat64", "fstat64", "fstatat64"],
    ),
    ("reads and writes", &["read", "write", "pread64", "pwrite64", "readv", "writev", "preadv", "pwritev"]),
    ("open and close", &["open", "openat", "openat2", "creat", "close"]),
];

/// The call's name without the ABI that it was made through: `getpid` for `getpid(i386)`.
pub fn bare_name(call: &str) -> &str {
    call.split('(').next().unwrap_or(call)
}

/// What prices `call` of `class`; `None` where no operation resembles it.
pub fn unit_of(call: &str, class: &Class) -> Option<&'static Unit> {
    let name = bare_name(call);
    UNITS.iter().find(|unit| unit.calls.contains(&name) && unit.when.holds(class))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::syscall_names::is_known;

    /// Names that only other architectures have.
    const ELSEWHERE: [&str; 3] = ["recv", "send", "waitpid"];

    #[test]
    fn every_call_is_known() {
        let names = UNITS.iter().flat_map(|unit| unit.calls).chain(CREATION);
        let unknown: Vec<&&str> = names.filter(|name| !is_known(name) && !ELSEWHERE.contains(name)).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn the_class_chooses_the_operation() {
        let on = |kind| Class { descriptor: Some(kind), ..Class::default() };
        let first = |call: &str, class: &Class| unit_of(call, class).map(|unit| unit.operations[0]);
        assert_eq!(first("read", &on(Device)), Some("io.read_zero"));
        assert_eq!(first("read", &on(Pipe)), Some("socket.send_recv"));
        assert_eq!(first("read(i386)", &on(DescriptorKind::File)), Some("io.read_file"));
        assert_eq!(first("newfstatat", &Class { depth: Some(0), ..Class::default() }), Some("file.fstat"));
        assert_eq!(first("newfstatat", &Class { depth: Some(3), ..Class::default() }), Some("file.stat"));
        let wait = Class { operation: Some("wait_bitset".into()), ..Class::default() };
        assert_eq!(first("futex", &wait), Some("sync.futex_wait_fails"));
        assert_eq!(first("keyctl", &Class::default()), None);
    }
}
