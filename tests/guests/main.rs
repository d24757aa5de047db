//! Kernels: fetched, emulated, counted.

#[path = "../common/mod.rs"]
mod common;

mod atlas;
mod conditions;
mod explain_kernel;
mod guest;
mod kept;
mod kernel_diff;
mod kernel_images;
mod machines;
mod program;
mod tracer;
