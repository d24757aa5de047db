//! How the parser prints help: examples first, then the options used most, under headings; `--help-all` has all of them in full,
//! and the commands for scripts and packages.

use clap::Command;

const OVERVIEW: &str = "{about-with-newline}\n{usage-heading} {usage}\n\nCommands:\n{subcommands}\n\nOptions:\n{options}{after-help}";

const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\n{all-args}";

/// Lists of more values than this are left out of the short help.
const MOST_VALUES: usize = 10;

/// `all` shows hidden commands and options too.
pub fn with_help(command: Command, all: bool) -> Command {
    let command = command.mut_subcommands(|inner| if all { inner.hide(false) } else { inner });
    shaped(command, all).help_template(OVERVIEW)
}

fn shaped(command: Command, all: bool) -> Command {
    let command = command.mut_args(|arg| {
        let is_long = arg.get_possible_values().len() > MOST_VALUES;
        if is_long && !all {
            arg.hide_possible_values(true)
        } else {
            arg
        }
    });
    command.mut_subcommands(|inner| shaped(inner, all).help_template(TEMPLATE))
}
