//! A command of the user's in an emulated kernel: its files are gathered by a run on this system, it runs in the guest again and
//! again, and one run is recorded block by block in the kernel.
//!
//! The total is the processor time of its processes, where a nanosecond is an instruction: time in which the guest sleeps, which
//! its clocks see and no instruction fills, is not in it. What was executed in the kernel and in user mode is counted from the
//! emulator's log.
//!
//! Rejected: user mode as what the kernel leaves of the total, which includes what the launcher and switches between processes execute
//! where no account is exact: hundreds of instructions, and more in one kernel than in another; the processor time by mode, which kernels divide by timer interrupts, 4 million instructions apart; and a plugin in the
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

/// A guest in which the command has run once.
struct Started<'a> {
    emulator: Emulator<'a>,
    program: Program,
    blocks: Blocks,
}

impl Lab<'_> {
    fn measure(&self, report: &mut dyn FnMut(&str)) -> Result<ProgramInKernel> {
        let environment = self.environment;
        report(&format!("{environment}: booting"));
        let Started {
            mut emulator,
            program,
            blocks,
        } = self.start()?;
        let runs = self.runs(&program)?;
        report(&format!("{environment}: counting and recording"));
        let Observed { calls, paths } = program.count()?;
        let mut ordered = runs.clone();
        ordered.sort_unstable();
        Ok(ProgramInKernel {
            environment: environment.to_string(),
            kernel: emulator.guest.release.clone(),
            runs,
            instructions: ordered[ordered.len() / 2],
            fewest: ordered[0],
            most: ordered[ordered.len() - 1],
            split: self.split(&mut emulator, &program, blocks),
            calls: calls.into_iter().collect(),
            missed: missed(&paths, self.entries),
        })
    }

    fn start(&self) -> Result<Started<'_>, Failure> {
        let (started, instructions) = self.boot(Blocks::OneInstruction)?;
        if instructions <= recorded::MOST_BY_ONE {
            return Ok(started);
        }
        drop(started);
        Ok(self.boot(Blocks::ToBranch)?.0)
    }

    fn boot(&self, blocks: Blocks) -> Result<(Started<'_>, u64), Failure> {
        let mut options = self.options.clone();
        if blocks == Blocks::ToBranch {
            options.arguments = vec!["-dfilter".into(), recorded::filter().into()];
        }
        let emulator = Emulator::boot(self.workers, self.environment, &options)?;
        let program = emulator.guest.program(RUN)?;
        // It reads files for the first time, and shows whether the command works there.
        let instructions = self.right(program.run_with_errors()?)?;
        let started = Started {
            emulator,
            program,
            blocks,
        };
        Ok((started, instructions))
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

    fn split(&self, emulator: &mut Emulator, program: &Program, blocks: Blocks) -> Split {
        self.recorded(emulator, program, blocks)
            .unwrap_or_else(|failure| Split {
                unknown: Some(failure.message),
                ..Split::default()
            })
    }

    fn recorded(
        &self,
        emulator: &mut Emulator,
        program: &Program,
        blocks: Blocks,
    ) -> Result<Split, Failure> {
        let functions = emulator.functions()?;
        let marks = recorded::marks(&functions)?;
        let (ran, counter) = emulator.log(blocks, Counter::new(marks), || program.run())?;
        recorded::split(emulator, &functions, &counter, blocks, self.right(ran)?)
    }
}

/// Of the paths that were not found there, those that are here, and were here before the command ran.
fn missed(paths: &[PathBuf], entries: &Entries) -> Vec<String> {
    let is_here = |path: &Path| {
        path.is_absolute() && !entries.is_special(path) && path.symlink_metadata().is_ok()
    };
    paths
        .iter()
        .filter(|path| {
            is_here(path) && !matches!(entries.get(path), Some(entry) if entry.kind == Kind::Absent)
        })
        .map(|path| path.to_string_lossy().into())
        .collect()
}
