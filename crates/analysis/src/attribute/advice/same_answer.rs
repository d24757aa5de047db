//! Questions whose answer does not change, and settings that are made again.

use super::caller::{OPENS, Rule};
use super::repeats::{CHILDREN, NEW, Repeat, repeat, repeats};

pub static RULE: Rule = Rule {
    name: "same-answer",
    least: 0.02,
    phrase: "{calls}",
    change: "ask for it or set it once: it does not change",
    find: |caller| repeats(caller, REPEATS, 0.0),
};

const REPEATS: &[Repeat] = &[
    // Not who its parent is: to ask may be to wait for that.
    repeat(
        "getpid gettid getuid geteuid getgid getegid uname getresuid getgroups",
        &[],
    ),
    repeat(
        "getcwd prlimit64 getrlimit setrlimit sysinfo sched_getaffinity sched_setaffinity getpriority setpriority umask prctl \
         personality",
        &[CHILDREN, "chdir fchdir"],
    ),
    repeat("fstat fstatfs getsockname getpeername", &[OPENS, NEW]),
    repeat("setsockopt getsockopt", &[OPENS, NEW]),
    repeat(
        "fchmod fchown fsetxattr utimensat futimesat",
        &[OPENS, OPENS, OPENS],
    ),
    Repeat {
        operations: "getfd setfd getfl setfl",
        ..repeat("fcntl fcntl64", &[OPENS, NEW, NEW, NEW])
    },
    Repeat {
        operations: "TCGETS TIOCGWINSZ FIONBIO FIONCLEX FIOCLEX",
        ..repeat("ioctl", &[OPENS, NEW])
    },
    repeat("epoll_ctl", &[NEW, NEW, NEW, NEW]),
    repeat("timerfd_settime timer_settime setitimer alarm", &[]),
];
