//! Lines of source by address, from `.debug_line` of an ELF file.

use super::budget::Metered;
use flate2::read::ZlibDecoder;
use gimli::{
    AttributeValue, DebugLine, DebugLineOffset, DebugLineStr, EndianSlice, LineProgramHeader,
    LittleEndian,
};
use object::elf::{ELFCOMPRESS_ZLIB, FileHeader64};
use object::read::elf::{CompressionHeader, FileHeader, SectionHeader};
use object::{Endianness, ReadRef};
use std::borrow::Cow;
use std::io::Read;
use std::sync::Arc;

/// Larger ones take too long.
const LARGEST: u64 = 8 << 20;
type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Rows of an address, and the file and the line from there on, in the order of addresses; no file behind the end of code.
#[derive(Debug, Default)]
pub struct Lines(Vec<(u64, Option<Line>)>);

type Line = (Arc<str>, u64);

impl Lines {
    /// `None` without debug information, or if it is malformed.
    pub fn from_elf<'a, R: ReadRef<'a>>(data: Metered<'a, R>) -> Option<Lines> {
        let header = FileHeader64::<Endianness>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let sections = header.sections(endian, data).ok()?;
        let [programs, names] = [".debug_line", ".debug_line_str"].map(|name| {
            let (_, section) = sections.section_by_name(endian, name.as_bytes())?;
            contents(section, endian, data)
        });
        let programs = programs?;
        let names = names.unwrap_or_default();
        let names = DebugLineStr::from(EndianSlice::new(&names, LittleEndian));
        let mut lines = Lines::default();
        let mut at = 0;
        while at < programs.len() && !data.budget.is_over() {
            at += lines.read(&programs, at, &names)?;
        }
        lines
            .0
            .sort_by_key(|(address, line)| (*address, line.is_some()));
        Some(lines)
    }

    /// Returns the line program's length in bytes.
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
            if file.as_ref().is_none_or(|(known, _)| *known != number) {
                file = Some((number, name(header, number, names)?));
            }
            // The end of a sequence is the first address without a line.
            let line = match row.line() {
                Some(line) if !row.end_sequence() => Some(line.get()),
                _ => None,
            };
            let line = line.and_then(|line| Some((file.as_ref()?.1.clone(), line)));
            self.0.push((row.address(), line));
        }
        Some(bytes)
    }

    /// Such as `app.c:12`.
    pub fn containing(&self, address: u64) -> Option<String> {
        let next = self.0.partition_point(|(start, _)| *start <= address);
        let (_, line) = self.0.get(next.checked_sub(1)?)?;
        let (file, line) = line.as_ref()?;
        Some(format!("{file}:{line}"))
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
    let compressed = data.read_bytes_at(offset, size).ok()?;
    let mut decoder = ZlibDecoder::new(compressed).take(LARGEST);
    decoder.read_to_end(&mut all).ok()?;
    Some(Cow::Owned(all))
}

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
