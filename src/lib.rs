//! What each system call really costs on this machine, with proof that it entered the kernel.
//!
//! Data flows one way; the modules stand in its order:
//!
//! - [`cli`]: one file a command: flags to config to `run(config, out)`
//! - [`session`]: one measurement, from the plan to a `Run`
//! - [`plan`]: patterns, parameters and studies to cases
//! - [`engine`]: all sampling policy: calibrate, rounds, stop rule
//! - [`runner`]: probe processes and their protocol, the run's directory
//! - [`proof`]: kernel entries per iteration, counted in a pass of their own
//! - [`explain`]: what really ran: the code of one iteration, disassembled, and a verdict
//! - [`split`]: samples of user and system mode, in a pass of their own
//! - [`trace`]: a command to a profile: counts of its system calls by class, by one of three tracers
//! - [`kernel`]: the only place that talks to ptrace, perf and CPU affinity, and reads the host's facts
//! - [`model`]: plain data that all of them speak
//! - [`clean`]: pure: text from outside made harmless for those who read it, one function a format
//! - [`prose`]: pure: lists of names shortened, and text broken into lines
//! - [`store`]: result files, read and written
//! - [`mod@import`]: pure: what other benchmark programs printed, to a `Run`
//! - [`stats`]: pure: medians, intervals, ratios
//! - [`mod@derive`]: pure: rows made of two others, by round
//! - [`summary`]: pure: a run in figures, with warnings
//! - [`fit`]: pure: cost as a function of a parameter, and where one strategy overtakes another
//! - [`mod@compare`]: pure: several runs side by side, and one machine over time
//! - [`mod@attribute`]: pure: profile x unit costs = seconds explained, here and elsewhere, with a range
//! - [`doctor`]: pure: what of a host spoils measuring, and what to do
//! - [`report`]: tables to text, Markdown, CSV, JSON; figures to SVG and pages; lines and matrix as Perl has them
#![deny(unsafe_code)]
// A print that fails panics. Results go to the writer that a command was given, all else through `cli::messages`.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

pub mod attribute;
pub mod clean;
pub mod cli;
pub mod compare;
pub mod derive;
pub mod doctor;
pub mod engine;
pub mod explain;
pub mod fit;
pub mod import;
pub mod kernel;
pub mod model;
pub mod plan;
pub mod proof;
pub mod prose;
pub mod report;
pub mod runner;
pub mod session;
pub mod split;
pub mod stats;
pub mod store;
pub mod summary;
pub mod syscall_names;
pub mod trace;
