//! `syscost completions` and `syscost man`: generated from the flags; `syscost schema` for the project's own checks.

use super::Exit;
use anyhow::Result;
use std::io::Write;

/// Print completions for a shell.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  syscost completions bash > ~/.local/share/bash-completion/completions/syscost")]
pub struct CompletionsArgs {
    shell: clap_complete::Shell,
}

/// Print the manual page.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  syscost man > syscost.1 && man ./syscost.1")]
pub struct ManArgs {}

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
    Profile,
    ProfileSummary,
}

pub fn run(args: &CompletionsArgs, command: &mut clap::Command, out: &mut dyn Write) -> Result<Exit> {
    // The generator panics where its output is closed early: it writes into memory.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, command, "syscost", &mut text);
    out.write_all(&text)?;
    Ok(Exit::Success)
}

pub fn man(command: &clap::Command, out: &mut dyn Write) -> Result<Exit> {
    clap_mangen::Man::new(command.clone()).render(out)?;
    Ok(Exit::Success)
}

pub fn schema(args: &SchemaArgs, out: &mut dyn Write) -> Result<Exit> {
    let schema = match args.kind {
        SchemaKind::Summary => crate::report::schema(),
        SchemaKind::Result => crate::store::schema(),
        SchemaKind::Profile => crate::store::profile::schema(),
        SchemaKind::ProfileSummary => crate::report::profile_summary_schema(),
    };
    serde_json::to_writer_pretty(&mut *out, &schema)?;
    writeln!(out)?;
    Ok(Exit::Success)
}
