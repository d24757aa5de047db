//! A command to a profile: which system calls it and all that it starts make, how often, of which class, how long.
//!
//! Not here: what that means (`attribute`), and how it is shown (`report`). `cli::trace` calls it. A tracer is one file
//! here and one word in `choose`; what it needs of the kernel is in `kernel`.
//!
//! The order of events, the same for all tracers: the command is started and held before its execve; the tracer is put
//! onto it; it is let go; the tracer follows until the whole tree has ended (or it is told to stop); what it collected
//! becomes a `Profile`. Counting begins with the execve of the command, which is counted.

pub mod bpf;
mod choose;
pub mod errno;
mod perf;
mod ptrace;
mod run;
mod signals;
mod target;
mod tracer;
pub mod usage;

pub use run::{Wishes, run};
pub use target::{Command, LaunchError, Target};
pub use tracer::{Collected, Detail, Kind, Options, Root, Tracer, Until};

use tracer::threads;
