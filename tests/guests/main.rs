//! Kernels: fetched, emulated, counted.
#![allow(
    clippy::needless_borrow,
    clippy::needless_borrows_for_generic_args,
    clippy::explicit_auto_deref,
    reason = "lines and texts are taken as values and by reference"
)]

#[path = "../common/mod.rs"]
mod common;

mod atlas;
mod conditions;
mod explain_kernel;
mod guest;
mod kernel_images;
mod machines;
mod program;
