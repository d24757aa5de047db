//! Tracing by eBPF: programs at the kernel's tracepoints count system calls of a tree of processes. They are C, in `bpf/`, and
//! their compiled objects are part of this crate. `trace::bpf` turns the counts into a profile.
//!
//! The loader is our own, some 600 lines: `object`, `btf`, `relocate`. libbpf takes libelf and a C compiler for the target. aya
//! up to 0.14 does not know the kernel functions that programs call (`bpf_rdonly_cast`); 0.15 and 0.16 do, and ask for Rust 1.98.
//!
//! Not seen: calls for which a seccomp filter kills the process.

mod available;
mod btf;
mod calibrate;
mod config;
pub mod events;
pub mod layout;
mod load;
mod maps;
mod object;
mod relocate;
mod ring;
mod rows;
mod sampler;
mod selection;
mod sys;
mod tables;
mod tracepoints;

pub use available::available;
#[doc(hidden)]
pub use btf::{Btf, TypeKind};
pub use calibrate::{Calibration, Each, Kind, MANY, calibrate};
pub use config::{Config, GroupBy, Record, Scope, Wanted};
pub use events::{
    Event, Executed, Forked, Mapped, MappedFile, PYTHON_FIELDS, Python, Sample, Script,
};
pub use layout::{
    Counted, Globals, Key, Live, LockKey, LockWait, Name, ObjectKey, Place, PolledKey, RingKey,
    RingSum, Row, Section, Served, ServedKey, Settings, Slow, StackKey, WaitKey,
};
pub use load::{Programs, now_ns};
pub use object::BYTES as OBJECT;
pub use rows::{Group, Raw, text};

/// Whether the kernel still has a program of that ID, and lets us see it.
pub fn is_loaded(id: u32) -> bool {
    sys::program_by_id(id).is_some()
}
