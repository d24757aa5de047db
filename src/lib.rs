//! What each system call really costs on this machine, with proof that it entered the kernel.
//!
//! Data flows one way; the modules stand in its order:
//!
//! - [`cli`]: one file a command: flags to config to `run(config, out, err)`
//! - [`plan`]: patterns, parameters and studies to cases
//! - [`engine`]: all sampling policy: calibrate, rounds, stop rule
//! - [`runner`]: probe processes and their protocol, the run's directory
//! - [`kernel`]: the only place that talks to ptrace, perf and CPU affinity, and reads the host's facts
//! - [`model`]: plain data that all of them speak
//! - [`store`]: result files, read and written
//! - [`stats`]: pure: medians, intervals, ratios; warnings are returned with values
//! - [`report`]: tables to text, Markdown, CSV, JSON
#![deny(unsafe_code)]

pub mod cli;
pub mod doctor;
pub mod kernel;
pub mod model;
pub mod report;
