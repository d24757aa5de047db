//! Parse, run, print the error.

use clap::Parser;
use std::process::ExitCode;
use syscost::cli::{self, Arguments};

fn main() -> ExitCode {
    let mut out = std::io::stdout().lock();
    match cli::run(Arguments::parse(), &mut out) {
        Ok(exit) => ExitCode::from(exit.status()),
        Err(error) if cli::is_closed_pipe(&error) => ExitCode::SUCCESS,
        // Whoever read it has seen enough, as in `syscost list | head -1`.
        Err(error) if cli::reader_is_gone(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("syscost: {error:#}");
            ExitCode::from(cli::status(&error))
        }
    }
}
