//! The data that the BPF programs share with us: the same as in `bpf/layout.h`, which describes the fields. Types
//! and constants; a test compares them with the types in the compiled object.

use crate::usage::Used;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Per gate.
pub const NUMBERS: usize = 512;
pub const NUMBER_UNKNOWN: u16 = 0xffff;
/// Stands for -1.
pub const NUMBER_NONE: u16 = 0xfff9;
/// In place of a number, in the durations of requests.
pub const NUMBER_REQUEST: u16 = 0xfff8;
/// In place of a number, in the durations of requests of io_uring: that of the first opcode, and one behind the last.
pub const NUMBER_RING: u16 = 0xfe00;
pub const NUMBER_RING_END: u16 = 0xff00;

pub mod outside {
    pub const USER: u16 = 0xfffe;
    pub const ENTERED: u16 = 0xfffd;
    pub const FAULT: u16 = 0xfffc;
    pub const THREAD: u16 = 0xfffb;
    pub const RETURN: u16 = 0xfffa;
}

pub const VALUE_UNKNOWN: u8 = 127;
/// Stands in place of a position if there is no such argument.
pub const NO_ARGUMENT: u8 = 0xff;
/// In place of a directory argument: the call makes the path the working directory.
pub const NEW_DIRECTORY: u8 = 0xfe;
const NAME_BYTES: usize = 16;
const PATH_BYTES: usize = 4096;
const PIECE_BYTES: usize = 32;
const FRAMES: usize = 128;
const LOCK_FRAMES: usize = 16;
const ENTRIES: usize = 256;
const HISTOGRAMS: usize = 64;
const STEP_BITS: u32 = 5;
pub const BUCKETS: usize = 38 << STEP_BITS;

pub mod state {
    pub const HELD: u64 = 1;
    pub const LIVE: u64 = 2;
    pub const EXCLUDED: u64 = 4;
}

pub mod gate {
    pub const NATIVE: u8 = 0;
    pub const COMPAT: u8 = 1;
    pub const X32: u8 = 2;
}

/// Kinds of descriptors: the file type bits of a mode (`S_IFMT` >> 12), and three of our own.
pub mod kind {
    pub const FIFO: u8 = 1;
    pub const CHARACTER: u8 = 2;
    /// Ours.
    pub const TERMINAL: u8 = 3;
    pub const DIRECTORY: u8 = 4;
    /// An inode without a type, such as an eventfd; ours.
    pub const ANONYMOUS: u8 = 5;
    pub const BLOCK: u8 = 6;
    /// Not an open descriptor; ours.
    pub const CLOSED: u8 = 7;
    pub const REGULAR: u8 = 8;
    pub const LINK: u8 = 10;
    pub const SOCKET: u8 = 12;
    pub const PEER: u8 = 13;
    pub const FUTEX: u8 = 15;
}

/// `enum lock`.
pub mod lock {
    pub const MMAP: u8 = 1;
    pub const INODE: u8 = 2;
    pub const TLB: u8 = 3;
}

/// `enum what`.
pub mod what {
    pub const BYTES: u8 = 1;
    pub const DESCRIPTOR: u8 = 2;
    pub const PATH: u8 = 3;
    pub const LENGTH: u8 = 4;
    pub const SET: u8 = 5;
    pub const RENAME: u8 = 6;
    pub const EXEC: u8 = 7;
    pub const CLOSE: u8 = 8;
    pub const SENT: u8 = 9;
}

/// `enum waker`.
pub mod waker {
    pub const THREAD: u32 = 1;
    pub const PARENT: u32 = 2;
    pub const TRACED: u32 = 3;
}

pub mod wait {
    pub const ASKED: u8 = 1;
    pub const LOCK: u8 = 2;
    pub const TIMEOUT: u8 = 4;
}

/// A value of `Address::own`: the socket was accepted.
pub const ACCEPTED: u16 = 2;

/// Bytes of each name in the text of a descriptor's file, and the largest number of names.
pub const PART_BYTES: usize = 64;
pub const PARTS: usize = 512 / PART_BYTES;

pub const SLOWEST: usize = 64;

pub const SECTIONS: u32 = 4096;
pub const PROCESSES: u32 = 7168;

/// Levels of concurrency: the last one stands for that many threads or more.
pub const LEVELS: usize = 64;

/// Structs that the programs have too: laid out as in C, with the name there, any bytes valid, all fields public.
macro_rules! shared {
    ($table:ident: $($(#[$about:meta])* $ours:ident $theirs:literal { $($(#[$field_about:meta])* $field:ident: $type:ty,)* })*) => {
        $(
            $(#[$about])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
            pub struct $ours {
                $($(#[$field_about])* pub $field: $type,)*
            }

            impl Default for $ours {
                fn default() -> $ours {
                    zerocopy::FromZeros::new_zeroed()
                }
            }
        )*

        #[cfg(test)]
        pub(super) const $table: &[(&str, usize, &[(&str, usize)])] = &[$(
            ($theirs, size_of::<$ours>(), &[$((stringify!($field), std::mem::offset_of!($ours, $field))),*])
        ),*];
    };
}
pub(super) use shared;

shared! {
    LAYOUT:
    Row "row" {
        what: u8,
        argument: u8,
        operation: u8,
        directory: u8,
        mask: u32,
    }

    #[derive(PartialOrd, Ord, Hash)]
    Key "key" {
        group: u32,
        number: u16,
        error: u16,
        operation: u32,
        gate: u8,
        kind: u8,
        value: u8,
        untimed: u8,
    }

    Counted "counted" {
        calls: u64,
        unfinished: u64,
        on_cpu: u64,
        blocked: u64,
        woken: u64,
        preempted: u64,
        stalled: u64,
        bytes: u64,
    }

    /// Empty if both sums of calls are 0.
    Entry "entry" {
        key: Key,
        counted: Counted,
    }

    Window "window" {
        flushes: u64,
        peak_pages: u64,
        histogram_of: [u8; 2 * NUMBERS],
        histograms_used: u64,
        scratch: u64,
        stranger: u64,
        first: [u8; NUMBERS],
        rare: u64,
        last: u64,
        sampled: u64,
        entries: [Entry; ENTRIES],
        histograms: [[u32; BUCKETS]; HISTOGRAMS],
        path: [u8; PATH_BYTES + PIECE_BYTES],
        frames: [u64; FRAMES],
    }

    DurationKey "duration_key" {
        number: u16,
        gate: u16,
        bucket: u32,
    }

    GroupKey "group_key" {
        /// Ends with a 0.
        name: [u8; NAME_BYTES],
        id: u64,
    }

    Section "section" {
        name: u64,
        begun: u64,
        ended: u64,
        iterations: u64,
        processes: u64,
        elapsed: u64,
        group: u32,
        from: u32,
        depth: u32,
        outer: u32,
    }

    ObjectKey "object_key" {
        object: u64,
        key: Key,
    }

    WaitKey "wait_key" {
        key: Key,
        object: u64,
        waker: u64,
        site: u64,
        /// 0 if not told apart.
        thread: u32,
        process: u32,
    }

    PolledKey "polled_key" {
        data: u64,
        process: u32,
        epoll: u32,
    }

    ServedKey "served_key" {
        group: u64,
        peer: u64,
    }

    RingKey "ring_key" {
        group: u32,
        opcode: u16,
        way: u16,
    }

    RingSum "ring_sum" {
        requests: u64,
        elapsed: u64,
    }

    Served "served" {
        requests: u64,
        elapsed: u64,
        by_thread: u64,
        held: u64,
        connections: u64,
        ran: u64,
        waited: u64,
        blocked: u64,
    }

    LockKey "lock_key" {
        /// The operation has the tracepoint's flags, and the kind is that of the lock: `lock`.
        key: Key,
        stack: u64,
    }

    LockWait "lock_wait" {
        waits: u64,
        ns: u64,
        /// Its address; 0 if there were several.
        lock: u64,
        /// The functions that wanted it, the innermost first.
        frames: [u64; LOCK_FRAMES],
    }

    /// The address of a socket's peer, or its own if it has no peer.
    Address "address" {
        family: u16,
        /// In network order.
        port: u16,
        own: u16,
        length: u16,
        bytes: [u8; 112],
    }

    #[derive(PartialOrd, Ord, Hash)]
    StackKey "stack_key" {
        key: Key,
        site: u64,
    }

    Name "name" {
        inode: u64,
        directory: u64,
        device: u32,
        kind: u16,
        length: u16,
        text: [u8; 512],
    }

    Slow "slow" {
        key: Key,
        start: u64,
        elapsed: u64,
        blocked: u64,
        woken: u64,
        process: u32,
        stack: u32,
    }

    Live "live" {
        key: Key,
        elapsed: u64,
        blocked: u64,
        woken: u64,
        preempted: u64,
        stalled: u64,
        used: Used,
        pid: u32,
        process: u32,
        /// 2 if in that call when tracing began.
        inside: u32,
        value: u32,
        name: [u8; NAME_BYTES],
        object: u64,
        argument: u64,
        site: u64,
        lock: u64,
        ip: u64,
        sp: u64,
        fp: u64,
        lr: u64,
        space: u64,
    }

    Details "details" {
        floor: u64,
        slowest: [Slow; SLOWEST],
        name: Name,
        live: Live,
    }

    Globals "globals" {
        lost: u64,
        live: i64,
        ending: i64,
        processes: u64,
        threads: u64,
        nameless: u64,
        unseen: u64,
        unseen_ns: u64,
        groups: u64,
        begun: u64,
        running: u64,
        changed: u64,
        peak: u64,
        on_cpu: [u64; LEVELS],
        waiting: u64,
        blocked: u64,
        objects_dropped: u64,
        stacks_dropped: u64,
        waits_dropped_ns: u64,
        connections: u64,
        waits: u64,
        locks_dropped_ns: u64,
        sites: u64,
        slow_stacks: u64,
        samples_lost: u64,
        mappings_lost: u64,
        samples_user: u64,
        samples_calls: u64,
        samples_kernel: u64,
        sections_lost: u64,
        stray_ends: u64,
    }

    #[derive(PartialOrd, Ord, Hash)]
    Place "place" {
        address: u64,
        code: u64,
        process: u32,
        unused: u32,
    }

    Settings "config" {
        times: u8,
        enters: u8,
        scope: u8,
        switch_has_state: u8,
        has_cast: u8,
        group_by: u8,
        concurrency: u8,
        has_registers: u8,
        /// Numbers of special calls, each for the machine's own calls and for 32-bit ones.
        exec: [[u16; 2]; 2],
        exit: [[u16; 2]; 2],
        sigreturn: [u16; 2],
        close: [u16; 2],
        /// mmap, and mmap2 of 32-bit calls.
        mmap: [u16; 2],
        futex: [u16; 2],
        epoll_ctl: [u16; 2],
        sampled: u8,
        preemptible: u8,
        waits: u16,
        task_mask: u32,
        paths: u8,
        descriptors: u8,
        stacks: u8,
        slowest: u8,
        cgroup: u64,
        /// A row per call: the native ones first, then those of 32-bit programs.
        calls: [Row; 2 * NUMBERS],
        /// The same of the waits that a call can end and, in the upper half, that it ends in.
        waits_of: [u8; 2 * NUMBERS],
    }
}

/// The shortest duration in a bucket, in nanoseconds.
pub fn bucket_ns(bucket: usize) -> u64 {
    let steps = 1 << STEP_BITS;
    if bucket < steps {
        return bucket as u64;
    }
    let octave = bucket / steps - 1;
    ((steps + bucket % steps) as u64) << octave
}

const _: () = assert!(size_of::<Used>() == size_of::<[u64; 9]>());

#[cfg(test)]
mod tests;
