//! Tracing by eBPF: programs at the kernel's tracepoints count system calls of a tree of processes.
//!
//! `asm` assembles instructions, `btf` and `kernel_types` find the kernel's fields that they read, `programs` holds the
//! six programs, `layout` the data they share with us, `sys` and `maps` make bpf(2) calls, `rows` are the counts as
//! typed values, `load` loads, attaches and reads, `calibrate` measures the overhead per call. Called by
//! `trace::bpf`, which turns the counts into a profile.
//!
//! Why not a crate: `cargo install` has to work without clang, libelf or kernel headers, which rules out compiling C; a
//! precompiled object would need a loader with relocations, and the maintained one in Rust, aya 0.13, has no task
//! storage. Six programs of a few hundred instructions are readable as a listing, and the kernel's field offsets are
//! known when they are assembled, so no relocation is needed.
//!
//! Not seen: calls for which a seccomp filter kills the process; work submitted through io_uring without system calls.
//! Known risks: before Linux 6.2, a lookup in task storage fails while another one holds that CPU's lock, and a task
//! would then be missed until it is next switched to. A kernel that preempts programs at tracepoints (planned for
//! realtime kernels) could mix up two counts.

pub mod asm;
mod available;
mod btf;
mod calibrate;
mod kernel_types;
pub mod layout;
mod load;
mod maps;
mod programs;
mod rows;
mod sys;

pub use available::available;
#[doc(hidden)]
pub use btf::{Btf, TypeKind};
pub use calibrate::{Calibration, calibrate};
pub use layout::{Counted, Globals};
pub use load::{Config, Programs, What};
pub use rows::{Durations, Raw};

/// Whether a BPF program with that ID is loaded, by any process.
pub fn is_loaded(id: u32) -> bool {
    sys::program_by_id(id).is_some()
}

/// The IDs of the BPF programs that a process holds file descriptors of.
pub fn programs_of(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let texts = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    let numbers =
        texts.filter_map(|text| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok()));
    numbers.collect::<std::collections::BTreeSet<u32>>().into_iter().collect()
}
