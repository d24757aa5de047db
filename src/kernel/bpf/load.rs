//! The loaded programs of one trace and their maps. Nothing is pinned and each attachment is a file descriptor, so they
//! are gone when this is dropped or the process ends, however it ends.

use super::kernel_types::KernelTypes;
use super::layout::{Counted, Globals, NUMBERS, PATH_MAX, Task, Window};
use super::maps::{Map, MapSpec, MapType, Plain};
use super::programs::{self, Maps, ProgramSpec};
use super::rows::{self, NameBytes, Raw};
use super::sys;
use crate::kernel::usage::Used;
use anyhow::{Context, Result, anyhow, bail};
use nix::errno::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use zerocopy::FromZeros;

/// What the programs are loaded for.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whether calls are timed.
    pub times: bool,
    /// Whether processes that already run are traced.
    pub adopts: bool,
    /// What to do for each call (`layout::what`): the native numbers first, then those of 32-bit calls.
    pub what: What,
}

/// One byte per call number and gate: the whole of map `what`.
pub type What = [u8; 2 * NUMBERS as usize];
/// Eight bytes longer than a path: `programs::depth` pads the path.
type PathBytes = [u8; PATH_MAX as usize + 8];

/// Distinct keys beyond those in the caches. Any more are lost, and counted as such.
const CALLS: u32 = 32768;
const DURATIONS: u32 = 16384;
const NAMES: u32 = 8192;
const NO_PREALLOC: u32 = 1;
/// The one key of an array.
const ONLY: u32 = 0;

/// Programs and their maps. The attachments are dropped first.
pub struct Programs {
    links: Vec<OwnedFd>,
    programs: Vec<OwnedFd>,
    maps: Tables,
}

struct Tables {
    cpu: Map<u32, Window>,
    /// By process file descriptor.
    tasks: Map<i32, Task>,
    calls: Map<u64, Counted>,
    durations: Map<u64, u64>,
    names: Map<NameBytes, u64>,
    usage: Map<u64, Used>,
    what: Map<u32, What>,
    globals: Map<u32, Globals>,
    paths: Map<u32, PathBytes>,
}

impl Programs {
    /// Creates the maps and loads the programs; attaches nothing yet.
    ///
    /// # Errors
    /// What the kernel refuses; for a program, with the end of the verifier's log.
    pub fn load(config: &Config) -> Result<Programs> {
        let types = KernelTypes::read().map_err(|why| anyhow!("{why}; use --tracer ptrace"))?;
        Programs::load_for(&types, config)
    }

    fn load_for(types: &KernelTypes, config: &Config) -> Result<Programs> {
        let maps = Tables::create()?;
        maps.what.set(&ONLY, &config.what)?;
        let target = ProgramSpec { types, maps: maps.descriptors(), times: config.times, adopts: config.adopts };
        let written = programs::all(&target).map_err(|why| anyhow!("BPF program {why}"))?;
        let loaded = written.iter().map(|(name, tracepoint, code)| load(name, code, types.tracepoints[*tracepoint]));
        Ok(Programs { links: Vec::new(), programs: loaded.collect::<Result<_>>()?, maps })
    }

    /// Attaches all programs to their tracepoints.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn attach(&mut self) -> Result<()> {
        for program in &self.programs {
            self.links.push(sys::attach(program.as_fd()).context("the kernel refuses to attach a BPF program")?);
        }
        Ok(())
    }

    /// Detaches all programs; what they counted stays.
    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// Sets the state of a process's first thread, which must be off the CPU: `state::HELD` or `state::LIVE`.
    ///
    /// # Errors
    /// What the kernel refuses, e.g. because the process has ended.
    pub fn mark(&self, pidfd: BorrowedFd, mark: i32) -> Result<()> {
        let task = Task { state: u64::from(mark.cast_unsigned()), ..Task::new_zeroed() };
        self.maps.tasks.set(&pidfd.as_raw_fd(), &task)?;
        self.maps.globals.set(&ONLY, &Globals { live: 1, ..Globals::default() })
    }

    /// Traces a running process from its next call on; false if it is already traced or has ended. A file descriptor
    /// means the same process in every PID namespace, and never a later one that reuses its PID.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn add_root(&self, pidfd: BorrowedFd) -> Result<bool> {
        self.maps.tasks.insert(&pidfd.as_raw_fd(), &Task { root: 1, ..Task::new_zeroed() })
    }

    /// The counters as they are now.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn globals(&self) -> Result<Globals> {
        self.maps.globals.get(&ONLY)?.context("BPF map 'globals' is empty")
    }

    /// Resets everything that was counted. Nothing may be traced meanwhile.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn reset(&self) -> Result<()> {
        self.maps.cpu.set(&ONLY, &Window::new_zeroed())?;
        self.maps.globals.set(&ONLY, &Globals::default())?;
        self.maps.calls.clear()?;
        self.maps.durations.clear()?;
        self.maps.names.clear()?;
        self.maps.usage.clear()
    }

    /// Everything that was counted. Call it after `detach`.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn read(&self) -> Result<Raw> {
        let mut raw = Raw { globals: self.globals()?, ..Raw::default() };
        raw.globals.lost += self.missed()?;
        for (packed, counted) in self.maps.calls.entries()? {
            raw.add_call(packed, counted);
        }
        for (packed, calls) in self.maps.durations.entries()? {
            raw.add_durations(packed, calls);
        }
        let names = self.maps.names.entries()?.into_iter();
        raw.names = names.map(|(name, number)| (number as u32, rows::process_name(&name))).collect();
        raw.usage = self.maps.usage.entries()?.into_iter().map(|(number, used)| (number as u32, used)).collect();
        let windows = self.maps.cpu.get_all(&ONLY)?.context("BPF map 'cpu' is empty")?;
        windows.iter().for_each(|window| raw.add_window(window));
        Ok(raw)
    }

    /// Events that a program missed because it was already running on that CPU.
    fn missed(&self) -> Result<u64> {
        let misses = self.programs.iter().map(|program| sys::recursion_misses(program.as_fd()));
        misses.sum::<Result<u64, Errno>>().context("the kernel does not report the misses of a BPF program")
    }
}

impl Tables {
    fn create() -> Result<Tables> {
        Ok(Tables {
            cpu: array("cpu", MapType::PerCpuArray)?,
            tasks: task_storage()?,
            calls: hash("calls", CALLS)?,
            durations: hash("durations", DURATIONS)?,
            names: hash("names", NAMES)?,
            usage: hash("usage", NAMES)?,
            what: array("what", MapType::Array)?,
            globals: array("globals", MapType::Array)?,
            paths: array("paths", MapType::PerCpuArray)?,
        })
    }

    fn descriptors(&self) -> Maps {
        Maps {
            cpu: self.cpu.fd(),
            tasks: self.tasks.fd(),
            calls: self.calls.fd(),
            durations: self.durations.fd(),
            names: self.names.fd(),
            usage: self.usage.fd(),
            what: self.what.fd(),
            globals: self.globals.fd(),
            paths: self.paths.fd(),
        }
    }
}

fn array<V: Plain>(name: &'static str, kind: MapType) -> Result<Map<u32, V>> {
    Map::create(&MapSpec { name, kind, max_entries: 1, flags: 0, types: None })
}

/// Preallocated: inserting an entry at a tracepoint never allocates memory.
fn hash<K: Plain, V: Plain>(name: &'static str, max_entries: u32) -> Result<Map<K, V>> {
    Map::create(&MapSpec { name, kind: MapType::Hash, max_entries, flags: 0, types: None })
}

/// Task storage requires BTF of key and value: an int, and an array of 64-bit integers.
fn task_storage() -> Result<Map<i32, Task>> {
    let types = sys::load_btf(&storage_btf()).context("the kernel refuses the types of task storage")?;
    let types = Some((types.as_fd(), 1, 3));
    Map::create(&MapSpec { name: "tasks", kind: MapType::TaskStorage, max_entries: 0, flags: NO_PREALLOC, types })
}

/// Types in the kernel's format: 1 a signed int, 2 a 64-bit int, 3 an array of type 2.
fn storage_btf() -> Vec<u8> {
    const INT: u32 = 1 << 24;
    const ARRAY: u32 = 3 << 24;
    let names = b"\0int\0u64\0";
    let types: [u32; 14] = [1, INT, 4, 1 << 24 | 32, 5, INT, 8, 64, 0, ARRAY, 0, 2, 1, size_of::<Task>() as u32 / 8];
    let length = types.len() as u32 * 4;
    let header: [u32; 6] = [0xeb9f | 1 << 16, 24, 0, length, length, names.len() as u32];
    let words = header.iter().chain(&types).flat_map(|word| word.to_ne_bytes());
    words.chain(names.iter().copied()).collect()
}

/// Loads one program; if the verifier rejects it, once more to get its log.
fn load(name: &str, code: &[u64], tracepoint: u32) -> Result<OwnedFd> {
    let error = match sys::load_program(name, code, tracepoint, &mut []) {
        Ok(program) => return Ok(program),
        Err(Errno::EPERM) => {
            bail!("the kernel refuses BPF programs (EPERM): run as root or with CAP_BPF and CAP_PERFMON")
        }
        Err(error) => error,
    };
    let mut log = vec![0; 1 << 20];
    let _ = sys::load_program(name, code, tracepoint, &mut log);
    bail!("the kernel's verifier refuses BPF program {name} ({error}): {}; use --tracer ptrace", log_tail(&log))
}

/// The last lines of the verifier's log that say something, joined.
fn log_tail(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("processed")).collect();
    if lines.is_empty() { "no reason given".to_string() } else { lines[lines.len().saturating_sub(4)..].join(" | ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tail_of_the_verifiers_log_is_one_line() {
        assert_eq!(log_tail(b"a\nb\n\nc\nd\nR1 invalid\nprocessed 5 insns\n\0junk"), "b | c | d | R1 invalid");
        assert_eq!(log_tail(&[0; 8]), "no reason given");
    }

    #[test]
    fn the_verifier_takes_every_variant() {
        if let Err(why) = crate::kernel::bpf::available() {
            eprintln!("SKIPPED: {why}");
            return;
        }
        let mut types = KernelTypes::read().unwrap();
        let what = What::new_zeroed();
        let casts = [types.cast, None];
        for (times, adopts, cast) in [(true, true, casts[0]), (false, false, casts[0]), (true, true, casts[1])] {
            types.cast = cast;
            Programs::load_for(&types, &Config { times, adopts, what }).unwrap();
        }
    }
}
