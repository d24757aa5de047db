//! The data layout shared by the BPF programs and the code that reads their maps: the values of the maps, and how a key
//! is packed. Pure types, constants and arithmetic.
//!
//! **Task state** lives in task storage: the entry and exit programs find it there, and the switch program records in
//! it when the task was off the CPU. A design that kept the running task's state in a per-CPU variable and swapped it
//! at context switches was faster and wrong: some kernels skip switch events, and calls were then counted for the wrong
//! task. With task storage, a missed switch spoils the time of one call but no count.
//!
//! **Window.** Each CPU has one value in map `cpu` with two tables indexed by the hash of a key: calls by key, and
//! durations. On a collision, the old entry is flushed to the hash map `calls` or `durations` and the slot is reset:
//! nothing is dropped, and the common path costs no hash map lookup.

use crate::kernel::usage::Used;
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The state of a traced task.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
pub struct Task {
    /// One of `state`.
    pub state: u64,
    /// The call that the task is in: its packed number with `OPEN`; 0 outside of calls.
    pub call: u64,
    /// What to do when the call returns: an operation of `what`.
    pub what: u64,
    /// The call's class, as far as its arguments tell.
    pub class: u64,
    /// When the call was entered.
    pub start: u64,
    /// When the task left the CPU within a call; 0 while it is on one.
    pub off_since: u64,
    /// 1 if the task left the CPU to wait, 0 if it was preempted.
    pub off_blocked: u64,
    /// Time within the call that the task waited, in nanoseconds.
    pub blocked: u64,
    /// Time within the call that the task was preempted, in nanoseconds.
    pub preempted: u64,
    /// The number of the process's name.
    pub name: u64,
    /// Nanoseconds on CPUs before `on_since`.
    pub ran: u64,
    /// When the task was put on a CPU; 0 while it is off.
    pub on_since: u64,
    /// The path argument: an address in the task's memory.
    pub path: u64,
    /// Call and errno of the last call if the kernel is to restart it; its class is still in `class`.
    pub again: u64,
    /// 1 in the first thread of a process that was running before tracing began: its other threads look here.
    pub root: u64,
    /// The kernel's accounting when tracing began, in the order of `Used`.
    pub base: [u64; 6],
}

/// States of a task. A task without storage, or with 0, is not traced.
pub mod state {
    /// The command, before its execve.
    pub const HELD: i32 = 1;
    /// Traced.
    pub const LIVE: i32 = 2;
    /// Just forked: its first return to user mode belongs to its parent's call.
    pub const BORN: i32 = 3;
}

/// The per-CPU window.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
pub struct Window {
    /// How many names this CPU has numbered.
    pub names: u64,
    /// Largest resident set of a process that ended on this CPU, in pages.
    pub peak_pages: u64,
    /// 1 if the running task is known not to be traced.
    pub stranger: u64,
    pub cache: [CallEntry; 1 << CACHE_BITS],
    pub durations: [DurationEntry; 1 << DURATION_BITS],
}

/// Base-2 logarithm of the number of entries in `Window::cache`.
pub const CACHE_BITS: i32 = 8;
/// Base-2 logarithm of the number of entries in `Window::durations`.
pub const DURATION_BITS: i32 = 9;

/// An entry of the cache of calls; its key is 0 if the entry is empty.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
pub struct CallEntry {
    pub key: u64,
    pub counted: Counted,
    /// Makes the size a power of two.
    pub unused: u64,
}

/// An entry of the cache of durations; its key is 0 if the entry is empty.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
pub struct DurationEntry {
    pub key: u64,
    pub calls: u64,
}

/// Sums over the calls of one key.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Counted {
    pub calls: u64,
    /// Entered, but not returned from when tracing ended.
    pub unfinished: u64,
    pub on_cpu_ns: u64,
    pub blocked_ns: u64,
    pub preempted_ns: u64,
    pub bytes: u64,
}

/// Counters shared by all CPUs.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Globals {
    /// Events that could not be counted.
    pub lost: u64,
    /// Tasks of the tree that have not ended.
    pub live: i64,
    pub processes: u64,
    pub threads: u64,
    /// Process names for which there was no number left.
    pub nameless: u64,
    /// Switches that were missed, as far as that can be detected.
    pub unseen: u64,
}

/// What to do for a call: the low half of a byte of map `what`. The high half is the position of the argument.
pub mod what {
    /// Its result is a byte count, the argument its descriptor.
    pub const BYTES: i32 = 1;
    /// The argument is a descriptor.
    pub const DESCRIPTOR: i32 = 2;
    /// The argument is a path.
    pub const PATH: i32 = 3;
    /// The argument is a length in bytes.
    pub const LENGTH: i32 = 4;
    /// The argument is a futex operation.
    pub const FUTEX: i32 = 5;
    /// The argument is the number of descriptors in a set.
    pub const SET: i32 = 6;
    /// Changes the name of its process.
    pub const RENAME: i32 = 7;
    /// Has a path that can no longer be read when the call returns.
    pub const EXEC: i32 = 8;
}

/// Call numbers in map `what`, per gate.
pub const NUMBERS: i32 = 512;
/// Longest path in bytes, including its terminating 0.
pub const PATH_MAX: i32 = 4096;
/// Longest process name, including its terminating 0.
pub const NAME_BYTES: i32 = 16;

/// Gates: how the call was made.
pub mod gate {
    /// Calls of the machine's own architecture.
    pub const OWN: u64 = 0;
    /// 32-bit calls of this machine.
    pub const COMPAT: u64 = 1;
    /// Calls by the x32 ABI.
    pub const X32: u64 = 2;
}

/// How a key is packed, from the lowest bit: number 16, gate 2, errno 10, kind of descriptor 4, value 7, name 24; the
/// highest bit is set so that no key is 0.
pub mod key {
    /// Bits of the call's number.
    pub const NUMBER_BITS: i32 = 16;
    /// The bits of number and gate.
    pub const CALL_MASK: i32 = 0x3ffff;
    /// Position of the errno.
    pub const ERRNO: i32 = 18;
    /// Largest errno that fits.
    pub const ERRNO_MAX: i32 = 1023;
    /// Errors from here on mean that the kernel restarts the call (ERESTARTSYS and others of linux/errno.h).
    pub const ERRNO_AGAIN: i32 = 512;
    /// Position of the class: kind of descriptor and value.
    pub const CLASS: i32 = 28;
    /// Position of the process name's number.
    pub const NAME: i32 = 39;
    /// Set in `Task::call` while the task is inside a call.
    pub const OPEN: u64 = 1 << 32;
    /// Set in every key.
    pub const SET: u64 = 1 << 63;
    /// Bits of the kind in a class; the value is above them.
    pub const KIND_BITS: i32 = 4;
    /// The value of a class if it is not known.
    pub const UNKNOWN: i32 = 127;
    /// Bits of a duration's bucket, below the call.
    pub const BUCKET_BITS: i32 = 8;
    /// Spreads keys over a table: 2^64 divided by the golden ratio.
    pub const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
}

/// Kinds of descriptors: the file type bits of a mode (`S_IFMT` >> 12), and three of our own.
pub mod kind {
    /// A pipe.
    pub const FIFO: u64 = 1;
    /// A character device other than a terminal.
    pub const CHARACTER: u64 = 2;
    /// A terminal; ours.
    pub const TERMINAL: u64 = 3;
    /// A directory.
    pub const DIRECTORY: u64 = 4;
    /// An inode without a type, such as an eventfd; ours.
    pub const ANONYMOUS: u64 = 5;
    /// A block device.
    pub const BLOCK: u64 = 6;
    /// Not an open descriptor; ours.
    pub const CLOSED: u64 = 7;
    /// A regular file.
    pub const REGULAR: u64 = 8;
    /// A symbolic link.
    pub const LINK: u64 = 10;
    /// A socket.
    pub const SOCKET: u64 = 12;
}

/// An unpacked key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CallKey {
    pub name: u32,
    pub number: u16,
    pub gate: u64,
    pub errno: u16,
    pub kind: u64,
    pub value: u64,
}

impl CallKey {
    /// The fields of a packed key.
    pub fn unpack(key: u64) -> CallKey {
        let bits = |from: i32, count: u32| key >> from & ((1 << count) - 1);
        CallKey {
            number: bits(0, 16) as u16,
            gate: bits(key::NUMBER_BITS, 2),
            errno: bits(key::ERRNO, 10) as u16,
            kind: bits(key::CLASS, 4),
            value: bits(key::CLASS + key::KIND_BITS, 7),
            name: bits(key::NAME, 24) as u32,
        }
    }
}

/// The programs address entries by shifts, fields by 16-bit offsets, and accounting by its position.
const _: () = {
    assert!(size_of::<CallEntry>() == 64 && size_of::<DurationEntry>() == 16);
    assert!(size_of::<Window>() <= 32768);
    assert!(size_of::<Used>() == size_of::<[u64; 6]>() + 8);
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unpacked_as_they_are_packed() {
        let class = 5 << key::KIND_BITS | kind::SOCKET;
        let packed = 257 | gate::COMPAT << key::NUMBER_BITS | 512 << key::ERRNO | class << key::CLASS;
        let packed = packed | 0xabcdef << key::NAME | key::SET;
        let expected =
            CallKey { name: 0xabcdef, number: 257, gate: gate::COMPAT, errno: 512, kind: kind::SOCKET, value: 5 };
        assert_eq!(CallKey::unpack(packed), expected);
    }
}
