//! Functions of Python: the places in an interpreter's memory of the code that it executes (`bpf/python.h`), and the lines of
//! instructions.

use object::elf::{FileHeader64, SHT_DYNSYM};
use object::read::elf::{FileHeader, Sym};
use object::{Endianness, ReadRef};
use std::fs::File;
use std::iter::successors;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use sys::bpf::{PYTHON_FIELDS, Python, Script};
use zerocopy::FromZeros;

/// Offsets in the order of `enum python_field`, from pycore_runtime.h, pycore_interp.h, cpython/pystate.h and pycore_frame.h; and of the
/// instructions in PyCodeObject.
pub struct Version {
    name: &'static str,
    pub at: [u16; PYTHON_FIELDS],
    instructions: u64,
}

impl Version {
    /// Of an instruction in the code object at `code`, in bytes.
    pub fn offset_of(&self, instruction: u64, code: u64) -> Option<u64> {
        instruction.checked_sub(code.checked_add(self.instructions)?)
    }
}

static VERSIONS: [Version; 4] = [
    Version {
        name: "3.11",
        at: [40, 16, 8, 160, 56, 8, 48, 32, 56, 72, 48, 0],
        instructions: 184,
    },
    Version {
        name: "3.12",
        at: [40, 72, 8, 144, 56, 0, 8, 0, 56, 68, 40, 0],
        instructions: 192,
    },
    Version {
        name: "3.13",
        at: [632, 7344, 8, 160, 0, 72, 8, 0, 56, 68, 40, 0],
        instructions: 200,
    },
    Version {
        name: "3.14",
        at: [808, 7344, 8, 160, 0, 72, 8, 0, 56, 68, 40, 0],
        instructions: 208,
    },
];

/// The version by the name of a program or library, such as `python3.11` or `libpython3.12.so.1.0`; `None` if its offsets are not known.
pub fn version(file: &str) -> Option<&'static Version> {
    let name = file.strip_prefix("lib").unwrap_or(file);
    let name = name.strip_prefix("python")?;
    let name = name.split_once(".so").map_or(name, |(name, _)| name);
    VERSIONS.iter().find(|version| version.name == name)
}

/// The address of `_PyRuntime`, as the file numbers addresses.
pub fn runtime<'a, R: ReadRef<'a>>(data: R) -> Option<u64> {
    let header = FileHeader64::<Endianness>::parse(data).ok()?;
    let endian = header.endian().ok()?;
    let sections = header.sections(endian, data).ok()?;
    let symbols = sections.symbols(endian, data, SHT_DYNSYM).ok()?;
    let mut all = symbols.iter();
    all.find(|symbol| symbol.name(endian, symbols.strings()) == Ok(b"_PyRuntime"))
        .map(|symbol| symbol.st_value(endian))
        .filter(|address| *address > 0)
}

pub struct Function {
    pub name: Arc<str>,
    pub file: Arc<str>,
    first_line: i64,
    lines: Vec<u8>,
    pub is_library: bool,
}

/// The bit for ASCII in the state of a text. From bit 0 on: interned (2), kind (3), compact, ASCII.
const ASCII: u32 = 1 << 6;

/// A file without its directory. The one of `__init__.py` is the module.
fn short(path: &str) -> &str {
    let mut from_end = path.rmatch_indices('/').map(|(at, _)| &path[at + 1..]);
    match from_end.next() {
        Some(name @ "__init__.py") => from_end.next().unwrap_or(name),
        Some(name) => name,
        None => path,
    }
}

impl Function {
    /// A function by what the programs copied; `None` if its names are not ASCII, or its table of lines was cut.
    pub fn new(script: &Script) -> Option<Function> {
        fn text(bytes: &[u8]) -> Option<&str> {
            std::str::from_utf8(bytes.split(|byte| *byte == 0).next()?).ok()
        }

        let path = text(&script.file)?;
        let is_library = path.starts_with('<') && path != "<string>"
            || path.contains("/lib/python3.") && !path.contains("-packages/");
        // Other texts have another layout, so the copied bytes are not theirs.
        if script.states & ASCII == 0 {
            return None;
        }
        Some(Function {
            name: text(&script.name)?.into(),
            file: short(path).into(),
            first_line: script.first_line.into(),
            lines: script.lines.get(..script.length as usize)?.to_vec(),
            is_library,
        })
    }

    /// Such as `load (app.py:12)`; `bytes` is the instruction's offset.
    pub fn location(&self, bytes: u64) -> Option<Arc<str>> {
        let (name, file) = (&self.name, &self.file);
        let line = self.line(bytes)?;
        Some(format!("{name} ({file}:{line})").into())
    }

    /// The line of the instruction at that offset.
    pub fn line(&self, bytes: u64) -> Option<i64> {
        line(self.first_line, &self.lines, bytes / 2)
    }
}

/// The memory of a process that executes Python, as the programs read it too (`bpf/python.h`).
struct Memory<'a> {
    file: &'a File,
    version: &'static Version,
    python: &'a Python,
}

/// `enum python_field`.
#[derive(Clone, Copy)]
enum Field {
    FirstInterpreter,
    LastThread,
    NextThread,
    ThreadNumber,
    Through,
    CurrentFrame,
    Caller,
    Code,
    Instruction,
    FirstLine,
    Characters,
}

/// Bits of a reference that are no part of the object's address, from Python 3.14 on.
const TAGS: u64 = 7;
/// Offsets in code objects, in texts and in bytes that all versions have in common.
const CODE_FILE: u64 = 112;
const CODE_NAME: u64 = 128;
const CODE_LINES: u64 = 136;
const TEXT_STATE: u64 = 32;
const BYTES_SIZE: u64 = 16;
const BYTES_BEGIN: u64 = 32;
/// More threads or frames are not read: the memory may hold anything.
const MOST: usize = 512;

/// The innermost function of a script that a thread executes; `None` if only the language's own library does.
pub fn function_of(
    file: &File,
    version: &'static Version,
    python: &Python,
    thread: u32,
    is_main: bool,
) -> Option<Arc<str>> {
    let memory = Memory {
        file,
        version,
        python,
    };
    let first = memory.frame(thread, is_main)?;
    let frames = successors(Some(first), |frame| memory.field(*frame, Field::Caller));
    let mut functions = frames.take(MOST).filter_map(|frame| memory.function(frame));
    let (function, offset) = functions.find(|(function, _)| !function.is_library)?;
    function.location(offset)
}

impl Memory<'_> {
    fn word(&self, address: u64) -> Option<u64> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, address).ok()?;
        Some(u64::from_ne_bytes(bytes)).filter(|word| *word > 0)
    }

    fn offset(&self, field: Field) -> u64 {
        self.python.at[field as usize].into()
    }

    fn field(&self, object: u64, field: Field) -> Option<u64> {
        self.word(object.checked_add(self.offset(field))?)
    }

    /// The innermost frame of a thread. In a PID namespace numbers differ: there, the main thread's is that of the only thread that Python
    /// knows. Other threads may be native.
    fn frame(&self, thread: u32, is_main: bool) -> Option<u64> {
        let interpreter = self.field(self.python.runtime, Field::FirstInterpreter)?;
        let last = self.field(interpreter, Field::LastThread)?;
        let threads = successors(Some(last), |state| self.field(*state, Field::NextThread));
        let states: Vec<u64> = threads.take(MOST).collect();
        let is_it = |state: &&u64| {
            is_main && states.len() == 1
                || self.field(**state, Field::ThreadNumber) == Some(thread.into())
        };
        let state = *states.iter().find(is_it)?;
        let holder = match self.offset(Field::Through) {
            0 => state,
            _ => self.field(state, Field::Through)?,
        };
        self.field(holder, Field::CurrentFrame)
    }

    /// The function of a frame, and the offset of its instruction.
    fn function(&self, frame: u64) -> Option<(Function, u64)> {
        let code = self.field(frame, Field::Code)? & !TAGS;
        let instruction = self.field(frame, Field::Instruction)?;
        let [path, name, lines] =
            [CODE_FILE, CODE_NAME, CODE_LINES].map(|field| self.word(code.checked_add(field)?));
        let (path, name, lines) = (path?, name?, lines?);
        let mut script = Script::new_zeroed();
        script.first_line = self.field(code, Field::FirstLine)? as u32;
        script.states = (self.word(path.checked_add(TEXT_STATE)?)?
            & self.word(name.checked_add(TEXT_STATE)?)?) as u32;
        script.length = self
            .word(lines.checked_add(BYTES_SIZE)?)?
            .min(script.lines.len() as u64);
        let texts = self.offset(Field::Characters);
        self.read(path.checked_add(texts)?, &mut script.file);
        self.read(name.checked_add(texts)?, &mut script.name);
        self.read(lines.checked_add(BYTES_BEGIN)?, &mut script.lines);
        let function = Function::new(&script)?;
        Some((function, self.version.offset_of(instruction, code)?))
    }

    /// Reads as much as there is.
    fn read(&self, address: u64, to: &mut [u8]) {
        _ = self.file.read_at(to, address);
    }
}

/// The line of a unit by a table of locations (CPython, Objects/locations.md): each entry has a kind, a number of units, and the numbers
/// that its kind needs.
fn line(first: i64, table: &[u8], unit: u64) -> Option<i64> {
    let mut bytes = table.iter().copied();
    let (mut line, mut end) = (first, 0);
    loop {
        let head = bytes.next()?;
        let kind = head >> 3 & 15;
        end += u64::from(head & 7) + 1;
        match kind {
            0..=9 => drop(bytes.next()?),
            10..=12 => {
                line += i64::from(kind - 10);
                bytes.nth(1)?;
            }
            13 => line += signed(&mut bytes)?,
            14 => {
                line += signed(&mut bytes)?;
                for _ in 0..3 {
                    number(&mut bytes)?;
                }
            }
            _ => {}
        }
        if unit < end {
            return if kind == 15 { None } else { Some(line) };
        }
    }
}

/// A number of six bits in each byte, the lowest first, while the seventh bit is set.
fn number(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let mut number = 0;
    for shift in (0..60).step_by(6) {
        let byte = bytes.next()?;
        number |= i64::from(byte & 63) << shift;
        if byte & 64 == 0 {
            return Some(number);
        }
    }
    None
}

fn signed(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let number = number(bytes)?;
    let half = number >> 1;
    Some(if number & 1 == 0 { half } else { -half })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_table_of_locations() {
        // Entries of one unit each: line 7, 9 (by a number), none, 8 in the long form.
        let table = [0x80, 8, 0xe8, 4, 0xf8, 0xf0, 3, 0, 1, 1];
        let lines = [0, 1, 2, 3, 4].map(|unit| line(7, &table, unit));
        assert_eq!(lines, [Some(7), Some(9), None, Some(8), None]);
    }

    #[test]
    fn a_version_is_that_of_the_program_or_library() {
        let names = [
            "python3.11",
            "libpython3.13.so.1.0",
            "python3.13t",
            "python3",
            "libc.so.6",
        ];
        let versions = names.map(|name| Some(version(name)?.name));
        assert_eq!(versions, [Some("3.11"), Some("3.13"), None, None, None]);
    }
}
