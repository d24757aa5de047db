//! Kernels of an atlas: which it is made of, which are neighbours, and what changed between two.

mod choice;
mod diff;
mod environment;
mod neighbours;

pub use choice::Releases;
pub use diff::{Differences, differences};
pub use environment::{environment, environment_of};
pub use neighbours::{is_explained, neighbours, steps};
