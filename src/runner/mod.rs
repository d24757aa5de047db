//! Probe processes: what is needed to start one, to speak its protocol, and to leave nothing behind.
//!
//! Sampling policy is the engine's; this module only carries requests. Called by the engine (through its `Launcher` and
//! `Worker` traits) and by the proof.

mod catalogue;
mod child;
mod directory;
mod files;
mod native;
mod protocol;

pub use catalogue::read_catalogue;
pub use child::{Child, Interrupt};
pub use directory::RunDirectory;
pub use files::COMPILER;
pub use native::Native;
pub use protocol::{Batch, Facts, Reply, parse_ready};
