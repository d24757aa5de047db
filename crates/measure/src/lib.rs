//! Measures operations: from patterns and studies (`plan`) through probe processes (`runner`) and kernels in an emulated machine
//! (`guest`) to a `Run` (`session`). `engine` decides what to sample next; `proof`, `split`, `counters` and `singles` are separate
//! passes; `doctor` says what disturbs measurements on this host.

pub mod counters;
pub mod doctor;
pub mod engine;
pub mod guest;
pub mod plan;
pub mod proof;
pub mod runner;
pub mod session;
pub mod singles;
pub mod split;
