//! Nothing but the way into the library.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;
use syscost::kernel::memory::{Allocator, check_stack, give_signals_back};

#[global_allocator]
static ALLOCATOR: Allocator = Allocator;

fn main() -> ExitCode {
    give_signals_back();
    check_stack();
    ExitCode::from(syscost::cli::main())
}
