//! One iteration of an operation in an emulated kernel, every instruction of it: as a call tree with counts, by function and by
//! what they are spent on; and what another kernel does otherwise.
//!
//! Only `recording` and `emulator` talk to a guest; everything else is pure. It counts instructions and knows nothing of time: caches, TLB
//! and predictors, which decide what an instruction costs, are not emulated. Called by the `explain` command.

mod cut;
pub(super) mod emulator;
mod explanation;
pub(super) mod flow;
mod groups;
pub(super) mod log;
pub(super) mod names;
mod recording;
mod tree;

pub use explanation::versus;
pub use recording::Recorder;
