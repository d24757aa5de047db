//! What the programs report through the ring of events, as in `bpf/`.

use super::layout::StackKey;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// Bytes of the ring of events.
pub const RING_BYTES: usize = 32 << 20;
pub const MAPPED_BYTES: usize = 2048;
pub const STACK_BYTES: usize = 32768;
pub const AUXV_WORDS: usize = 32;

/// Kinds of events: `enum event_kind`.
pub mod event {
    pub const MAPPED: u32 = 1;
    pub const FORKED: u32 = 2;
    pub const STACK: u32 = 3;
    pub const EXECUTED: u32 = 4;
}

/// What each event begins with.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Event {
    pub kind: u32,
    pub process: u32,
    pub space: u64,
}

/// A file as the kernel knows it.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct MappedFile {
    pub inode: u64,
    pub size: u64,
    pub device: u32,
    pub generation: u32,
}

/// A process has mapped a file as code.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Mapped {
    pub event: Event,
    pub file: MappedFile,
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub length: u64,
    pub path: [u8; MAPPED_BYTES],
}

/// A process has executed a program.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Executed {
    pub event: Event,
    pub file: MappedFile,
    pub auxv: [u64; AUXV_WORDS],
    pub root_device: u32,
    pub mounts: u32,
    pub length: u64,
    pub root_length: u64,
    pub path: [u8; MAPPED_BYTES],
    pub root: [u8; MAPPED_BYTES],
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Forked {
    pub event: Event,
    pub parent: u32,
    pub unused: u32,
}

/// A call was made. The bytes of its stack that were copied, from `sp` on, follow.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout)]
pub struct Sample {
    pub event: Event,
    pub key: StackKey,
    pub weight: u64,
    pub ip: u64,
    pub sp: u64,
    pub fp: u64,
    pub lr: u64,
    pub vdso: u64,
    pub slow: u32,
    pub unused: u32,
}

/// The same with room for the stack, as it is made.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Sampled {
    pub sample: Sample,
    pub stack: [u8; STACK_BYTES],
}
