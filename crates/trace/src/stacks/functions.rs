//! The functions and variables of an ELF file, or the functions of a perf map, by address, with names as programmers wrote them.

use super::budget::{Budget, Metered};
use super::image;
use object::elf::{
    FileHeader32, FileHeader64, SHF_EXECINSTR, SHN_UNDEF, SHT_DYNSYM, SHT_SYMTAB, STT_FUNC,
    STT_GNU_IFUNC, STT_NOTYPE, STT_OBJECT,
};
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym};
use object::{Endianness, ReadCache, ReadRef, SectionIndex};
use std::fmt::Write;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use sys::regular;

const LARGEST: u64 = 1 << 30;
/// Longer names are cut: a few bytes of a mangled name can stand for any number.
const LONGEST_NAME: usize = 1024;
const LONGEST_SYMBOL: usize = 4096;

/// The length that a function without a size has at most, if nothing else shows its end.
const UNSIZED: u64 = 4096;
/// The entry point if it has no symbol: its length, a few instructions, and its name.
const START: (u64, &[u8]) = (32, b"_start");

/// Functions and variables in the order of their addresses.
#[derive(Debug, Default)]
pub struct Functions {
    all: Vec<Function>,
    names: Vec<u8>,
}

#[derive(Clone, Copy, Debug)]
struct Function {
    start: u64,
    bytes: u64,
    name: (u32, u32),
}

impl Functions {
    /// Empty if the file is malformed.
    pub fn from_elf<'a, R: ReadRef<'a>>(data: Metered<'a, R>) -> Functions {
        let mut functions = Functions::default();
        functions.read(data, None);
        functions.sorted()
    }

    /// The functions in a perf map: lines of an address, a size and a name (linux, tools/perf/Documentation/jit-interface.txt).
    pub fn from_perf_map(text: Vec<u8>, budget: &Budget) -> Functions {
        fn hex(word: &[u8]) -> Option<u64> {
            let word = std::str::from_utf8(word).ok()?;
            u64::from_str_radix(word.trim_start_matches("0x"), 16).ok()
        }

        let mut functions = Functions::default();
        let mut end = 0;
        for line in text.split(|byte| *byte == b'\n') {
            end += line.len() + 1;
            let mut words = line.splitn(3, |byte| *byte == b' ');
            let (start, bytes) = (words.next().and_then(hex), words.next().and_then(hex));
            if let (Some(start), Some(bytes), Some(name)) = (start, bytes, words.next()) {
                let name = name.trim_ascii_start();
                let at = end - 1 - name.len();
                functions.add(start, bytes, at, name.trim_ascii_end().len(), budget);
            }
        }
        functions.names = text;
        functions.sorted()
    }

    /// Adds the functions of the separate debug file with that build ID, if this user or root has installed one.
    pub fn with_debug_file(mut self, build_id: &[u8], budget: &Budget) -> Functions {
        fn ours(user: u32) -> bool {
            user == 0 || user == nix::unistd::geteuid().as_raw()
        }

        let Some(place) = debug_file(build_id).and_then(|path| regular::place(&path).ok()) else {
            return self;
        };
        let Some((file, _)) = regular::open(&place, LARGEST).filter(|(_, facts)| ours(facts.uid()))
        else {
            return self;
        };
        let data = &ReadCache::new(file);
        self.read(Metered { data, budget }, Some(build_id));
        self.sorted()
    }

    /// Adds the functions of a file; with `build_id`, only if the file has it.
    fn read<'a, R: ReadRef<'a>>(&mut self, data: Metered<'a, R>, build_id: Option<&[u8]>) {
        if self
            .read_elf::<FileHeader64<Endianness>, R>(data, build_id)
            .is_none()
        {
            self.read_elf::<FileHeader32<Endianness>, R>(data, build_id);
        }
    }

    fn read_elf<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(
        &mut self,
        data: Metered<'a, R>,
        build_id: Option<&[u8]>,
    ) -> Option<()> {
        let header = H::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, data).ok()?;
        // A debug file that was not updated with its program would give wrong names.
        if build_id.is_some() && build_id != image::build_id(&sections, endian, data) {
            return None;
        }
        for table in sections
            .iter()
            .filter(|section| matches!(section.sh_type(endian), SHT_SYMTAB | SHT_DYNSYM))
        {
            self.read_table(table, &sections, endian, data);
        }
        let (at, length) = (self.names.len(), START.1.len());
        self.names.extend_from_slice(START.1);
        let start = header.e_entry(endian).into();
        self.add(start, START.0, at, length, data.budget);
        Some(())
    }

    fn read_table<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(
        &mut self,
        table: &H::SectionHeader,
        sections: &SectionTable<'a, H, Metered<'a, R>>,
        endian: Endianness,
        data: Metered<'a, R>,
    ) -> Option<()> {
        let symbols = table.data_as_array::<H::Sym, _>(endian, data).ok()?;
        let names = sections.section(table.link(endian)).ok()?;
        let names = names.data(endian, data).ok()?;
        let first = self.names.len();
        self.names.extend_from_slice(names);
        for (number, symbol) in symbols.iter().enumerate() {
            if number % 1024 == 0 && data.budget.is_over() {
                break;
            }
            let at = symbol.st_name(endian) as usize;
            let name = names.get(at..).unwrap_or_default();
            let is_named = match symbol.st_type() {
                STT_FUNC | STT_GNU_IFUNC => true,
                STT_OBJECT => symbol.st_size(endian).into() > 0,
                // Functions in assembler have no type. Neither have marks such as `$x`, which are not names.
                STT_NOTYPE => {
                    !name.starts_with(b"$")
                        && !name.starts_with(b".")
                        && sections
                            .section(SectionIndex(symbol.st_shndx(endian).0.into()))
                            .is_ok_and(|section| section.sh_flags(endian).contains(SHF_EXECINSTR))
                }
                _ => false,
            };
            if is_named && symbol.st_shndx(endian) != SHN_UNDEF {
                let (start, bytes) = (symbol.st_value(endian), symbol.st_size(endian));
                let most = name.get(..LONGEST_SYMBOL).unwrap_or(name);
                let length = most.iter().position(|byte| *byte == 0);
                let length = length.unwrap_or(most.len());
                self.add(start.into(), bytes.into(), first + at, length, data.budget);
            }
        }
        Some(())
    }

    fn add(&mut self, start: u64, bytes: u64, at: usize, length: usize, budget: &Budget) {
        let name = (at as u32, length.min(LONGEST_SYMBOL) as u32);
        if start > 0 && length > 0 && budget.take(size_of::<Function>() as u64) {
            self.all.push(Function { start, bytes, name });
        }
    }

    /// Sorts the functions. If an address has several names, the shortest is the one that programmers call.
    fn sorted(mut self) -> Functions {
        self.all
            .sort_unstable_by_key(|function| (function.start, function.name.1, function.name.0));
        // The shortest name of an address is kept: it is the one without decoration.
        self.all.dedup_by_key(|function| function.start);
        self
    }

    /// The name of the function that contains an address. A function without a size goes on to the next one, or to `begins`, at which
    /// by an unwind entry the address's function begins.
    pub fn containing(&self, address: u64, begins: Option<u64>) -> Option<String> {
        let function = self.last_before(address)?;
        let inside = match function.bytes {
            0 => begins.map_or(address - function.start < UNSIZED, |start| {
                start <= function.start
            }),
            bytes => address - function.start < bytes,
        };
        if inside || begins == Some(function.start) {
            Some(self.name(function))
        } else {
            None
        }
    }

    /// The variable that contains an address, such as `lock` or `pool+0x28`.
    pub fn variable(&self, address: u64) -> Option<String> {
        let variable = self.last_before(address)?;
        match address - variable.start {
            0 => Some(self.name(variable)),
            offset if offset < variable.bytes => {
                Some(format!("{}+{offset:#x}", self.name(variable)))
            }
            _ => None,
        }
    }

    fn last_before(&self, address: u64) -> Option<&Function> {
        let next = self.all.partition_point(|each| each.start <= address);
        self.all.get(next.checked_sub(1)?)
    }

    fn name(&self, function: &Function) -> String {
        let (at, length) = function.name;
        let name = self.names.get(at as usize..(at + length) as usize);
        demangled(&String::from_utf8_lossy(name.unwrap_or_default()))
    }
}

fn debug_file(build_id: &[u8]) -> Option<PathBuf> {
    let (first, rest) = build_id
        .split_first()
        .filter(|(_, rest)| !rest.is_empty())?;
    let rest: String = rest.iter().map(|byte| format!("{byte:02x}")).collect();
    Some(format!("/usr/lib/debug/.build-id/{first:02x}/{rest}.debug").into())
}

/// A readable name: C++ without the types of parameters and result, Rust without hash, others without their version.
pub fn demangled(name: &str) -> String {
    // Versions of dynamic symbols, e.g. `memcpy@@GLIBC_2.14`.
    let name = name.split_once('@').map_or(name, |(name, _)| name);
    let mut short = Short(String::new());
    if is_rust(name)
        && rustc_demangle::try_demangle(name).is_ok_and(|name| write!(short, "{name:#}").is_ok())
    {
        return short.0;
    }
    let mut short = Short(String::new());
    let options = cpp_demangle::DemangleOptions::new()
        .no_params()
        .no_return_type();
    let symbol = if name.starts_with("_Z") {
        Some(cpp_demangle::BorrowedSymbol::new(name.as_bytes()))
    } else {
        None
    };
    match symbol {
        Some(Ok(symbol)) if symbol.structured_demangle(&mut short, &options).is_ok() => short.0,
        _ => name.chars().take(LONGEST_NAME).collect(),
    }
}

/// `_R...`, or `_ZN...17h` with sixteen hexadecimal digits and `E`.
fn is_rust(name: &str) -> bool {
    let hash = name
        .split('.')
        .next()
        .and_then(|name| name.strip_suffix('E')?.rsplit_once("17h"));
    name.starts_with("_R")
        || hash.is_some_and(|(_, hash)| {
            hash.len() == 16 && hash.bytes().all(|b| b.is_ascii_hexdigit())
        })
}

struct Short(String);

impl Write for Short {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        if self.0.len() + text.len() > LONGEST_NAME {
            return Err(std::fmt::Error);
        }
        self.0.push_str(text);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from_perf_map(text: &str) -> Functions {
        Functions::from_perf_map(text.into(), &Budget::default())
    }

    #[test]
    fn functions_compiled_at_run_time_are_those_of_their_map() {
        let functions = from_perf_map("1000 20 LazyCompile:*f /x.js:1\nbroken\n0x1020 10  g \n");
        let f = Some("LazyCompile:*f /x.js:1".to_string());
        let expected = [None, f.clone(), f, Some("g".to_string()), None];
        assert_eq!(
            [0xfff, 0x1000, 0x101f, 0x1020, 0x1030].map(|at| functions.containing(at, None)),
            expected
        );
    }

    #[test]
    fn a_variable_is_named_with_the_offset_in_it() {
        let functions = from_perf_map("1000 28 lock\n2000 40 pool\n");
        let names = [0xfff, 0x1000, 0x2028, 0x2040].map(|at| functions.variable(at));
        let expected = [None, Some("lock"), Some("pool+0x28"), None];
        assert_eq!(names, expected.map(|name| name.map(str::to_string)));
    }

    #[test]
    fn a_function_without_a_size_ends_where_an_unwind_entry_begins() {
        let functions = from_perf_map("1000 0 f\n");
        for (begins, expected) in [
            (None, Some("f")),
            (Some(0x1000), Some("f")),
            (Some(0x1700), None),
        ] {
            assert_eq!(functions.containing(0x1800, begins).as_deref(), expected);
        }
    }

    #[test]
    fn a_name_that_would_not_end_stays_as_it_is() {
        fn name(levels: u32) -> String {
            format!("_Z1fI1a1pIS0_S0_E{}Evv", pairs(levels))
        }

        // f<a, p<a, a>, p<p<a, a>, p<a, a>>, ...>: each is twice as long as the one before.
        fn pairs(levels: u32) -> String {
            (2..levels)
                .map(|at| format!("S1_IS{at:X}_S{at:X}_E"))
                .collect()
        }

        assert_eq!(demangled(&name(3)), "f<a, p<a, a>, p<p<a, a>, p<a, a> > >");
        assert_eq!(demangled(&name(15)), name(15));
        assert_eq!(demangled(&"x".repeat(5000)).len(), LONGEST_NAME);
    }
}
