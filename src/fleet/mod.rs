//! Runs on many nodes: what their rows say.
//!
//! Pure.

pub mod questions;
pub mod sql;
