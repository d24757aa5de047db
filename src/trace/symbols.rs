//! Names for the addresses of user stacks: from the symbol tables of mapped ELF files, and from the maps that compilers at run
//! time write for perf (`/tmp/perf-PID.map`). A tracer that records stacks calls it, while the processes live.
//!
//! Not here: unwinding. Stacks come from the kernel, which follows frame pointers. Functions that were inlined have no frame.

use crate::kernel::open;
use object::elf::{PT_LOAD, STT_GNU_IFUNC};
use object::read::elf::{ElfFile, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSymbol, SymbolFlags, SymbolKind};
use std::collections::HashMap;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Files above this size are not read: their functions stay addresses.
const LARGEST: u64 = 1 << 30;

/// What a frame is called that nothing is known of.
pub const UNKNOWN: &str = "[unknown]";

/// The names of functions in processes, each by its PID and a number that tells its programs apart, and in the files that they have mapped.
#[derive(Default)]
pub struct Symbols {
    processes: HashMap<(u32, u32), Process>,
    files: HashMap<PathBuf, Rc<Functions>>,
}

/// What a process has mapped.
#[derive(Default)]
struct Process {
    /// Executable mappings, ascending.
    mappings: Vec<Mapping>,
    /// Functions that were compiled at run time.
    compiled: Functions,
}

/// A part of a file, or of no file, in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    path: String,
}

/// Functions, ascending by address, and where a file is loaded.
#[derive(Default)]
struct Functions {
    /// Address, size and name.
    all: Vec<(u64, u64, String)>,
    /// File offset, size in the file, and address of what is loaded.
    segments: Vec<(u64, u64, u64)>,
}

impl Symbols {
    /// Notes what `pid` has mapped now. Call it while the process lives, and again after it loaded more; of a process that
    /// has ended, the last note counts.
    pub fn note(&mut self, pid: u32, program: u32) {
        let Ok(maps) = fs::read_to_string(format!("/proc/{pid}/maps")) else { return };
        let mappings: Vec<Mapping> = maps.lines().filter_map(mapping).collect();
        // One that has ended and is not reaped has none.
        if mappings.is_empty() {
            return;
        }
        for path in mappings.iter().map(|mapping| &mapping.path).filter(|path| path.starts_with('/')) {
            self.read_file(pid, Path::new(path));
        }
        let compiled = Functions::of_perf_map(&perf_map(pid));
        self.processes.insert((pid, program), Process { mappings, compiled });
    }

    /// The file as the process sees it, which may have another root.
    fn read_file(&mut self, pid: u32, path: &Path) {
        if self.files.contains_key(path) {
            return;
        }
        let seen = format!("/proc/{pid}/root{}", path.display());
        self.files.insert(path.to_path_buf(), Rc::new(Functions::of_file(&small(&seen))));
    }

    /// The functions of a stack of `pid`, the outermost first. `addresses` begin with the innermost, as the kernel gives
    /// them; all but that are return addresses.
    pub fn frames(&self, pid: u32, program: u32, addresses: &[u64]) -> Vec<String> {
        let Some(process) = self.processes.get(&(pid, program)) else { return vec![UNKNOWN.to_string()] };
        // A call may be the last instruction of its function.
        let inside = |(i, address): (usize, &u64)| if i == 0 { *address } else { address.saturating_sub(1) };
        let names = addresses.iter().enumerate().map(|each| self.name(process, inside(each)));
        let mut names: Vec<String> = names.collect();
        names.reverse();
        names
    }

    fn name(&self, process: &Process, address: u64) -> String {
        if let Some(name) = process.compiled.at(address) {
            return name.to_string();
        }
        let at = process.mappings.partition_point(|mapping| mapping.end <= address);
        let Some(mapping) = process.mappings.get(at).filter(|mapping| mapping.start <= address) else {
            return UNKNOWN.to_string();
        };
        let offset = address - mapping.start + mapping.offset;
        let functions = self.files.get(Path::new(&mapping.path));
        match functions.and_then(|functions| functions.at(functions.address(offset)?)) {
            Some(name) => name.to_string(),
            None if mapping.path.is_empty() => UNKNOWN.to_string(),
            None => format!("{}+{offset:#x}", mapping.path.rsplit('/').next().unwrap_or_default()),
        }
    }
}

impl Functions {
    /// Those of an ELF file of either class; none if it is no such file.
    fn of_file(image: &[u8]) -> Functions {
        use object::elf::{FileHeader32, FileHeader64};
        let wide = ElfFile::<FileHeader64<Endianness>>::parse(image).map(|elf| Functions::of_elf(&elf));
        let narrow = || ElfFile::<FileHeader32<Endianness>>::parse(image).map(|elf| Functions::of_elf(&elf));
        wide.or_else(|_| narrow()).unwrap_or_default()
    }

    fn of_elf<H: FileHeader<Endian = Endianness>>(elf: &ElfFile<'_, H>) -> Functions {
        let symbols = elf.symbols().chain(elf.dynamic_symbols()).filter(is_function);
        let named = symbols.filter(|symbol| symbol.address() > 0).filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| !name.is_empty())?;
            Some((symbol.address(), symbol.size(), name.to_string()))
        });
        let endian = elf.endian();
        let loaded = elf.elf_program_headers().iter().filter(|header| header.p_type(endian) == PT_LOAD);
        let segments = loaded.map(|header| {
            (header.p_offset(endian).into(), header.p_filesz(endian).into(), header.p_vaddr(endian).into())
        });
        Functions { segments: segments.collect(), ..Functions::sorted(named.collect()) }
    }

    /// Lines of an address, a size and a name (linux, tools/perf/Documentation/jit-interface.txt).
    fn of_perf_map(text: &str) -> Functions {
        let hex = |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).ok();
        let line = |line: &str| {
            let mut words = line.splitn(3, ' ');
            Some((hex(words.next()?)?, hex(words.next()?)?, words.next()?.trim().to_string()))
        };
        Functions::sorted(text.lines().filter_map(line).collect())
    }

    /// Of several names of one address, the first by the alphabet without leading underscores.
    fn sorted(mut all: Vec<(u64, u64, String)>) -> Functions {
        let plain = |name: &str| name.trim_start_matches('_').to_string();
        all.sort_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| plain(&a.2).cmp(&plain(&b.2))).then_with(|| a.2.len().cmp(&b.2.len()))
        });
        all.dedup_by_key(|(address, ..)| *address);
        Functions { all, segments: Vec::new() }
    }

    /// The function that `address` is in; one without a size goes on to the next.
    fn at(&self, address: u64) -> Option<&str> {
        let next = self.all.partition_point(|(start, ..)| *start <= address);
        let (start, size, name) = self.all.get(next.checked_sub(1)?)?;
        (*size == 0 || address - start < *size).then_some(name)
    }

    /// The address in the file's symbols of what is at `offset` in it.
    fn address(&self, offset: u64) -> Option<u64> {
        let inside = |(start, size, _): &&(u64, u64, u64)| (*start..start.saturating_add(*size)).contains(&offset);
        self.segments.iter().find(inside).map(|(start, _, address)| address.wrapping_add(offset - start))
    }
}

fn is_function<'a>(symbol: &impl ObjectSymbol<'a>) -> bool {
    match symbol.flags() {
        _ if symbol.kind() == SymbolKind::Text => true,
        SymbolFlags::Elf { st_info, .. } => st_info.st_type() == STT_GNU_IFUNC,
        _ => false,
    }
}

/// An executable line of /proc/PID/maps (proc(5)).
fn mapping(line: &str) -> Option<Mapping> {
    let mut words = line.split_ascii_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let is_executable = words.next()?.as_bytes().get(2) == Some(&b'x');
    let hex = |word: &str| u64::from_str_radix(word, 16).ok();
    let offset = hex(words.next()?)?;
    // Device and inode precede the path, which may have spaces and is followed by a mark if the file is gone.
    let path = words.skip(2).collect::<Vec<_>>().join(" ");
    let path = path.trim_end_matches(" (deleted)").to_string();
    is_executable.then_some(Mapping { start: hex(start)?, end: hex(end)?, offset, path })
}

/// The map that a compiler at run time has written for `pid`, under the number that its own namespace gives it.
fn perf_map(pid: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let own = numbers.and_then(|numbers| numbers.split_ascii_whitespace().last()?.parse().ok()).unwrap_or(pid);
    let path = format!("/proc/{pid}/root/tmp/perf-{own}.map");
    String::from_utf8(small(&path)).unwrap_or_default()
}

/// What is in a file of another process; nothing if it is large or no file at all.
fn small(path: &str) -> Vec<u8> {
    let file = open::regular(Path::new(path)).ok();
    let file = file.filter(|file| file.metadata().is_ok_and(|facts| facts.len() <= LARGEST));
    let mut bytes = Vec::new();
    file.map(|file| file.take(LARGEST).read_to_end(&mut bytes)).and_then(Result::ok).map(|_| bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_libraries_have_their_names() {
        let mut symbols = Symbols::default();
        let pid = std::process::id();
        symbols.note(pid, 1);
        let address = |function: *const ()| function as u64;
        // Not our own: the program may be stripped.
        let (inner, outer) = (address(libc::getppid as *const ()), address(libc::umask as *const ()));
        // The innermost comes first, and the others are return addresses.
        let frames = symbols.frames(pid, 1, &[inner, outer + 1]);
        assert_eq!(frames.len(), 2);
        assert!(frames[0].contains("umask") && frames[1].contains("getppid"), "{frames:?}");
        assert_eq!(symbols.frames(pid, 1, &[1]), [UNKNOWN]);
        assert_eq!(symbols.frames(pid, 2, &[outer]), [UNKNOWN]);
    }

    #[test]
    fn mappings_are_those_that_can_be_executed() {
        let line = "7f00-7f80 r-xp 00001000 08:01 42   /usr/lib/a b.so (deleted)";
        let expected = Mapping { start: 0x7f00, end: 0x7f80, offset: 0x1000, path: "/usr/lib/a b.so".into() };
        assert_eq!(mapping(line), Some(expected));
        assert_eq!(mapping(&line.replace("r-xp", "rw-p")), None);
        assert_eq!(mapping("7f00-7f80 r-xp 0 00:00 0").unwrap().path, "");
        assert_eq!(["", "x", "1-2", "z-1 r-xp 0 0 0"].map(mapping), [None, None, None, None]);
    }

    #[test]
    fn functions_compiled_at_run_time_are_those_of_their_map() {
        let found = Functions::of_perf_map("1000 20 LazyCompile:*f /x.js:1\nbroken\n0x1020 10 g\n");
        assert_eq!(
            [0xfff, 0x1000, 0x101f, 0x1020, 0x1030].map(|at| found.at(at)),
            [None, Some("LazyCompile:*f /x.js:1"), Some("LazyCompile:*f /x.js:1"), Some("g"), None]
        );
    }

    #[test]
    fn files_that_are_no_programs_have_no_functions() {
        for image in [&b""[..], b"\x7fELF", b"#!/bin/sh"] {
            assert_eq!(Functions::of_file(image).at(0), None);
        }
    }
}
