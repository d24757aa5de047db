//! `syscost explain --env linux-6.1 -- COMMAND`: a command in emulated kernels.

use super::ExplainArgs;
use super::kernel::{check_image, is_emulated};
use crate::error::{bail_usage, usage};
use crate::messages::note;
use crate::terminal::screen;
use anyhow::Result;
use explain::program::{RUNS, measure};
use measure::runner::Environment;
use measure::session::{RunOptions, Session, Sides};
use model::program::ProgramInKernels;
use report::{program_document, write_answer};
use std::ffi::OsString;
use std::io::Write;
use std::time::Duration;
use sys::affinity::Wanted;

/// How long a guest may take for one answer, but for a run of the command.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Runs the command in each emulated kernel and prints tables of its instructions.
pub fn run(args: &ExplainArgs, environments: &[String], out: &mut dyn Write) -> Result<()> {
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
    let kernels = counted(&args.command, environments, args.cpu.unwrap_or_default())?;
    write_answer(
        &kernels,
        || program_document(&kernels, args.kernels.all),
        args.format,
        screen(),
        out,
    )
}

/// The instructions of the command in each environment. It runs here once, to find its files.
pub fn counted(
    command: &[OsString],
    environments: &[String],
    cpu: Wanted,
) -> Result<ProgramInKernels> {
    usage(environments.iter().try_for_each(|name| check_machine(name)))?;
    let options = RunOptions {
        cpu,
        timeout: TIMEOUT,
        verify: false,
        ..RunOptions::default()
    };
    let session = usage(Session::open(options, Sides::One))?;
    let workers = &session.workers;
    measure(workers, command, environments, RUNS, &mut note::<str>)
}

/// The only architecture whose kernels can run this machine's programs, and whose kernel entry points are known.
const MACHINE: &str = "x86_64";

fn check_machine(name: &str) -> Result<()> {
    let machine = Environment::find(name)?.machine;
    if machine.is_some_and(|machine| machine != MACHINE) {
        bail_usage!("--env {name}: a command is explained in a kernel for {MACHINE} only");
    }
    check_image(name)
}
