//! The programs of one trace: loaded, attached, read, and gone when this is dropped or the process ends in whatever way,
//! as nothing is pinned and each attachment is a descriptor.

use super::kernel_types::KernelTypes;
use super::layout::{NUMBERS, PATH_MAX, entry, global, task, usage, window};
use super::maps::Map;
use super::programs::{self, Maps, Target};
use super::sys::{self, MapSpec, MapType};
use anyhow::{Context, Result, anyhow, bail};
use nix::errno::Errno;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// What a session is made for.
#[derive(Clone, Debug)]
pub struct Config {
    pub times: bool,
    /// Whether processes are followed that run already.
    pub adopts: bool,
    /// What is to do for each call (`layout::what`): the own gate's numbers first, then those of 32-bit calls.
    pub what: Vec<u8>,
}

/// Distinct keys beyond those in the caches. More are lost, and said to be.
const CALLS: u32 = 32768;
const DURATIONS: u32 = 16384;
const NAMES: u32 = 8192;
const NO_PREALLOC: u32 = 1;
const ZERO: [u8; 4] = [0; 4];
/// Where `recursion_misses` stands in struct bpf_prog_info.
const MISSES: usize = 208;

/// Programs that are attached, and their maps. Programs go first when it is dropped.
pub struct Session {
    links: Vec<OwnedFd>,
    programs: Vec<OwnedFd>,
    maps: Tables,
}

struct Tables {
    cpu: Map,
    tasks: Map,
    calls: Map,
    durations: Map,
    names: Map,
    usage: Map,
    what: Map,
    globals: Map,
    paths: Map,
}

/// What the maps hold, as it is there.
#[derive(Clone, Debug, Default)]
pub struct Raw {
    /// Packed keys with the values of `layout::entry`; a key may stand more than once.
    pub calls: Vec<(u64, [u64; entry::VALUES as usize])>,
    /// Packed call and bucket, with a count; a key may stand more than once.
    pub durations: Vec<(u64, u64)>,
    /// Names by number.
    pub names: Vec<(u32, Vec<u8>)>,
    /// Sums of `layout::usage` by number of name.
    pub usage: Vec<(u32, Vec<u64>)>,
    pub peak_pages: u64,
    pub globals: Globals,
}

/// Counters of `layout::global`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Globals {
    pub lost: u64,
    pub live: u64,
    pub processes: u64,
    pub threads: u64,
    pub nameless: u64,
    pub unseen: u64,
}

impl Session {
    /// Makes maps, loads the programs; attaches nothing yet.
    ///
    /// # Errors
    /// What the kernel refuses; of a program, with the verifier's last words.
    pub fn load(config: &Config) -> Result<Session> {
        let types = KernelTypes::read().map_err(|why| anyhow!("{why}; use --tracer ptrace"))?;
        Session::load_for(&types, config)
    }

    fn load_for(types: &KernelTypes, config: &Config) -> Result<Session> {
        let maps = Tables::create()?;
        maps.what.write(&ZERO, &config.what)?;
        let target = Target {
            types,
            maps: maps.descriptors(),
            exec: [libc::SYS_execve as i32, libc::SYS_execveat as i32],
            times: config.times,
            adopts: config.adopts,
        };
        let written = programs::all(&target).map_err(|why| anyhow!("BPF program {why}"))?;
        let loaded = written.iter().map(|(name, tracepoint, code)| load(name, code, types.tracepoints[*tracepoint]));
        Ok(Session { links: Vec::new(), programs: loaded.collect::<Result<_>>()?, maps })
    }

    /// # Errors
    /// What the kernel refuses.
    pub fn attach(&mut self) -> Result<()> {
        for program in &self.programs {
            self.links.push(sys::attach(program.as_fd()).context("the kernel refuses to attach a BPF program")?);
        }
        Ok(())
    }

    pub fn detach(&mut self) {
        self.links.clear();
    }

    /// Marks a process's first thread, which is not on a processor now: `state::HELD` or `state::LIVE`.
    ///
    /// # Errors
    /// A process that has ended.
    pub fn mark(&self, pidfd: BorrowedFd, mark: i32) -> Result<()> {
        let mut value = vec![0; task::STORED as usize];
        value[..4].copy_from_slice(&mark.to_le_bytes());
        self.maps.tasks.write(&pidfd.as_raw_fd().to_ne_bytes(), &value)?;
        self.count_live(1)
    }

    /// Follows a process that runs from its next call on; false if it is followed already or has ended. A descriptor means
    /// the same process in every PID namespace, and never one that got its number later.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn add_root(&self, pidfd: BorrowedFd) -> Result<bool> {
        let mut value = vec![0; task::STORED as usize];
        value[task::ROOT as usize] = 1;
        self.maps.tasks.insert(&pidfd.as_raw_fd().to_ne_bytes(), &value)
    }

    fn count_live(&self, live: u64) -> Result<()> {
        let mut value = vec![0; global::BYTES as usize];
        let at = global::LIVE as usize;
        value[at..at + 8].copy_from_slice(&live.to_ne_bytes());
        self.maps.globals.write(&ZERO, &value)
    }

    /// # Errors
    /// What the kernel refuses.
    pub fn globals(&self) -> Result<Globals> {
        let words = self.maps.globals.read(&ZERO)?.context("BPF map 'globals' is empty")?;
        let word = |offset: i16| words[offset as usize / 8];
        Ok(Globals {
            lost: word(global::LOST),
            live: word(global::LIVE),
            processes: word(global::PROCESSES),
            threads: word(global::THREADS),
            nameless: word(global::NAMELESS),
            unseen: word(global::UNSEEN),
        })
    }

    /// Forgets all that was counted. Nothing may be traced meanwhile.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn reset(&self) -> Result<()> {
        self.maps.cpu.zero(&ZERO)?;
        self.maps.globals.zero(&ZERO)?;
        [&self.maps.calls, &self.maps.durations, &self.maps.names, &self.maps.usage]
            .into_iter()
            .try_for_each(Map::clear)
    }

    /// Everything that was counted. To be called when detached.
    ///
    /// # Errors
    /// What the kernel refuses.
    pub fn read(&self) -> Result<Raw> {
        let mut raw = Raw { globals: self.globals()?, ..Raw::default() };
        raw.globals.lost += self.missed()?;
        for (key, value) in self.maps.calls.entries()? {
            raw.calls.push((number(&key), std::array::from_fn(|index| value[index])));
        }
        raw.durations = self.maps.durations.entries()?.iter().map(|(key, value)| (number(key), value[0])).collect();
        raw.names = self.maps.names.entries()?.into_iter().map(|(name, number)| (number[0] as u32, name)).collect();
        raw.usage = self.maps.usage.entries()?.into_iter().map(|(key, sums)| (number(&key) as u32, sums)).collect();
        let windows = self.maps.cpu.read(&ZERO)?.context("BPF map 'cpu' is empty")?;
        windows.chunks(window::BYTES as usize / 8).for_each(|window| raw.add_window(window));
        Ok(raw)
    }

    /// Events at which a program was passed over because it ran on that processor already.
    fn missed(&self) -> Result<u64> {
        let mut missed = 0;
        for program in &self.programs {
            let mut info = [0; MISSES + 8];
            sys::program_info(program.as_fd(), &mut info).context("the kernel refuses facts of a BPF program")?;
            missed += number(&info[MISSES..]);
        }
        Ok(missed)
    }
}

impl Raw {
    /// Adds one processor's window.
    fn add_window(&mut self, window: &[u64]) {
        let part = |from: i16, bytes: usize| &window[from as usize / 8..][..bytes / 8];
        let cache = part(window::CACHE, (entry::BYTES as usize) << window::CACHE_BITS);
        let entries = cache.chunks(entry::BYTES as usize / 8).filter(|entry| entry[0] != 0);
        self.calls.extend(entries.map(|entry| (entry[0], std::array::from_fn(|index| entry[index + 1]))));
        let durations = part(window::DURATIONS, 16 << window::DURATION_BITS);
        self.durations.extend(durations.chunks(2).filter(|pair| pair[0] != 0).map(|pair| (pair[0], pair[1])));
        self.peak_pages = self.peak_pages.max(window[window::PEAK_PAGES as usize / 8]);
    }
}

impl Tables {
    fn create() -> Result<Tables> {
        Ok(Tables {
            cpu: array("cpu", MapType::PerCpuArray, window::BYTES)?,
            tasks: task_storage()?,
            calls: hash("calls", 8, 8 * entry::VALUES as u32, CALLS)?,
            durations: hash("durations", 8, 8, DURATIONS)?,
            names: hash("names", 16, 8, NAMES)?,
            usage: hash("usage", 8, usage::BYTES, NAMES)?,
            what: array("what", MapType::Array, 2 * NUMBERS as u32)?,
            globals: array("globals", MapType::Array, global::BYTES)?,
            // Eight bytes more than a path: `programs::depth` writes behind its end.
            paths: array("paths", MapType::PerCpuArray, PATH_MAX as u32 + 8)?,
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

fn array(name: &str, kind: MapType, value_size: u32) -> Result<Map> {
    Map::create(&MapSpec { name, kind, key_size: 4, value_size, max_entries: 1, flags: 0, types: None })
}

/// Its elements are made beforehand: adding one at a tracepoint never asks for memory.
fn hash(name: &str, key_size: u32, value_size: u32, max_entries: u32) -> Result<Map> {
    Map::create(&MapSpec { name, kind: MapType::Hash, key_size, value_size, max_entries, flags: 0, types: None })
}

/// Storage in tasks wants the types of key and value: an int, and an array of 64-bit ones.
fn task_storage() -> Result<Map> {
    let types = sys::load_btf(&storage_btf()).context("the kernel refuses the types of task storage")?;
    Map::create(&MapSpec {
        name: "tasks",
        kind: MapType::TaskStorage,
        key_size: 4,
        value_size: task::STORED,
        max_entries: 0,
        flags: NO_PREALLOC,
        types: Some((types.as_fd(), 1, 3)),
    })
}

/// Types in the kernel's format: 1 a signed int, 2 a 64-bit int, 3 an array of type 2.
fn storage_btf() -> Vec<u8> {
    const INT: u32 = 1 << 24;
    const ARRAY: u32 = 3 << 24;
    let names = b"\0int\0u64\0";
    let types: [u32; 14] = [1, INT, 4, 1 << 24 | 32, 5, INT, 8, 64, 0, ARRAY, 0, 2, 1, task::STORED / 8];
    let length = types.len() as u32 * 4;
    let header: [u32; 6] = [0xeb9f | 1 << 16, 24, 0, length, length, names.len() as u32];
    let words = header.iter().chain(&types).flat_map(|word| word.to_ne_bytes());
    words.chain(names.iter().copied()).collect()
}

/// Loads one program; where the verifier refuses it, once more for its words.
fn load(name: &str, code: &[u64], tracepoint: u32) -> Result<OwnedFd> {
    let error = match sys::load_program(name, code, tracepoint, &mut []) {
        Ok(program) => return Ok(program),
        Err(Errno::EPERM) => bail!("the kernel refuses BPF programs (EPERM): be root, or have CAP_BPF and CAP_PERFMON"),
        Err(error) => error,
    };
    let mut log = vec![0; 1 << 20];
    let _ = sys::load_program(name, code, tracepoint, &mut log);
    bail!("the kernel's verifier refuses BPF program {name} ({error}): {}; use --tracer ptrace", last_words(&log))
}

/// The last lines of the verifier's log that say something, in one.
fn last_words(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("processed")).collect();
    if lines.is_empty() { "no reason given".to_string() } else { lines[lines.len().saturating_sub(4)..].join(" | ") }
}

/// A number in up to 8 bytes of this machine's order, which is little-endian (`available` sees to that).
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verifiers_last_words_are_one_line() {
        assert_eq!(last_words(b"a\nb\n\nc\nd\nR1 invalid\nprocessed 5 insns\n\0junk"), "b | c | d | R1 invalid");
        assert_eq!(last_words(&[0; 8]), "no reason given");
    }

    #[test]
    fn the_verifier_takes_every_variant() {
        if let Err(why) = crate::kernel::bpf::available() {
            eprintln!("SKIPPED: {why}");
            return;
        }
        let mut types = KernelTypes::read().unwrap();
        let what = vec![0; 2 * NUMBERS as usize];
        let casts = [types.cast, None];
        for (times, adopts, cast) in [(true, true, casts[0]), (false, false, casts[0]), (true, true, casts[1])] {
            types.cast = cast;
            Session::load_for(&types, &Config { times, adopts, what: what.clone() }).unwrap();
        }
    }

    #[test]
    fn windows_of_all_processors_are_added() {
        let mut window = vec![0; window::BYTES as usize / 8];
        let entry = window::CACHE as usize / 8 + 8 * 3;
        window[entry..entry + 3].copy_from_slice(&[77, 5, 1]);
        let duration = window::DURATIONS as usize / 8 + 2 * 9;
        window[duration..duration + 2].copy_from_slice(&[88, 4]);
        window[window::PEAK_PAGES as usize / 8] = 12;
        let mut raw = Raw::default();
        raw.add_window(&window);
        raw.add_window(&window);
        assert_eq!(raw.calls, [(77, [5, 1, 0, 0, 0, 0]); 2]);
        assert_eq!((raw.durations, raw.peak_pages), (vec![(88, 4); 2], 12));
    }
}
