//! Kernels: fetched, emulated, counted.

#[path = "../common/mod.rs"]
mod common;

mod atlas;
mod bisect_kernels;
mod conditions;
mod explain_kernel;
mod guest;
mod kernel_images;
mod machines;
mod program;
