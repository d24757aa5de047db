//! Tracing by eBPF: programs at the kernel's tracepoints count system calls of a tree of processes.
//!
//! The parts: `asm` writes instructions, `btf` and `kernel_types` find where the kernel keeps what they read, `programs`
//! is the text of the six programs, `layout` what they share with us, `sys` and `maps` talk to bpf(2), `rows` types what the
//! maps hold, `session` puts it together, `calibrate` measures what it adds to a call. Called by `trace::bpf`, which turns the counts into a profile.
//!
//! Why own code: `cargo install` is to work without clang, libelf or kernel headers, which rules out compiling C; an
//! object compiled beforehand would need a loader with relocations, and the one in Rust that is alive, aya 0.13, has no
//! task storage. Six programs of some hundred instructions are readable as a listing, and what depends on the kernel
//! (offsets of fields) is known here when they are written, so that no relocation is needed.
//!
//! It does not see: calls that a seccomp filter kills the process for; work of io_uring, which is not entered by calls.
//! Doubtful: before Linux 6.2, a look-up in task storage fails while another one holds that processor's lock, and a
//! task would then be passed over until it is switched to again. A kernel that lets programs at tracepoints be preempted
//! (realtime kernels plan to) could mix up two counts.

pub mod asm;
mod available;
mod btf;
mod calibrate;
mod kernel_types;
pub mod layout;
mod maps;
mod programs;
mod rows;
pub mod session;
mod sys;

pub use available::available;
#[doc(hidden)]
pub use btf::{Btf, Kind as TypeKind};
pub use calibrate::{Calibration, calibrate};
pub use rows::{Counted, Durations, Globals, Raw, Used};
pub use session::{Config, Session, What};

/// Whether a BPF program of that number is loaded, by whomever.
pub fn is_loaded(id: u32) -> bool {
    sys::program_by_id(id).is_some()
}

/// The numbers of the BPF programs that a process holds descriptors of.
pub fn programs_of(pid: u32) -> Vec<u32> {
    let entries = std::fs::read_dir(format!("/proc/{pid}/fdinfo")).into_iter().flatten().flatten();
    let texts = entries.filter_map(|entry| std::fs::read_to_string(entry.path()).ok());
    let numbers =
        texts.filter_map(|text| text.lines().find_map(|line| line.strip_prefix("prog_id:")?.trim().parse().ok()));
    numbers.collect::<std::collections::BTreeSet<u32>>().into_iter().collect()
}
