//! The data that the BPF programs share with us: the same as in `bpf/layout.h`, which says what the fields mean. Types
//! and constants; a test compares them with the types in the compiled object.

use crate::kernel::usage::Used;
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes};

/// Call numbers in `Config::calls`, per gate.
pub const NUMBERS: usize = 512;
/// Stands for numbers that do not fit.
pub const NUMBER_UNKNOWN: u16 = 0xffff;

/// In place of a number, where a sampled task is in no call.
pub mod outside {
    pub const USER: u16 = 0xfffe;
    pub const ENTERED: u16 = 0xfffd;
    pub const FAULT: u16 = 0xfffc;
    pub const THREAD: u16 = 0xfffb;
    pub const RETURN: u16 = 0xfffa;
}

/// The value of a class that is not known.
pub const VALUE_UNKNOWN: u8 = 127;
/// The position of an argument that there is not.
pub const NO_ARGUMENT: u8 = 0xff;
/// In place of a directory argument: the call makes the path the working directory.
pub const NEW_DIRECTORY: u8 = 0xfe;
const NAME_BYTES: usize = 16;
const PATH_BYTES: usize = 4096;
const PIECE_BYTES: usize = 32;
const FRAMES: usize = 128;
const ENTRIES: usize = 256;
const HISTOGRAMS: usize = 64;
const STEP_BITS: u32 = 5;
pub const BUCKETS: usize = 38 << STEP_BITS;

pub mod state {
    pub const HELD: u64 = 1;
    pub const LIVE: u64 = 2;
    pub const EXCLUDED: u64 = 4;
}

/// Gates: how the call was made.
pub mod gate {
    /// Calls of the machine's own architecture.
    pub const OWN: u8 = 0;
    /// 32-bit calls of this machine.
    pub const COMPAT: u8 = 1;
    /// Calls by the x32 ABI.
    pub const X32: u8 = 2;
}

/// Kinds of descriptors: the file type bits of a mode (`S_IFMT` >> 12), and three of our own.
pub mod kind {
    pub const FIFO: u8 = 1;
    /// A character device other than a terminal.
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
    /// Names of a socket's peer, and of who ended a wait; ours.
    pub const PEER: u8 = 13;
    pub const WAKER: u8 = 14;
}

/// What to do for a call: `enum what`.
pub mod what {
    pub const BYTES: u8 = 1;
    pub const DESCRIPTOR: u8 = 2;
    pub const PATH: u8 = 3;
    pub const LENGTH: u8 = 4;
    pub const SET: u8 = 5;
    pub const RENAME: u8 = 6;
    pub const EXEC: u8 = 7;
    pub const CLOSE: u8 = 8;
}

/// What a call's class is made of.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Row {
    pub what: u8,
    pub argument: u8,
    pub operation: u8,
    pub directory: u8,
    pub mask: u32,
}

/// What calls are counted by.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, FromBytes, IntoBytes, Immutable)]
pub struct Key {
    pub group: u32,
    pub number: u16,
    pub error: u16,
    pub operation: u32,
    pub gate: u8,
    pub kind: u8,
    pub value: u8,
    pub unused: u8,
}

/// Sums over the calls of one key.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Counted {
    pub calls: u64,
    pub unfinished: u64,
    pub on_cpu: u64,
    pub blocked: u64,
    pub woken: u64,
    pub preempted: u64,
    pub stalled: u64,
    pub bytes: u64,
}

/// An entry of a window; empty if both sums of calls are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
pub struct Entry {
    pub key: Key,
    pub counted: Counted,
}

/// A traced task.
#[repr(C)]
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable)]
pub struct Task {
    pub owner: u64,
    pub group: u32,
    pub state: u8,
    pub inside: u8,
    pub off: u8,
    pub restarts: u8,
    pub number: u32,
    pub kind: u8,
    pub value: u8,
    pub run: u8,
    pub gate: u8,
    pub start: u64,
    pub off_since: u64,
    pub blocked: u64,
    pub woken: u64,
    pub preempted: u64,
    pub stalled: u64,
    pub ran: u64,
    pub on_since: u64,
    pub object: u64,
    pub from: u32,
    pub fresh: u16,
    pub depth: u16,
    pub again: Key,
    pub base: [u64; 6],
    pub waker: u64,
    pub waker_name: [u64; 2],
}

/// What one CPU counted and has not handed to the shared maps.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
pub struct Window {
    pub flushes: u64,
    pub peak_pages: u64,
    pub histogram_of: [u8; 2 * NUMBERS],
    pub histograms_used: u64,
    pub scratch: u64,
    pub stranger: u64,
    pub entries: [Entry; ENTRIES],
    pub histograms: [[u32; BUCKETS]; HISTOGRAMS],
    pub path: [u8; PATH_BYTES + PIECE_BYTES],
    pub frames: [u64; FRAMES],
}

/// A count of durations that found no place in a window.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct DurationKey {
    pub number: u16,
    pub gate: u16,
    pub bucket: u32,
}

/// What makes a group.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct GroupKey {
    /// Ends with a 0.
    pub name: [u8; NAME_BYTES],
    pub id: u64,
}

/// What calls are counted by if they are counted by path or descriptor.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct ObjectKey {
    pub object: u64,
    pub key: Key,
}

/// What blocked time is counted by if it is wanted what calls waited for.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct WaitKey {
    pub key: Key,
    pub object: u64,
    pub waker: u64,
}

/// The address of a socket's peer, or its own if it has no peer.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Address {
    pub family: u16,
    /// In network order.
    pub port: u16,
    pub own: u16,
    pub length: u16,
    pub bytes: [u8; 112],
}

/// What calls are counted by if stacks are wanted: the call, and a number for where it was made.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, FromBytes, IntoBytes, Immutable)]
pub struct StackKey {
    pub key: Key,
    pub site: u64,
}

/// What is known of a path or descriptor.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Name {
    pub inode: u64,
    pub directory: u64,
    pub device: u32,
    pub kind: u16,
    pub length: u16,
    pub text: [u8; 512],
}

/// Bytes of each name in the text of a descriptor's file, and how many there are at most.
pub const PART_BYTES: usize = 64;
pub const PARTS: usize = 512 / PART_BYTES;

/// A call that took long.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Slow {
    pub key: Key,
    pub start: u64,
    pub elapsed: u64,
    pub blocked: u64,
    pub woken: u64,
    pub process: u32,
    pub stack: u32,
}

/// How many of the slowest calls are kept for each CPU.
pub const SLOWEST: usize = 64;

/// What one CPU needs for details.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
pub struct Details {
    pub floor: u64,
    pub slowest: [Slow; SLOWEST],
    pub name: Name,
}

/// Threads on a CPU that are distinguished; the last level is that many or more.
pub const LEVELS: usize = 64;

/// Counters of all CPUs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Globals {
    pub lost: u64,
    pub live: i64,
    pub processes: u64,
    pub threads: u64,
    pub nameless: u64,
    pub unseen: u64,
    pub unseen_ns: u64,
    pub groups: u64,
    pub begun: u64,
    pub running: u64,
    pub changed: u64,
    pub peak: u64,
    pub on_cpu: [u64; LEVELS],
    pub waiting: u64,
    pub blocked: u64,
    pub objects_dropped: u64,
    pub stacks_dropped: u64,
    pub waits_dropped_ns: u64,
    pub sites: u64,
    pub slow_stacks: u64,
    pub samples_lost: u64,
    pub mappings_lost: u64,
    pub samples_user: u64,
    pub samples_calls: u64,
    pub samples_kernel: u64,
}

/// Where samples beside the counting of calls found a CPU.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, FromBytes, IntoBytes, Immutable)]
pub struct Place {
    pub address: u64,
    pub process: u32,
    pub unused: u32,
}

impl Default for Globals {
    fn default() -> Globals {
        Globals::new_zeroed()
    }
}

/// A traced task, as it is listed.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Live {
    pub key: Key,
    pub elapsed: u64,
    pub blocked: u64,
    pub woken: u64,
    pub preempted: u64,
    pub stalled: u64,
    pub used: Used,
    pub pid: u32,
    pub process: u32,
    pub inside: u32,
    pub unused: u32,
}

/// What the programs are loaded for.
#[repr(C)]
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable)]
pub struct Settings {
    pub times: u8,
    pub enters: u8,
    pub scope: u8,
    pub switch_has_state: u8,
    pub has_cast: u8,
    pub group_by: u8,
    pub concurrency: u8,
    pub has_registers: u8,
    pub exec: [[u16; 2]; 2],
    pub exit: [[u16; 2]; 2],
    pub sigreturn: [u16; 2],
    pub close: [u16; 2],
    pub mmap: [u16; 2],
    pub sampled: u16,
    pub waits: u16,
    pub task_mask: u32,
    pub paths: u8,
    pub descriptors: u8,
    pub stacks: u8,
    pub slowest: u8,
    pub cgroup: u64,
    pub calls: Rows,
}

/// A row per call: the native ones first, then those of 32-bit programs.
pub type Rows = [Row; 2 * NUMBERS];

/// The shortest duration in a bucket, in nanoseconds.
pub fn bucket_ns(bucket: usize) -> u64 {
    let steps = 1 << STEP_BITS;
    if bucket < steps {
        return bucket as u64;
    }
    let octave = bucket / steps - 1;
    ((steps + bucket % steps) as u64) << octave
}

const _: () = assert!(size_of::<Used>() == size_of::<[u64; 7]>());

#[cfg(test)]
mod tests;
