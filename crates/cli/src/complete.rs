//! `syscost completions`, and the names that a shell offers beyond flags. The script asks for them by running this program with the
//! variable [`VARIABLE`] set.

use crate::Arguments;
use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::engine::{
    ArgValueCandidates, ArgValueCompleter, CompletionCandidate, PathCompleter, ValueCompleter,
};
use clap_complete::env::{CompleteEnv, Shells};
use measure::plan::Study;
use measure::runner::{Language, RunDirectory, read_catalogue};
use model::Operation;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::Write;

/// Which shell asks. Not the library's `COMPLETE`, which may be set for anything.
const VARIABLE: &str = "SYSCOST_COMPLETE";

/// The program as the shell finds it: the script may be installed on another machine than it was made on.
const PROGRAM: &str = "syscost";

/// Answers a shell's request for completions; `false` if there is none. The variable alone is not a request, because it may be left in
/// the environment: scripts put `--` before the words.
pub fn answer(parser: fn() -> Command) -> clap::error::Result<bool> {
    if std::env::args_os().nth(1).is_none_or(|first| first != "--") {
        return Ok(false);
    }
    let directory = std::env::current_dir().ok();
    CompleteEnv::with_factory(|| with_patterns(parser()))
        .var(VARIABLE)
        .try_complete(std::env::args_os(), directory.as_deref())
}

/// Operations are measured without a command too, so that what `run` takes may follow the program's name.
fn with_patterns(program: Command) -> Command {
    let run = program.find_subcommand("run").cloned().unwrap_or_default();
    let known: Vec<_> = program
        .get_arguments()
        .map(clap::Arg::get_id)
        .cloned()
        .collect();
    let new = run
        .get_arguments()
        .filter(|arg| !known.contains(arg.get_id()));
    program.args(new)
}

/// Print a shell script that completes flags, operations, areas, studies and parameters.
///
/// For each completion, the script runs the 'syscost' found on PATH, so its suggestions are always up to date.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell to print the script for.
    shell: clap_complete::Shell,
}

const EXAMPLES: &str = "\
Examples:
  syscost completions bash > ~/.local/share/bash-completion/completions/syscost
  echo 'source <(syscost completions zsh)' >> ~/.zshrc
  syscost completions fish > ~/.config/fish/completions/syscost.fish";

pub fn run(args: &CompletionsArgs, out: &mut dyn Write) -> Result<()> {
    let name = args.shell.to_string();
    let shells = Shells::builtins();
    let shell = shells
        .completer(&name)
        .with_context(|| format!("no completions for {name}"))?;
    Ok(shell.write_registration(VARIABLE, PROGRAM, PROGRAM, PROGRAM, out)?)
}

pub fn operations() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| begun(patterns(&catalogue()), typed))
}

/// Operations, and languages of snippets, also after `NAME=`.
pub fn subjects() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        let mut all = patterns(&catalogue());
        let text = typed.to_string_lossy();
        let name = text
            .split_once('=')
            .map_or("", |(name, _)| &text[..=name.len()]);
        all.extend(
            language_names()
                .into_iter()
                .map(|completion| completion.add_prefix(name)),
        );
        begun(all, typed)
    })
}

/// Those that begin as what was typed; of an operation the last part of its id may be typed.
fn begun(all: Vec<CompletionCandidate>, typed: &OsStr) -> Vec<CompletionCandidate> {
    let typed = typed.to_string_lossy();
    let has_begin = |name: &str| name.starts_with(&*typed);
    all.into_iter()
        .filter(|candidate| {
            let name = candidate.get_value().to_string_lossy();
            let part = name.split_once('.').map(|(_, part)| part);
            has_begin(&name) || (!typed.is_empty() && part.is_some_and(has_begin))
        })
        .collect()
}

pub fn languages() -> ArgValueCandidates {
    ArgValueCandidates::new(language_names)
}

/// Parameters of all operations, with a `=` at the end.
pub fn parameters() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let catalogue = catalogue();
        let unique: BTreeMap<&str, &str> = catalogue
            .iter()
            .flat_map(|operation| &operation.params)
            .map(|p| (&*p.name, &*p.what))
            .collect();
        unique
            .iter()
            .map(|(name, what)| candidate(&format!("{name}="), what))
            .collect::<Vec<_>>()
    })
}

/// Built-in studies and paths of files.
pub fn studies() -> ArgValueCompleter {
    ArgValueCompleter::new(|typed: &OsStr| {
        Study::names()
            .into_iter()
            .filter(|name| name.starts_with(&*typed.to_string_lossy()))
            .map(CompletionCandidate::new)
            .chain(PathCompleter::file().complete(typed))
            .collect::<Vec<_>>()
    })
}

pub fn commands() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        let program = Arguments::command();
        crate::names(&program)
            .into_iter()
            .map(|name| CompletionCandidate::new(name.to_string()))
            .collect::<Vec<_>>()
    })
}

pub fn files() -> ArgValueCompleter {
    ArgValueCompleter::new(PathCompleter::any())
}

/// The operations; none if the probe cannot be started, because a shell could not show the reason.
fn catalogue() -> Vec<Operation> {
    let directory = RunDirectory::create();
    directory
        .and_then(|directory| read_catalogue(&directory.probe()))
        .unwrap_or_default()
}

fn patterns(catalogue: &[Operation]) -> Vec<CompletionCandidate> {
    let mut areas: Vec<&str> = catalogue.iter().map(Operation::area).collect();
    areas.dedup();
    areas
        .into_iter()
        .map(|area| candidate(area, "all operations of this area"))
        .chain(catalogue.iter().map(|o| candidate(&o.id, &o.what)))
        .collect()
}

fn language_names() -> Vec<CompletionCandidate> {
    Language::all()
        .unwrap_or_default()
        .iter()
        .map(|language| candidate(&format!("{}:", language.name), &language.title))
        .collect()
}

fn candidate(value: &str, what: &str) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(what.to_string().into()))
}
