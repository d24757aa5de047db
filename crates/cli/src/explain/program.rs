//! `syscost explain --env linux-6.1 -- COMMAND`: a command in emulated kernels.

use super::kernel::is_emulated;
use crate::error::{bail_usage, usage};
use crate::messages::Notes;
use anyhow::{Context, Result};
use explain::program::{Repeats, measure};
use measure::guest;
use measure::runner::Environment;
use measure::session::{RunOptions, Session};
use model::program::ProgramInKernels;
use report::{Format, Screen, program_document, write_answer};
use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;
use sys::affinity::Wanted;

/// How long a guest may take for one answer, but for a run of the command.
const TIMEOUT: Duration = Duration::from_secs(30);

pub fn run(
    (command, environments): (&[OsString], &[String]),
    (cpu, all): (Wanted, bool),
    (format, screen): (Format, Screen),
    out: &mut dyn Write,
) -> Result<()> {
    check(environments)?;
    let found = counted(command, environments, cpu, Notes { quiet: false })?;
    write_answer(
        &found,
        || program_document(&found, all),
        (format, screen),
        out,
    )
}

pub fn counted(
    command: &[OsString],
    environments: &[String],
    cpu: Wanted,
    notes: Notes,
) -> Result<ProgramInKernels> {
    usage(environments.iter().try_for_each(|name| check_machine(name)))?;
    let options = RunOptions {
        cpu,
        timeout: TIMEOUT,
        verify: false,
        ..RunOptions::default()
    };
    let session = usage(Session::open(options))?;
    measure(
        session.workers(),
        command,
        environments,
        Repeats::default(),
        &mut |line: &str| notes.tell(&line),
    )
}

/// The processor whose kernels can run the files of a command, and where the ways into a kernel are known.
const MACHINE: &str = "x86_64";

fn check_machine(name: &str) -> Result<()> {
    let found = Environment::find(name)?;
    if found
        .machine
        .as_deref()
        .is_some_and(|machine| machine != MACHINE)
    {
        bail_usage!("--env {name}: a command is explained in a kernel for {MACHINE} only");
    }
    // Before anything is compiled for it, and before the command runs.
    guest::kernel(&found)
        .map(drop)
        .with_context(|| format!("--env {name}"))
}

fn check(environments: &[String]) -> Result<()> {
    if environments.is_empty() {
        bail_usage!(
            "a command is explained only in an emulated kernel: add --env linux-6.1, for example"
        );
    }
    if let Some(name) = environments.iter().find(|name| !is_emulated(name)) {
        bail_usage!(
            "--env {name}: a command is explained only in an emulated kernel, such as linux-6.1"
        );
    }
    Ok(())
}
