//! What the programs and the reader of their maps agree on: where things stand in values, and how a key is packed.
//! Pure constants and arithmetic.
//!
//! **State.** What is known of a task is kept in its task storage: programs at entry and exit find it there, those at
//! switches note in it when the task was off the processor. A design that kept the state of the running task in a
//! variable of the processor and moved it at switches was faster and wrong: kernels were seen to pass over some switches,
//! and calls were then counted for nobody. As it is, a switch that is not seen spoils the times of one call, no count.
//!
//! **Window.** Each processor has one value in map `cpu` with two tables, addressed by a hash of a key: calls by key, and
//! durations. On a collision, the old entry is flushed to the hash map `calls` or `durations` and the slot is reset:
//! nothing is dropped, and the common path costs no hash map lookup.

/// A task's state, as byte offsets in its storage.
pub mod task {
    /// See `state`.
    pub const STATE: i16 = 0;
    /// The call in which the task stands: its packed number with `OPEN`; 0 for none.
    pub const CALL: i16 = 8;
    /// What is to do at its end: an operation of `what`.
    pub const WHAT: i16 = 16;
    /// Its class as far as the arguments tell.
    pub const CLASS: i16 = 24;
    pub const START: i16 = 32;
    /// When it left the processor within a call; 0 while it is on one.
    pub const OFF_SINCE: i16 = 40;
    /// 1 where the task left the processor to wait, 0 where it was preempted.
    pub const OFF_BLOCKED: i16 = 48;
    pub const BLOCKED: i16 = 56;
    pub const PREEMPTED: i16 = 64;
    /// The number of the process's name.
    pub const NAME: i16 = 72;
    /// Nanoseconds on processors before `ON_SINCE`.
    pub const RAN: i16 = 80;
    /// When it came onto a processor; 0 while it is off.
    pub const ON_SINCE: i16 = 88;
    /// The path, an address in the task's memory.
    pub const PATH: i16 = 96;
    /// Call and errno of the last call where it is to be made again; its class is still in `CLASS`.
    pub const AGAIN: i16 = 104;
    /// 1 in the first thread of a process that is followed though it ran before: other threads of it ask there.
    pub const ROOT: i16 = 112;
    pub const END: i16 = 120;
    /// The kernel's accounting when tracing began, in the order of `usage`.
    pub const BASE: i16 = END;
    pub const STORED: u32 = END as u32 + 6 * 8;
}

/// States of a task. One without storage, or 0 there, is not traced.
pub mod state {
    /// Ours, before its execve.
    pub const HELD: i32 = 1;
    pub const LIVE: i32 = 2;
    /// Just forked: its first return to user mode is the other end of its parent's call.
    pub const BORN: i32 = 3;
}

/// A processor's window.
pub mod window {
    /// How many names this processor has numbered.
    pub const NAMES: i16 = 0;
    /// Largest resident set of a process that ended here, in pages.
    pub const PEAK_PAGES: i16 = 8;
    /// 1 where the running task was found to be none of those that are followed.
    pub const STRANGER: i16 = 16;
    pub const CACHE: i16 = 24;
    pub const CACHE_BITS: i32 = 8;
    pub const DURATIONS: i16 = CACHE + (super::entry::BYTES << CACHE_BITS) as i16;
    pub const DURATION_BITS: i32 = 9;
    pub const BYTES: u32 = DURATIONS as u32 + (16 << DURATION_BITS);
}

/// An entry of the cache of calls: its key, then what the hash map `calls` holds.
pub mod entry {
    pub const KEY: i16 = 0;
    pub const CALLS: i16 = 8;
    pub const UNFINISHED: i16 = 16;
    pub const ON_CPU: i16 = 24;
    pub const BLOCKED: i16 = 32;
    pub const PREEMPTED: i16 = 40;
    pub const MOVED: i16 = 48;
    pub const LOG_BYTES: i32 = 6;
    pub const BYTES: i32 = 1 << LOG_BYTES;
    pub const VALUES: i16 = 6;
}

/// Counters that all processors share.
pub mod global {
    /// Events that could not be counted.
    pub const LOST: i16 = 0;
    /// Tasks of the tree that have not ended.
    pub const LIVE: i16 = 8;
    pub const PROCESSES: i16 = 16;
    pub const THREADS: i16 = 24;
    /// Names for which there was no number left.
    pub const NAMELESS: i16 = 32;
    /// Switches that were not seen, as far as it shows.
    pub const UNSEEN: i16 = 40;
    pub const BYTES: u32 = 48;
}

/// Sums by process name, as offsets in the values of map `usage`.
pub mod usage {
    pub const USER: i16 = 0;
    pub const SYSTEM: i16 = 8;
    pub const MINOR: i16 = 16;
    pub const MAJOR: i16 = 24;
    pub const VOLUNTARY: i16 = 32;
    pub const INVOLUNTARY: i16 = 40;
    pub const RAN: i16 = 48;
    pub const BYTES: u32 = 56;
}

/// What is to do for a call: low half of a byte of map `what`; the high half is the argument's position.
pub mod what {
    pub const BYTES: i32 = 1;
    pub const DESCRIPTOR: i32 = 2;
    pub const PATH: i32 = 3;
    pub const LENGTH: i32 = 4;
    pub const FUTEX: i32 = 5;
    pub const SET: i32 = 6;
    /// Changes the name of its process.
    pub const RENAME: i32 = 7;
    /// A path that is gone when the call returns.
    pub const EXEC: i32 = 8;
}

/// Call numbers that map `what` has of each gate.
pub const NUMBERS: i32 = 512;
pub const PATH_MAX: i32 = 4096;
/// Longest process name, with its 0.
pub const NAME_BYTES: i32 = 16;

/// Gates: how the call was made.
pub mod gate {
    pub const OWN: u64 = 0;
    /// 32-bit calls of this machine.
    pub const COMPAT: u64 = 1;
    pub const X32: u64 = 2;
}

/// How a key is packed, from the lowest bit: number 16, gate 2, errno 10, kind of descriptor 4, value 7, name 24, and
/// the highest bit set so that no key is 0.
pub mod key {
    pub const NUMBER_BITS: i32 = 16;
    pub const CALL_MASK: i32 = 0x3ffff;
    pub const ERRNO: i32 = 18;
    pub const ERRNO_MAX: i32 = 1023;
    /// From here on an error means that a call is to be made again (ERESTARTSYS and others of linux/errno.h).
    pub const ERRNO_AGAIN: i32 = 512;
    pub const CLASS: i32 = 28;
    pub const NAME: i32 = 39;
    pub const OPEN: u64 = 1 << 32;
    pub const SET: u64 = 1 << 63;
    /// In a class: bits of the kind; the value stands above.
    pub const KIND_BITS: i32 = 4;
    /// The value of a class that is not known.
    pub const UNKNOWN: i32 = 127;
    /// Bits of a duration's bucket, below the call.
    pub const BUCKET_BITS: i32 = 8;
    /// Spreads keys over a table: 2^64 divided by the golden ratio.
    pub const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
}

/// Kinds of descriptors: the file type's bits of a mode (`S_IFMT` >> 12), and three of our own.
pub mod kind {
    pub const FIFO: u64 = 1;
    pub const CHARACTER: u64 = 2;
    pub const TERMINAL: u64 = 3;
    pub const DIRECTORY: u64 = 4;
    pub const ANONYMOUS: u64 = 5;
    pub const BLOCK: u64 = 6;
    pub const CLOSED: u64 = 7;
    pub const REGULAR: u64 = 8;
    pub const LINK: u64 = 10;
    pub const SOCKET: u64 = 12;
}

/// A key taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub name: u32,
    pub number: u16,
    pub gate: u64,
    pub errno: u16,
    pub kind: u64,
    pub value: u64,
}

impl Key {
    pub fn unpack(key: u64) -> Key {
        let bits = |from: i32, count: u32| key >> from & ((1 << count) - 1);
        Key {
            number: bits(0, 16) as u16,
            gate: bits(key::NUMBER_BITS, 2),
            errno: bits(key::ERRNO, 10) as u16,
            kind: bits(key::CLASS, 4),
            value: bits(key::CLASS + key::KIND_BITS, 7),
            name: bits(key::NAME, 24) as u32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_unpacked_as_they_are_packed() {
        let class = 5 << key::KIND_BITS | kind::SOCKET;
        let packed = 257 | gate::COMPAT << key::NUMBER_BITS | 512 << key::ERRNO | class << key::CLASS;
        let packed = packed | 0xabcdef << key::NAME | key::SET;
        let expected =
            Key { name: 0xabcdef, number: 257, gate: gate::COMPAT, errno: 512, kind: kind::SOCKET, value: 5 };
        assert_eq!(Key::unpack(packed), expected);
    }

    #[test]
    fn a_window_fits_one_value() {
        const { assert!(window::BYTES <= 32768 && window::BYTES.is_multiple_of(8)) };
        const { assert!(window::STRANGER + 8 <= window::CACHE) };
    }
}
