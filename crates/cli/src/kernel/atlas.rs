//! `syscost kernel atlas`: instruction counts of all operations in all kernels that the mirror serves, as a directory of files.

mod build;
mod machine;
mod source;

pub use build::{count_boots, planned, session};

use crate::exit::Exit;
use anyhow::Result;
use measure::runner::Interrupt;
use std::io::Write;

/// Count all operations in all kernels of the mirror.
///
/// Each kernel runs in an emulated machine, so that counts do not depend on this one.
#[derive(clap::Args)]
pub struct AtlasArgs {
    #[command(subcommand)]
    command: AtlasCommand,
}

#[derive(clap::Subcommand)]
enum AtlasCommand {
    Build(build::BuildArgs),
}

pub fn run(args: &AtlasArgs, interrupt: &Interrupt, out: &mut dyn Write) -> Result<Exit> {
    match &args.command {
        AtlasCommand::Build(args) => build::run(args, interrupt, out),
    }
}
