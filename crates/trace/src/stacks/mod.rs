//! Who makes the calls: turns what the eBPF programs send (mappings, forks, and copied stacks of a sample of calls, `bpf/stacks.h`)
//! into named stacks for each place that calls are made from. Functions that were inlined have no frame.

mod files;
mod functions;
pub mod image;
mod perf_map;
mod process;

use files::Files;
use functions::Functions;
use image::Image;
use indexmap::IndexSet;
use process::{Mapping, Process, Rules, Spot};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;
use sys::bpf::events::event;
use sys::bpf::layout::gate;
use sys::bpf::{Event, Executed, Forked, Mapped, Sample, StackKey};
use sys::step::{self, parse_mapping};
use zerocopy::FromBytes;

pub const UNKNOWN: &str = "[unknown]";
const MANY: usize = 4096;

/// Where a function is: in which file, or in the memory of which process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Frame {
    In { image: u32, offset: u64 },
    Compiled { place: u32, address: u64 },
    Unknown,
}

#[derive(Default)]
pub struct Stacks {
    processes: HashMap<u32, Process>,
    files: Files,
    rules: Rules,
    images: Vec<Rc<Image>>,
    numbers: HashMap<*const Image, u32>,
    compilers: Vec<(perf_map::MapLocation, OnceCell<Functions>)>,
    /// Frames run from the function that made the call outwards.
    all: IndexSet<Box<[Frame]>>,
    sites: HashMap<StackKey, BTreeMap<usize, u64>>,
    slow: HashMap<u32, usize>,
    pub calls: u64,
    vdso: OnceCell<Option<(Rc<Image>, u64)>>,
    names: RefCell<HashMap<Frame, Rc<str>>>,
}

impl Stacks {
    pub fn take(&mut self, record: &[u8]) {
        let Ok((head, _)) = Event::ref_from_prefix(record) else {
            return;
        };
        let _ = match head.kind {
            event::MAPPED => Mapped::ref_from_bytes(record)
                .map(|it| self.mapped(it))
                .ok(),
            event::EXECUTED => Executed::ref_from_bytes(record)
                .map(|it| self.executed(it))
                .ok(),
            event::FORKED => Forked::ref_from_bytes(record)
                .map(|it| self.forked(it))
                .ok(),
            event::STACK => Sample::ref_from_prefix(record)
                .map(|(sample, stack)| self.sampled(sample, stack))
                .ok(),
            _ => None,
        };
    }

    /// All events must have been taken.
    pub fn forget(&mut self) {
        if self.processes.len() > MANY {
            self.processes
                .retain(|pid, _| Path::new(&format!("/proc/{pid}")).exists());
        }
    }

    fn mapped(&mut self, mapped: &Mapped) {
        let pid = mapped.event.process;
        let names = mapped.path.get(..mapped.length as usize);
        let through = Some((pid, mapped.start, mapped.end));
        let names = names.unwrap_or_default();
        let image = self.files.mapped(&mapped.file, names, through);
        self.known(&mapped.event).map(Mapping {
            start: mapped.start,
            end: mapped.end,
            offset: mapped.offset,
            image,
        });
    }

    /// The kernel has mapped a program and its interpreter. What /proc shows is right if the process still executes it.
    fn executed(&mut self, executed: &Executed) {
        let (pid, space) = (executed.event.process, executed.event.space);
        let names = executed.path.get(..executed.length as usize);
        let mut process = Process::of(space);
        process.read(pid, &self.files);
        let start = auxiliary(executed, AT_ENTRY, true)
            .and_then(|start| process.at(start))
            .map(|at| (pid, at.start, at.end));
        let names = names.unwrap_or_default();
        let program = self.files.mapped(&executed.file, names, start);
        // If it ended while its mappings were read, the files of the later ones could not be opened.
        let lives = std::fs::read_link(format!("/proc/{pid}/exe")).is_ok();
        let mut images = process.mappings.iter().map(|mapping| &mapping.image);
        if !lives || images.all(|image| !Rc::ptr_eq(image, &program)) {
            process = Process::of(space);
            let value = |kind| auxiliary(executed, kind, program.is_64_bit);
            process.map_image(
                &program,
                value(AT_ENTRY).unwrap_or(0).wrapping_sub(program.start),
            );
            let path = program.interpreter.as_ref();
            let interpreter = path.and_then(|path| self.files.interpreter(executed, path));
            if let (Some(image), Some(by)) = (interpreter, value(AT_BASE)) {
                process.map_image(&image, by);
            }
        }
        self.processes.insert(pid, process);
    }

    fn forked(&mut self, forked: &Forked) {
        let parent = match self.processes.get(&forked.parent) {
            Some(parent) => parent.clone(),
            None => {
                let mut parent = Process::default();
                parent.read(forked.parent, &self.files);
                parent
            }
        };
        let child = Process {
            space: forked.event.space,
            ..parent
        };
        self.processes.insert(forked.event.process, child);
    }

    fn sampled(&mut self, sample: &Sample, stack: &[u8]) {
        let pid = sample.event.process;
        let is_32_bit = sample.key.key.gate == gate::COMPAT;
        let vdso = self.vdso.get_or_init(vdso).clone();
        let vdso = vdso.filter(|_| sample.vdso > 0 && !is_32_bit);
        self.known(&sample.event);
        let process = self.processes.entry(pid).or_default();
        if let Some((image, bytes)) = vdso.filter(|_| process.at(sample.vdso).is_none()) {
            process.map(Mapping {
                start: sample.vdso,
                end: sample.vdso.saturating_add(bytes),
                offset: 0,
                image,
            });
        }
        let mut spots = process.walk(sample, stack, is_32_bit, &mut self.rules);
        if spots.iter().any(|spot| matches!(spot, Spot::At(_))) && process.read(pid, &self.files) {
            spots = process.walk(sample, stack, is_32_bit, &mut self.rules);
        }
        let frames: Box<[Frame]> = spots
            .into_iter()
            .map(|spot| self.frame(pid, spot))
            .collect();
        let (number, _) = self.all.insert_full(frames);
        if sample.weight > 0 {
            self.calls += 1;
            let stacks = self.sites.entry(sample.key).or_default();
            *stacks.entry(number).or_default() += sample.weight;
        }
        if sample.slow > 0 {
            self.slow.insert(sample.slow, number);
        }
    }

    /// The process of an event. What it has mapped is that of the program that it executes now, as far as /proc shows.
    fn known(&mut self, event: &Event) -> &mut Process {
        let process = self.processes.entry(event.process).or_default();
        if process.space != event.space {
            *process = Process::of(event.space);
            process.read(event.process, &self.files);
        }
        process
    }

    fn frame(&mut self, pid: u32, spot: Spot) -> Frame {
        match spot {
            Spot::In(image, offset) => {
                let next = self.images.len() as u32;
                let number = *self.numbers.entry(Rc::as_ptr(&image)).or_insert(next);
                if number == next {
                    self.images.push(image);
                }
                Frame::In {
                    image: number,
                    offset,
                }
            }
            Spot::At(address) => {
                let compilers = &mut self.compilers;
                let process = self.processes.entry(pid).or_default();
                let place = *process.compiled.get_or_insert_with(|| {
                    let place = perf_map::MapLocation::for_process(pid)
                        .filter(|_| files::numbers_are_ours())?;
                    compilers.push((place, OnceCell::new()));
                    Some(compilers.len() as u32 - 1)
                });
                place.map_or(Frame::Unknown, |place| Frame::Compiled { place, address })
            }
        }
    }

    /// The outermost function first, with the number of sampled calls that each stack represents.
    pub fn stacks_of_site(&self, key: &StackKey) -> Vec<(Vec<Rc<str>>, u64)> {
        let found = self.sites.get(key).into_iter().flatten();
        let named = found.map(|(number, weight)| (self.named(*number), *weight));
        named.collect()
    }

    pub fn stack_of_slow_call(&self, number: u32) -> Vec<Rc<str>> {
        self.slow
            .get(&number)
            .map_or_else(Vec::new, |number| self.named(*number))
    }

    fn named(&self, number: usize) -> Vec<Rc<str>> {
        let frames = self.all.get_index(number).into_iter().flatten().rev();
        let mut names: Vec<Rc<str>> = frames.map(|frame| self.name(*frame)).collect();
        // Unknown ones in a row are one.
        names.dedup_by(|a, b| **a == *UNKNOWN && a == b);
        names
    }

    fn name(&self, frame: Frame) -> Rc<str> {
        let found = || match frame {
            Frame::In { image, offset } => self
                .images
                .get(image as usize)
                .map(|image| image.function(offset)),
            Frame::Compiled { place, address } => {
                let (place, functions) = self.compilers.get(place as usize)?;
                functions.get_or_init(|| place.read()).at(address, None)
            }
            Frame::Unknown => None,
        };
        let name = || found().map_or_else(|| UNKNOWN.into(), Into::into);
        self.names
            .borrow_mut()
            .entry(frame)
            .or_insert_with(name)
            .clone()
    }
}

/// Processes that samples found on a CPU. What they map is looked up while they live; of those that end at once, nothing is known.
#[derive(Default)]
pub struct Sampled {
    processes: HashMap<u32, Process>,
    files: Files,
}

impl Sampled {
    pub fn look(&mut self, pid: u32, address: u64) {
        let process = self.processes.entry(pid).or_default();
        if process.at(address).is_none() {
            process.read(pid, &self.files);
        }
    }

    pub fn function(&self, pid: u32, address: u64) -> Option<(String, String)> {
        let mapping = self.processes.get(&pid)?.at(address)?;
        let name = mapping
            .image
            .function(address - mapping.start + mapping.offset);
        Some((name, mapping.image.name.clone()))
    }
}

/// Types of the auxiliary vector (linux/auxvec.h): where its interpreter is, and where it begins itself.
const AT_BASE: u64 = 7;
const AT_ENTRY: u64 = 9;

fn auxiliary(executed: &Executed, kind: u64, is_64_bit: bool) -> Option<u64> {
    let halves = |word: &u64| [word & u64::from(u32::MAX), word >> 32];
    let words: Vec<u64> = if is_64_bit {
        executed.auxv.to_vec()
    } else {
        executed.auxv.iter().flat_map(halves).collect()
    };
    let pair = words.chunks_exact(2).find(|pair| pair[0] == kind);
    pair.map(|pair| pair[1]).filter(|value| *value > 0)
}

fn vdso() -> Option<(Rc<Image>, u64)> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let step::Mapping { start, end, .. } = maps
        .lines()
        .filter_map(parse_mapping)
        .find(|found| found.path == "[vdso]")?;
    let mut bytes = vec![0; usize::try_from(end - start).ok()?];
    File::open("/proc/self/mem")
        .ok()?
        .read_exact_at(&mut bytes, start)
        .ok()?;
    Some((Rc::new(Image::from_bytes("[vdso]", &bytes)), end - start))
}
