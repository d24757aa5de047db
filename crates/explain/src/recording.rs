//! Records a batch of one iteration and a batch of two in a running probe: the only part of `explain` that talks to a process.

use super::symbols::Symbols;
use measure::proof::Watchdog;
use measure::runner::{Child, Workers};
use model::{Failure, Planned};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use sys::open;
use sys::process::kill_group;
use sys::step::{Bits, MOST_TIME, Memory, StepError, Stepper};

pub const PROBE: &str = "probe";

pub struct Recording {
    pub run: u64,
    pub one: Vec<u64>,
    /// `None` if a batch can have only one iteration.
    pub two: Option<Vec<u64>>,
    pub memory: Memory,
    pub faults: f64,
    pub probe: PathBuf,
    pub notes: Vec<String>,
}

/// Steps through a batch of one iteration and one of two. The inner error is the reason why the case cannot be recorded.
///
/// # Errors
/// The case's own failure, or its probe ended.
pub fn record(workers: &Workers, planned: &Planned) -> Result<Result<Recording, String>, Failure> {
    let Planned { case, limit, .. } = planned;
    let mut child = workers.start(case, 0)?;
    child.send(&Workers::greeting(case))?;
    let facts = child.ready()?;
    let run = run_address(facts.get("run"));
    let run = run.ok_or_else(|| Failure::crashed(NO_RUN))?;
    // The first request resolves names that are bound lazily: without it, the recording would be one of the dynamic linker.
    child.request(1, 1)?;
    let bits = if facts.get("bits") == Some("32") {
        Bits::B32
    } else {
        Bits::B64
    };
    let Some(probe) = executable(child.pid()) else {
        return Ok(Err(
            "no disassembly: the process that is started is not the one that runs the operation"
                .into(),
        ));
    };
    let mut stepping = Stepping {
        child,
        run,
        memory: Memory {
            bits,
            ..Memory::default()
        },
    };
    let _watchdog = Watchdog::start(
        stepping.child.pid(),
        workers.timeout + 3 * MOST_TIME,
        &workers.interrupt,
    )
    .map_err(|error| Failure::failed(error.to_string()))?;
    // Switching on one CPU takes a microsecond or two; waking an idle one, tens of microseconds in a virtual machine.
    let recording = workers
        .placement
        .on_measuring_cpu(|| stepping.recording(probe, *limit));
    let error = match recording {
        Ok(recording) => return Ok(Ok(recording)),
        Err(error) => error,
    };
    match error.downcast::<StepError>() {
        Ok(error) => {
            // The process is stopped at an arbitrary instruction and must not continue.
            kill_group(stepping.child.pid());
            Ok(Err(format!("no disassembly: {error}")))
        }
        Err(error) => Err(error
            .downcast()
            .unwrap_or_else(|e| Failure::crashed(format!("{e:#}")))),
    }
}

/// The address of the probe's loop from its fact `run`, a hexadecimal number.
pub fn run_address(fact: Option<&str>) -> Option<u64> {
    u64::from_str_radix(fact?.trim_start_matches("0x"), 16).ok()
}

/// The failure of a probe that was built without the fact.
pub const NO_RUN: &str = "the probe does not say where its code is (fact 'run')";

fn executable(pid: u32) -> Option<PathBuf> {
    let path = std::fs::read_link(format!("/proc/{pid}/exe")).ok()?;
    path.file_name()?
        .to_str()?
        .starts_with(PROBE)
        .then_some(path)
}

/// The note on an operation that allows a batch of one iteration only.
pub const SINGLE: &str = "a batch has only one iteration, so its setup is included";

/// The most recordings of a request.
const ATTEMPTS: usize = 6;
/// The number of instructions above which one recording is enough: stepping takes microseconds for each.
const LONG: usize = 20_000;

struct Stepping {
    child: Child,
    run: u64,
    memory: Memory,
}

impl Stepping {
    fn recording(&mut self, probe: PathBuf, limit: Option<u64>) -> anyhow::Result<Recording> {
        let mut recording = Recording {
            run: self.run,
            one: self.shortest(1)?,
            two: None,
            memory: Memory::default(),
            faults: 0.0,
            probe,
            notes: Vec::new(),
        };
        if limit.is_some_and(|limit| limit < 2) {
            recording.notes.push(SINGLE.to_string());
        } else {
            recording.two = Some(self.shortest(2)?);
            recording.faults = self.faults(limit.unwrap_or(u64::MAX))?;
        }
        recording.memory = std::mem::take(&mut self.memory);
        Ok(recording)
    }

    /// Page faults per iteration: the difference of two batches, so that one-time faults cancel.
    fn faults(&mut self, limit: u64) -> anyhow::Result<f64> {
        // Several iterations, since some operations fault only in every few.
        let n = (limit / 2).clamp(1, 16);
        let few = self.child.request(n, 1)?.minor_faults;
        let many = self.child.request(2 * n, 1)?.minor_faults;
        Ok(many.saturating_sub(few) as f64 / n as f64)
    }

    /// The shortest of a few recordings, or the first seen twice in a row: timer ticks occur in between, and code that reads what the
    /// tick writes (a seqlock) then retries.
    fn shortest(&mut self, n: u64) -> anyhow::Result<Vec<u64>> {
        let mut shortest = self.batch(n)?;
        for _ in 1..ATTEMPTS {
            if shortest.len() > LONG {
                break;
            }
            let next = self.batch(n)?;
            // Twice the same length is not chance: interruptions add hundreds of instructions.
            if next.len() == shortest.len() {
                break;
            }
            if next.len() < shortest.len() {
                shortest = next;
            }
        }
        Ok(shortest)
    }

    fn batch(&mut self, n: u64) -> anyhow::Result<Vec<u64>> {
        let mut stepper = Stepper::attach(self.child.pid(), self.memory.bits)?;
        let mut sent = Ok(());
        let trace = stepper.record(self.run, || sent = self.child.send(&format!("{n} 1")))?;
        sent?;
        let addresses: BTreeSet<u64> = trace.iter().copied().collect();
        self.memory
            .read(self.child.pid(), addresses.into_iter())
            .map_err(|error| StepError::Ended(format!("its memory cannot be read: {error}")))?;
        // Before the reply is awaited: a stopped process cannot write it.
        stepper.release()?;
        self.child.reply()?;
        Ok(trace)
    }
}

/// The symbols of all mapped files and of the vDSO. A file that cannot be read has none, and its code is named by offsets.
pub fn symbols(recording: &Recording) -> Symbols {
    let mut symbols = Symbols::new(&recording.memory.mappings);
    let paths: BTreeSet<&str> = recording
        .memory
        .mappings
        .iter()
        .map(|m| m.path.as_str())
        .collect();
    for path in paths {
        let image = match path {
            "[vdso]" => Some(recording.memory.vdso.clone()),
            _ if path.starts_with('/') => open::contents(Path::new(path)).ok(),
            _ => None,
        };
        let label = if recording.probe.to_str() == Some(path) {
            PROBE
        } else {
            path
        };
        let _ = image.map(|image| symbols.add(path, label, &image));
    }
    symbols
}
