//! The entry point. Start reading in ARCHITECTURE.md, then `cli::main` and the file of a command beside it (`crates/cli/src/run.rs`).
#![deny(unsafe_code, clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use sys::memory::{Allocator, check_stack, give_signals_back};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    give_signals_back();
    check_stack();
    ExitCode::from(cli::main())
}
