//! The kernel atlas as a directory: a file for each kernel and machine, one for each pair of neighbours below `steps`, and a text
//! that says what it is. `kernel atlas build` writes them, pages and `kernel atlas check` read them.

mod choice;
mod environment;
mod files;
mod neighbours;
mod order;

pub use choice::Releases;
pub use environment::{environment, environment_of};
pub use files::{
    Atlas, kernel_path, read, read_kernel, read_steps, steps_path, write, write_about,
};
pub use neighbours::{Step, is_explained, is_step, neighbours, steps};
pub use order::{are_alike, ends, series};
