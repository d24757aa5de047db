//! A file that is mapped as code: how to unwind from an address in it, and the name of the function there.
//!
//! It may have been made by whom we trace: what is malformed has no names, and sizes are limited.

use super::functions::{Functions, LARGEST};
use gimli::{
    BaseAddresses, CallFrameInstruction, EhFrame, EhFrameHdr, EndianSlice, LittleEndian, Operation,
    UnwindSection,
};
use object::elf::{FileHeader32, FileHeader64, PF_X};
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSegment, ReadCache, ReadRef, SegmentFlags};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug)]
pub struct Section {
    pub address: u64,
    pub bytes: Arc<[u8]>,
}

/// `.eh_frame` and its index, and the addresses that theirs are relative to.
#[derive(Debug)]
pub struct Frames {
    pub entries: Section,
    pub index: Option<Section>,
    pub text: u64,
    pub got: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    pub start: u64,
    /// Its expressions do not jump.
    pub is_bounded: bool,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    bytes: u64,
    address: u64,
    is_code: bool,
}

#[derive(Debug, Default)]
pub struct Image {
    pub name: String,
    pub frames: Option<Frames>,
    pub build_id: Vec<u8>,
    pub start: u64,
    pub interpreter: Option<PathBuf>,
    pub is_64_bit: bool,
    segments: Vec<Segment>,
    file: RefCell<Option<File>>,
    functions: OnceCell<Functions>,
    entries: RefCell<HashMap<u64, Option<Entry>>>,
}

impl Image {
    pub fn unread(name: &str) -> Image {
        Image {
            name: name.to_string(),
            ..Image::default()
        }
    }

    pub fn from_file(name: &str, file: File) -> Image {
        let cache = ReadCache::new(&file);
        let image = Image::parse(name, &cache);
        drop(cache);
        image.file.replace(Some(file));
        image
    }

    pub fn from_bytes(name: &str, bytes: &[u8]) -> Image {
        let image = Image::parse(name, bytes);
        let _ = image.functions.set(Functions::from_elf(bytes));
        image
    }

    fn parse<'a, R: ReadRef<'a>>(name: &str, data: R) -> Image {
        let mut image = Image::unread(name);
        if let Ok(elf) = object::File::parse(data) {
            image.read(&elf);
            image.interpreter = interpreter(data);
        }
        image
    }

    fn read<'a, R: ReadRef<'a>>(&mut self, elf: &object::File<'a, R>) {
        let segments = elf.segments().map(|segment| {
            let (offset, bytes) = segment.file_range();
            let is_code =
                matches!(segment.flags(), SegmentFlags::Elf { p_flags, .. } if p_flags.contains(PF_X));
            Segment {
                offset,
                bytes,
                address: segment.address(),
                is_code,
            }
        });
        self.segments = segments.collect();
        self.build_id = elf.build_id().ok().flatten().unwrap_or_default().to_vec();
        (self.start, self.is_64_bit) = (elf.entry(), elf.is_64());
        let section = |name: &str| {
            let section = elf
                .section_by_name(name)
                .filter(|section| section.size() <= LARGEST)?;
            Some(Section {
                address: section.address(),
                bytes: section.data().ok()?.into(),
            })
        };
        let address = |name: &str| elf.section_by_name(name).map_or(0, |own| own.address());
        self.frames = section(".eh_frame")
            .filter(|_| self.is_64_bit)
            .map(|entries| Frames {
                entries,
                index: section(".eh_frame_hdr").filter(|index| !index.bytes.is_empty()),
                text: address(".text"),
                got: address(".got"),
            });
    }

    /// In the file's own numbering, of code at `offset`. A mapping begins with a page: with the end of another segment, which has that
    /// offset too but is somewhere else in memory.
    pub fn address(&self, offset: u64) -> Option<u64> {
        const LARGEST_PAGE: u64 = 65536;
        let code = || self.segments.iter().filter(|segment| segment.is_code);
        let inside = |own: &&Segment| own.offset <= offset && offset - own.offset < own.bytes;
        let before = |own: &&Segment| offset <= own.offset && own.offset - offset < LARGEST_PAGE;
        let segment = code().find(inside).or_else(|| code().find(before))?;
        let moved = segment.address.wrapping_sub(segment.offset);
        Some(moved.wrapping_add(offset))
    }

    /// The parts that the kernel maps as code, moved by `by`: start, end and offset in the file.
    pub fn code(&self, by: u64) -> impl Iterator<Item = (u64, u64, u64)> {
        const PAGE: u64 = 4096;
        self.segments
            .iter()
            .filter(|segment| segment.is_code)
            .map(move |segment| {
                let before = segment.address % PAGE;
                let start = by.wrapping_add(segment.address - before);
                let pages = before.saturating_add(segment.bytes).div_ceil(PAGE);
                let end = start.saturating_add(pages.saturating_mul(PAGE));
                (start, end, segment.offset.saturating_sub(before))
            })
    }

    /// Its name; without a symbol, where the function begins by its unwind entry (`git:0x1234`); or the bare offset (`git+0x1250`).
    pub fn function(&self, offset: u64) -> String {
        let found = self.address(offset).and_then(|address| {
            let entry = self.entry(address);
            let named = self.functions().at(address, entry.map(|entry| entry.start));
            named.or_else(|| Some(format!("{}:{:#x}", self.name, entry?.start)))
        });
        found.unwrap_or_else(|| format!("{}+{offset:#x}", self.name))
    }

    fn functions(&self) -> &Functions {
        self.functions.get_or_init(|| {
            let file = self.file.take();
            let own = file.map(|file| Functions::from_elf(&ReadCache::new(file)));
            own.unwrap_or_default().with_debug_file(&self.build_id)
        })
    }

    pub fn entry(&self, address: u64) -> Option<Entry> {
        *self
            .entries
            .borrow_mut()
            .entry(address)
            .or_insert_with(|| self.frames.as_ref()?.entry(address))
    }
}

pub fn interpreter<'a, R: ReadRef<'a>>(data: R) -> Option<PathBuf> {
    fn of<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(data: R) -> Option<&'a [u8]> {
        let header = H::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let mut segments = header.program_headers(endian, data).ok()?.iter();
        segments.find_map(|segment| segment.interpreter(endian, data).ok()?)
    }
    let path = of::<FileHeader64<Endianness>, R>(data)
        .or_else(|| of::<FileHeader32<Endianness>, R>(data))?;
    Some(OsStr::from_bytes(path).into())
}

impl Frames {
    fn entry(&self, address: u64) -> Option<Entry> {
        let mut bases = BaseAddresses::default().set_eh_frame(self.entries.address);
        bases = bases.set_text(self.text).set_got(self.got);
        let mut frames = EhFrame::new(&self.entries.bytes, LittleEndian);
        frames.set_address_size(8);
        let found = match &self.index {
            Some(index) => {
                bases = bases.set_eh_frame_hdr(index.address);
                let index = EhFrameHdr::new(&index.bytes, LittleEndian)
                    .parse(&bases, 8)
                    .ok()?;
                index
                    .table()?
                    .fde_for_address(&frames, &bases, address, EhFrame::cie_from_offset)
            }
            None => frames.fde_for_address(&bases, address, EhFrame::cie_from_offset),
        };
        let found = found.ok()?;
        let mut all = found.cie().instructions(&frames, &bases);
        let mut own = found.instructions(&frames, &bases);
        let encoding = found.cie().encoding();
        let is_bounded = [&mut all, &mut own].into_iter().all(|instructions| {
            std::iter::from_fn(|| instructions.next().ok().flatten())
                .all(|each| is_bounded(&each, &frames, encoding))
        });
        Some(Entry {
            start: found.initial_address(),
            is_bounded,
        })
    }
}

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Compilers make no expressions that jump.
fn is_bounded(
    instruction: &CallFrameInstruction<usize>,
    frames: &EhFrame<Bytes>,
    encoding: gimli::Encoding,
) -> bool {
    let (CallFrameInstruction::DefCfaExpression { expression }
    | CallFrameInstruction::Expression { expression, .. }
    | CallFrameInstruction::ValExpression { expression, .. }) = instruction
    else {
        return true;
    };
    let Ok(expression) = expression.get(frames) else {
        return false;
    };
    let mut operations = expression.operations(encoding);
    loop {
        match operations.next() {
            Ok(None) => return true,
            Ok(Some(Operation::Bra { .. } | Operation::Skip { .. })) | Err(_) => return false,
            Ok(Some(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_no_programs_have_no_functions() {
        for bytes in [&b""[..], b"\x7fELF", b"#!/bin/sh"] {
            let image = Image::from_bytes("x", bytes);
            assert_eq!(
                (image.function(0x10), image.entry(0x10)),
                ("x+0x10".to_string(), None)
            );
        }
    }

    #[test]
    fn the_page_before_code_is_counted_with_it() {
        let segment = |offset, bytes, address, is_code| Segment {
            offset,
            bytes,
            address,
            is_code,
        };
        let segments = vec![
            segment(0, 0x12900, 0, false),
            segment(0x12900, 0x3000, 0x13900, true),
        ];
        let image = Image {
            segments,
            ..Image::unread("x")
        };
        assert_eq!(
            [0x12000, 0x12900, 0x158ff].map(|at| image.address(at)),
            [0x13000, 0x13900, 0x168ff].map(Some)
        );
        assert_eq!([0, 0x15900].map(|at| image.address(at)), [None, None]);
        assert_eq!(
            image.code(0x1000).collect::<Vec<_>>(),
            [(0x14000, 0x18000, 0x12000)]
        );
    }

    /// A section with a CIE and one FDE for 16 bytes at 0x1000, whose instructions are `instructions`.
    fn frames(instructions: &[u8]) -> Frames {
        let cie = [
            &[0; 4][..],
            &[1, b'z', b'R', 0, 1, 0x78, 16, 1, 0x04],
            &[0x0c, 7, 8, 0, 0],
        ]
        .concat();
        let mut bytes = [&(cie.len() as u32).to_le_bytes()[..], &cie].concat();
        let mut fde = (bytes.len() as u32 + 4).to_le_bytes().to_vec();
        fde.extend(0x1000u64.to_le_bytes());
        fde.extend(16u64.to_le_bytes());
        fde.extend([&[0], instructions].concat());
        bytes.extend((fde.len() as u32).to_le_bytes());
        bytes.extend(fde);
        bytes.extend([0; 4]);
        Frames {
            entries: Section {
                address: 0x2000,
                bytes: bytes.into(),
            },
            index: None,
            text: 0,
            got: 0,
        }
    }

    #[test]
    fn functions_begin_where_their_unwind_entries_do() {
        let found = frames(&[0]);
        let expected = Some(Entry {
            start: 0x1000,
            is_bounded: true,
        });
        assert_eq!(
            [0xfff, 0x1000, 0x100f, 0x1010].map(|at| found.entry(at)),
            [None, expected, expected, None]
        );
    }

    #[test]
    fn an_expression_that_jumps_is_not_evaluated() {
        // DW_CFA_def_cfa_expression: DW_OP_breg7 8; DW_OP_skip -3, for ever.
        let jumps = frames(&[0x0f, 3, 0x2f, 0xfd, 0xff]).entry(0x1000).unwrap();
        let plain = frames(&[0x0f, 2, 0x77, 8]).entry(0x1000).unwrap();
        assert_eq!((jumps.is_bounded, plain.is_bounded), (false, true));
    }
}
