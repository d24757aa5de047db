//! `syscost completions`: a shell script.

use super::complete;
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

pub fn run(args: &CompletionsArgs, out: &mut dyn Write) -> Result<()> {
    Ok(complete::write_script(args.shell, out)?)
}
