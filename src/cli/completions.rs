//! `syscost completions`: a shell script; `syscost schema`: JSON Schemas.

use super::complete;
use super::doctor::DoctorDocument;
use super::exit::Exit;
use super::list::{LanguageList, OperationList, StudyList};
use crate::compare::Comparison;
use crate::report::{AttributionDocument, HistoryDocument, ProfileDocument, SummaryDocument, json_schema};
use crate::store;
use anyhow::Result;
use std::io::Write;

/// Print a shell script that completes flags, operations, areas, studies and parameters.
///
/// For each completion, the script runs the 'syscost' found on PATH, so its suggestions are always up to date.
#[derive(clap::Args)]
#[command(after_help = COMPLETION_EXAMPLES)]
pub struct CompletionsArgs {
    /// The shell to print the script for.
    shell: clap_complete::Shell,
}

const COMPLETION_EXAMPLES: &str = "\
Examples:
  syscost completions bash > ~/.local/share/bash-completion/completions/syscost
  echo 'source <(syscost completions zsh)' >> ~/.zshrc
  syscost completions fish > ~/.config/fish/completions/syscost.fish";

/// Print a JSON Schema of what this tool writes.
#[derive(clap::Args)]
pub struct SchemaArgs {
    #[arg(value_enum)]
    kind: SchemaKind,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum SchemaKind {
    Summary,
    Result,
    Comparison,
    History,
    Profile,
    ProfileSummary,
    Attribution,
    List,
    Languages,
    Studies,
    Doctor,
}

/// Prints the script.
///
/// # Errors
/// If `out` cannot be written.
pub fn run(args: &CompletionsArgs, out: &mut dyn Write) -> Result<Exit> {
    complete::write_script(args.shell, out)?;
    Ok(Exit::Success)
}

/// Prints a schema.
///
/// # Errors
/// If `out` cannot be written.
pub fn schema(args: &SchemaArgs, out: &mut dyn Write) -> Result<Exit> {
    let schema = match args.kind {
        SchemaKind::Summary => json_schema::<SummaryDocument>(),
        SchemaKind::Result => store::schema(),
        SchemaKind::Comparison => json_schema::<Comparison>(),
        SchemaKind::History => json_schema::<HistoryDocument>(),
        SchemaKind::Profile => store::profile_schema(),
        SchemaKind::ProfileSummary => json_schema::<ProfileDocument>(),
        SchemaKind::Attribution => json_schema::<AttributionDocument>(),
        SchemaKind::List => json_schema::<OperationList>(),
        SchemaKind::Languages => json_schema::<LanguageList>(),
        SchemaKind::Studies => json_schema::<StudyList>(),
        SchemaKind::Doctor => json_schema::<DoctorDocument>(),
    };
    serde_json::to_writer_pretty(&mut *out, &schema)?;
    writeln!(out)?;
    Ok(Exit::Success)
}
