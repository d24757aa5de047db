//! Lines of source by address, as `.debug_line` of an ELF file has them.

use super::budget::Metered;
use gimli::{
    AttributeValue, DebugLine, DebugLineOffset, DebugLineStr, EndianSlice, LineProgramHeader,
    LittleEndian,
};
use object::elf::FileHeader64;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, ReadRef};
use std::sync::Arc;

/// Larger ones take too long.
const LARGEST: u64 = 8 << 20;
type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Rows of an address, the file and the line from there on: ascending. Where code ends, the file is none.
#[derive(Debug, Default)]
pub struct Lines(Vec<(u64, Option<Line>)>);

type Line = (Arc<str>, u64);

impl Lines {
    pub fn from_elf<'a, R: ReadRef<'a>>(data: Metered<'a, R>) -> Option<Lines> {
        let header = FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, data).ok()?;
        let section = |name: &str| {
            let (_, own) = sections.section_by_name(endian, name.as_bytes())?;
            let is_small = own.sh_size(endian) <= LARGEST;
            own.data(endian, data).ok().filter(|_| is_small)
        };
        let programs = section(".debug_line")?;
        let names = section(".debug_line_str").unwrap_or_default();
        let names = DebugLineStr::from(EndianSlice::new(names, LittleEndian));
        let mut lines = Lines::default();
        let mut at = 0;
        while at < programs.len() && !data.budget.is_over() {
            at += lines.read(programs, at, &names)?;
        }
        lines
            .0
            .sort_by_key(|(address, line)| (*address, line.is_some()));
        Some(lines)
    }

    /// Returns the bytes of the program.
    fn read(&mut self, all: &[u8], at: usize, names: &DebugLineStr<Bytes>) -> Option<usize> {
        let programs = DebugLine::new(all, LittleEndian);
        let program = programs.program(DebugLineOffset(at), 8, None, None).ok()?;
        let header = program.header();
        let start = usize::from(header.encoding().format.initial_length_size());
        let bytes = start.checked_add(header.unit_length())?;
        let mut file: Option<(u64, Arc<str>)> = None;
        let mut rows = program.rows();
        while let Ok(Some((header, row))) = rows.next_row() {
            let number = row.file_index();
            if file.as_ref().is_none_or(|(own, _)| *own != number) {
                file = Some((number, name(header, number, names)?));
            }
            let line = row.line().filter(|_| !row.end_sequence());
            let line = line.and_then(|line| Some((file.as_ref()?.1.clone(), line.get())));
            self.0.push((row.address(), line));
        }
        Some(bytes)
    }

    /// `app.c:12`
    pub fn at(&self, address: u64) -> Option<String> {
        let next = self.0.partition_point(|(start, _)| *start <= address);
        let (_, line) = self.0.get(next.checked_sub(1)?)?;
        let (file, line) = line.as_ref()?;
        Some(format!("{file}:{line}"))
    }
}

/// Of a file, without its directory.
fn name<'a>(
    header: &LineProgramHeader<Bytes<'a>>,
    number: u64,
    names: &DebugLineStr<Bytes<'a>>,
) -> Option<Arc<str>> {
    let path = match header.file(number)?.path_name() {
        AttributeValue::String(path) => path,
        AttributeValue::DebugLineStrRef(at) => names.get_str(at).ok()?,
        _ => return None,
    };
    let path = path.to_string_lossy();
    Some(path.rsplit('/').next()?.into())
}
