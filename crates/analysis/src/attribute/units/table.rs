//! The table of unit costs. Of the rows that apply to a call, the first that a run can price counts: those below it serve
//! runs that lack its operations, such as published ones.
//!
//! A call that opens something is priced without the close that follows, and the other way round, where there is an operation
//! for each; a pair without one (locks, pipes) shares its cost equally.

use super::{Per, Unit, unit};
use model::DescriptorKind::{self, Device, Directory, Event, File, Pipe, Socket, Terminal};

const READS: &str = "read pread64 readv preadv preadv2";
const WRITES: &str = "write pwrite64 writev pwritev pwritev2";
/// Reads and writes of messages, with both ends in one process: no context switch.
const MESSAGES: &[DescriptorKind] = &[Socket, Pipe, Terminal, Event];
const NO_FILES: &[DescriptorKind] = &[Device, Socket, Pipe, Terminal, Event];
const STATS: &str = "stat lstat newfstatat stat64 lstat64 fstatat64 oldstat oldlstat";
const LOOKUPS: &str = "stat lstat newfstatat stat64 lstat64 fstatat64 oldstat oldlstat statx access faccessat faccessat2 readlink readlinkat";
const ABSENT: &str = "ENOENT ENOTDIR";
const OPENS: &str = "open openat openat2";
const FORKS: &str = "fork clone";
const FUTEXES: &str = "futex futex_time64";
const FCNTLS: &str = "fcntl fcntl64";
pub const UNITS: &[Unit] = &[
    unit(LOOKUPS, "file.stat_absent", Per::Depth).fails(ABSENT),
    unit(OPENS, "file.open_absent", Per::Depth).fails(ABSENT),
    unit(EXECS, "file.open_absent", Per::Depth).fails(ABSENT),
    unit("close", "fd.close_bad", Per::Flat).fails("EBADF"),
    unit(FUTEXES, "sync.futex_wait_fails", Per::Flat)
        .does("wait")
        .fails("EAGAIN"),
    unit(READS, "io.read_zero", Per::Size).on(&[Device]),
    unit(READS, "socket.tcp_send_recv", Per::Size)
        .on(&[Socket])
        .count(2.0),
    unit(READS, "io.eventfd_write_read", Per::Flat)
        .on(&[Event])
        .count(2.0),
    unit(READS, "io.pipe_write_read", Per::Size)
        .on(&[Pipe, Terminal])
        .count(2.0),
    unit(READS, "socket.send_recv", Per::Flat)
        .on(MESSAGES)
        .count(2.0),
    unit("pread64", "io.pread", Per::Size).not_on(NO_FILES),
    unit(READS, "io.read_file io.pread io.read_zero", Per::Size).not_on(NO_FILES),
    unit(WRITES, "io.write_null", Per::Size).on(&[Device]),
    unit(WRITES, "socket.tcp_send_recv", Per::Size)
        .on(&[Socket])
        .count(2.0),
    unit(WRITES, "io.eventfd_write_read", Per::Flat)
        .on(&[Event])
        .count(2.0),
    unit(WRITES, "io.pipe_write_read", Per::Size)
        .on(&[Pipe, Terminal])
        .count(2.0),
    unit(WRITES, "socket.send_recv", Per::Flat)
        .on(MESSAGES)
        .count(2.0),
    // Programs write most files from their start to their end; databases do so with their journals, by pwrite().
    unit(
        WRITES,
        "io.write_append io.write_file io.pwrite io.write_null",
        Per::Size,
    )
    .not_on(NO_FILES),
    unit("recvmsg sendmsg", "socket.sendmsg_recvmsg", Per::Size).count(2.0),
    unit(
        "recvfrom sendto recv send",
        "socket.tcp_send_recv",
        Per::Size,
    )
    .count(2.0),
    unit(
        "recvfrom sendto recvmsg sendmsg recv send",
        "socket.send_recv",
        Per::Flat,
    )
    .count(2.0),
    unit("getdents getdents64", "dir.getdents64", Per::Entries).less("fd.lseek"),
    unit("sendfile sendfile64", "io.sendfile", Per::Size),
    unit("splice tee vmsplice", "io.splice", Per::Size).count(2.0),
    unit("copy_file_range", "io.copy_file_range", Per::Size),
    unit(STATS, "file.fstat", Per::Flat).no_path(),
    unit("fstat fstat64 oldfstat", "file.fstat", Per::Flat),
    unit("lstat lstat64 oldlstat", "file.lstat file.stat", Per::Depth),
    unit(STATS, "file.stat file.lstat", Per::Depth),
    unit("statx", "file.fstat", Per::Flat).no_path(),
    unit("statx", "file.statx file.stat file.lstat", Per::Depth),
    unit(
        "statfs statfs64 fstatfs fstatfs64",
        "file.statfs",
        Per::Depth,
    ),
    unit("access", "file.access file.stat", Per::Depth),
    unit(
        "faccessat faccessat2",
        "file.faccessat file.access",
        Per::Depth,
    ),
    unit("readlink readlinkat", "file.readlink", Per::Depth),
    unit(OPENS, "file.create", Per::Depth).does("create"),
    unit("creat", "file.create", Per::Depth),
    unit(OPENS, "file.creat_unlink", Per::Depth)
        .does("create")
        .count(3.0),
    unit("creat", "file.creat_unlink", Per::Depth).count(3.0),
    unit(OPENS, "file.open_close file.openat_close", Per::Depth).less("file.close"),
    unit(OPENS, "file.open_close file.openat_close", Per::Depth).less("fd.close"),
    unit("close", "file.close", Per::Flat).on(&[File, Directory, Device]),
    unit("close", "socket.close", Per::Flat).on(&[Socket]),
    unit("close", "fd.close", Per::Flat),
    unit("unlinkat", "dir.mkdir_rmdir", Per::Flat)
        .does("directory")
        .count(2.0),
    unit("unlink unlinkat", "file.unlink", Per::Depth),
    unit(
        "link linkat unlink unlinkat",
        "file.link_unlink",
        Per::Depth,
    )
    .count(2.0),
    unit("symlink symlinkat", "file.symlink_unlink", Per::Depth).count(2.0),
    unit("rename renameat renameat2", "file.rename", Per::Depth),
    unit("chmod fchmod fchmodat fchmodat2", "file.chmod", Per::Depth),
    unit("fchown fchown32", "file.fchown", Per::Flat),
    unit(
        "chown lchown fchownat chown32 lchown32",
        "file.chown",
        Per::Depth,
    ),
    unit("ftruncate ftruncate64", "file.ftruncate", Per::Flat),
    unit(
        "truncate ftruncate truncate64 ftruncate64",
        "file.truncate",
        Per::Depth,
    ),
    unit("utimensat utime utimes", "file.utimensat", Per::Depth),
    unit(
        "getxattr lgetxattr fgetxattr",
        "file.getxattr_absent file.getxattr",
        Per::Depth,
    ),
    unit("mkdir mkdirat rmdir", "dir.mkdir_rmdir", Per::Flat).count(2.0),
    unit("chdir fchdir", "dir.chdir", Per::Flat),
    unit("getcwd", "dir.getcwd", Per::Flat),
    unit("dup", "fd.dup_close", Per::Flat).less("fd.close"),
    unit("dup2 dup3", "fd.dup2", Per::Flat),
    unit(FCNTLS, "fd.fcntl_lock", Per::Flat)
        .does("setlk ofd_setlk")
        .count(2.0),
    unit(FCNTLS, "fd.dup_close", Per::Flat)
        .does("dupfd")
        .less("fd.close"),
    unit(FCNTLS, "fd.fcntl_setfd", Per::Flat).does("setfd"),
    unit(FCNTLS, "fd.fcntl_getfl", Per::Flat),
    unit("flock", "fd.flock", Per::Flat).count(2.0),
    unit("ioctl", "fd.ioctl_tcgets", Per::Flat)
        .on(&[Terminal])
        .does("TCGETS TCSETS"),
    unit("ioctl", "fd.ioctl_winsize", Per::Flat)
        .on(&[Terminal])
        .does("TIOCGWINSZ TIOCGPGRP"),
    unit("ioctl", "fd.ioctl_enotty", Per::Flat)
        .not_on(&[Terminal])
        .does("TCGETS TCSETS TIOCGWINSZ TIOCGPGRP"),
    unit("ioctl", "fd.ioctl_fionread", Per::Flat).does("FIO"),
    // A request that is not known may be anything; without its name it is mostly one of those above.
    unit("ioctl", "fd.ioctl_fionread", Per::Flat).does(""),
    unit("lseek _llseek", "fd.lseek", Per::Flat),
    unit("fadvise64", "fd.fcntl_getfl", Per::Flat),
    unit("pipe pipe2", "fd.pipe_close", Per::Flat).less("fd.close fd.close"),
    unit("eventfd eventfd2", "fd.eventfd_close", Per::Flat).less("fd.close"),
    unit("fsync", "dir.fsync", Per::Flat)
        .on(&[Directory])
        .less("file.rename"),
    unit("fsync", "io.fsync", Per::Flat).less("io.pwrite"),
    unit("fdatasync", "io.fdatasync", Per::Flat).less("io.pwrite"),
    unit(MAPS, "mem.mmap_file_munmap", Per::Size)
        .does("file")
        .count(2.0),
    unit("munmap", "mem.munmap_touched", Per::Size),
    unit("mmap mmap2 munmap", "mem.mmap_munmap", Per::Size).count(2.0),
    unit("mprotect", "mem.mprotect", Per::Flat),
    unit("brk", "mem.brk", Per::Flat).count(2.0),
    unit("madvise", "mem.madvise_range", Per::Size).does("dontneed free"),
    unit("madvise", "mem.madvise", Per::Flat),
    unit("mremap", "mem.mremap", Per::Flat),
    // The C library starts threads by clone3(), whose arguments are in memory.
    unit("clone3 exit", "process.clone_thread", Per::Flat).count(2.0),
    unit(FORKS, "process.clone_thread", Per::Flat)
        .does("thread")
        .count(2.0),
    unit(FORKS, "process.fork_wait", Per::Flat).less("process.exit_wait"),
    unit("fork clone clone3", "process.fork_wait", Per::Flat),
    unit("vfork", "process.vfork_wait", Per::Flat),
    // What a program does at its start, mostly in user mode, is counted by itself.
    unit(EXECS, "process.vfork_exec_bare", Per::Flat).less("process.vfork_wait"),
    unit(EXECS, "process.fork_exec_dynamic", Per::Flat).less("process.fork_wait"),
    unit("exit_group", "process.exit_wait", Per::Fixed("mib", 1)).less("process.wait"),
    unit("exit exit_group", "process.vfork_wait", Per::Flat),
    unit(
        "waitid wait4 waitpid",
        "process.wait process.waitid_nothing",
        Per::Flat,
    ),
    unit("rt_sigaction", "signal.sigaction", Per::Flat),
    unit("rt_sigprocmask", "signal.sigprocmask", Per::Flat),
    unit("rt_sigreturn", "signal.kill_self", Per::Flat).less("id.kill_self"),
    unit("sigaltstack", "signal.sigaltstack", Per::Flat),
    unit("kill tgkill tkill", "id.kill_self", Per::Flat),
    // The C library enters the kernel only where another thread holds the lock: waits wait, and wakes wake.
    unit(FUTEXES, "sync.futex_pingpong", Per::Flat)
        .does("wait wake")
        .count(4.0),
    unit(FUTEXES, "sync.futex_wait_fails", Per::Flat).does("wait"),
    unit(FUTEXES, "sync.futex_wake", Per::Flat),
    unit("socket", "socket.socket_close", Per::Flat).less("fd.close"),
    unit("socketpair", "socket.socketpair_close", Per::Flat).less("fd.close fd.close"),
    unit("connect", "socket.connect", Per::Flat),
    unit("accept accept4", "socket.accept", Per::Flat),
    unit("getsockname getpeername", "socket.getsockname", Per::Flat),
    unit("getsockopt", "socket.getsockopt", Per::Flat),
    unit("setsockopt", "socket.setsockopt", Per::Flat),
    unit(
        "poll ppoll ppoll_time64",
        "event.poll_none event.poll_one",
        Per::Set,
    ),
    unit(
        "select pselect6 _newselect",
        "event.select_none event.select_one",
        Per::Set,
    ),
    // A call names how many events it takes, not how many descriptors it waits for: these hardly cost anything.
    unit(
        EPOLL_WAITS,
        "event.epoll_wait_one event.epoll_wait_none",
        Per::Flat,
    ),
    unit("epoll_ctl", "event.epoll_mod", Per::Flat).does("mod"),
    unit("epoll_ctl", "event.epoll_add_del", Per::Flat).count(2.0),
    unit(
        "epoll_create epoll_create1",
        "event.epoll_create_close",
        Per::Flat,
    )
    .less("fd.close"),
    unit(
        SLEEPS,
        "time.clock_nanosleep_past time.clock_nanosleep0",
        Per::Flat,
    ),
    unit("time", "time.time_raw time.time", Per::Flat),
    unit(
        "gettimeofday",
        "time.gettimeofday_raw time.gettimeofday",
        Per::Flat,
    ),
    unit(
        "clock_gettime clock_gettime64",
        "time.clock_gettime_raw time.clock_gettime",
        Per::Flat,
    ),
    unit("getrandom", "id.getrandom_raw id.getrandom", Per::Size),
    unit(
        "getpid",
        "call.syscall_getpid call.getpid id.getppid",
        Per::Flat,
    ),
    unit("getuid", "id.getuid id.getppid", Per::Flat),
    unit("geteuid", "id.geteuid id.getppid", Per::Flat),
    unit("getgid getegid", "id.getgid id.getppid", Per::Flat),
    unit("gettid", "id.gettid id.getppid", Per::Flat),
    unit("getpgid getpgrp getsid", "id.getpgid id.getppid", Per::Flat),
    unit("getppid", "id.getppid", Per::Flat),
    unit("umask", "id.umask", Per::Flat),
    unit("getrlimit setrlimit prlimit64", "id.getrlimit", Per::Flat),
    unit("getrusage", "id.getrusage", Per::Flat),
    unit("uname", "id.uname", Per::Flat),
    unit("sched_yield", "id.sched_yield", Per::Flat),
    unit("sysinfo", "id.sysinfo", Per::Flat),
    unit(CHEAP, "id.prctl id.getppid", Per::Flat),
];

const MAPS: &str = "mmap mmap2";
const EXECS: &str = "execve execveat";
const EPOLL_WAITS: &str = "epoll_wait epoll_pwait epoll_pwait2";
const SLEEPS: &str = "nanosleep clock_nanosleep clock_nanosleep_time64";
const CHEAP: &str = "prctl arch_prctl set_tid_address set_robust_list rseq getresuid getresgid getpriority sched_getaffinity sched_getscheduler sched_getparam getitimer capget ioprio_get personality";

pub const CREATION: &str =
    "fork vfork clone clone3 execve execveat exit exit_group wait4 waitid waitpid";

/// Calls that do almost nothing in the kernel; the first that a run has is the cost of a bare crossing.
pub const NULL_CALLS: &str = "id.getppid id.umask id.getuid call.syscall_getpid";

pub const FAMILIES: &[(&str, &str)] = &[
    (
        "the stat family",
        "stat lstat fstat newfstatat statx stat64 lstat64 fstat64 fstatat64",
    ),
    (
        "reads and writes",
        "read write pread64 pwrite64 readv writev preadv pwritev",
    ),
    ("open and close", "open openat openat2 creat close"),
];
