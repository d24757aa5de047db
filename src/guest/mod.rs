//! Kernels that run in an emulated machine.

pub mod images;
