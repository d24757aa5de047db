//! `syscost probe`: builds the probe as a program that stands alone: it makes a result by itself, or answers `syscost run --via`.

use super::error::usage;
use super::messages::note;
use super::run::check_destination;
use anyhow::Result;
use measure::runner::standalone;
use std::path::PathBuf;

/// Build a standalone probe: 'probe run > result.json' measures by itself, 'syscost run --via' through a connection.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ProbeArgs {
    #[command(subcommand)]
    command: ProbeCommand,
}

const EXAMPLES: &str = "\
Examples:
  syscost probe build -o probe
  syscost probe build --target aarch64-macos -o probe-mac   # there: ./probe-mac run > mac.json
  scp probe host:/tmp/ && syscost run id file --via 'ssh host' --probe /tmp/probe";

#[derive(clap::Subcommand)]
enum ProbeCommand {
    /// Build it, statically if the system supports that.
    Build(BuildArgs),
}

#[derive(clap::Args)]
struct BuildArgs {
    /// The system to build for, as 'zig cc -target' names it; takes zig or a cross compiler [default: this machine's, with its C
    /// compiler].
    ///
    /// Known: x86_64, x86, aarch64 and riscv64 of -linux-musl; with zig x86_64 and aarch64 of -macos and -freebsd, and
    /// x86_64 of -netbsd and -openbsd.
    #[arg(long, value_name = "TARGET")]
    target: Option<String>,
    /// The file to write the program to.
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,
}

pub fn run(args: &ProbeArgs) -> Result<()> {
    let ProbeCommand::Build(args) = &args.command;
    check_destination("--out", Some(&args.out))?;
    let compiler = usage(standalone::build(args.target.as_deref(), &args.out))?;
    note(&format!("{} was built with {compiler}", args.out.display()));
    Ok(())
}
