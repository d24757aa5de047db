//! The `doctor` command: what on this machine spoils measurements, what is not permitted, and what to do about it.
//!
//! Collects facts and checks, has `crate::doctor` judge them, and writes the findings. Changes nothing.

use super::exit::Exit;
use super::output::tables;
use crate::doctor::{Finding, State, findings, verdict};
use crate::kernel::Sources;
use crate::kernel::checks::checks;
use crate::kernel::host::{facts, file_system};
use crate::model::Host;
use crate::report::{Cell, Format, Screen, Spec, Style, Table, write_document};
use crate::runner::RunDirectory;
use crate::session::{RunOptions, Session, add_facts};
use anyhow::Result;
use std::io::Write;

/// Check this machine for what spoils measurements or is not permitted, and how to mend it.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  syscost doctor\n  syscost doctor --format csv")]
pub struct DoctorArgs {
    /// Output format
    #[arg(long, value_parser = tables(), default_value = "text")]
    pub format: Format,
}

/// Checks this machine and writes the findings. Errors: if `out` cannot be written.
pub fn run(args: &DoctorArgs, screen: Screen, out: &mut dyn Write) -> Result<Exit> {
    let sources = Sources::default();
    let mut host = Host { file_system: file_system(&std::env::temp_dir()), ..facts(&sources, None) };
    add_probe_facts(&mut host);
    let directory = RunDirectory::create().ok();
    let findings = findings(&host, &checks(&sources, directory.as_ref().map(RunDirectory::path)));
    write_document(&table(&findings).into(), args.format, screen, out)?;
    Ok(Exit::Success)
}

/// Adds the clock's cost and step, as measured by a probe; they stay unknown if no probe can be started.
fn add_probe_facts(host: &mut Host) {
    if let Ok(Ok(facts)) = Session::open(RunOptions::default()).map(|mut session| session.probe_facts()) {
        add_facts(host, std::iter::once(&facts));
    }
}

fn table(findings: &[Finding]) -> Table {
    let specs = [
        Spec::left("what", |f: &Finding| f.subject.clone().into()).text("what", |f| f.subject.clone()),
        Spec::left("state", |f: &Finding| Cell::styled(f.state.name(), style(f.state)))
            .text("state", |f| f.state.name().to_string()),
        Spec::left("found", |f: &Finding| f.found.clone().into()).wrapping().text("found", |f| f.found.clone()),
        Spec::left("advice", |f: &Finding| f.advice.clone().into()).wrapping().text("advice", |f| f.advice.clone()),
    ];
    Table::of(&specs, findings).titled(verdict(findings))
}

fn style(state: State) -> Style {
    match state {
        State::Good => Style::Good,
        State::Notice => Style::Plain,
        State::Forbidden => Style::Warning,
        State::Spoils => Style::Bad,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(format: Format) -> String {
        let finding = |subject: &str, state| Finding {
            subject: subject.to_string(),
            state,
            found: "seen".to_string(),
            advice: "do this".to_string(),
        };
        let findings = [finding("load", State::Spoils), finding("turbo", State::Notice)];
        let mut out = Vec::new();
        write_document(&table(&findings).into(), format, Screen::PLAIN, &mut out).expect("written");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn text_opens_with_the_verdict() {
        let expected = "1 thing spoils measurements here; 1 notice.\n\n\
                        what   state   found  advice\n\
                        load   spoils  seen   do this\n\
                        turbo  notice  seen   do this\n";
        assert_eq!(written(Format::Text), expected);
    }

    #[test]
    fn csv_is_rows_alone() {
        assert_eq!(written(Format::Csv).lines().next(), Some("what,state,found,advice"));
    }
}
