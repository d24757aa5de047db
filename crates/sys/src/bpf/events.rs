//! The events that the programs report through their ring, as in `bpf/`.

use super::layout::{StackKey, shared};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

pub const RING_BYTES: usize = 32 << 20;
pub const MAPPED_BYTES: usize = 2048;
pub const AUXV_WORDS: usize = 32;
pub const SCRIPTS: usize = 12;
const SCRIPT_BYTES: usize = 256;
const LINES_BYTES: usize = 2048;
pub const PYTHON_FIELDS: usize = 12;

/// `enum event_kind`.
pub mod event {
    pub const MAPPED: u32 = 1;
    pub const FORKED: u32 = 2;
    pub const STACK: u32 = 3;
    pub const EXECUTED: u32 = 4;
    pub const SCRIPT: u32 = 5;
}

shared! {
    EVENTS:
    Event "event" {
        kind: u32,
        process: u32,
        space: u64,
    }

    #[derive(Hash)]
    MappedFile "mapped_file" {
        inode: u64,
        size: u64,
        device: u32,
        generation: u32,
    }

    Mapped "mapped" {
        event: Event,
        file: MappedFile,
        start: u64,
        end: u64,
        offset: u64,
        length: u64,
        path: [u8; MAPPED_BYTES],
    }

    Executed "executed" {
        event: Event,
        file: MappedFile,
        auxv: [u64; AUXV_WORDS],
        root_device: u32,
        mounts: u32,
        length: u64,
        root_length: u64,
        path: [u8; MAPPED_BYTES],
        root: [u8; MAPPED_BYTES],
    }

    Forked "forked" {
        event: Event,
        parent: u32,
        unused: u32,
    }

    /// The bytes of the stack that were copied, from `sp` on, follow.
    Sample "sample" {
        event: Event,
        key: StackKey,
        weight: u64,
        ip: u64,
        sp: u64,
        fp: u64,
        lr: u64,
        vdso: u64,
        slow: u32,
        scripts: u32,
        code: [u64; SCRIPTS],
        instruction: [u64; SCRIPTS],
    }

    Python "python" {
        runtime: u64,
        at: [u16; PYTHON_FIELDS],
    }

    Script "script" {
        event: Event,
        code: u64,
        first_line: u32,
        states: u32,
        length: u64,
        file: [u8; SCRIPT_BYTES],
        name: [u8; SCRIPT_BYTES],
        lines: [u8; LINES_BYTES],
    }
}
