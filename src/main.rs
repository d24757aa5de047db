//! Nothing but the way into the crates.
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
