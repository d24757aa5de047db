//! A command of the user's in an emulated kernel: its files are gathered by a run on this system, it runs in the guest again and
//! again, and one run is recorded block by block in the kernel.
//!
//! The total is the processor time of its processes, where a nanosecond is an instruction: time in which the guest sleeps, which
//! its clocks see and no instruction fills, is not in it. What was executed in the kernel is counted from the emulator's log, and
//! the rest is user mode.
//!
//! Rejected: the processor time by mode, which kernels divide by timer interrupts, 4 million instructions apart; and a plugin in the
//! emulator, which not each build of it can load.

mod blocks;
mod image;
mod recorded;
mod walk;

use super::kernel::emulator::{Blocks, Emulator};
use anyhow::{Context, Result};
use blocks::Counter;
pub use image::command_files;
use measure::guest::{Observed, Options, Program, Ran};
use measure::runner::Workers;
use model::Failure;
use model::program::{NativeRun, ProgramInKernel, ProgramInKernels, Split, changes};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;
use trace::gather::{Entries, Gathered, Kind, gather};

/// Runs that are counted; one more runs first.
pub const RUNS: usize = 5;
const RUN: Duration = Duration::from_secs(900);

/// Here once, and in each of these kernels. `report` gets lines about what goes on.
pub fn measure(
    workers: &Workers,
    command: &[OsString],
    environments: &[String],
    runs: usize,
    report: &mut dyn FnMut(&str),
) -> Result<ProgramInKernels> {
    report("running the command on this system, to see what it needs");
    let keep = workers.directory().join("kept");
    std::fs::create_dir(&keep).with_context(|| format!("cannot create {}", keep.display()))?;
    let gathered = gather(command, &keep, image::MOST_BYTES, &workers.interrupt)?;
    image::check(&gathered)?;
    let memory_mib = image::memory_mib(gathered.entries.size())?;
    let files = Rc::new(image::command_files(&gathered));
    let mut all = ProgramInKernels {
        command: command
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        native: native(&gathered),
        notes: image::notes(&gathered),
        ..ProgramInKernels::default()
    };
    for environment in environments {
        let lab = Lab {
            workers,
            environment,
            options: Options {
                memory_mib,
                command: Some(Rc::clone(&files)),
                ..Options::default()
            },
            native: &all.native,
            entries: &gathered.entries,
            runs,
        };
        let measured = lab.measure(report);
        all.kernels
            .push(measured.with_context(|| format!("environment {environment}"))?);
    }
    if let [first, .., last] = &all.kernels[..] {
        all.changes = changes(&first.split, &last.split);
    }
    Ok(all)
}

fn native(gathered: &Gathered) -> NativeRun {
    NativeRun {
        status: gathered.ending.status(),
        calls: gathered.calls.clone(),
        files: gathered.entries.iter().count(),
        bytes: gathered.entries.size(),
    }
}

struct Lab<'a> {
    workers: &'a Workers,
    environment: &'a str,
    options: Options,
    native: &'a NativeRun,
    entries: &'a Entries,
    runs: usize,
}

impl Lab<'_> {
    fn measure(&self, report: &mut dyn FnMut(&str)) -> Result<ProgramInKernel> {
        let environment = self.environment;
        report(&format!("{environment}: booting"));
        let mut emulator = self.boot()?;
        let program = emulator.guest.program(RUN)?;
        // It reads files for the first time, and shows whether the command works there.
        self.right(program.run_with_errors()?)?;
        let runs = self.runs(&program)?;
        report(&format!("{environment}: counting and recording"));
        let Observed { calls, paths } = program.count()?;
        let mut ordered = runs.clone();
        ordered.sort_unstable();
        Ok(ProgramInKernel {
            environment: environment.to_string(),
            kernel: emulator.guest.release().to_string(),
            runs,
            instructions: ordered[ordered.len() / 2],
            fewest: ordered[0],
            most: ordered[ordered.len() - 1],
            split: self.split(&mut emulator, &program),
            calls: calls.into_iter().collect(),
            missed: missed(&paths, self.entries),
        })
    }

    fn boot(&self) -> Result<Emulator<'_>, Failure> {
        let marks = recorded::LAUNCHER_MARKS
            .map(|(at, _)| format!(",{at:#x}+1"))
            .concat();
        let filter = format!("{}{marks}", recorded::KERNEL_HALF);
        let options = Options {
            arguments: vec!["-dfilter".into(), filter.into()],
            ..self.options.clone()
        };
        Emulator::boot(self.workers, self.environment, &options)
    }

    /// The instructions, if the run ended as the one on this system.
    fn right(&self, ran: Ran) -> Result<u64, Failure> {
        let Ran {
            status,
            instructions,
            said,
        } = ran;
        if status == self.native.status {
            return Ok(instructions);
        }
        let here = self.native.status;
        let mut text = format!("the command ended with status {status} there and {here} here");
        if !said.is_empty() {
            text = format!("{text}: {}", said.join(" | "));
        }
        Err(Failure::failed(text))
    }

    fn runs(&self, program: &Program) -> Result<Vec<u64>, Failure> {
        (0..self.runs.max(1))
            .map(|_| self.right(program.run()?))
            .collect()
    }

    fn split(&self, emulator: &mut Emulator, program: &Program) -> Split {
        let unknown = |failure: Failure| Split {
            unknown: Some(failure.message),
            ..Split::default()
        };
        self.recorded(emulator, program).unwrap_or_else(unknown)
    }

    fn recorded(&self, emulator: &mut Emulator, program: &Program) -> Result<Split, Failure> {
        let marks = recorded::marks(&emulator.guest)?;
        let (ran, counter) =
            emulator.log(Blocks::ToBranch, Counter::new(marks), || program.run())?;
        recorded::split(emulator, &counter, self.right(ran)?)
    }
}

/// Of the paths that were not found there, those that are here, and were here before the command ran.
fn missed(paths: &[PathBuf], entries: &Entries) -> Vec<String> {
    let is_new =
        |path: &Path| matches!(entries.get(path), Some(entry) if entry.kind == Kind::Absent);
    let is_here = |path: &Path| {
        path.is_absolute() && !entries.is_special(path) && path.symlink_metadata().is_ok()
    };
    let here = paths.iter().filter(|path| is_here(path) && !is_new(path));
    here.map(|path| path.to_string_lossy().into()).collect()
}
