//! The table of unit costs. The first of a call's rows that a run can price counts: the others serve
//! runs that lack its operations, such as published ones.
//!
//! A call that opens something is priced without the close that follows, and the other way round, if there is an operation
//! for each; a pair without one (locks, pipes) shares its cost equally.

use super::Per::{Depth, Entries, Fixed, Set, Size};
use super::{Unit, per, unit};
use model::DescriptorKind::{self, Device, Directory, Event, File, Pipe, Socket, Terminal};

const READS: &str = "read pread64 readv preadv preadv2";
const WRITES: &str = "write pwrite64 writev pwritev pwritev2";
const TRANSFERS: &str = "read pread64 readv preadv preadv2 write pwrite64 writev pwritev pwritev2";
const NO_FILES: &[DescriptorKind] = &[Device, Socket, Pipe, Terminal, Event];
const STATS: &str = "stat lstat newfstatat stat64 lstat64 fstatat64 oldstat oldlstat";
const LOOKUPS: &str = "stat lstat newfstatat stat64 lstat64 fstatat64 oldstat oldlstat statx access faccessat faccessat2 readlink readlinkat";
const ABSENT: &str = "ENOENT ENOTDIR";
const OPENS: &str = "open openat openat2";
const FORKS: &str = "fork clone";
const FUTEXES: &str = "futex futex_time64";
const FCNTLS: &str = "fcntl fcntl64";
pub const UNITS: &[Unit] = &[
    // Failures come first: they cost less than the work that they failed at.
    per(Depth, LOOKUPS, "file.stat_absent").fails(ABSENT),
    per(Depth, OPENS, "file.open_absent").fails(ABSENT),
    per(Depth, EXECS, "file.open_absent").fails(ABSENT),
    unit("close", "fd.close_bad").fails("EBADF"),
    unit(FUTEXES, "sync.futex_wait_fails")
        .does("wait")
        .fails("EAGAIN"),
    // Transfers by the kind of the descriptor, then by the call alone.
    per(Size, READS, "io.read_zero").on(&[Device]),
    per(Size, TRANSFERS, "socket.tcp_send_recv")
        .on(&[Socket])
        .times(2.0),
    unit(TRANSFERS, "io.eventfd_write_read")
        .on(&[Event])
        .times(2.0),
    per(Size, TRANSFERS, "io.pipe_write_read")
        .on(&[Pipe, Terminal])
        .times(2.0),
    // Messages with both ends in one process: no context switch.
    unit(TRANSFERS, "socket.send_recv")
        .on(&[Socket, Pipe, Terminal, Event])
        .times(2.0),
    per(Size, "pread64", "io.pread").not_on(NO_FILES),
    per(Size, READS, "io.read_file io.pread io.read_zero").not_on(NO_FILES),
    per(Size, WRITES, "io.write_null").on(&[Device]),
    // Programs write most files from their start to their end; databases do so with their journals, by pwrite().
    per(
        Size,
        WRITES,
        "io.write_append io.write_file io.pwrite io.write_null",
    )
    .not_on(NO_FILES),
    per(Size, "recvmsg sendmsg", "socket.sendmsg_recvmsg").times(2.0),
    per(Size, "recvfrom sendto recv send", "socket.tcp_send_recv").times(2.0),
    unit(
        "recvfrom sendto recvmsg sendmsg recv send",
        "socket.send_recv",
    )
    .times(2.0),
    per(Entries, "getdents getdents64", "dir.getdents64").less("fd.lseek"),
    per(Size, "sendfile sendfile64", "io.sendfile"),
    per(Size, "splice tee vmsplice", "io.splice").times(2.0),
    per(Size, "copy_file_range", "io.copy_file_range"),
    // Questions about files, by the depth of the path.
    unit(STATS, "file.fstat").no_path(),
    unit("fstat fstat64 oldfstat", "file.fstat"),
    per(Depth, "lstat lstat64 oldlstat", "file.lstat file.stat"),
    per(Depth, STATS, "file.stat file.lstat"),
    unit("statx", "file.fstat").no_path(),
    per(Depth, "statx", "file.statx file.stat file.lstat"),
    per(Depth, "statfs statfs64 fstatfs fstatfs64", "file.statfs"),
    per(Depth, "access", "file.access file.stat"),
    per(Depth, "faccessat faccessat2", "file.faccessat file.access"),
    per(Depth, "readlink readlinkat", "file.readlink"),
    // Opens and closes, and calls that make and remove names.
    per(Depth, OPENS, "file.create").does("create"),
    per(Depth, "creat", "file.create"),
    per(Depth, OPENS, "file.creat_unlink")
        .does("create")
        .times(3.0),
    per(Depth, "creat", "file.creat_unlink").times(3.0),
    per(Depth, OPENS, "file.open_close file.openat_close").less("file.close"),
    per(Depth, OPENS, "file.open_close file.openat_close").less("fd.close"),
    unit("close", "file.close").on(&[File, Directory, Device]),
    unit("close", "socket.close").on(&[Socket]),
    unit("close", "fd.close"),
    unit("unlinkat", "dir.mkdir_rmdir")
        .does("directory")
        .times(2.0),
    per(Depth, "unlink unlinkat", "file.unlink"),
    per(Depth, "link linkat unlink unlinkat", "file.link_unlink").times(2.0),
    per(Depth, "symlink symlinkat", "file.symlink_unlink").times(2.0),
    per(Depth, "rename renameat renameat2", "file.rename"),
    per(Depth, "chmod fchmod fchmodat fchmodat2", "file.chmod"),
    unit("fchown fchown32", "file.fchown"),
    per(
        Depth,
        "chown lchown fchownat chown32 lchown32",
        "file.chown",
    ),
    unit("ftruncate ftruncate64", "file.ftruncate"),
    per(
        Depth,
        "truncate ftruncate truncate64 ftruncate64",
        "file.truncate",
    ),
    per(Depth, "utimensat utime utimes", "file.utimensat"),
    per(
        Depth,
        "getxattr lgetxattr fgetxattr",
        "file.getxattr_absent file.getxattr",
    ),
    unit("mkdir mkdirat rmdir", "dir.mkdir_rmdir").times(2.0),
    unit("chdir fchdir", "dir.chdir"),
    unit("getcwd", "dir.getcwd"),
    // Calls on descriptors.
    unit("dup", "fd.dup_close").less("fd.close"),
    unit("dup2 dup3", "fd.dup2"),
    unit(FCNTLS, "fd.fcntl_lock")
        .does("setlk ofd_setlk")
        .times(2.0),
    unit(FCNTLS, "fd.dup_close").does("dupfd").less("fd.close"),
    unit(FCNTLS, "fd.fcntl_setfd").does("setfd"),
    unit(FCNTLS, "fd.fcntl_getfl"),
    unit("flock", "fd.flock").times(2.0),
    unit("ioctl", "fd.ioctl_tcgets")
        .on(&[Terminal])
        .does("TCGETS TCSETS"),
    unit("ioctl", "fd.ioctl_winsize")
        .on(&[Terminal])
        .does("TIOCGWINSZ TIOCGPGRP"),
    unit("ioctl", "fd.ioctl_enotty")
        .not_on(&[Terminal])
        .does("TCGETS TCSETS TIOCGWINSZ TIOCGPGRP"),
    unit("ioctl", "fd.ioctl_fionread").does("FIO"),
    // A request that is not known may be anything; without its name it is mostly one of those above.
    unit("ioctl", "fd.ioctl_fionread").does(""),
    unit("lseek _llseek", "fd.lseek"),
    unit("fadvise64", "fd.fcntl_getfl"),
    unit("pipe pipe2", "fd.pipe_close").less("fd.close fd.close"),
    unit("eventfd eventfd2", "fd.eventfd_close").less("fd.close"),
    // Syncs, without the write or the rename that makes each of them necessary.
    unit("fsync", "dir.fsync")
        .on(&[Directory])
        .less("file.rename"),
    unit("fsync", "io.fsync").less("io.pwrite"),
    unit("fdatasync", "io.fdatasync").less("io.pwrite"),
    // Memory: a mapping and its end share the cost of their pair.
    per(Size, MAPS, "mem.mmap_file_munmap")
        .does("file")
        .times(2.0),
    per(Size, "munmap", "mem.munmap_touched"),
    per(Size, "mmap mmap2 munmap", "mem.mmap_munmap").times(2.0),
    unit("mprotect", "mem.mprotect"),
    unit("brk", "mem.brk").times(2.0),
    per(Size, "madvise", "mem.madvise_range").does("dontneed free"),
    unit("madvise", "mem.madvise"),
    unit("mremap", "mem.mremap"),
    // The C library starts threads by clone3(), whose arguments are in memory.
    unit("clone3 exit", "process.clone_thread").times(2.0),
    unit(FORKS, "process.clone_thread")
        .does("thread")
        .times(2.0),
    unit(FORKS, "process.fork_wait").less("process.exit_wait"),
    unit("fork clone clone3", "process.fork_wait"),
    unit("vfork", "process.vfork_wait"),
    // The program's own start, mostly in user mode, is counted with its other time.
    unit(EXECS, "process.vfork_exec_bare").less("process.vfork_wait"),
    unit(EXECS, "process.fork_exec_dynamic").less("process.fork_wait"),
    per(Fixed("mib", 1), "exit_group", "process.exit_wait").less("process.wait"),
    unit("exit exit_group", "process.vfork_wait"),
    unit(
        "waitid wait4 waitpid",
        "process.wait process.waitid_nothing",
    ),
    // Signals.
    unit("rt_sigaction", "signal.sigaction"),
    unit("rt_sigprocmask", "signal.sigprocmask"),
    unit("rt_sigreturn", "signal.kill_self").less("id.kill_self"),
    unit("sigaltstack", "signal.sigaltstack"),
    unit("kill tgkill tkill", "id.kill_self"),
    // The C library enters the kernel only where another thread holds the lock: waits wait, and wakes wake.
    unit(FUTEXES, "sync.futex_pingpong")
        .does("wait wake")
        .times(4.0),
    unit(FUTEXES, "sync.futex_wait_fails").does("wait"),
    unit(FUTEXES, "sync.futex_wake"),
    // Sockets, and waiting for events.
    unit("socket", "socket.socket_close").less("fd.close"),
    unit("socketpair", "socket.socketpair_close").less("fd.close fd.close"),
    unit("connect", "socket.connect"),
    unit("accept accept4", "socket.accept"),
    unit("getsockname getpeername", "socket.getsockname"),
    unit("getsockopt", "socket.getsockopt"),
    unit("setsockopt", "socket.setsockopt"),
    per(
        Set,
        "poll ppoll ppoll_time64",
        "event.poll_none event.poll_one",
    ),
    per(
        Set,
        "select pselect6 _newselect",
        "event.select_none event.select_one",
    ),
    // A call names how many events it takes, not how many descriptors it waits for: these hardly cost anything.
    unit(EPOLL_WAITS, "event.epoll_wait_one event.epoll_wait_none"),
    unit("epoll_ctl", "event.epoll_mod").does("mod"),
    unit("epoll_ctl", "event.epoll_add_del").times(2.0),
    unit("epoll_create epoll_create1", "event.epoll_create_close").less("fd.close"),
    // Clocks and identities, by the raw system call if the run has it, because a call in the profile did enter the kernel.
    unit(SLEEPS, "time.clock_nanosleep_past time.clock_nanosleep0"),
    unit("time", "time.time_raw time.time"),
    unit("gettimeofday", "time.gettimeofday_raw time.gettimeofday"),
    unit(
        "clock_gettime clock_gettime64",
        "time.clock_gettime_raw time.clock_gettime",
    ),
    per(Size, "getrandom", "id.getrandom_raw id.getrandom"),
    unit("getpid", "call.syscall_getpid call.getpid id.getppid"),
    unit("getuid", "id.getuid id.getppid"),
    unit("geteuid", "id.geteuid id.getppid"),
    unit("getgid getegid", "id.getgid id.getppid"),
    unit("gettid", "id.gettid id.getppid"),
    unit("getpgid getpgrp getsid", "id.getpgid id.getppid"),
    unit("getppid", "id.getppid"),
    unit("umask", "id.umask"),
    unit("getrlimit setrlimit prlimit64", "id.getrlimit"),
    unit("getrusage", "id.getrusage"),
    unit("uname", "id.uname"),
    unit("sched_yield", "id.sched_yield"),
    unit("sysinfo", "id.sysinfo"),
    unit(CHEAP, "id.prctl id.getppid"),
];

const MAPS: &str = "mmap mmap2";
const EXECS: &str = "execve execveat";
const EPOLL_WAITS: &str = "epoll_wait epoll_pwait epoll_pwait2";
const SLEEPS: &str = "nanosleep clock_nanosleep clock_nanosleep_time64";
const CHEAP: &str = "prctl arch_prctl set_tid_address set_robust_list rseq getresuid getresgid getpriority sched_getaffinity sched_getscheduler sched_getparam getitimer capget ioprio_get personality";

pub const CREATION: &str =
    "fork vfork clone clone3 execve execveat exit exit_group wait4 waitid waitpid";

/// The first that a run has is the cost of a bare crossing.
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
