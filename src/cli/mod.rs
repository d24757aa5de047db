//! The command line: one file a command, each from flags to config to `run(config, out, err)`. Parsing touches nothing;
//! the environment (terminal, signals, clock) is touched once a command has been chosen.

pub mod answers;
mod compare;
mod complete;
mod completions;
mod doctor;
mod error;
mod exit;
pub mod explain;
mod help;
mod kernel;
mod list;
mod manual;
mod messages;
mod output;
mod probe;
mod progress;
mod race;
mod report;
mod result_files;
mod run;
#[cfg(test)]
mod schemas;
mod show;
mod skipped;
mod target;
mod terminal;
mod top;
mod trace;
mod why;
mod words;

pub use error::UsageError;
pub use exit::Exit;

use crate::kernel::libraries::look_up_users_in_files;
use anyhow::Result;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use messages::Notes;
use output::Output;
use std::io::Write;

/// What each system call really costs on this machine, with proof that it entered the kernel.
///
/// Operations without a command are measured; nothing at all: a tour of about 30 operations over all areas, in under 20 seconds.
#[derive(Parser)]
#[command(name = "syscost", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(disable_help_flag = true, disable_help_subcommand = true)]
pub struct Arguments {
    /// No progress bar and no notes on standard error; errors are still printed.
    #[arg(short, long, global = true, help_heading = "Other options")]
    quiet: bool,
    /// Print help.
    #[arg(short, long, global = true, action = ArgAction::HelpShort, help_heading = "Other options")]
    help: Option<bool>,
    /// Print all options, in full.
    #[arg(long, global = true, action = ArgAction::HelpLong, help_heading = "Other options")]
    help_all: Option<bool>,
    #[command(subcommand)]
    command: Option<Command>,
}

const EXAMPLES: &str = "\
Examples:
  syscost                                  a tour of this machine
  syscost getpid file.stat                 what these cost
  syscost why git status                   where the time of a program goes
  syscost file 'time.*' --out now.json
  syscost compare before.json now.json
  syscost report before.json now.json -o change.html

Exit status: 0 all measured, 1 the tool failed or a cost grew (compare --fail-over), 2 usage, 3 some cases failed (their rows are there), 130 interrupted.";

impl Arguments {
    fn notes(&self) -> Notes {
        Notes { quiet: self.quiet }
    }
}

#[derive(Subcommand)]
enum Command {
    Run(Box<run::RunArgs>),
    List(list::ListArgs),
    Explain(explain::ExplainArgs),
    Why(why::WhyArgs),
    Trace(trace::TraceArgs),
    Top(top::TopArgs),
    Race(race::RaceArgs),
    Compare(compare::CompareArgs),
    Show(show::ShowArgs),
    Report(report::ReportArgs),
    Kernel(kernel::KernelArgs),
    Doctor(doctor::DoctorArgs),
    #[command(hide = true)]
    Probe(probe::ProbeArgs),
    #[command(hide = true)]
    Completions(completions::CompletionsArgs),
    #[command(hide = true)]
    Man(manual::ManArgs),
}

/// The parser; `all` for help in full.
fn parser(all: bool) -> clap::Command {
    help::with_help(Arguments::command(), all)
}

/// Parses, runs, says what went wrong; gives the exit status.
pub fn main() -> u8 {
    look_up_users_in_files();
    match complete::answer(|| parser(true)) {
        Ok(true) => return 0,
        Ok(false) => {}
        Err(error) => return refused(&error),
    }
    let parser = parser(std::env::args_os().any(|word| word == "--help-all"));
    let commands: Vec<&str> = parser.get_subcommands().map(clap::Command::get_name).collect();
    let words = words::with_command(std::env::args_os().collect(), &commands);
    let parsed = parser.try_get_matches_from(words).and_then(|matches| Arguments::from_arg_matches(&matches));
    let done = match parsed {
        Ok(arguments) => started(arguments),
        Err(asked) if !asked.use_stderr() => help(&asked),
        Err(wrong) => return refused(&wrong),
    };
    match done {
        Ok(exit) => exit.status(),
        Err(error) => {
            error::lines(&error).iter().for_each(|line| messages::tell(line));
            status(&error)
        }
    }
}

fn started(arguments: Arguments) -> Result<Exit> {
    crate::kernel::process::survive_file_size_limit();
    let notes = arguments.notes();
    match &arguments.command {
        // Their standard output is another's, or nothing.
        Some(Command::Trace(args)) => return trace::run(args, notes),
        Some(Command::Top(args)) => return top::run(args, notes),
        Some(Command::Why(args)) => return why::run(args, notes),
        _ => {}
    }
    // Before anything is measured: a long run must not end with a table that has no place.
    let mut out = Output::open()?;
    let exit = run(arguments, &mut out)?;
    out.flush()?;
    Ok(exit)
}

fn help(text: &clap::Error) -> Result<Exit> {
    let mut out = Output::open()?;
    out.write_all(rendered(text, terminal::screen().colour).as_bytes())?;
    out.flush()?;
    Ok(Exit::Success)
}

/// A question that cannot be understood.
fn refused(error: &clap::Error) -> u8 {
    messages::show(rendered(error, terminal::error_screen().colour).as_bytes());
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// The parser quotes what was asked. Colours are for what holds nothing that could act on a terminal itself.
fn rendered(text: &clap::Error, colour: bool) -> String {
    let plain = text.render().to_string();
    let cleaned: String = plain.split_inclusive('\n').map(cleaned_line).collect();
    if colour && cleaned == plain { text.render().ansi().to_string() } else { cleaned }
}

fn cleaned_line(line: &str) -> String {
    line.strip_suffix('\n').map_or_else(|| crate::clean::line(line), |line| crate::clean::line(line) + "\n")
}

/// Runs the command that `arguments` name. Results go to `out`, progress to standard error.
///
/// # Errors
/// [`UsageError`] where the user should ask differently; anything else where the tool failed.
pub fn run(arguments: Arguments, out: &mut dyn Write) -> Result<Exit> {
    let notes = arguments.notes();
    match arguments.command {
        None => run::run(&run::RunArgs::tour()?, notes, out),
        Some(Command::Run(args)) => run::run(&args, notes, out),
        Some(Command::List(args)) => list::run(&args, out),
        Some(Command::Show(args)) => show::run(&args, out),
        Some(Command::Report(args)) => report::run(&args, notes, out),
        Some(Command::Compare(args)) => compare::run(&args, notes, out),
        Some(Command::Explain(args)) => explain::run(&args, terminal::screen(), out).map(|()| Exit::Success),
        Some(Command::Doctor(args)) => doctor::run(&args, terminal::screen(), out),
        Some(Command::Trace(args)) => trace::run(&args, notes),
        Some(Command::Top(args)) => top::run(&args, notes),
        Some(Command::Why(args)) => why::run(&args, notes),
        Some(Command::Race(args)) => race::run(&args, notes, out),
        Some(Command::Kernel(args)) => kernel::run(&args, notes, out),
        Some(Command::Probe(args)) => probe::run(&args, notes, out),
        Some(Command::Completions(args)) => completions::run(&args, out),
        Some(Command::Man(args)) => manual::run(&args, parser(true), out),
    }
}

/// The exit status for an error: 2 where the user should ask differently, 126 or 127 where a command cannot be run, 130
/// after an interrupt, otherwise 1.
pub fn status(error: &anyhow::Error) -> u8 {
    if let Some(launch) = error.downcast_ref::<crate::trace::LaunchError>() {
        launch.status()
    } else if error.is::<UsageError>() {
        2
    } else if error::is_interrupt(error) {
        Exit::Interrupted.status()
    } else {
        1
    }
}
