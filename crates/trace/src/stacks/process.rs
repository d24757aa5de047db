//! The mappings of a process's code, and the walk from a copied piece of its stack to the functions that led there.

use super::files::{self, Files};
use super::image::{Frames, Image};
use framehop::{ExplicitModuleSectionInfo, FrameAddress, Module, Unwinder};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::bpf::Sample;
use sys::proc_stat;

#[cfg(target_arch = "aarch64")]
use framehop::aarch64::{
    CacheAarch64 as Cache, UnwindRegsAarch64 as Registers, UnwinderAarch64 as Architecture,
};
#[cfg(not(target_arch = "aarch64"))]
use framehop::x86_64::{
    CacheX86_64 as Cache, UnwindRegsX86_64 as Registers, UnwinderX86_64 as Architecture,
};

const DEEPEST: usize = 256;
const PATIENCE: Duration = Duration::from_millis(100);
/// Even programs with many libraries have some hundred.
const MOST_MAPPINGS: usize = 1024;

#[derive(Clone, Debug)]
pub struct Mapping {
    pub start: u64,
    pub end: u64,
    pub offset: u64,
    pub image: Rc<Image>,
}

pub enum Spot {
    In(Rc<Image>, u64),
    /// An address in no file: code compiled at run time, or not code at all.
    At(u64),
}

#[derive(Clone, Default)]
pub struct Process {
    /// The address of its mm_struct, which changes with the program.
    pub space: u64,
    /// A number in the list of maps; `None` within if there is none.
    pub compiled: Option<Option<u32>>,
    pub(super) mappings: Rc<Vec<Mapping>>,
    pub(super) read: Option<Instant>,
    pub(super) walker: Option<Rc<Walker>>,
}

type Walker = Architecture<Arc<[u8]>>;

pub type Rules = Cache;

impl Process {
    pub fn new(space: u64) -> Process {
        Process {
            space,
            ..Process::default()
        }
    }

    /// Cuts away those that it replaces.
    pub fn map(&mut self, new: Mapping) {
        let mut all = Vec::with_capacity(self.mappings.len() + 2);
        for each in self.mappings.iter() {
            let (start, end) = (each.start, each.end);
            if start < new.start {
                all.push(Mapping {
                    end: end.min(new.start),
                    ..each.clone()
                });
            }
            if end > new.end {
                let start = start.max(new.end);
                all.push(Mapping {
                    start,
                    offset: each.offset + (start - each.start),
                    ..each.clone()
                });
            }
        }
        // A program can make millions of mappings, and each copies the list.
        if all.len() < MOST_MAPPINGS {
            all.push(new);
        }
        all.sort_by_key(|mapping| mapping.start);
        (self.mappings, self.walker) = (Rc::new(all), None);
    }

    pub fn map_image(&mut self, image: &Rc<Image>, by: u64) {
        for (start, end, offset) in image.code(by) {
            self.map(Mapping {
                start,
                end,
                offset,
                image: image.clone(),
            });
        }
    }

    /// Reads the mappings from /proc; false if that was done just before. A process that has ended has none.
    pub fn read(&mut self, pid: u32, files: &Files) -> bool {
        if self.read.is_some_and(|at| at.elapsed() < PATIENCE) || !files::numbers_are_ours() {
            return false;
        }
        self.read = Some(Instant::now());
        // A process that has ended and is not reaped has no lines.
        let text = proc_stat::read(format!("/proc/{pid}/maps")).unwrap_or_default();
        for line in text.lines().filter_map(files::line) {
            if files.budget.is_over() {
                break;
            }
            let known = self.mapping_at(line.start);
            if known.is_none_or(|known| known.end != line.end) {
                self.map(Mapping {
                    start: line.start,
                    end: line.end,
                    offset: line.offset,
                    image: files.of_line(pid, &line),
                });
            }
        }
        true
    }

    pub fn mapping_at(&self, address: u64) -> Option<&Mapping> {
        let at = self
            .mappings
            .partition_point(|mapping| mapping.end <= address);
        self.mappings
            .get(at)
            .filter(|mapping| mapping.start <= address)
    }

    /// The places of the functions, from the one that made the call outwards. `stack` was copied from the stack pointer on.
    pub fn walk(
        &mut self,
        sample: &Sample,
        stack: &[u8],
        is_32_bit: bool,
        rules: &mut Rules,
    ) -> Vec<Spot> {
        if is_32_bit {
            let addresses = walk_frame_pointers(sample, stack);
            return addresses.map(|address| self.spot(address)).collect();
        }
        let mappings = &self.mappings;
        let walker = self.walker.get_or_insert_with(|| {
            // Rules know their walker by a number that is used again after some ten thousand others.
            *rules = Rules::default();
            Rc::new(walker(mappings))
        });
        let walker = walker.clone();
        self.walk_by(&walker, sample, stack, rules)
    }

    fn walk_by(
        &self,
        walker: &Walker,
        sample: &Sample,
        stack: &[u8],
        rules: &mut Rules,
    ) -> Vec<Spot> {
        let mut word = |address: u64| {
            read::<8>(stack, sample.sp, address)
                .map(u64::from_le_bytes)
                .ok_or(())
        };
        let mut registers = registers(sample);
        let mut address = FrameAddress::from_instruction_pointer(sample.ip);
        let mut spots = Vec::new();
        while spots.len() < DEEPEST {
            let spot = self.spot(address.address_for_lookup());
            let is_bounded = spot.is_bounded();
            spots.push(spot);
            // The spot itself is right; only the way to its caller is not to be trusted.
            if !is_bounded {
                break;
            }
            let next = walker.unwind_frame(address, &mut registers, rules, &mut word);
            let next = next.ok().flatten();
            let Some(next) = next.and_then(FrameAddress::from_return_address) else {
                break;
            };
            address = next;
        }
        spots
    }

    fn spot(&self, address: u64) -> Spot {
        self.mapping_at(address)
            .map_or(Spot::At(address), |mapping| {
                let offset = address - mapping.start + mapping.offset;
                Spot::In(mapping.image.clone(), offset)
            })
    }
}

impl Spot {
    fn is_bounded(&self) -> bool {
        let Spot::In(image, offset) = self else {
            return true;
        };
        let address = image.address(*offset);
        let entry = address.and_then(|address| image.entry(address));
        entry.is_none_or(|entry| entry.is_bounded)
    }
}

fn walker(mappings: &[Mapping]) -> Walker {
    let mut walker = Architecture::new();
    for Mapping {
        start,
        end,
        offset,
        image,
    } in mappings
    {
        // How far its addresses are moved in this process.
        let moved = image
            .address(*offset)
            .and_then(|address| start.checked_sub(address));
        if let (Some(moved), Some(frames)) = (moved, &image.frames) {
            walker.add_module(Module::new(
                String::new(),
                *start..*end,
                moved,
                sections(frames),
            ));
        }
    }
    walker
}

fn sections(frames: &Frames) -> ExplicitModuleSectionInfo<Arc<[u8]>> {
    fn range(address: u64, bytes: u64) -> std::ops::Range<u64> {
        address..address.saturating_add(bytes)
    }

    let Frames {
        entries,
        index,
        text,
        got,
    } = frames;
    ExplicitModuleSectionInfo {
        text_svma: Some(range(*text, 0)),
        got_svma: Some(range(*got, 0)),
        eh_frame_svma: Some(range(entries.address, entries.bytes.len() as u64)),
        eh_frame: Some(entries.bytes.clone()),
        eh_frame_hdr_svma: Some(range(index.address, index.bytes.len() as u64)),
        eh_frame_hdr: Some(index.bytes.clone()),
        ..ExplicitModuleSectionInfo::default()
    }
}

#[cfg(target_arch = "aarch64")]
fn registers(sample: &Sample) -> Registers {
    Registers::new(sample.lr, sample.sp, sample.fp)
}

#[cfg(not(target_arch = "aarch64"))]
fn registers(sample: &Sample) -> Registers {
    Registers::new(sample.ip, sample.sp, sample.fp)
}

fn read<const BYTES: usize>(stack: &[u8], from: u64, address: u64) -> Option<[u8; BYTES]> {
    let at = usize::try_from(address.checked_sub(from)?).ok()?;
    stack.get(at..at.checked_add(BYTES)?)?.try_into().ok()
}

/// Return addresses by frame pointers: unwind entries of 32-bit programs are not evaluated.
fn walk_frame_pointers(sample: &Sample, stack: &[u8]) -> impl Iterator<Item = u64> {
    let mut frame = sample.fp;
    let callers = std::iter::from_fn(move || {
        let [next, address] = [frame, frame + 4].map(|address| {
            let word = read::<4>(stack, sample.sp, address)?;
            Some(u64::from(u32::from_le_bytes(word)))
        });
        let (next, address) = (next?, address?);
        // A return address may lie behind the last instruction of its function.
        let inside = address.checked_sub(1)?;
        // Outer frames are at higher addresses: others would lead in circles.
        frame = if next > frame { next } else { u64::MAX - 4 };
        Some(inside)
    });
    std::iter::once(sample.ip).chain(callers).take(DEEPEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(start: u64, end: u64, name: &str) -> Mapping {
        Mapping {
            start,
            end,
            offset: 0x100,
            image: Rc::new(Image::unread(name)),
        }
    }

    #[test]
    fn a_mapping_takes_the_place_of_what_was_there() {
        let mut process = Process::default();
        process.map(mapping(0x1000, 0x5000, "old"));
        process.map(mapping(0x2000, 0x3000, "new"));
        for (address, expected) in [
            (0xfff, None),
            (0x1000, Some(("old", 0x100))),
            (0x1fff, Some(("old", 0x10ff))),
            (0x2000, Some(("new", 0x100))),
            (0x2fff, Some(("new", 0x10ff))),
            (0x3000, Some(("old", 0x2100))),
            (0x4fff, Some(("old", 0x40ff))),
            (0x5000, None),
        ] {
            let actual = process.mapping_at(address);
            let actual = actual.map(|it| (it.image.name.as_str(), address - it.start + it.offset));
            assert_eq!(actual, expected);
        }
    }

    #[test]
    fn frame_pointers_of_32_bits_lead_outwards_and_end() {
        let words: [u32; 6] = [0, 0x1010, 0x701, 0, 0x1008, 0x801];
        let stack: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        let sample = Sample {
            ip: 0x600,
            sp: 0x1000,
            fp: 0x1004,
            ..Sample::default()
        };
        // The second frame leads back to the first, as in no stack.
        assert_eq!(
            walk_frame_pointers(&sample, &stack).collect::<Vec<_>>(),
            [0x600, 0x700, 0x800]
        );
    }

    #[test]
    fn nothing_outside_of_the_copied_stack_is_read() {
        let stack = [7; 16];
        assert_eq!(read::<8>(&stack, 0x1000, 0x1008), Some([7; 8]));
        assert_eq!(
            [0xfff, 0x1009, u64::MAX].map(|at| read::<8>(&stack, 0x1000, at)),
            [None; 3]
        );
    }
}
