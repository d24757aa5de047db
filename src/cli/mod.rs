//! The command line: one file a command, each from flags to config to `run(config, out, err)`. Parsing touches nothing;
//! the environment (terminal, signals, clock) is touched once a command has been chosen.

mod attribute;
mod compare;
mod completions;
mod doctor;
mod error;
pub mod explain;
mod import;
mod list;
mod progress;
mod report;
mod run;
mod show;
mod terminal;
mod trace;

pub use error::UsageError;

use anyhow::Result;
use clap::{CommandFactory, Parser, Subcommand};
use std::io::Write;

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    Success,
    /// A cost grew by more than the user allows.
    CostGrown,
    /// Some cases failed; their rows are there.
    SomeFailed,
    Interrupted,
    /// What a traced command ended with.
    Command(u8),
}

impl Exit {
    pub fn status(self) -> u8 {
        match self {
            Exit::Success => 0,
            Exit::CostGrown => 1,
            Exit::SomeFailed => 3,
            Exit::Interrupted => 130,
            Exit::Command(status) => status,
        }
    }
}

/// What each system call really costs on this machine, with proof that it entered the kernel.
///
/// Without a command: a tour of about 30 operations over all areas, in under 20 seconds.
#[derive(Parser)]
#[command(name = "syscost", version, max_term_width = 100, after_help = EXAMPLES)]
pub struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  syscost                                  the default tour
  syscost run file 'time.*' --out now.json
  syscost show now.json --sort cost
  syscost compare before.json after.json
  syscost report before.json after.json -o change.html
  syscost explain call.getpid --variants

Exit status: 0 all measured, 1 the tool failed or a cost grew (compare --fail-over), 2 usage, 3 some cases failed (their rows are there), 130 interrupted.";

#[derive(Subcommand)]
enum Command {
    Run(Box<run::RunArgs>),
    List(list::ListArgs),
    Show(show::ShowArgs),
    Report(report::ReportArgs),
    Compare(compare::CompareArgs),
    Explain(explain::ExplainArgs),
    Attribute(attribute::AttributeArgs),
    Doctor(doctor::DoctorArgs),
    Trace(trace::TraceArgs),
    Import(import::ImportArgs),
    Completions(completions::CompletionsArgs),
    Man(completions::ManArgs),
    #[command(hide = true)]
    Schema(completions::SchemaArgs),
}

/// Runs the command that `arguments` name. Results go to `out`, progress to standard error.
///
/// # Errors
/// [`UsageError`] where the user should ask differently; anything else where the tool failed.
pub fn run(arguments: Arguments, out: &mut dyn Write) -> Result<Exit> {
    crate::kernel::process::survive_file_size_limit();
    match arguments.command {
        None => run::run(&run::RunArgs::tour()?, out),
        Some(Command::Run(args)) => run::run(&args, out),
        Some(Command::List(args)) => list::run(&args, out),
        Some(Command::Show(args)) => show::run(&args, out),
        Some(Command::Report(args)) => report::run(&args, out),
        Some(Command::Compare(args)) => compare::run(&args, out),
        Some(Command::Explain(args)) => explain::run(&args, terminal::screen(), out).map(|()| Exit::Success),
        Some(Command::Attribute(args)) => attribute::run(&args, out),
        Some(Command::Doctor(args)) => doctor::run(&args, terminal::screen(), out).map(|()| Exit::Success),
        Some(Command::Trace(args)) => trace::run(&args),
        Some(Command::Import(args)) => import::run(&args, out),
        Some(Command::Completions(args)) => completions::run(&args, &mut Arguments::command(), out),
        Some(Command::Man(_)) => completions::man(&Arguments::command(), out),
        Some(Command::Schema(args)) => completions::schema(&args, out),
    }
}

/// The exit status for an error: 2 where the user should ask differently, 126 or 127 where a command cannot be run,
/// otherwise 1.
pub fn status(error: &anyhow::Error) -> u8 {
    let launch = error.downcast_ref::<crate::trace::LaunchError>().map(crate::trace::LaunchError::status);
    launch.unwrap_or(if error.is::<UsageError>() { 2 } else { 1 })
}

/// Whether the reader of our output went away, as `head` does: no reason to complain.
pub fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = error.chain().find_map(|cause| match cause.downcast_ref::<std::io::Error>() {
        Some(error) => Some(error.kind()),
        None => cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind),
    });
    kind == Some(std::io::ErrorKind::BrokenPipe)
}

/// Whether the command failed only because nobody reads its output any more.
pub fn reader_is_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        let plain = cause.downcast_ref::<std::io::Error>().map(std::io::Error::kind);
        let json = cause.downcast_ref::<serde_json::Error>().and_then(serde_json::Error::io_error_kind);
        let csv = cause.downcast_ref::<::csv::Error>().and_then(|error| match error.kind() {
            ::csv::ErrorKind::Io(error) => Some(error.kind()),
            _ => None,
        });
        plain.or(json).or(csv) == Some(std::io::ErrorKind::BrokenPipe)
    })
}
