//! Guests: other kernels in machines of their own, with the static probe as their first program.
//!
//! [`Machine`] is one as its environment says (`environments/linux.toml`), and starts [`Guest`]s, which give
//! [`Channel`]s: processes in the guest that speak the probe's protocol, over the one console that
//! they share (`probe/init.c` is the other end).
//!
//! In an emulated machine, nanoseconds of a batch are instructions. What is to be counted there is
//! asked before the guest takes any input ([`Machine::ask`]): until all is counted, nothing from outside
//! reaches it, and counts are equal to the last instruction. A guest ends when it is dropped,
//! and with the run's directory, however this process ends.

mod channel;
mod console;
mod files;
pub mod images;
mod initramfs;
mod kept;
mod machine;
mod monitor;
mod program;
mod states;
mod traced;

pub use channel::{Channel, line_to_count};
pub use initramfs::Facts as FileFacts;
pub use machine::{Guest, Machine, Options, kernel};
pub use monitor::Monitor;
pub use program::{CommandFile, CommandFiles, Contents, FIRST_USER, Observed, Program, Ran};
pub use traced::Traced;
