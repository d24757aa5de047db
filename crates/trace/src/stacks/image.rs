//! A file that is mapped as code: how to unwind from an address in it, and the name of the function there.
//!
//! The file may have been made by the user whose programs are traced: malformed ones have no names, and sizes are limited.

use super::budget::{Budget, Metered};
use super::functions::Functions;
use super::lines::Lines;
use super::python;
use gimli::{
    BaseAddresses, CallFrameInstruction, CieOrFde, EhFrame, EhFrameHdr, EndianSlice, LittleEndian,
    Operation, UnwindSection,
};
use object::elf::{ELF_NOTE_GNU, FileHeader32, FileHeader64, NT_GNU_BUILD_ID, PF_X, PT_LOAD};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, SectionTable};
use object::{Endianness, ReadCache, ReadRef};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs::File;
use std::iter::from_fn;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Linkers make one or two.
const MOST_SEGMENTS: usize = 64;
/// The largest number of instructions of an unwind entry and operations of its expressions; compilers make some hundred.
const MOST_INSTRUCTIONS: u32 = 4096;

#[derive(Debug, Default)]
pub struct Section {
    pub address: u64,
    pub bytes: Arc<[u8]>,
}

/// `.eh_frame` and its index, and the addresses that theirs are relative to.
#[derive(Debug)]
pub struct Frames {
    pub entries: Section,
    pub index: Section,
    pub text: u64,
    pub got: u64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Entry {
    pub start: u64,
    /// Whether it has few instructions, and expressions that do not jump.
    pub is_bounded: bool,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    offset: u64,
    bytes: u64,
    address: u64,
}

#[derive(Debug, Default)]
pub struct Image {
    pub name: String,
    pub frames: Option<Frames>,
    pub start: u64,
    pub interpreter: Option<PathBuf>,
    pub is_64_bit: bool,
    build_id: Vec<u8>,
    segments: Vec<Segment>,
    budget: Rc<Budget>,
    file: RefCell<Option<File>>,
    functions: OnceCell<Functions>,
    lines: OnceCell<Option<Lines>>,
    python: OnceCell<Option<u64>>,
    entries: RefCell<HashMap<u64, Option<Entry>>>,
}

impl Image {
    pub fn unread(name: &str) -> Image {
        Image {
            name: name.to_string(),
            ..Image::default()
        }
    }

    /// The image of a file, which stays open until its names are needed, within the budget.
    pub fn from_file(name: &str, file: File, budget: &Rc<Budget>) -> Image {
        let image = Image::parse(name, &ReadCache::new(&file), budget);
        image.file.replace(budget.take_file().then_some(file));
        image
    }

    /// Such as the vDSO.
    pub fn from_bytes(name: &str, data: &[u8], budget: &Rc<Budget>) -> Image {
        let image = Image::parse(name, data, budget);
        let _ = image
            .functions
            .set(Functions::from_elf(Metered { data, budget }));
        image
    }

    fn parse<'a, R: ReadRef<'a>>(name: &str, data: R, budget: &'a Rc<Budget>) -> Image {
        let mut image = Image {
            budget: budget.clone(),
            ..Image::unread(name)
        };
        let data = Metered { data, budget };
        if image.read::<FileHeader64<Endianness>, R>(data).is_none() {
            image.read::<FileHeader32<Endianness>, R>(data);
        }
        image
    }

    fn read<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(
        &mut self,
        data: Metered<'a, R>,
    ) -> Option<()> {
        let header = H::parse(data).ok()?;
        let endian = header.endian().ok()?;
        (self.start, self.is_64_bit) = (header.e_entry(endian).into(), header.is_class_64());
        self.interpreter = interpreter(data);
        let segments = header.program_headers(endian, data).ok()?.iter();
        let code = segments.filter(|header| {
            header.p_type(endian) == PT_LOAD && header.p_flags(endian).contains(PF_X)
        });
        self.segments = code
            .take(MOST_SEGMENTS)
            .map(|header| Segment {
                offset: header.p_offset(endian).into(),
                bytes: header.p_filesz(endian).into(),
                address: header.p_vaddr(endian).into(),
            })
            .collect();
        let sections = header.sections(endian, data).ok()?;
        self.build_id = build_id(&sections, endian, data).unwrap_or_default().into();
        if self.is_64_bit {
            self.frames = frames(&sections, endian, data);
        }
        Some(())
    }

    /// The address of code at `offset`, as the file numbers addresses. A mapping begins with a page, which may hold the end of another
    /// segment: that has the offset too but is somewhere else in memory.
    pub fn address(&self, offset: u64) -> Option<u64> {
        const LARGEST_PAGE: u64 = 65536;
        let mut segments = self.segments.iter();
        let segment = segments
            .clone()
            .find(|code| code.offset <= offset && offset - code.offset < code.bytes)
            // Linkers may begin a segment within a page: the mapping then also has bytes before it.
            .or_else(|| {
                segments.find(|code| offset <= code.offset && code.offset - offset < LARGEST_PAGE)
            })?;
        let moved = segment.address.wrapping_sub(segment.offset);
        Some(moved.wrapping_add(offset))
    }

    /// The parts that the kernel maps as code, moved by `by`: start, end and offset in the file.
    pub fn code(&self, by: u64) -> impl Iterator<Item = (u64, u64, u64)> {
        const PAGE: u64 = 4096;
        self.segments.iter().map(move |segment| {
            let before = segment.address % PAGE;
            let start = by.wrapping_add(segment.address - before);
            let pages = before.saturating_add(segment.bytes).div_ceil(PAGE);
            let end = start.saturating_add(pages.saturating_mul(PAGE));
            (start, end, segment.offset.saturating_sub(before))
        })
    }

    /// The name of the function at an offset; without a symbol, the address at which it begins by its unwind entry (`git:0x1234`), or
    /// the bare offset (`git+0x1250`).
    pub fn function(&self, offset: u64) -> String {
        let name = self.address(offset).and_then(|address| {
            let entry = self.entry(address);
            let named = self
                .functions()
                .containing(address, entry.map(|entry| entry.start));
            named.or_else(|| Some(format!("{}:{:#x}", self.name, entry?.start)))
        });
        name.unwrap_or_else(|| format!("{}+{offset:#x}", self.name))
    }

    /// The variable at an address, as the file numbers addresses.
    pub fn variable(&self, address: u64) -> Option<String> {
        self.functions().variable(address)
    }

    fn functions(&self) -> &Functions {
        self.functions.get_or_init(|| {
            let budget = &self.budget;
            let file = self.file.borrow();
            let symbols = file.as_ref().map(|file| {
                let data = &ReadCache::new(file);
                Functions::from_elf(Metered { data, budget })
            });
            symbols
                .unwrap_or_default()
                .with_debug_file(&self.build_id, budget)
        })
    }

    /// The address of `_PyRuntime` in a Python, as the file numbers addresses; `None` in other files.
    pub fn python(&self) -> Option<u64> {
        *self.python.get_or_init(|| {
            let (file, budget) = (self.file.borrow(), &self.budget);
            let data = &ReadCache::new(file.as_ref()?);
            python::runtime(Metered { data, budget })
        })
    }

    /// As [`Lines::containing`]; without debug information, a function without a name and a line.
    pub fn source(&self, offset: u64) -> Vec<(Option<Arc<str>>, Option<String>)> {
        let lines = self.lines.get_or_init(|| {
            let (file, budget) = (self.file.borrow(), &self.budget);
            let data = &ReadCache::new(file.as_ref()?);
            Lines::from_elf(Metered { data, budget })
        });
        let known = lines.as_ref().zip(self.address(offset));
        known.map_or_else(
            || vec![(None, None)],
            |(lines, address)| lines.containing(address),
        )
    }

    pub fn entry(&self, address: u64) -> Option<Entry> {
        *self
            .entries
            .borrow_mut()
            .entry(address)
            .or_insert_with(|| self.frames.as_ref()?.entry(address))
    }
}

/// PT_INTERP.
pub fn interpreter<'a, R: ReadRef<'a>>(data: R) -> Option<PathBuf> {
    fn path_of<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(
        data: R,
    ) -> Option<&'a [u8]> {
        let header = H::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let mut segments = header.program_headers(endian, data).ok()?.iter();
        segments.find_map(|segment| segment.interpreter(endian, data).ok()?)
    }
    let path = path_of::<FileHeader64<Endianness>, R>(data)
        .or_else(|| path_of::<FileHeader32<Endianness>, R>(data))?;
    Some(OsStr::from_bytes(path).into())
}

/// The build ID that the linker has put into an ELF file's notes.
pub fn build_id<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(
    sections: &SectionTable<'a, H, R>,
    endian: Endianness,
    data: R,
) -> Option<&'a [u8]> {
    let notes = sections
        .iter()
        .filter_map(|section| section.notes(endian, data).ok()?);
    let mut all = notes.flat_map(|mut notes| from_fn(move || notes.next().ok()?));
    let id = all.find(|note| note.name() == ELF_NOTE_GNU && note.n_type(endian) == NT_GNU_BUILD_ID);
    id.map(|note| note.desc())
}

fn frames<'a, H: FileHeader<Endian = Endianness>, R: ReadRef<'a>>(
    sections: &SectionTable<'a, H, Metered<'a, R>>,
    endian: Endianness,
    data: Metered<'a, R>,
) -> Option<Frames> {
    let [entries, index, text, got] = [".eh_frame", ".eh_frame_hdr", ".text", ".got"]
        .map(|name| Some(sections.section_by_name(endian, name.as_bytes())?.1));
    let [entries, index] = [entries, index].map(|section| {
        Some(Section {
            address: section?.sh_addr(endian).into(),
            bytes: section?.data(endian, data).ok()?.into(),
        })
    });
    let [text, got] = [text, got].map(|section| section.map_or(0, |it| it.sh_addr(endian).into()));
    let frames = Frames {
        entries: entries?,
        index: index.unwrap_or_default(),
        text,
        got,
    };
    Some(frames.indexed(data.budget))
}

impl Frames {
    fn section(&self) -> (EhFrame<Bytes<'_>>, BaseAddresses) {
        let mut frames = EhFrame::new(&self.entries.bytes, LittleEndian);
        frames.set_address_size(8);
        let bases = BaseAddresses::default().set_eh_frame(self.entries.address);
        let bases = bases.set_text(self.text).set_got(self.got);
        (frames, bases.set_eh_frame_hdr(self.index.address))
    }

    /// Adds an index as a linker makes it (LSB Core 5.0, 10.6.2), if there is none.
    fn indexed(mut self, budget: &Budget) -> Frames {
        const ABSOLUTE_64: u8 = 4;
        if !self.index.bytes.is_empty() {
            return self;
        }
        let (frames, bases) = self.section();
        let mut starts = Vec::new();
        let mut entries = frames.entries(&bases);
        while let Ok(Some(entry)) = entries.next() {
            if let CieOrFde::Fde(entry) = entry
                && let Ok(entry) = entry.parse(EhFrame::cie_from_offset)
            {
                let place = self.entries.address.wrapping_add(entry.offset() as u64);
                starts.push([entry.initial_address(), place]);
            }
            if budget.is_over() {
                break;
            }
        }
        // The unwinder needs the index that linkers write: programs linked without it get one here.
        starts.sort_unstable();
        let head = [self.entries.address, starts.len() as u64];
        let words = head.iter().chain(starts.as_flattened());
        let kinds = [1, ABSOLUTE_64, ABSOLUTE_64, ABSOLUTE_64];
        self.index.bytes = kinds
            .into_iter()
            .chain(words.flat_map(|word| word.to_le_bytes()))
            .collect();
        self
    }

    fn entry(&self, address: u64) -> Option<Entry> {
        let (frames, bases) = self.section();
        let index = EhFrameHdr::new(&self.index.bytes, LittleEndian);
        let index = index.parse(&bases, 8).ok()?;
        let frame = index
            .table()?
            .fde_for_address(&frames, &bases, address, EhFrame::cie_from_offset)
            .ok()?;
        let mut all = frame.cie().instructions(&frames, &bases);
        let mut more = frame.instructions(&frames, &bases);
        let encoding = frame.cie().encoding();
        let mut left = MOST_INSTRUCTIONS;
        let is_bounded = [&mut all, &mut more].into_iter().all(|instructions| {
            from_fn(|| instructions.next().ok().flatten())
                .all(|each| is_bounded(&each, &frames, encoding, &mut left))
        });
        Some(Entry {
            start: frame.initial_address(),
            is_bounded,
        })
    }
}

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Whether an instruction ends soon. An expression that jumps may loop for ever; compilers make none.
fn is_bounded(
    instruction: &CallFrameInstruction<usize>,
    frames: &EhFrame<Bytes>,
    encoding: gimli::Encoding,
    left: &mut u32,
) -> bool {
    *left = left.saturating_sub(1);
    let (CallFrameInstruction::DefCfaExpression { expression }
    | CallFrameInstruction::Expression { expression, .. }
    | CallFrameInstruction::ValExpression { expression, .. }) = instruction
    else {
        return *left > 0;
    };
    let Ok(expression) = expression.get(frames) else {
        return false;
    };
    let mut operations = expression.operations(encoding);
    loop {
        *left = left.saturating_sub(1);
        match operations.next() {
            Ok(None) => return *left > 0,
            // A jump may make an expression endless, which the unwinder would compute for ever.
            Ok(Some(Operation::Bra { .. } | Operation::Skip { .. })) | Err(_) => return false,
            Ok(Some(_)) if *left == 0 => return false,
            Ok(Some(_)) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_not_programs_have_no_functions() {
        for bytes in [&b""[..], b"\x7fELF", b"#!/bin/sh"] {
            let image = Image::from_bytes("x", bytes, &Rc::default());
            assert_eq!(
                (image.function(0x10), image.entry(0x10)),
                ("x+0x10".to_string(), None)
            );
        }
    }

    #[test]
    fn the_page_before_code_is_counted_with_it() {
        let segments = vec![Segment {
            offset: 0x12900,
            bytes: 0x3000,
            address: 0x13900,
        }];
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
            index: Section::default(),
            text: 0,
            got: 0,
        }
        .indexed(&Budget::default())
    }

    #[test]
    fn functions_begin_where_their_unwind_entries_do() {
        let frames = frames(&[0]);
        let expected = Some(Entry {
            start: 0x1000,
            is_bounded: true,
        });
        assert_eq!(
            [0xfff, 0x1000, 0x100f, 0x1010].map(|at| frames.entry(at)),
            [None, expected, expected, None]
        );
    }

    #[test]
    fn an_entry_that_jumps_or_is_long_is_not_evaluated() {
        // DW_CFA_def_cfa_expression: DW_OP_breg7 8; DW_OP_skip -3, for ever.
        fn is_bounded(instructions: &[u8]) -> bool {
            frames(instructions).entry(0x1000).unwrap().is_bounded
        }

        assert!(!is_bounded(&[0x0f, 3, 0x2f, 0xfd, 0xff]));
        assert!(is_bounded(&[0x0f, 2, 0x77, 8]));
        // DW_CFA_nop, and DW_OP_nop in an expression.
        assert_eq!(
            [4000, 5000].map(|count| is_bounded(&vec![0; count])),
            [true, false]
        );
        let long = [&[0x0f, 0x88, 0x27][..], &[0x96; 5000]].concat();
        assert!(!is_bounded(&long));
    }
}
