//! Lines of source by address, and the functions that were inlined there, from the debug information of an ELF file.

use super::budget::{Budget, Metered};
use super::functions::demangled;
use flate2::read::ZlibDecoder;
use gimli::{
    AttributeValue, DW_AT_abstract_origin, DW_AT_call_file, DW_AT_call_line, DW_AT_linkage_name,
    DW_AT_name, DW_AT_specification, DW_TAG_inlined_subroutine, DebugInfoOffset, DebugLineOffset,
    DebuggingInformationEntry, Dwarf, DwarfSections, EndianSlice, LineProgramHeader, LittleEndian,
    Section, SectionId, UnitHeader, UnitRef,
};
use object::elf::{ELFCOMPRESS_ZLIB, FileHeader64};
use object::read::elf::{CompressionHeader, FileHeader, SectionHeader};
use object::{Endianness, ReadRef};
use std::borrow::Cow;
use std::collections::HashMap;
use std::io::Read;
use std::iter::from_fn;
use std::ops::Range;
use std::sync::Arc;

/// Larger ones take too long.
const LARGEST: u64 = 8 << 20;
type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// References from an inlined function to its name that are followed.
const MOST_REFERENCES: usize = 4;

#[derive(Debug, Default)]
pub struct Lines {
    /// Rows of an address, and the file and the line from there on, in the order of addresses; no file behind the end of code.
    rows: Vec<(u64, Option<Line>)>,
    /// Outer functions before those that were inlined into them.
    inlined: Vec<Inlined>,
}

type Line = (Arc<str>, u64);

#[derive(Debug)]
struct Inlined {
    code: Range<u64>,
    name: Arc<str>,
    called_at: Option<Line>,
}

impl Lines {
    /// `None` without debug information, or if it is malformed.
    pub fn from_elf<'a, R: ReadRef<'a>>(data: Metered<'a, R>) -> Option<Lines> {
        let header = FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, data).ok()?;
        let sections = DwarfSections::load(|id| {
            let section = sections.section_by_name(endian, id.name().as_bytes());
            let section = section.filter(|_| READ.contains(&id));
            let read = section.and_then(|(_, section)| contents(section, endian, data));
            Ok::<_, gimli::Error>(read.unwrap_or_default())
        });
        let sections = sections.ok()?;
        let dwarf = sections.borrow(|section| EndianSlice::new(section, LittleEndian));
        let mut lines = Lines::default();
        let (mut at, end) = (0, dwarf.debug_line.reader().len());
        while at < end && !data.budget.is_over() {
            at += lines.read(&dwarf, at)?;
        }
        if lines.rows.is_empty() {
            return None;
        }
        lines
            .rows
            .sort_by_key(|(address, line)| (*address, line.is_some()));
        lines.read_inlined(&dwarf, data.budget);
        Some(lines)
    }

    /// Returns the line program's length in bytes.
    fn read(&mut self, dwarf: &Dwarf<Bytes>, at: usize) -> Option<usize> {
        let program = dwarf.debug_line.program(DebugLineOffset(at), 8, None, None);
        let program = program.ok()?;
        let header = program.header();
        let start = usize::from(header.encoding().format.initial_length_size());
        let bytes = start.checked_add(header.unit_length())?;
        let mut file: Option<(u64, Arc<str>)> = None;
        let mut rows = program.rows();
        while let Ok(Some((header, row))) = rows.next_row() {
            let number = row.file_index();
            if file.as_ref().is_none_or(|(known, _)| *known != number) {
                file = Some((number, name(header, number, dwarf)?));
            }
            // The end of a sequence is the first address without a line.
            let line = match row.line() {
                Some(line) if !row.end_sequence() => Some(line.get()),
                _ => None,
            };
            let line = line.and_then(|line| Some((file.as_ref()?.1.clone(), line)));
            self.rows.push((row.address(), line));
        }
        Some(bytes)
    }

    /// As far as the budget goes.
    fn read_inlined(&mut self, dwarf: &Dwarf<Bytes>, budget: &Budget) {
        let mut units = dwarf.units();
        let headers = from_fn(|| units.next().ok().flatten()).collect();
        let mut names = Names {
            dwarf,
            headers,
            known: HashMap::new(),
        };
        for header in names.headers.clone() {
            let Ok(unit) = dwarf.unit(header) else {
                continue;
            };
            let unit = unit.unit_ref(dwarf);
            let mut entries = unit.entries();
            while !budget.is_over()
                && let Ok(Some(entry)) = entries.next_dfs()
            {
                if entry.tag() == DW_TAG_inlined_subroutine
                    && let Some(name) = names.origin(unit, entry)
                {
                    self.add_inlined(unit, entry, &name, budget);
                }
            }
        }
    }

    fn add_inlined<'a>(
        &mut self,
        unit: UnitRef<Bytes<'a>>,
        entry: &Entry<'a>,
        name: &Arc<str>,
        budget: &Budget,
    ) -> Option<()> {
        let number = |attribute| entry.attr_value(attribute)?.udata_value();
        let file = number(DW_AT_call_file).and_then(|file| {
            let program = unit.line_program.as_ref()?;
            self::name(program.header(), file, unit.dwarf)
        });
        let called_at = file.zip(number(DW_AT_call_line));
        let mut ranges = unit.die_ranges(entry).ok()?;
        while let Ok(Some(range)) = ranges.next()
            && !budget.is_over()
            && budget.take(size_of::<Inlined>() as u64)
        {
            self.inlined.push(Inlined {
                code: range.begin..range.end,
                name: name.clone(),
                called_at: called_at.clone(),
            });
        }
        Some(())
    }

    /// The inlined functions at an address and last the one with a symbol, which has no name here, from the inside outwards, each with its
    /// line such as `app.c:12`.
    pub fn containing(&self, address: u64) -> Vec<(Option<Arc<str>>, Option<String>)> {
        let next = self.rows.partition_point(|(start, _)| *start <= address);
        let row = next.checked_sub(1).and_then(|last| self.rows.get(last));
        let mut line = row.and_then(|(_, line)| line.as_ref());
        let inlined = self.inlined.iter().rev();
        let mut all = Vec::new();
        for function in inlined.filter(|function| function.code.contains(&address)) {
            all.push((Some(function.name.clone()), text(line)));
            line = function.called_at.as_ref();
        }
        all.push((None, text(line)));
        all
    }
}

fn text(line: Option<&Line>) -> Option<String> {
    line.map(|(file, line)| format!("{file}:{line}"))
}

const READ: [SectionId; 9] = [
    SectionId::DebugAbbrev,
    SectionId::DebugAddr,
    SectionId::DebugInfo,
    SectionId::DebugLine,
    SectionId::DebugLineStr,
    SectionId::DebugRanges,
    SectionId::DebugRngLists,
    SectionId::DebugStr,
    SectionId::DebugStrOffsets,
];

type Entry<'a> = DebuggingInformationEntry<Bytes<'a>>;

/// Names of functions by their entries.
struct Names<'d, 'a> {
    dwarf: &'d Dwarf<Bytes<'a>>,
    headers: Vec<UnitHeader<Bytes<'a>>>,
    known: HashMap<DebugInfoOffset, Option<Arc<str>>>,
}

impl<'a> Names<'_, 'a> {
    /// That of an inlined function.
    fn origin(&mut self, unit: UnitRef<Bytes<'a>>, entry: &Entry<'a>) -> Option<Arc<str>> {
        let at = referred(unit, entry)?;
        if let Some(known) = self.known.get(&at) {
            return known.clone();
        }
        let name = self.name(unit, at, MOST_REFERENCES);
        let name = name.map(|name| demangled(&name).into());
        self.known.insert(at, name.clone());
        name
    }

    /// The linker's name, or that in the source, which another entry may have.
    fn name(&self, unit: UnitRef<Bytes<'a>>, at: DebugInfoOffset, left: usize) -> Option<String> {
        let Some(place) = at.to_unit_offset(&unit.header) else {
            let starts = |unit: &UnitHeader<_>| unit.debug_info_offset() <= Some(at);
            let before = self.headers.partition_point(starts);
            let header = self.headers.get(before.checked_sub(1)?)?;
            let unit = self.dwarf.unit(*header).ok()?;
            at.to_unit_offset(&unit.header)?;
            return self.name(unit.unit_ref(self.dwarf), at, left);
        };
        let entry = unit.unit.entry(place).ok()?;
        let name = entry.attr_value(DW_AT_linkage_name);
        match name.or_else(|| entry.attr_value(DW_AT_name)) {
            Some(name) => Some(unit.attr_string(name).ok()?.to_string_lossy().into_owned()),
            None => self.name(unit, referred(unit, &entry)?, left.checked_sub(1)?),
        }
    }
}

/// The entry with the rest of what is known of a function.
fn referred(unit: UnitRef<Bytes>, entry: &Entry) -> Option<DebugInfoOffset> {
    let origin = entry.attr_value(DW_AT_abstract_origin);
    match origin.or_else(|| entry.attr_value(DW_AT_specification))? {
        AttributeValue::UnitRef(at) => at.to_debug_info_offset(&unit.header),
        AttributeValue::DebugInfoRef(at) => Some(at),
        _ => None,
    }
}

/// Decompressed, as Go's linker and `gcc -gz` compress such sections. `None` if it is too large, or compressed in another way than by zlib.
fn contents<'a, R: ReadRef<'a>>(
    section: &<FileHeader64<Endianness> as FileHeader>::SectionHeader,
    endian: Endianness,
    data: R,
) -> Option<Cow<'a, [u8]>> {
    let Some((header, offset, size)) = section.compression(endian, data).ok()? else {
        if section.sh_size(endian) > LARGEST {
            return None;
        }
        return section.data(endian, data).ok().map(Cow::Borrowed);
    };
    if header.ch_type(endian) != ELFCOMPRESS_ZLIB || header.ch_size(endian) > LARGEST {
        return None;
    }
    let mut all = Vec::new();
    let compressed = ReadRef::read_bytes_at(data, offset, size).ok()?;
    let mut decoder = ZlibDecoder::new(compressed).take(LARGEST);
    decoder.read_to_end(&mut all).ok()?;
    Some(Cow::Owned(all))
}

fn name<'a>(
    header: &LineProgramHeader<Bytes<'a>>,
    number: u64,
    dwarf: &Dwarf<Bytes<'a>>,
) -> Option<Arc<str>> {
    let path = match header.file(number)?.path_name() {
        AttributeValue::String(path) => path,
        AttributeValue::DebugLineStrRef(at) => dwarf.line_string(at).ok()?,
        _ => return None,
    };
    let path = path.to_string_lossy();
    Some(path.rsplit('/').next()?.into())
}
