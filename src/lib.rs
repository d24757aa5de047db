//! Measures what each system call costs on this machine, and proves that it entered the kernel.
//!
//! Data flows one way, in the order of this list; ARCHITECTURE.md has the rules.
//!
//! - [`cli`]: one file per command: flags to configuration to `run(config, out)`
//! - [`session`]: one measurement, from the plan to a `Run`
//! - [`plan`]: patterns, parameters and studies to cases
//! - [`engine`]: the sampling policy: calibration, rounds, stop rule
//! - [`runner`]: probe processes, their protocol and the run's directory
//! - [`guest`]: kernels that run in an emulated machine, and their images
//! - [`mod@atlas`]: the files of a kernel atlas, and which kernels in it are neighbours
//! - [`proof`]: kernel entries per iteration, counted in a separate pass
//! - [`split`]: samples of user and system mode, in a separate pass
//! - [`mod@counters`]: hardware and software events per iteration, in a separate pass
//! - [`singles`]: times of single calls, in a separate pass
//! - [`explain`]: the instructions of one iteration, disassembled, and a verdict on who answered
//! - [`trace`]: a command's system calls by class, as a profile, by one of several tracers
//! - [`mod@race`]: whole commands against each other, timed in turn and counted apart
//! - [`kernel`]: the only code that calls ptrace, perf, bpf and CPU affinity, or reads facts about the host
//! - [`model`]: plain data that everything else uses
//! - [`clean`]: pure: makes text from outside safe for output, one function per format
//! - [`prose`]: pure: shortens lists of names and wraps text
//! - [`store`]: result files and profiles, read and written
//! - [`stats`]: pure: medians, intervals, ratios
//! - [`mod@derive`]: pure: rows made of two others, round by round
//! - [`summary`]: pure: a run as results with warnings
//! - [`fit`]: pure: cost as a line over a parameter, and crossovers
//! - [`mod@compare`]: pure: several runs side by side, and one machine over time
//! - [`mod@attribute`]: pure: profile x unit costs = seconds explained, with an interval
//! - [`doctor`]: pure: what disturbs measurements on this host, and what to do about it
//! - [`top`]: pure: the state of the live table: counts to rates, keys to what is shown
//! - [`document`]: blocks, tables and records, whatever the subject and the format
//! - [`mod@write`]: documents and tables in every format, whatever the subject
//! - [`report`]: tables and figures in all formats
#![deny(unsafe_code)]
// A failing print panics. Results go to the writer that a command gets, everything else through `cli::messages`.
#![cfg_attr(not(test), deny(clippy::print_stdout, clippy::print_stderr))]

// Only a test makes schemas: nothing else needs what derives them.
#[cfg(not(test))]
extern crate syscost_no_schema as schemars;

pub mod atlas;
pub mod attribute;
pub mod clean;
pub mod cli;
pub mod compare;
pub mod counters;
pub mod derive;
pub mod doctor;
pub mod document;
pub mod engine;
pub mod explain;
pub mod fit;
pub mod guest;
pub mod kernel;
pub mod model;
pub mod plan;
pub mod proof;
pub mod prose;
pub mod race;
pub mod report;
pub mod runner;
pub mod session;
pub mod singles;
pub mod split;
pub mod stats;
pub mod store;
pub mod summary;
pub mod syscall_names;
pub mod top;
pub mod trace;
pub mod write;
