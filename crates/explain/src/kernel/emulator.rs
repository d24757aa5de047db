//! An emulated guest whose executed blocks can be logged, and whose memory can be read.
//!
//! qemu logs each block that it executes, into a pipe. Blocks are of one instruction if that is asked for, else they end at a
//! branch: a fifth of the lines, and no order within them is lost.

use super::flow::Code64;
use super::names::failed_at;
use measure::guest::{Guest, Machine, Monitor, Options};
use measure::runner::Workers;
use model::{Counted, Failure};
use serde_json::json;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;
use sys::process::{grow_pipe, make_fifo};
use sys::threads;

pub struct Emulator<'a> {
    workers: &'a Workers,
    machine: Machine,
    pub guest: Guest,
    monitor: Monitor,
    architecture: String,
    pipe: PathBuf,
}

pub trait Sink: Send + 'static {
    fn line(&mut self, line: &str);
}

#[derive(Clone, Copy, PartialEq)]
pub enum Blocks {
    OneInstruction,
    ToBranch,
}

impl<'a> Emulator<'a> {
    pub fn boot(
        workers: &'a Workers,
        environment: &str,
        options: &Options,
    ) -> Result<Emulator<'a>, Failure> {
        let machine = Machine::new(workers, environment, options)?;
        let mut guest = machine.ask(workers, &[])?;
        let monitor = guest
            .monitor
            .take()
            .ok_or_else(|| Failure::failed("its machine is not emulated"))?;
        let architecture = workers.environment(environment)?.machine;
        Ok(Emulator {
            workers,
            machine,
            guest,
            monitor,
            architecture: architecture.unwrap_or_default(),
            pipe: workers.directory().join("executed"),
        })
    }

    /// In a guest of its own, as `run` counts it. This one pauses: it uses its CPU even while it waits.
    pub fn counted(&mut self, case: String) -> Result<Counted, Failure> {
        self.monitor.execute("stop", json!({}))?;
        let guest = self.machine.ask(self.workers, &[case]);
        let counted = guest.and_then(|guest| guest.planned(0));
        self.monitor.execute("cont", json!({}))?;
        Ok(counted?.0)
    }

    pub fn log<S: Sink, T>(
        &mut self,
        blocks: Blocks,
        sink: S,
        run: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<(T, S), Failure> {
        let reading = self.start_log(blocks, sink)?;
        let done = run();
        self.monitor.order("log none")?;
        // Closes the pipe; qemu 7.2 keeps it open otherwise.
        self.monitor.order("logfile /dev/null")?;
        if blocks == Blocks::OneInstruction {
            self.one_instruction_a_block("off")?;
        }
        let done = done?;
        let sink = reading
            .recv_timeout(self.workers.timeout)
            .map_err(|_| Failure::failed("the emulator's log does not end"))?;
        Ok((done, sink))
    }

    fn start_log<S: Sink>(&mut self, blocks: Blocks, sink: S) -> Result<Receiver<S>, Failure> {
        let _ = std::fs::remove_file(&self.pipe);
        make_fifo(&self.pipe).map_err(|error| failed_at(&self.pipe, error))?;
        let reading = read_log(&self.pipe, sink)?;
        self.monitor.execute("stop", json!({}))?;
        self.monitor
            .order(&format!("logfile {}", self.pipe.display()))?;
        if blocks == Blocks::OneInstruction {
            self.one_instruction_a_block("on")?;
        }
        self.monitor.order("log exec,nochain")?;
        self.monitor.execute("cont", json!({}))?;
        Ok(reading)
    }

    /// One name since qemu 8.1, and the one before.
    fn one_instruction_a_block(&mut self, to: &str) -> Result<(), Failure> {
        let printed = self.monitor.human(&format!("one-insn-per-tb {to}"))?;
        if printed.is_empty() {
            Ok(())
        } else {
            self.monitor.order(&format!("singlestep {to}"))
        }
    }

    /// What cannot be read of these pages is left out.
    pub fn code(&mut self, pages: &BTreeSet<u64>) -> Result<Code64, Failure> {
        let mut code = Code64::of(&self.architecture);
        let path = self.workers.directory().join("code");
        for (start, size) in runs(pages) {
            let arguments = json!({"val": start.cast_signed(), "size": size, "filename": path.to_string_lossy()});
            if self.monitor.execute("memsave", arguments).is_ok() {
                let bytes = std::fs::read(&path).map_err(|error| failed_at(&path, error))?;
                code.add(start, bytes);
            }
        }
        let _ = std::fs::remove_file(path);
        Ok(code)
    }

    /// The kernel's functions with their addresses.
    pub fn functions(&self) -> Result<Vec<(u64, String)>, Failure> {
        self.machine.functions(self.workers, &self.guest)
    }
}

pub const PAGE: u64 = 4096;
/// Bytes of the log that wait to be read.
const LOG: usize = 1 << 20;
const GATHER: Duration = Duration::from_millis(1);

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

/// Reads many lines at once: the emulator writes one at a time, and each would wake the reader.
struct Gathering(File);

impl Read for Gathering {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let read = self.0.read(to)?;
        if (1..LOG / 2).contains(&read) {
            std::thread::sleep(GATHER);
        }
        Ok(read)
    }
}

/// Until the emulator closes the log, in a thread: the emulator waits while nobody reads.
fn read_log<S: Sink>(pipe: &Path, mut sink: S) -> Result<Receiver<S>, Failure> {
    let (sender, receiver) = mpsc::channel();
    let pipe = pipe.to_path_buf();
    threads::start(move || {
        let Ok(pipe) = File::open(&pipe) else { return };
        grow_pipe(&pipe, LOG);
        let mut reader = BufReader::with_capacity(LOG, Gathering(pipe));
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(1..)) {
            sink.line(&String::from_utf8_lossy(&line));
            line.clear();
        }
        // Nobody waits any more after a failure.
        let _ = sender.send(sink);
    })
    .map_err(|error| Failure::failed(error.to_string()))?;
    Ok(receiver)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_that_follow_each_other_are_read_at_once() {
        let pages = BTreeSet::from([0x1000, 0x2000, 0x4000, 0xffff_ffff_ffff_f000]);
        assert_eq!(
            runs(&pages),
            [
                (0x1000, 0x2000),
                (0x4000, 0x1000),
                (0xffff_ffff_ffff_f000, 0x1000)
            ]
        );
    }
}
