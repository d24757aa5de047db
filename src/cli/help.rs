//! How the parser prints help: examples first, then the options most used, under headings; `--help-all` has all of them in full.

use clap::{Arg, Command};

/// Commands by the question that they answer; the last group is in `--help-all` only.
const GROUPS: [(&str, &[&str]); 6] = [
    ("Measure", &["run", "list", "explain"]),
    ("Explain a program", &["why", "trace", "top", "attribute"]),
    ("Look and compare", &["race", "compare", "show", "report"]),
    ("Many machines and kernels", &["fleet", "kernel"]),
    ("This machine", &["doctor"]),
    ("For scripts and packages", &["probe", "completions", "man"]),
];

/// Examples come before the options.
const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}{after-help}\n\n{all-args}";

/// Lists of more values than this are left out of the short help.
const MOST_VALUES: usize = 10;

/// `command` with such help; `all` for that in full.
pub fn with_help(command: Command, all: bool) -> Command {
    let groups = groups(&command, all);
    let template =
        format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\nOptions:\n{{options}}{{after-help}}");
    shaped(command, all).help_template(template)
}

fn shaped(command: Command, all: bool) -> Command {
    let is_long = |arg: &Arg| !all && arg.get_possible_values().len() > MOST_VALUES;
    let command = command.mut_args(|arg| if is_long(&arg) { arg.hide_possible_values(true) } else { arg });
    command.mut_subcommands(|inner| shaped(inner, all).help_template(TEMPLATE))
}

fn groups(command: &Command, all: bool) -> String {
    let shown = GROUPS.len() - usize::from(!all);
    GROUPS[..shown].iter().map(|(title, names)| format!("\n{title}:\n{}", lines(command, names))).collect()
}

fn lines(command: &Command, names: &[&str]) -> String {
    let about = |name: &str| command.find_subcommand(name)?.get_about().map(ToString::to_string);
    names.iter().map(|name| format!("  {name:<11}  {}\n", about(name).unwrap_or_default())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Arguments;
    use clap::CommandFactory;

    #[test]
    fn every_command_is_in_one_group() {
        let command = Arguments::command();
        let all = command.get_subcommands().filter(|inner| !inner.is_hide_set()).map(Command::get_name);
        let mut all: Vec<&str> = all.collect();
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        all.sort_unstable();
        grouped.sort_unstable();
        assert_eq!(grouped, all);
    }
}
