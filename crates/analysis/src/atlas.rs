//! The kernel atlas as a directory: a file for each kernel and machine, one for each pair of neighbours below `steps`, and a text
//! that says what it is. `kernel atlas build` writes them, pages and `kernel atlas check` read them.

mod choice;
mod environment;
mod neighbours;

pub use choice::Releases;
pub use environment::{environment, environment_of};
pub use neighbours::{Step, is_explained, is_step, neighbours, steps};
