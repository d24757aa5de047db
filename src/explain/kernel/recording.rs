//! Records a batch in an emulated kernel, every instruction of it: the only part of `explain::kernel` that talks to a guest.
//!
//! qemu logs each block that it executes, into a pipe, and makes blocks of one instruction meanwhile. All else of the guest
//! goes on as ever, timers too; an iteration that is interrupted loses against those that were not (`cut`).

use super::cut::{self, Cut};
use super::explanation;
use super::flow::Code64;
use super::log::Log;
use super::names::{KERNEL, Names};
use super::tree::tree;
use crate::guest::{self, Channel, Guest, Monitor, Options};
use crate::kernel::process::make_fifo;
use crate::kernel::threads;
use crate::model::explained::{Call, EXPLAINED, KernelExplanation};
use crate::model::{Case, Failure, FailureKind, Planned};
use crate::runner::Workers;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};

pub struct Wanted<'a> {
    pub planned: &'a Planned,
    /// The operation's description.
    pub what: &'a str,
    /// Most iterations that a batch can have, if there is a limit.
    pub limit: Option<u64>,
}

/// What the program of a snippet is called in the guest.
const SNIPPET: &str = "snippet";
/// Iterations of a batch that is recorded, and of one for operations that execute much.
const BATCH: u64 = 8;
const SHORT_BATCH: u64 = 3;
/// Instructions that are kept of a recording.
const MOST: usize = 12_000_000;

/// A guest whose instructions can be recorded.
pub struct Recorder<'a> {
    workers: &'a Workers,
    environment: String,
    /// The program that iterates: the probe, or the snippet's.
    program: PathBuf,
    guest: Guest,
    monitor: Monitor,
    /// What the emulator logs to.
    pipe: PathBuf,
}

impl<'a> Recorder<'a> {
    /// Boots the guest of `environment`, whose name may have boot parameters: `linux-6.1 audit=1`. Operations are recorded in it,
    /// or one snippet.
    ///
    /// # Errors
    /// Why there is no such guest, or the compiler's message about the snippet.
    pub fn boot(workers: &'a Workers, environment: &str, snippet: Option<&Case>) -> Result<Recorder<'a>, Failure> {
        let program = snippet.map_or_else(|| workers.probe_of(environment), |case| workers.program_of(case))?;
        let programs = snippet.iter().map(|_| (SNIPPET.to_string(), program.clone())).collect();
        let socket = workers.directory().join("monitor");
        let _ = std::fs::remove_file(&socket);
        let options = Options { arguments: Monitor::arguments(&socket), programs, ..Options::default() };
        let guest = Guest::boot(workers, environment, &options)?;
        let monitor = Monitor::connect(&socket, workers.timeout)?;
        let pipe = workers.directory().join("executed");
        Ok(Recorder { workers, environment: environment.to_string(), program, guest, monitor, pipe })
    }

    /// Records one iteration.
    ///
    /// # Errors
    /// The operation's own failure, or that of the guest.
    pub fn explain(&mut self, wanted: &Wanted) -> Result<KernelExplanation, Failure> {
        let case = &wanted.planned.case;
        let greeting = case.language.as_ref().map(|_| format!("run {SNIPPET}"));
        let channel = self.guest.channel(&greeting.unwrap_or_else(|| Workers::greeting(case)))?;
        let limit = wanted.limit.unwrap_or(u64::MAX);
        let counted = self.counted(&channel, limit)?;
        let names = self.program_names()?;
        let ((iteration, iterations), mut notes) = self.cut(&channel, &names, limit)?;
        let pages: BTreeSet<u64> = iteration.iter().map(|address| address & !(PAGE - 1)).collect();
        let code = self.code(&pages)?;
        let names = self.kernel_names(names, &pages)?;
        if names.lacks_kernel() && pages.last().is_some_and(|page| *page >= KERNEL) {
            notes.push("the kernel does not tell its functions' names (built without CONFIG_KALLSYMS)".to_string());
        }
        let operation = Case { params: BTreeMap::new(), ..case.clone() }.to_string();
        let tree = tree(&iteration, &names, &|address| code.step(address));
        let tree = Call { name: operation.clone(), ..tree };
        notes.extend(explanation::notes(tree.total, counted, &iterations));
        let (groups, functions) = explanation::sums(&tree);
        Ok(KernelExplanation {
            schema: EXPLAINED.to_string(),
            operation,
            what: wanted.what.to_string(),
            params: case.effective_params(),
            environment: self.environment.clone(),
            kernel: self.guest.release().to_string(),
            instructions: tree.total,
            counted,
            iterations,
            groups,
            functions,
            tree,
            notes,
        })
    }

    /// Instructions per iteration as `run` counts them; `None` if a batch has room for one iteration only.
    fn counted(&self, channel: &Channel, limit: u64) -> Result<Option<f64>, Failure> {
        if limit < 2 {
            return Ok(None);
        }
        let counted = guest::count(Some(limit), false, |n, k| channel.request(n, k, self.workers.timeout))?;
        Ok(counted.per_operation())
    }

    fn cut(&mut self, channel: &Channel, names: &Names, limit: u64) -> Result<(Cut, Vec<String>), Failure> {
        let run = channel.facts().get("run").and_then(|run| u64::from_str_radix(run.trim_start_matches("0x"), 16).ok());
        // The loop of a snippet is in its main function.
        let run = run.or_else(|| names.start_of("main"));
        let run = run.ok_or_else(|| failed("the probe does not say where its code is (fact 'run')"))?;
        let code = names.range(run);
        if limit < 2 {
            let trace = self.batch(channel, 1)?.ok_or_else(too_long)?;
            let note = "a batch has only one iteration: its set-up is shown with it";
            return Ok((cut::whole(&trace, &code).ok_or_else(not_found)?, vec![note.to_string()]));
        }
        for n in [BATCH.min(limit), SHORT_BATCH.min(limit)] {
            if let Some(trace) = self.batch(channel, n)? {
                return Ok((cut::cut(&trace, &code, n).ok_or_else(not_found)?, Vec::new()));
            }
        }
        Err(too_long())
    }

    /// What the guest executes from the request for a batch of `n` to its answer; `None` if that is more than is kept.
    fn batch(&mut self, channel: &Channel, n: u64) -> Result<Option<Vec<u64>>, Failure> {
        let reading = self.start_log()?;
        let reply = channel.request(n, 1, self.workers.timeout);
        self.monitor.order("log none")?;
        // Closes the pipe; qemu 7.2 keeps it open otherwise.
        self.monitor.order("logfile /dev/null")?;
        self.one_instruction_a_block("off")?;
        reply?;
        reading.recv_timeout(self.workers.timeout).map_err(|_| failed("the emulator's log does not end"))
    }

    fn start_log(&mut self) -> Result<Receiver<Option<Vec<u64>>>, Failure> {
        let _ = std::fs::remove_file(&self.pipe);
        make_fifo(&self.pipe).map_err(|error| failed(&format!("{}: {error}", self.pipe.display())))?;
        let reading = read_log(&self.pipe)?;
        self.monitor.execute("stop", json!({}))?;
        self.monitor.order(&format!("logfile {}", self.pipe.display()))?;
        self.one_instruction_a_block("on")?;
        self.monitor.order("log exec,nochain")?;
        self.monitor.execute("cont", json!({}))?;
        Ok(reading)
    }

    /// The command's name since qemu 8.1, and the one before.
    fn one_instruction_a_block(&mut self, to: &str) -> Result<(), Failure> {
        let printed = self.monitor.human(&format!("one-insn-per-tb {to}"))?;
        if printed.is_empty() { Ok(()) } else { self.monitor.order(&format!("singlestep {to}")) }
    }

    /// The code on these pages. What cannot be read is not known.
    fn code(&mut self, pages: &BTreeSet<u64>) -> Result<Code64, Failure> {
        let mut code = Code64::default();
        let path = self.workers.directory().join("code");
        for (start, size) in runs(pages) {
            let arguments = json!({"val": start.cast_signed(), "size": size, "filename": path.to_string_lossy()});
            if self.monitor.execute("memsave", arguments).is_ok() {
                let bytes = std::fs::read(&path).map_err(|error| failed(&format!("{}: {error}", path.display())))?;
                code.add(start, bytes);
            }
        }
        let _ = std::fs::remove_file(path);
        Ok(code)
    }

    fn program_names(&self) -> Result<Names, Failure> {
        let (mut names, path) = (Names::default(), &self.program);
        let bytes = std::fs::read(path).map_err(|error| failed(&format!("{}: {error}", path.display())))?;
        let file = object::File::parse(&*bytes).map_err(|error| failed(&format!("{}: {error}", path.display())))?;
        names.add_probe(&file);
        Ok(names)
    }

    fn kernel_names(&self, mut names: Names, pages: &BTreeSet<u64>) -> Result<Names, Failure> {
        let numbers: Vec<u64> = pages.iter().filter(|page| **page >= KERNEL).map(|page| page / PAGE).collect();
        self.guest.functions(&numbers)?.iter().for_each(|(address, name)| names.add(*address, name));
        Ok(names)
    }
}

const PAGE: u64 = 4096;

/// Pages that follow each other, as start and size.
fn runs(pages: &BTreeSet<u64>) -> Vec<(u64, u64)> {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for page in pages {
        match runs.last_mut() {
            Some((start, size)) if start.wrapping_add(*size) == *page => *size += PAGE,
            _ => runs.push((*page, PAGE)),
        }
    }
    runs
}

/// Reads the log until the emulator closes it, in a thread: the emulator waits while nobody reads.
fn read_log(pipe: &Path) -> Result<Receiver<Option<Vec<u64>>>, Failure> {
    let (sender, receiver) = mpsc::channel();
    let pipe = pipe.to_path_buf();
    threads::start(move || {
        let Ok(file) = File::open(&pipe) else { return };
        let mut reader = BufReader::with_capacity(1 << 16, file);
        let (mut log, mut line) = (Log::new(MOST), Vec::new());
        while reader.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            log.line(&String::from_utf8_lossy(&line));
            line.clear();
        }
        // Nobody waits any more after a failure.
        let _ = sender.send(log.addresses());
    })
    .map_err(|error| failed(&error.to_string()))?;
    Ok(receiver)
}

fn failed(text: &str) -> Failure {
    Failure::new(FailureKind::Failed, text)
}

fn too_long() -> Failure {
    failed(&format!("an iteration executes too many instructions to be shown: more than {} million", MOST / 1_000_000))
}

fn not_found() -> Failure {
    failed("the operation's loop was not found among the instructions that the emulator logged")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_follow_each_other_are_read_at_once() {
        let pages = BTreeSet::from([0x1000, 0x2000, 0x4000, 0xffff_ffff_ffff_f000]);
        assert_eq!(runs(&pages), [(0x1000, 0x2000), (0x4000, 0x1000), (0xffff_ffff_ffff_f000, 0x1000)]);
    }
}
