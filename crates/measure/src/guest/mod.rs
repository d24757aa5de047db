//! Guests: other kernels in machines of their own, with the static probe as their first program. It boots them, and counts the
//! instructions of an operation where the machine is emulated; which cases run in which guest is up to `session`, and `explain`
//! looks into the kernel.
//!
//! [`Guest::boot`] starts one as its environment says (`environments/linux.toml`), waits until it has settled, and gives
//! [`Channel`]s. Each is a process in the guest that speaks the probe's protocol, over the one console that they share
//! (`probe/init.c` is the other end):
//!
//! ```no_run
//! # use syscost::guest::{Guest, Options};
//! # fn example(workers: &syscost::runner::Workers) -> Result<(), syscost::model::Failure> {
//! let guest = Guest::boot(workers, "linux-6.1 audit=1", &Options::default())?;
//! let mut getppid = guest.channel("op id.getppid")?;
//! let instructions = getppid.request(1000, 1, workers.timeout)?.batches[0].ns;
//! let entries = guest.traced("op id.getppid")?.request(1000, workers.timeout)?;
//! let functions = guest.functions(&[0xffffffff81000])?;
//! # Ok(())
//! # }
//! ```
//!
//! In an emulated machine, nanoseconds of a batch are instructions. What is to be counted there is part of its first file system
//! ([`Options::plan`]): until all is counted, nothing from outside reaches the guest, and boots are equal to the last instruction.
//! A guest that ends, panics or does not answer gives a failure with what its console said last. It ends when it is dropped, and
//! with the run's directory, however this process ends.

mod channel;
mod console;
mod count;
mod disk;
pub mod images;
mod initramfs;
mod machine;
mod monitor;
mod program;
mod traced;

pub use channel::Channel;
pub use count::ToCount;
pub use initramfs::Facts as FileFacts;
pub use machine::{Guest, Options, kernel};
pub use monitor::Monitor;
pub use program::{CommandFile, CommandFiles, Contents, Observed, Program, Ran};
pub use traced::Traced;
