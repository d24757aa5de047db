//! `syscost man`: a page per command, made from its flags and its help.

use super::complete;
use super::error::usage;
use anyhow::{Context, Result};
use clap::Command;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, bold, roman};
use std::io::Write;

/// Print the manual page of syscost or of one of its commands.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ManArgs {
    /// The command whose page to print [default: the page of syscost itself].
    #[arg(value_name = "COMMAND", add = complete::commands())]
    command: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  syscost man | man -l -
  syscost man run > syscost-run.1";

pub fn run(args: &ManArgs, all: Command, out: &mut dyn Write) -> Result<()> {
    let mut all = all.disable_help_subcommand(true);
    all.build();
    let source = format!("syscost {}", all.get_version().unwrap_or_default());
    let name = args.command.join("-");
    if name.is_empty() {
        return write_page(&all, false, source, out);
    }
    let page = find(&all, &name)
        .with_context(|| format!("man: no command '{name}'; 'syscost --help' lists them"));
    write_page(usage(page)?, true, source, out)
}

/// `kernel-fetch` is `fetch` of `kernel`.
fn find<'a>(all: &'a Command, name: &str) -> Option<&'a Command> {
    all.find_subcommand(name).or_else(|| {
        name.split_once('-')
            .and_then(|(outer, inner)| find(all.find_subcommand(outer)?, inner))
    })
}

fn write_page(
    command: &Command,
    is_of_command: bool,
    source: String,
    out: &mut dyn Write,
) -> Result<()> {
    let man = Man::new(command.clone()).source(source);
    man.render_title(out)?;
    man.render_name_section(out)?;
    man.render_synopsis_section(out)?;
    man.render_description_section(out)?;
    man.render_options_section(out)?;
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    let mut roff = Roff::default();
    let help = command
        .get_after_long_help()
        .or(command.get_after_help())
        .map(ToString::to_string)
        .unwrap_or_default();
    examples(&help, &mut roff);
    if is_of_command {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([bold("syscost"), roman("(1)")]);
    }
    Ok(roff.to_writer(out)?)
}

fn examples(help: &str, roff: &mut Roff) {
    let (examples, notes) = help.split_once("\n\n").unwrap_or((help, ""));
    if let Some(lines) = examples.strip_prefix("Examples:\n") {
        roff.control("SH", ["EXAMPLES"]);
        roff.control("nf", []);
        for line in lines.lines() {
            roff.text([roman(line.strip_prefix("  ").unwrap_or(line))]);
        }
        roff.control("fi", []);
    }
    if !notes.is_empty() {
        roff.control("SH", ["NOTES"]);
        for note in notes.split("\n\n") {
            roff.control("PP", []);
            roff.text([roman(note.replace('\n', " "))]);
        }
    }
}
