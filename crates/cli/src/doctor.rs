//! The `doctor` command: lists what distorts measurements on this machine and what is not permitted, with remedies.
//!
//! Collects facts and checks, has `measure::doctor` judge them, and writes the findings. Changes nothing.

use super::output::tables;
use super::terminal::screen;
use anyhow::Result;
use measure::doctor::{Finding, State, findings, verdict};
use measure::session::{RunOptions, Session, Sides, add_facts};
use model::Host;
use report::{Cell, Columns, Format, Style, Table, write_table};
use std::io::Write;
use sys::Sources;
use sys::checks::checks;
use sys::host::{facts, file_system};
use sys::taxes::taxes;

/// List what distorts measurements on this machine or is not permitted, with remedies.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  syscost doctor\n  syscost doctor --format csv")]
pub struct DoctorArgs {
    /// Output format
    #[arg(long, value_parser = tables(), default_value = "text")]
    pub format: Format,
}

/// Prints the findings. It has no failing status: whether a finding matters depends on the measurement.
pub fn run(args: &DoctorArgs, out: &mut dyn Write) -> Result<()> {
    let sources = Sources::default();
    let host = host(&sources);
    let findings = findings(&host, &checks(&sources));
    write_table(&table(&findings), args.format, screen(), out)
}

/// With the clock's cost and step, which stay unknown if no probe can be started.
fn host(sources: &Sources) -> Host {
    let session = Session::open(RunOptions::default(), Sides::One);
    let mut host = match &session {
        Ok(session) => session.host.clone(),
        Err(_) => Host {
            taxes: taxes(sources),
            ..facts(sources, None)
        },
    };
    host.file_system = file_system(&std::env::temp_dir());
    if let Ok(Ok(facts)) = session.map(|mut session| session.probe_facts()) {
        add_facts(&mut host, std::iter::once(&facts));
    }
    host
}

fn table(findings: &[Finding]) -> Table {
    Columns::new(findings)
        .same("what", |f| &f.subject)
        .left("state", |f| Cell::styled(f.state.name(), style(f.state)))
        .field("state", |f| f.state.name())
        .same("found", |f| &f.observation)
        .wrapping()
        .same("advice", |f| &f.advice)
        .wrapping()
        .table()
        .titled(verdict(findings))
}

fn style(state: State) -> Style {
    match state {
        State::Good => Style::Good,
        State::Notice => Style::Plain,
        State::Forbidden => Style::Warning,
        State::Problem => Style::Bad,
    }
}
