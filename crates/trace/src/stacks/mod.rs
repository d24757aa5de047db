//! Who makes the calls: turns events of the eBPF programs (mappings, forks, and copied stacks of a sample of calls, `bpf/stacks.h`) into
//! named stacks for each place that calls are made from. Functions that were inlined have no frame, but name the place of a call.

mod budget;
mod files;
mod functions;
pub mod image;
mod lines;
mod perf_map;
mod process;
mod python;
mod reader;
mod sampled;

pub use reader::Reader;

use crate::open_calls::memory;
use budget::Budget;
use files::Files;
use functions::Functions;
use image::Image;
use indexmap::IndexSet;
use model::runtime::{PYTHON_LOCKS, awaited, is_library, is_runtime};
use process::{Mapping, Process, Rules, Spot};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use sys::bpf::events::event;
use sys::bpf::layout::gate;
use sys::bpf::{Event, Executed, Forked, Live, Mapped, Python, Sample, Script, StackKey};
use sys::step::{self, parse_mapping};
use zerocopy::FromBytes;

/// The largest number of threads in a call whose stacks are read, and the bytes of each.
const MOST_OPEN: usize = 512;
const OPEN_BYTES: usize = 32_768;
pub const UNKNOWN: &str = "[unknown]";
/// With fewer processes, none is forgotten.
const MANY: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Frame {
    In { image: u32, offset: u64 },
    Compiled { place: u32, address: u64 },
    Unknown,
}

/// The program's function of a frame, and its line.
type Source = (Arc<str>, Option<String>);

/// Frames, and the function of a script that they execute.
type Calls = (Box<[Frame]>, Option<Arc<str>>);

#[derive(Default)]
pub struct Stacks {
    processes: HashMap<u32, Process>,
    files: Files,
    rules: Rules,
    images: Vec<Rc<Image>>,
    numbers: HashMap<*const Image, u32>,
    compilers: Vec<(perf_map::MapLocation, OnceCell<Functions>)>,
    /// Frames run from the function that made the call outwards.
    all: IndexSet<Calls>,
    sites: HashMap<StackKey, BTreeMap<usize, u64>>,
    slow: HashMap<u32, usize>,
    calls: u64,
    /// Processes that execute Python.
    pythons: HashMap<u32, &'static python::Version>,
    new_pythons: Vec<(u32, Python)>,
    scripts: HashMap<(u32, u64), python::Function>,
    vdso: OnceCell<Option<(Rc<Image>, u64)>>,
    names: RefCell<HashMap<Frame, Arc<str>>>,
    sources: RefCell<HashMap<Frame, Option<Source>>>,
    /// With more processes, those that have ended are forgotten: twice as many as were alive the last time.
    most_processes: usize,
    on_cpus: HashMap<u32, Process>,
}

fn sample(live: &Live) -> Sample {
    Sample {
        event: Event {
            process: live.process,
            space: live.space,
            ..Event::default()
        },
        key: StackKey {
            key: live.key,
            site: 0,
        },
        ip: live.ip,
        sp: live.sp,
        fp: live.fp,
        lr: live.lr,
        ..Sample::default()
    }
}

/// A call's stack, the outermost function first.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Stack {
    pub frames: Vec<Arc<str>>,
    /// The innermost function that is neither of the C library nor of a runtime, and the line of its call.
    pub function: Option<Arc<str>>,
}

impl Stack {
    /// A stack that was not copied, or could not be unwound.
    pub fn unknown() -> Stack {
        Stack {
            frames: vec![UNKNOWN.into()],
            function: None,
        }
    }
}

#[derive(Default)]
pub struct Named {
    /// The stacks of each site, with the number of sampled calls that each represents.
    pub sites: HashMap<StackKey, Vec<(Stack, u64)>>,
    pub slow: HashMap<u32, Stack>,
    pub calls: u64,
    /// For each site, the function of most of its calls that is neither of the C library nor of a runtime.
    pub functions: HashMap<StackKey, Arc<str>>,
    /// By the number of a thread that is in a call.
    pub open: HashMap<u32, Waiting>,
}

/// The call that a thread is in.
#[derive(Clone, Default)]
pub struct Waiting {
    /// The innermost function that is neither of the C library nor of a runtime, and its line if that is known.
    pub function: Option<Arc<str>>,
    /// What of Python's `threading` the thread waits for.
    pub python_lock: Option<&'static str>,
    /// The kind of what it waits for in a function of the C library.
    pub awaited: Option<&'static str>,
}

impl Stacks {
    /// Takes an event. Events must come in the order in which they happened: stacks are unwound by the mappings of that moment.
    pub fn take(&mut self, record: &[u8]) {
        let Ok((head, _)) = Event::ref_from_prefix(record) else {
            return;
        };
        let budget = self.files.budget.clone();
        if head.kind == event::STACK {
            let Ok((sample, stack)) = Sample::ref_from_prefix(record) else {
                return;
            };
            let frames = budget.timed(|| self.walked(sample, stack));
            let frames = frames.unwrap_or_else(|| [Frame::Unknown].into());
            self.add_sample(sample, (frames, self.script(sample)));
            // Here too: a process that was running before the trace has no mapping events.
            self.look_for_python(head.process);
            return;
        }
        budget.timed(|| match head.kind {
            event::MAPPED => Mapped::ref_from_bytes(record)
                .map(|it| self.mapped(it))
                .ok(),
            event::EXECUTED => Executed::ref_from_bytes(record)
                .map(|it| self.executed(it))
                .ok(),
            event::FORKED => Forked::ref_from_bytes(record)
                .map(|it| self.forked(it))
                .ok(),
            event::SCRIPT => Script::ref_from_bytes(record)
                .map(|it| self.scripted(it))
                .ok(),
            _ => None,
        });
        if matches!(head.kind, event::MAPPED | event::EXECUTED) {
            self.look_for_python(head.process);
        }
    }

    /// Processes that were found to execute Python since the last call.
    pub fn pythons(&mut self) -> Vec<(u32, Python)> {
        std::mem::take(&mut self.new_pythons)
    }

    fn python(&self, pid: u32) -> Option<(&'static python::Version, Python)> {
        self.mapped_by(pid)
            .flat_map(|process| process.mappings.iter())
            .find_map(|mapping| {
                let version = python::version(&mapping.image.name)?;
                let moved = mapping
                    .start
                    .checked_sub(mapping.image.address(mapping.offset)?)?;
                let runtime = mapping.image.python()?.checked_add(moved)?;
                let at = version.at;
                Some((version, Python { runtime, at }))
            })
    }

    /// By events, and by looking at what was sampled.
    fn mapped_by(&self, pid: u32) -> impl Iterator<Item = &Process> {
        let both = [&self.processes, &self.on_cpus];
        both.into_iter().filter_map(move |all| all.get(&pid))
    }

    fn look_for_python(&mut self, pid: u32) {
        if let Some((version, python)) = self.python(pid)
            && self.pythons.insert(pid, version).is_none()
        {
            self.new_pythons.push((pid, python));
        }
    }

    fn scripted(&mut self, script: &Script) {
        let function = python::Function::new(script);
        let key = (script.event.process, script.code);
        self.scripts
            .extend(function.map(|function| (key, function)));
    }

    /// The innermost function outside of the language's own library.
    fn script(&self, sample: &Sample) -> Option<Arc<str>> {
        let pid = sample.event.process;
        let version = self.pythons.get(&pid)?;
        let codes = sample.code.iter().zip(&sample.instruction);
        for (code, instruction) in codes.take(sample.scripts as usize) {
            let function = self.scripts.get(&(pid, *code))?;
            if !function.is_library {
                return function.location(version.offset_of(*instruction, *code)?);
            }
        }
        None
    }

    /// Forgets processes that have ended, once there are many. All events must have been taken: later ones could be of such a process.
    pub fn forget(&mut self) {
        if self.processes.len() > self.most_processes.max(MANY) {
            self.processes
                .retain(|pid, _| Path::new(&format!("/proc/{pid}")).exists());
            self.most_processes = 2 * self.processes.len();
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
        let mut process = Process::new(space);
        process.read(pid, &self.files);
        let start = auxiliary(executed, AT_ENTRY, true)
            .and_then(|start| process.mapping_at(start))
            .map(|at| (pid, at.start, at.end));
        let names = names.unwrap_or_default();
        let program = self.files.mapped(&executed.file, names, start);
        // If it ended while its mappings were read, the files of the later ones could not be opened.
        let lives = std::fs::read_link(format!("/proc/{pid}/exe")).is_ok();
        let mut images = process.mappings.iter().map(|mapping| &mapping.image);
        if !lives || images.all(|image| !Rc::ptr_eq(image, &program)) {
            process = Process::new(space);
            let [entry, base] =
                [AT_ENTRY, AT_BASE].map(|kind| auxiliary(executed, kind, program.is_64_bit));
            process.map_image(&program, entry.unwrap_or(0).wrapping_sub(program.start));
            let path = program.interpreter.as_ref();
            let interpreter = path.and_then(|path| self.files.interpreter(executed, path));
            if let (Some(image), Some(by)) = (interpreter, base) {
                process.map_image(&image, by);
            }
        }
        self.processes.insert(pid, process);
        self.pythons.remove(&pid);
    }

    /// Gives a child the mappings of its parent. If a process has begun a thread, its mappings are read: it may end before its first
    /// stack is copied.
    fn forked(&mut self, forked: &Forked) {
        if forked.parent == forked.event.process {
            self.known(&forked.event);
            return;
        }
        // A child has its parent's mappings; reading its own would be too late for short processes.
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
        let python = self.pythons.get(&forked.parent).copied();
        self.pythons
            .extend(python.map(|python| (forked.event.process, python)));
    }

    fn walked(&mut self, sample: &Sample, stack: &[u8]) -> Box<[Frame]> {
        let pid = sample.event.process;
        let is_32_bit = sample.key.key.gate == gate::COMPAT;
        let vdso = self.vdso.get_or_init(|| vdso(&self.files.budget)).clone();
        let vdso = if sample.vdso > 0 && !is_32_bit {
            vdso
        } else {
            None
        };
        self.known(&sample.event);
        let process = self.processes.entry(pid).or_default();
        if let Some((image, bytes)) = vdso
            && process.mapping_at(sample.vdso).is_none()
        {
            process.map(Mapping {
                start: sample.vdso,
                end: sample.vdso.saturating_add(bytes),
                offset: 0,
                image,
            });
        }
        let mut spots = process.walk(sample, stack, is_32_bit, &mut self.rules);
        // An address in no file may be in a mapping whose event was lost.
        if spots.iter().any(|spot| matches!(spot, Spot::At(_))) && process.read(pid, &self.files) {
            spots = process.walk(sample, stack, is_32_bit, &mut self.rules);
        }
        spots
            .into_iter()
            .map(|spot| self.frame(pid, spot))
            .collect()
    }

    fn add_sample(&mut self, sample: &Sample, calls: Calls) {
        let (number, _) = self.all.insert_full(calls);
        if sample.weight > 0 {
            self.calls += 1;
            let stacks = self.sites.entry(sample.key).or_default();
            *stacks.entry(number).or_default() += sample.weight;
        }
        if sample.slow > 0 {
            self.slow.insert(sample.slow, number);
        }
    }

    /// The process of an event, with the mappings of the program that it executes now, as far as /proc shows.
    fn known(&mut self, event: &Event) -> &mut Process {
        let process = self.processes.entry(event.process).or_default();
        if process.space != event.space {
            *process = Process::new(event.space);
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
                    if !files::numbers_are_ours() {
                        return None;
                    }
                    let place = perf_map::MapLocation::for_process(pid)?;
                    compilers.push((place, OnceCell::new()));
                    Some(compilers.len() as u32 - 1)
                });
                place.map_or(Frame::Unknown, |place| Frame::Compiled { place, address })
            }
        }
    }

    /// Reads symbol tables, within the budget.
    pub fn named(&self) -> Named {
        let sites = self.sites.iter().map(|(key, stacks)| {
            let stacks = stacks.iter();
            let named = stacks.map(|(number, weight)| (self.stack(*number), *weight));
            (*key, named.collect())
        });
        let slow = self.slow.iter();
        Named {
            sites: sites.collect(),
            slow: slow
                .map(|(call, number)| (*call, self.stack(*number)))
                .collect(),
            calls: self.calls,
            functions: self.functions(),
            open: HashMap::new(),
        }
    }

    fn functions(&self) -> HashMap<StackKey, Arc<str>> {
        let most = self.sites.iter().filter_map(|(key, stacks)| {
            let (number, _) = stacks.iter().max_by_key(|(_, weight)| **weight)?;
            let (frames, script) = self.all.get_index(*number)?;
            let function = script.clone();
            let function = function.or_else(|| Some(self.program_function(frames)?.0));
            Some((*key, function?))
        });
        most.collect()
    }

    /// The innermost function that is neither of the C library nor of a runtime, also if it was inlined, and the line of its call if the
    /// file has lines.
    fn program_function(&self, frames: &[Frame]) -> Option<Source> {
        frames.iter().find_map(|frame| {
            let image = match frame {
                Frame::In { image, .. } => self.images.get(*image as usize),
                Frame::Compiled { .. } | Frame::Unknown => None,
            };
            if image.is_some_and(|image| is_library(&image.name)) {
                return None;
            }
            let mut sources = self.sources.borrow_mut();
            let known = sources.entry(*frame).or_insert_with(|| {
                let source = match (frame, image) {
                    (Frame::In { offset, .. }, Some(image)) => {
                        self.files.budget.timed(|| image.source(*offset))
                    }
                    _ => None,
                };
                let all = source.unwrap_or_else(|| vec![(None, None)]).into_iter();
                let mut all =
                    all.map(|(name, line)| (name.unwrap_or_else(|| self.name(*frame)), line));
                all.find(|(name, _)| !is_runtime(name))
            });
            known.clone()
        })
    }

    /// That function with its line.
    fn program_line(&self, frames: &[Frame]) -> Option<Arc<str>> {
        let (name, line) = self.program_function(frames)?;
        Some(line.map_or(name.clone(), |line| format!("{name} ({line})").into()))
    }

    /// By the present memory of the stack of each thread.
    pub fn waiting(&mut self, threads: &[Live]) -> HashMap<u32, Waiting> {
        let functions = threads.iter().take(MOST_OPEN).filter_map(|live| {
            let memory = memory(live)?;
            let mut stack = vec![0; OPEN_BYTES];
            let read = memory.read_at(&mut stack, live.sp).ok()?;
            let sample = sample(live);
            let frames = self.walked(&sample, &stack[..read]);
            let python = self.python(live.process);
            let script = python.and_then(|(version, python)| {
                python::function_of(
                    &memory,
                    version,
                    &python,
                    live.pid,
                    live.pid == live.process,
                )
            });
            let mut names = frames.iter().map(|frame| self.name(*frame));
            let waited_for = names.clone().find_map(|name| awaited(&name));
            let lock = names.find_map(|name| PYTHON_LOCKS.iter().find(|lock| *lock.0 == *name));
            let waiting = Waiting {
                awaited: waited_for,
                python_lock: lock.map(|(_, class)| *class),
                function: script.or_else(|| self.program_line(&frames)),
            };
            Some((live.pid, waiting))
        });
        functions.collect()
    }

    /// The variable at an address of a process. The data of a file is mapped behind its code.
    pub fn variable(&mut self, pid: u32, address: u64) -> Option<String> {
        let process = self.processes.entry(pid).or_default();
        // One that was running before the trace has no mapping events.
        if process.mappings.is_empty() {
            process.read(pid, &self.files);
        }
        let mappings = &process.mappings;
        let behind = mappings.partition_point(|mapping| mapping.start <= address);
        let code = mappings.get(behind.checked_sub(1)?)?;
        let moved = code.start.checked_sub(code.image.address(code.offset)?)?;
        let variable = || code.image.variable(address - moved);
        self.files.budget.timed(variable).flatten()
    }

    /// A line for the user if files were not read because of the budget.
    pub fn warning(&self) -> Option<String> {
        self.files.budget.warning()
    }

    fn stack(&self, number: usize) -> Stack {
        let Some((all, script)) = self.all.get_index(number) else {
            return Stack::unknown();
        };
        let frames = all.iter().rev();
        let mut frames: Vec<Arc<str>> = frames.map(|frame| self.name(*frame)).collect();
        // Several unknown frames in a row are shown as one.
        frames.dedup_by(|a, b| **a == *UNKNOWN && a == b);
        Stack {
            frames,
            function: script.clone().or_else(|| self.program_line(all)),
        }
    }

    fn name(&self, frame: Frame) -> Arc<str> {
        let budget = &self.files.budget;
        self.names
            .borrow_mut()
            .entry(frame)
            .or_insert_with(|| {
                budget
                    .timed(|| match frame {
                        Frame::In { image, offset } => self
                            .images
                            .get(image as usize)
                            .map(|image| image.function(offset)),
                        Frame::Compiled { place, address } => {
                            let (place, functions) = self.compilers.get(place as usize)?;
                            functions
                                .get_or_init(|| place.read(budget))
                                .containing(address, None)
                                .map(|name| perf_map::short(&name))
                        }
                        Frame::Unknown => None,
                    })
                    .flatten()
                    .map_or_else(|| UNKNOWN.into(), Into::into)
            })
            .clone()
    }
}

/// Types of values in the auxiliary vector (linux/auxvec.h): the addresses of the interpreter, and of the program's entry point.
const AT_BASE: u64 = 7;
const AT_ENTRY: u64 = 9;

fn auxiliary(executed: &Executed, kind: u64, is_64_bit: bool) -> Option<u64> {
    let words: Vec<u64> = if is_64_bit {
        executed.auxv.to_vec()
    } else {
        executed
            .auxv
            .iter()
            .flat_map(|word| [word & u64::from(u32::MAX), word >> 32])
            .collect()
    };
    let pair = words.chunks_exact(2).find(|pair| pair[0] == kind);
    pair.map(|pair| pair[1]).filter(|value| *value > 0)
}

fn vdso(budget: &Rc<Budget>) -> Option<(Rc<Image>, u64)> {
    let maps = std::fs::read_to_string("/proc/self/maps").ok()?;
    let step::Mapping { start, end, .. } = maps
        .lines()
        .filter_map(parse_mapping)
        .find(|mapping| mapping.path == "[vdso]")?;
    let mut bytes = vec![0; usize::try_from(end - start).ok()?];
    File::open("/proc/self/mem")
        .ok()?
        .read_exact_at(&mut bytes, start)
        .ok()?;
    let image = Image::from_bytes("[vdso]", &bytes, budget);
    Some((Rc::new(image), end - start))
}
