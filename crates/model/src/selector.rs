//! Arguments that select what a system call does, for all tracers and imports; `class` has those that determine how much it does.
//! Values are those of x86-64 and arm64 Linux, where they agree (linux/futex.h, fcntl.h, mman-common.h, sched.h, eventpoll.h,
//! ioctls.h).

#[derive(Clone, Copy)]
pub struct Selector {
    pub calls: &'static [&'static str],
    /// Its position, from 0.
    pub argument: u8,
    values: Values,
}

#[derive(Clone, Copy)]
enum Values {
    /// An empty name stands for no operation.
    Flag {
        bit: u32,
        symbol: &'static str,
        set: &'static str,
        clear: &'static str,
    },
    /// Under a mask. Names are those of the constants, without the prefix and in lower case, if there is a prefix.
    Numbers {
        mask: u32,
        prefix: &'static str,
        names: &'static [(u32, &'static str)],
    },
}

use Values::{Flag, Numbers};

/// A call has at most one.
pub const SELECTORS: &[Selector] = &[
    flag(&["open"], 1, 0o100, "O_CREAT", "create", ""),
    flag(&["openat"], 2, 0o100, "O_CREAT", "create", ""),
    flag(&["unlinkat"], 2, 0x200, "AT_REMOVEDIR", "directory", ""),
    flag(&["mmap"], 3, 0x20, "MAP_ANONYMOUS", "anonymous", "file"),
    flag(&["clone"], 0, 0x1_0000, "CLONE_THREAD", "thread", "process"),
    numbers(
        &["clock_gettime", "clock_gettime64"],
        0,
        ALL,
        "CLOCK_",
        CLOCK,
    ),
    numbers(&["futex", "futex_time64"], 1, 0x7f, "FUTEX_", FUTEX),
    numbers(&["fcntl", "fcntl64"], 1, ALL, "F_", FCNTL),
    numbers(&["epoll_ctl"], 1, ALL, "EPOLL_CTL_", EPOLL),
    numbers(&["madvise"], 2, ALL, "MADV_", MADVISE),
    numbers(&["rt_sigprocmask"], 0, ALL, "SIG_", SIGNALS),
    numbers(&["ioctl"], 1, ALL, "", IOCTL),
];

const ALL: u32 = u32::MAX;

const fn flag(
    calls: &'static [&'static str],
    argument: u8,
    bit: u32,
    symbol: &'static str,
    set: &'static str,
    clear: &'static str,
) -> Selector {
    Selector {
        calls,
        argument,
        values: Flag {
            bit,
            symbol,
            set,
            clear,
        },
    }
}

const fn numbers(
    calls: &'static [&'static str],
    argument: u8,
    mask: u32,
    prefix: &'static str,
    names: &'static [(u32, &'static str)],
) -> Selector {
    Selector {
        calls,
        argument,
        values: Numbers {
            mask,
            prefix,
            names,
        },
    }
}

const SIGNALS: &[(u32, &str)] = &[(0, "block"), (1, "unblock"), (2, "setmask")];

const EPOLL: &[(u32, &str)] = &[(1, "add"), (2, "del"), (3, "mod")];

const CLOCK: &[(u32, &str)] = &[
    (0, "realtime"),
    (1, "monotonic"),
    (2, "process_cputime_id"),
    (3, "thread_cputime_id"),
    (4, "monotonic_raw"),
    (5, "realtime_coarse"),
    (6, "monotonic_coarse"),
    (7, "boottime"),
    (11, "tai"),
];

const FUTEX: &[(u32, &str)] = &[
    (0, "wait"),
    (1, "wake"),
    (2, "fd"),
    (3, "requeue"),
    (4, "cmp_requeue"),
    (5, "wake_op"),
    (6, "lock_pi"),
    (7, "unlock_pi"),
    (8, "trylock_pi"),
    (9, "wait_bitset"),
    (10, "wake_bitset"),
    (11, "wait_requeue_pi"),
    (12, "cmp_requeue_pi"),
    (13, "lock_pi2"),
];

const FCNTL: &[(u32, &str)] = &[
    (0, "dupfd"),
    (1, "getfd"),
    (2, "setfd"),
    (3, "getfl"),
    (4, "setfl"),
    (5, "getlk"),
    (6, "setlk"),
    (7, "setlkw"),
    (8, "setown"),
    (9, "getown"),
    (36, "ofd_getlk"),
    (37, "ofd_setlk"),
    (38, "ofd_setlkw"),
    (1024, "setlease"),
    (1025, "getlease"),
    (1026, "notify"),
    (1030, "dupfd_cloexec"),
    (1031, "setpipe_sz"),
    (1032, "getpipe_sz"),
    (1033, "add_seals"),
    (1034, "get_seals"),
];

const MADVISE: &[(u32, &str)] = &[
    (0, "normal"),
    (1, "random"),
    (2, "sequential"),
    (3, "willneed"),
    (4, "dontneed"),
    (8, "free"),
    (9, "remove"),
    (10, "dontfork"),
    (11, "dofork"),
    (12, "mergeable"),
    (14, "hugepage"),
    (15, "nohugepage"),
    (16, "dontdump"),
    (20, "cold"),
    (21, "pageout"),
    (22, "populate_read"),
    (23, "populate_write"),
];

const IOCTL: &[(u32, &str)] = &[
    (0x5401, "TCGETS"),
    (0x5402, "TCSETS"),
    (0x5403, "TCSETSW"),
    (0x5413, "TIOCGWINSZ"),
    (0x5414, "TIOCSWINSZ"),
    (0x541b, "FIONREAD"),
    (0x5421, "FIONBIO"),
    (0x5450, "FIONCLEX"),
    (0x5451, "FIOCLEX"),
    (0x540f, "TIOCGPGRP"),
    (0x5410, "TIOCSPGRP"),
    (0x8910, "SIOCGIFNAME"),
    (0x8933, "SIOCGIFINDEX"),
    (0x4004_9409, "FICLONE"),
    (0x8008_6601, "FS_IOC_GETFLAGS"),
    (0x2400, "PERF_EVENT_IOC_ENABLE"),
    (0x2401, "PERF_EVENT_IOC_DISABLE"),
];

/// `name` must not include a gate such as `(i386)`.
pub fn selector(name: &str) -> Option<&'static Selector> {
    SELECTORS
        .iter()
        .find(|selector| selector.calls.contains(&name))
}

impl Selector {
    pub fn mask(&self) -> u32 {
        match self.values {
            Flag { bit, .. } => bit,
            Numbers { mask, .. } => mask,
        }
    }

    /// `0x...` for a number without a name; `None` for the usual operation, which has no name.
    pub fn operation(&self, argument: u32) -> Option<String> {
        let value = argument & self.mask();
        match self.values {
            Flag { set, clear, .. } => Some(if value == 0 { clear } else { set })
                .filter(|name| !name.is_empty())
                .map(str::to_string),
            Numbers { names, .. } => {
                let known = names.iter().find(|(number, _)| *number == value);
                Some(known.map_or_else(|| format!("{value:#x}"), |(_, name)| name.to_string()))
            }
        }
    }

    /// Constants joined by `|`, as strace prints them.
    pub fn operation_of_symbols(&self, argument: &str) -> Option<String> {
        let mut symbols = argument.split('|').map(str::trim);
        match self.values {
            Flag { bit, symbol, .. } => self.operation(if symbols.any(|name| name == symbol) {
                bit
            } else {
                0
            }),
            Numbers { prefix: "", .. } => symbols.next().map(str::to_string),
            Numbers { prefix, names, .. } => {
                let name = symbols
                    .next()?
                    .trim_start_matches(prefix)
                    // strace prints FUTEX_PRIVATE_FLAG as a suffix of the operation.
                    .trim_end_matches("_PRIVATE")
                    .to_lowercase();
                let known = names.iter().any(|(_, known)| *known == name);
                Some(if known { name } else { "unknown".to_string() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_call_is_known_and_has_one_selector() {
        let names: Vec<&str> = SELECTORS
            .iter()
            .flat_map(|selector| selector.calls.iter().copied())
            .collect();
        assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len());
        assert!(
            names
                .iter()
                .all(|name| crate::syscall_names::is_known(name)),
            "{names:?}"
        );
    }

    #[test]
    fn arguments_are_named_without_their_other_bits() {
        for (call, argument, expected) in [
            ("futex", 128 | 9, Some("wait_bitset")),
            ("openat", 0o102, Some("create")),
            ("openat", 0o2, None),
            ("mmap", 0x2, Some("file")),
            ("ioctl", 0x5413, Some("TIOCGWINSZ")),
            ("ioctl", 0xc0de, Some("0xc0de")),
        ] {
            let actual = selector(call).unwrap().operation(argument);
            assert_eq!(actual.as_deref(), expected, "{call} {argument}");
        }
        assert!(selector("read").is_none());
    }

    #[test]
    fn what_strace_prints_has_the_same_names() {
        for (call, symbols, expected) in [
            ("openat", "O_WRONLY|O_CREAT|O_TRUNC", Some("create")),
            ("openat", "O_RDONLY|O_CLOEXEC", None),
            (
                "futex",
                "FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME",
                Some("wait_bitset"),
            ),
            ("fcntl", "F_GETFL", Some("getfl")),
            ("fcntl", "F_NEW", Some("unknown")),
            ("ioctl", "TCGETS", Some("TCGETS")),
            ("clone", "CLONE_VM|CLONE_THREAD|CLONE_FS", Some("thread")),
        ] {
            let actual = selector(call).unwrap().operation_of_symbols(symbols);
            assert_eq!(actual.as_deref(), expected, "{symbols}");
        }
    }
}
