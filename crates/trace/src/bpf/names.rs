//! Names of calls by number and gate, and the work that the programs do for each. Pure.

use super::wakes::waits;
use model::syscall_names::{self, bare_name};
use model::{Drives, drives, selector};
use sys::bpf::layout::{
    NEW_DIRECTORY, NO_ARGUMENT, NUMBER_NONE, NUMBER_UNKNOWN, NUMBERS, gate, what,
};
use sys::bpf::{Row, Settings};

const AUDIT: (u32, u32) = if cfg!(target_arch = "aarch64") {
    (0xC000_00B7, 0x4000_0028)
} else {
    (0xC000_003E, 0x4000_0003)
};
pub const COMPAT: &str = if cfg!(target_arch = "aarch64") {
    "(arm)"
} else {
    "(i386)"
};
/// Calls that move bytes towards their descriptor.
const SENDS: [&str; 10] = [
    "write",
    "pwrite64",
    "writev",
    "pwritev",
    "pwritev2",
    "sendto",
    "sendmsg",
    "send",
    "sendfile",
    "sendfile64",
];
/// x32's own numbers begin here (asm/unistd_x32.h); those below are the 64-bit ones.
const X32_FIRST: u16 = 512;

/// The name of a call by its number and gate (`sys::bpf::layout::gate`); of other gates than the native one with the gate.
pub fn name(number: u16, by: u8) -> String {
    let native = AUDIT.0;
    match by {
        // The programs keep 16 bits of a number; no kernel has a call with these.
        _ if number == NUMBER_UNKNOWN => "syscall(unknown)".to_string(),
        _ if number == NUMBER_NONE => "syscall(-1)".to_string(),
        gate::COMPAT => syscall_names::name(AUDIT.1, number.into(), native),
        gate::X32 if number >= X32_FIRST => format!("syscall({number})(x32)"),
        gate::X32 => format!(
            "{}(x32)",
            syscall_names::name(native, number.into(), native)
        ),
        _ => syscall_names::name(native, number.into(), native),
    }
}

/// The property that determines a call's cost; `None` if none is known.
pub fn drives_of(number: u16, by: u8) -> Option<Drives> {
    drives(bare_name(&name(number, by))).map(|(drives, _)| drives)
}

const GATES: [u8; 2] = [gate::NATIVE, gate::COMPAT];

/// The values for each number of the native gate, then of the compat one; `value` gets the call's name without a gate.
fn by_number<T>(value: fn(&str) -> T) -> [T; 2 * NUMBERS] {
    std::array::from_fn(|index| {
        let name = name((index % NUMBERS) as u16, GATES[index / NUMBERS]);
        value(bare_name(&name))
    })
}

fn row(name: &str) -> Row {
    let (what, argument) = match drives(name) {
        // PR_SET_NAME may begin another group.
        _ if name == "prctl" => (what::RENAME, 0),
        None => (0, 0),
        Some((drives, argument)) => {
            let what = match drives {
                Drives::Path if name.starts_with("exec") => what::EXEC,
                Drives::Descriptor if name == "close" => what::CLOSE,
                Drives::Bytes if SENDS.contains(&name) => what::SENT,
                Drives::Bytes => what::BYTES,
                Drives::Descriptor => what::DESCRIPTOR,
                Drives::Path => what::PATH,
                Drives::Length => what::LENGTH,
                Drives::Set => what::SET,
            };
            (what, argument)
        }
    };
    let (operation, mask) = selector(name).map_or((NO_ARGUMENT, 0), |selector| {
        (selector.argument, selector.mask())
    });
    Row {
        what,
        argument,
        operation,
        directory: directory(name, argument),
        mask,
    }
}

/// The argument with the directory that the path `argument` may be relative to.
fn directory(name: &str, argument: u8) -> u8 {
    match name {
        "chdir" => NEW_DIRECTORY,
        // Its descriptor is the watch.
        "inotify_add_watch" => NO_ARGUMENT,
        _ => argument.checked_sub(1).unwrap_or(NO_ARGUMENT),
    }
}

/// `NUMBER_UNKNOWN` stands for a special call that a gate lacks.
pub fn settings() -> Box<Settings> {
    fn find(gate: u8, wanted: &str) -> u16 {
        (0..NUMBERS as u16)
            .find(|number| bare_name(&name(*number, gate)) == wanted)
            .unwrap_or(NUMBER_UNKNOWN)
    }

    fn number(wanted: &str) -> [u16; 2] {
        GATES.map(|gate| find(gate, wanted))
    }

    fn pairs(first: &str, second: &str) -> [[u16; 2]; 2] {
        GATES.map(|gate| [first, second].map(|call| find(gate, call)))
    }

    Box::new(Settings {
        exec: pairs("execve", "execveat"),
        exit: pairs("exit", "exit_group"),
        sigreturn: number("rt_sigreturn"),
        close: number("close"),
        futex: number("futex"),
        epoll_ctl: number("epoll_ctl"),
        // The C libraries of i386 and arm call mmap2, which counts offsets in pages.
        mmap: [find(gate::NATIVE, "mmap"), find(gate::COMPAT, "mmap2")],
        calls: by_number(row),
        waits_of: by_number(waits),
        ..Settings::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_has_its_row() {
        fn plain(what: u8, argument: u8) -> Row {
            Row {
                what,
                argument,
                operation: NO_ARGUMENT,
                directory: NO_ARGUMENT,
                mask: 0,
            }
        }

        let rows = settings().calls;
        assert!(
            rows.iter()
                .all(|row| row.argument <= 5 && row.what <= what::SENT)
        );
        let at = Row {
            directory: 0,
            ..plain(what::PATH, 1)
        };
        let opens = Row {
            operation: 2,
            mask: 0o100,
            ..at
        };
        let links = Row {
            directory: 1,
            ..plain(what::PATH, 2)
        };
        let futex = Row {
            operation: 1,
            mask: 0x7f,
            ..plain(0, 0)
        };
        for (number, expected) in [
            (libc::SYS_newfstatat, at),
            (libc::SYS_linkat, at),
            (libc::SYS_openat, opens),
            (libc::SYS_symlinkat, links),
            (libc::SYS_inotify_add_watch, plain(what::PATH, 1)),
            (libc::SYS_execve, plain(what::EXEC, 0)),
            (libc::SYS_getpid, plain(0, 0)),
            (libc::SYS_futex, futex),
        ] {
            assert_eq!(rows[number as usize], expected, "{number}");
        }
        assert_eq!(rows[libc::SYS_chdir as usize].directory, NEW_DIRECTORY);
    }
}
