//! Nothing but the way into the library.
#![deny(clippy::print_stdout, clippy::print_stderr)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(syscost::cli::main())
}
