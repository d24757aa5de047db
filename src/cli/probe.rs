//! `syscost probe`: builds the probe as a program that stands alone, for `syscost run --via`.

use super::error::usage;
use super::exit::Exit;
use super::messages::Notes;
use super::run::check_destination;
use crate::runner::standalone::{self, TARGETS};
use anyhow::Result;
use std::io::Write;
use std::path::PathBuf;

/// Build a probe that stands alone, for 'syscost run --via'.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ProbeArgs {
    #[command(subcommand)]
    command: ProbeCommand,
}

const EXAMPLES: &str = "\
Examples:
  syscost probe build -o probe
  syscost probe build --target aarch64-linux-musl -o probe-arm
  scp probe host:/tmp/ && syscost run id file --via 'ssh host' --probe /tmp/probe
  docker cp probe x:/tmp/ && syscost run id --via 'docker exec -i x' --probe /tmp/probe";

#[derive(clap::Subcommand)]
enum ProbeCommand {
    /// Build it; statically where the system has that.
    Build(BuildArgs),
    /// List the targets that are known to link.
    ListTargets,
}

#[derive(clap::Args)]
struct BuildArgs {
    /// The system to build for, as 'zig cc -target' names it (see 'syscost probe list-targets'); takes zig or a cross compiler
    /// [default: this machine's, with its C compiler].
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// The program to write.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

/// Builds a probe, or lists what it can be built for. Errors: what to install, or what the compiler says.
pub fn run(args: &ProbeArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    match &args.command {
        ProbeCommand::ListTargets => list(out)?,
        ProbeCommand::Build(args) => {
            check_destination("--out", Some(&args.out))?;
            let compiler = usage(standalone::build(args.target.as_deref(), &args.out))?;
            notes.tell(&format!("{} was built with {compiler}", args.out.display()));
        }
    }
    Ok(Exit::Success)
}

fn list(out: &mut dyn Write) -> Result<()> {
    let width = TARGETS.iter().map(|target| target.name.len()).max().unwrap_or(0);
    for target in TARGETS {
        writeln!(out, "{:width$}  {}", target.name, target.what)?;
    }
    Ok(())
}
