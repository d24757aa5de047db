//! Worker processes: building and starting them, their protocol, and cleaning up after them.

mod builds;
mod cache;
mod catalogue;
mod child;
mod directory;
mod environment;
mod fixtures;
mod holes;
mod interrupt;
mod janitor;
mod language;
mod noise;
mod protocol;
mod snippet;
pub mod standalone;
mod workers;

pub use cache::{Entry, MACHINE, cache_directory, digest, entries, key, state_directory};
pub use catalogue::{parse_catalogue, read_catalogue};
pub use child::Child;
pub use directory::RunDirectory;
#[cfg(test)]
pub use environment::least_image;
pub use environment::{
    Cpus, Environment, FILES_DIRECTORY, Files, Kernel, Meeting, NATIVE, SANDBOXES, free_name,
    image_architecture,
};
pub use fixtures::{Fixture, check_room, names_fixtures};
pub use holes::{command, filled, replaced};
pub use interrupt::{Deadline, Interrupt};
pub use language::{Language, has_runtime, on_path};
#[doc(hidden)]
pub use protocol::Singles;
#[doc(hidden)]
pub use protocol::failure_in;
pub use protocol::parse_ready;
pub use protocol::{add_line, parse_sampled};
#[doc(hidden)]
pub use snippet::{fill, forms};
pub use workers::Workers;
