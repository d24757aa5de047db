//! The command line: one file a command, each from flags to config to `run(config, out, err)`. Parsing touches nothing;
//! the environment (terminal, signals, clock) is touched once a command has been chosen.

pub mod answers;
mod cache;
mod compare;
mod complete;
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
mod sandboxes;
#[cfg(feature = "schema")]
pub mod schemas;
mod show;
mod target;
mod terminal;
mod top;
mod trace;
mod why;
mod words;

use anyhow::Result;
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand};
use error::UsageError;
use exit::Exit;
use measure::runner::NATIVE;
use output::Output;
use std::io::Write;
use sys::libraries::look_up_users_in_files;

/// Measure the cost of system calls on this machine, and prove which of them enter the kernel.
///
/// Operations without a command are measured. Without arguments, measures a tour of about 30 operations from all areas,
/// in under 20 seconds.
#[derive(Parser)]
#[command(name = "syscost", version, max_term_width = 100, after_help = EXAMPLES)]
#[command(disable_help_flag = true, disable_help_subcommand = true)]
pub struct Arguments {
    /// No progress bar and no notes on standard error; errors are still shown.
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
  syscost                                  measure a tour of operations
  syscost getpid file.stat                 measure two operations
  syscost why git status                   show where the time of a program goes
  syscost file 'time.*' --out now.json
  syscost compare before.json now.json
  syscost report before.json now.json -o change.html

Exit status: 0 no case failed, other than for want of a CPU that was free, 1 the tool failed or a cost grew (compare --fail-over), 2 usage, 3 some cases failed (their rows show the reason), 130 interrupted.";

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
    Cache(cache::CacheArgs),
    #[command(hide = true)]
    Probe(probe::ProbeArgs),
    #[command(hide = true)]
    Completions(complete::CompletionsArgs),
    #[command(hide = true)]
    Man(manual::ManArgs),
}

fn parser(all: bool) -> clap::Command {
    help::with_help(Arguments::command(), all)
}

/// The only caller is the binary.
pub fn main() -> u8 {
    look_up_users_in_files();
    // A shell asks for completions by running the program: nothing else may happen then.
    match complete::answer(|| parser(true)) {
        Ok(true) => return 0,
        Ok(false) => {}
        Err(error) => return refused(&error),
    }
    let parser = parser(std::env::args_os().any(|word| word == "--help-all"));
    let words = words::with_command(std::env::args_os().collect(), &names(&parser));
    let parsed = parser
        .try_get_matches_from(words)
        .and_then(|matches| Arguments::from_arg_matches(&matches));
    let done = match parsed {
        Ok(arguments) => started(arguments),
        // Help and version are "errors" of the parser that belong to standard output.
        Err(asked) if !asked.use_stderr() => help(&asked),
        Err(wrong) => return refused(&wrong),
    };
    match done {
        Ok(exit) => exit.status(),
        Err(error) => {
            error::lines(&error).iter().for_each(messages::show_line);
            status(&error)
        }
    }
}

fn names(parser: &clap::Command) -> Vec<&str> {
    parser
        .get_subcommands()
        .map(clap::Command::get_name)
        .collect()
}

fn started(arguments: Arguments) -> Result<Exit> {
    // A file size limit should be an error of the write, not the end of the process.
    sys::process::handle_sigxfsz();
    if arguments.quiet {
        messages::be_quiet();
    }
    let command = match arguments.command {
        Some(command) => command,
        None => Command::Run(Box::new(run::RunArgs::tour()?)),
    };
    match command {
        Command::Run(mut args) => {
            sandboxes::expand(&mut args.environments, &[NATIVE]);
            write(|out| run::run(&args, out))
        }
        Command::List(args) => write(|out| list::run(&args, out)),
        Command::Show(args) => write(|out| show::run(&args, out)),
        Command::Report(args) => write(|out| report::run(&args, out)),
        Command::Compare(args) => write(|out| compare::run(&args, out)),
        Command::Explain(args) => write(|out| explain::run(&args, out)),
        Command::Doctor(args) => write(|out| doctor::run(&args, out)),
        Command::Cache(args) => write(|out| cache::run(&args, out)),
        // Standard output belongs to the traced command, or is not used.
        Command::Trace(args) => trace::run(&args),
        Command::Top(args) => top::run(&args),
        Command::Why(mut args) => {
            sandboxes::expand(&mut args.environments, &[]);
            why::run(&args)
        }
        Command::Race(mut args) => {
            sandboxes::expand(&mut args.environments, &[]);
            write(|out| race::run(&args, out))
        }
        Command::Kernel(args) => write(|out| kernel::run(&args, out)),
        Command::Probe(args) => probe::run(&args).map(Exit::from),
        Command::Completions(args) => write(|out| complete::run(&args, out)),
        Command::Man(args) => write(|out| manual::run(&args, parser(true), out)),
    }
}

/// Opens standard output before measuring: a long run must not end with a table that cannot be written.
fn write<E: Into<Exit>>(command: impl FnOnce(&mut dyn Write) -> Result<E>) -> Result<Exit> {
    let mut out = Output::open()?;
    let exit = command(&mut out)?;
    out.flush()?;
    Ok(exit.into())
}

fn help(text: &clap::Error) -> Result<Exit> {
    let text = rendered(text, terminal::screen().colour);
    write(|out| Ok(out.write_all(text.as_bytes())?))
}

fn refused(error: &clap::Error) -> u8 {
    messages::show(rendered(error, terminal::error_screen().colour).as_bytes());
    u8::try_from(error.exit_code()).unwrap_or(2)
}

/// The parser quotes the command line, which may contain control characters: only text without them is printed in colour.
fn rendered(text: &clap::Error, colour: bool) -> String {
    let plain = text.render().to_string();
    let lines: Vec<String> = plain.split('\n').map(model::clean::line).collect();
    let cleaned = lines.join("\n");
    let shown = if colour && cleaned == plain {
        text.render().ansi().to_string()
    } else {
        cleaned
    };
    terminal::in_its_characters(
        NOT_A_NUMBER
            .iter()
            .fold(shown, |shown, (theirs, ours)| shown.replace(theirs, ours)),
    )
}

/// The standard library's words for what is not a number, and ours.
const NOT_A_NUMBER: [(&str, &str); 4] = [
    ("invalid digit found in string", "it is not a whole number"),
    ("number too large to fit in target type", "it is too large"),
    (
        "cannot parse integer from empty string",
        "it is empty: give a whole number",
    ),
    ("invalid float literal", "it is not a number"),
];

/// 2 if the user should change the command line, 126 or 127 if a command cannot be run, 130 after an interrupt, otherwise 1.
fn status(error: &anyhow::Error) -> u8 {
    if let Some(launch) = error.downcast_ref::<::trace::LaunchError>() {
        launch.status()
    } else if error.is::<UsageError>() {
        2
    } else if error::is_interrupt(error) {
        Exit::Interrupted.status()
    } else {
        1
    }
}
