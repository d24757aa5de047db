//! The loaded programs of one trace and their maps. Nothing is pinned and each attachment is a file descriptor, so they
//! are gone when this is dropped or the process ends, however it ends.

use super::available::version;
use super::btf::{Btf, TYPES};
use super::config::Config;
use super::events::Python;
use super::layout::{Globals, Live, Place, PolledKey, Settings, Window};
use super::maps::continue_with;
use super::object::{self, Object};
use super::relocate;
use super::ring::Ring;
use super::rows::Raw;
use super::sampler::Sampler;
use super::selection::{Selection, counts, event_of, settings};
use super::sys::{self, Attachment};
use super::tables::{ONLY, Tables};
use super::tracepoints;
use crate::{clock, threads};
use anyhow::{Context, Result, anyhow, bail, ensure};
use nix::errno::Errno;
use nix::time::ClockId;
use std::io::Read;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};
use zerocopy::FromBytes;

struct Attached {
    program: OwnedFd,
    /// Where perf attaches it.
    event: Option<&'static str>,
    counts: bool,
}

/// The attachments are dropped first.
pub struct Programs {
    links: Vec<OwnedFd>,
    sampler: Option<Sampler>,
    programs: Vec<Attached>,
    missed_before: u64,
    begin: OwnedFd,
    list: OwnedFd,
    maps: Tables,
}

impl Programs {
    /// None is attached yet.
    ///
    /// # Errors
    /// The kernel has no BTF, is too old, or refuses a map or a program; a refusal by the verifier comes with the end of its log.
    pub fn load(config: &Config) -> Result<Programs> {
        let release = nix::sys::utsname::uname()
            .context("uname")?
            .release()
            .to_string_lossy()
            .into_owned();
        Programs::load_with(config, version(&release), true)
    }

    fn load_with(config: &Config, release: (u32, u32), casts: bool) -> Result<Programs> {
        let object =
            Object::parse(object::BYTES).context("the BPF programs in this binary are damaged")?;
        let targets: Vec<_> = object
            .programs
            .iter()
            .filter_map(object::Program::kernel_type)
            .collect();
        let bytes = std::fs::read(TYPES).context(TYPES)?;
        let kernel = Btf::parse(&bytes, &relocate::wanted(&object, &targets))
            .map_err(|why| anyhow!("{TYPES}: {why}"))?;
        let mut settings = settings(config, &kernel, release);
        ensure!(
            settings.has_registers == 1 || settings.sampled == 0,
            "sampling needs Linux 5.15 or newer: leave out --sampled"
        );
        settings.has_cast &= u8::from(casts);
        let maps = Tables::create(&object, &settings)?;
        let selection = Selection::new(config, &settings, &kernel);
        let prepared: Result<Vec<_>> = selection
            .names()
            .map(|name| Prepared::new(&object, name, &settings, &kernel, &maps))
            .collect();
        // In the order of `names`, and taken apart from the end.
        let mut loaded = load_all(&prepared?)?;
        if selection.next.is_some() {
            continue_with(&maps.next, &last_of(&mut loaded)?)
                .context("the kernel refused a BPF program for a tail call")?;
        }
        let sampler = match selection.sampler {
            Some(_) => Some(Sampler::new(last_of(&mut loaded)?, config.interruption)),
            None => None,
        };
        // If calls are counted, samples are an addition that the kernel may refuse.
        let sampler = if settings.sampled == 1 {
            sampler.transpose()?
        } else {
            sampler.and_then(Result::ok)
        };
        let (list, begin) = (link(&mut loaded)?, link(&mut loaded)?);
        let programs = loaded.into_iter().zip(&selection.attached);
        let programs = programs.map(|(program, name)| Attached {
            program,
            event: event_of(name, &settings),
            counts: counts(name),
        });
        Ok(Programs {
            links: Vec::new(),
            sampler,
            programs: programs.collect(),
            missed_before: 0,
            begin,
            list,
            maps,
        })
    }

    /// Attaches the programs that are not attached, in order; nothing is counted before `begin`, except for marked tasks.
    pub fn attach(&mut self) -> Result<()> {
        for Attached { program, event, .. } in &self.programs[self.links.len()..] {
            let link = match event {
                Some(event) => tracepoints::attach(program.as_fd(), event),
                None => sys::attach(program.as_fd()).map_err(Into::into),
            };
            self.links
                .push(link.context("the kernel refuses to attach a BPF program")?);
        }
        Ok(())
    }

    /// Starts sampling on all CPUs that are online, if samples are wanted.
    pub fn sample(&mut self) -> Result<()> {
        self.sampler.as_mut().map_or(Ok(()), Sampler::start)
    }

    /// Samples a second on each CPU, and the time of an interrupt; `None` if nothing is sampled.
    pub fn sampling(&self) -> Option<(u64, Duration)> {
        self.sampler
            .as_ref()
            .map(|sampler| (sampler.hz, sampler.interruption))
    }

    /// The ring of events, in the order in which they happened; it stays empty unless stacks are wanted.
    pub fn events(&mut self) -> &mut Ring {
        &mut self.maps.events
    }

    /// Stops sampling too; maps can still be read.
    pub fn detach(&mut self) {
        self.sampler.iter_mut().for_each(Sampler::stop);
        self.links.clear();
    }

    /// Ends counting at one moment for all programs, so that what is read later does not depend on which is detached first.
    pub fn end(&self) -> Result<()> {
        self.maps.ended.set(&ONLY, &now_ns()?)?;
        // Programs that were already running when the map was written are done after that.
        std::thread::sleep(Duration::from_millis(1));
        Ok(())
    }

    /// Before, only marked tasks are traced. Calls missed during the calibration are subtracted later.
    pub fn begin(&mut self) -> Result<()> {
        self.missed_before = self.missed()?;
        self.maps.globals.set(
            &ONLY,
            &Globals {
                begun: 1,
                ..Globals::default()
            },
        )
    }

    /// Marks a process: `state::HELD` before its execve, `state::LIVE` for one all of whose threads are to be traced, or
    /// `state::EXCLUDED`. A file descriptor means the same process in every PID namespace, and never a later one that
    /// reuses its PID. False if the process is marked already, or has ended.
    pub fn mark(&self, pidfd: BorrowedFd, mark: u64) -> Result<bool> {
        self.maps.marks.insert(&pidfd.as_raw_fd(), &mark)
    }

    /// Otherwise a marked process would count from its next switch on only.
    pub fn begin_present(&self) -> Result<()> {
        self.call(&self.begin).map(drop)
    }

    /// The traced tasks that have not ended, each with the call that it is in.
    pub fn live(&self) -> Result<Vec<Live>> {
        let bytes = self.call(&self.list)?;
        Ok(bytes
            .chunks_exact(size_of::<Live>())
            .filter_map(|row| Live::read_from_bytes(row).ok())
            .collect())
    }

    fn call(&self, link: &OwnedFd) -> Result<Vec<u8>> {
        let file =
            sys::open_iterator(link.as_fd()).context("the kernel refuses to call a BPF program")?;
        let mut bytes = Vec::new();
        std::fs::File::from(file)
            .read_to_end(&mut bytes)
            .context("the kernel refuses to list tasks")?;
        Ok(bytes)
    }

    /// Totals, with counters of what was lost.
    pub fn globals(&self) -> Result<Globals> {
        self.maps
            .globals
            .get(&ONLY)?
            .context("BPF map 'globals' is empty")
    }

    /// Nothing may be traced meanwhile: entries would be half cleared.
    pub fn reset(&mut self) -> Result<()> {
        let maps = &mut self.maps;
        maps.events.drain(&mut |_| ());
        maps.windows.zero()?;
        maps.globals.zero()?;
        maps.details.zero()?;
        maps.calls.clear()?;
        maps.durations.clear()?;
        maps.groups.clear()?;
        maps.usage.clear()?;
        maps.started.clear()?;
        maps.sections.clear()?;
        maps.objects.clear()?;
        maps.waits.clear()?;
        maps.polled.clear()?;
        maps.served.clear()?;
        maps.rings.clear()?;
        maps.locks.clear()?;
        maps.ended_tasks.clear()?;
        maps.stack_counts.clear()?;
        maps.places.clear()?;
        maps.names.clear()
    }

    /// The counts of a native call's durations on one CPU, by bucket; `None` if it was not made there.
    pub fn durations_on(&self, cpu: u32, number: u16) -> Result<Option<Vec<u32>>> {
        let window = self.maps.windows.get_large(&cpu)?;
        let window = window.with_context(|| format!("BPF map 'windows' has no CPU {cpu}"))?;
        let histogram = usize::from(window.histogram_of[usize::from(number)]).checked_sub(1);
        Ok(histogram
            .and_then(|at| window.histograms.get(at))
            .map(|counts| counts.to_vec()))
    }

    /// Programs may count meanwhile: `Raw::torn` reports if calls moved between maps.
    pub fn read(&self) -> Result<Raw> {
        let maps = &self.maps;
        let ended = self.maps.ended.get(&ONLY)?.filter(|ended| *ended > 0);
        let mut raw = Raw {
            now_ns: ended.map_or_else(now_ns, Ok)?,
            globals: self.globals()?,
            live: self.live()?,
            ..Raw::default()
        };
        raw.globals.lost += self.missed()? - self.missed_before;
        let windows = self.read_calls(&mut raw)?;
        windows.iter().for_each(|window| raw.add_window(window));
        raw.durations.extend(maps.durations.entries()?);
        for (key, number) in maps.groups.entries()? {
            raw.add_group(&key, number);
        }
        raw.usage = by_group(maps.usage.entries()?);
        raw.started = by_group(maps.started.entries()?);
        raw.sections = by_group(maps.sections.entries()?);
        raw.objects = maps.objects.entries()?;
        raw.waits = maps.waits.entries()?;
        raw.served = maps.served.entries()?;
        raw.rings = maps.rings.entries()?;
        raw.locks = maps.locks.entries()?;
        let ended = maps.ended_tasks.entries()?.into_iter();
        raw.ended = ended.map(|(_, task)| task).collect();
        raw.names = maps.names.entries()?.into_iter().collect();
        raw.name_sections();
        raw.stack_counts = maps.stack_counts.entries()?;
        raw.places = self.places()?;
        let kept = maps
            .details
            .values()?
            .into_iter()
            .flat_map(|details| details.slowest);
        raw.slowest = kept.filter(|slow| slow.elapsed > 0).collect();
        Ok(raw)
    }

    /// The windows and the map of one moment: if a window's entry was handed to the map meanwhile, it would be counted twice or
    /// not at all.
    fn read_calls(&self, raw: &mut Raw) -> Result<Vec<Window>> {
        fn flushes(windows: &[Window]) -> Vec<u64> {
            windows.iter().map(|window| window.flushes).collect()
        }

        let before = flushes(&self.maps.windows.values()?);
        let (windows, whole) = until_whole(before, || {
            raw.calls = self.maps.calls.entries()?;
            let windows = self.maps.windows.values()?;
            Ok((flushes(&windows), windows))
        })?;
        raw.torn = !whole;
        Ok(windows)
    }

    /// Samples that were taken beside the counting of calls, by address in user space.
    pub fn places(&self) -> Result<Vec<(Place, u64)>> {
        self.maps.places.entries()
    }

    /// The programs have not seen descriptors that were in an epoll set before the trace began.
    pub fn set_polled(&self, key: &PolledKey, descriptor: u64) -> Result<()> {
        self.maps.polled.set(key, &descriptor)
    }

    /// Lets samples of a Python process contain its functions from then on; `python` has the offsets in its interpreter.
    pub fn set_python(&self, process: u32, python: &Python) -> Result<()> {
        self.maps.pythons.set(&process, python)
    }

    /// How often a program that counts was skipped because it, or with perf any other, was already running on that CPU.
    fn missed(&self) -> Result<u64> {
        let counting = self.programs.iter().filter(|attached| attached.counts);
        let misses = counting.map(|attached| sys::recursion_misses(attached.program.as_fd()));
        misses
            .sum::<Result<u64, Errno>>()
            .context("the kernel does not report the misses of a BPF program")
    }
}

fn by_group<T, C: FromIterator<(u32, T)>>(entries: Vec<(u64, T)>) -> C {
    entries
        .into_iter()
        .map(|(number, value)| (number as u32, value))
        .collect()
}

/// Reads again until nothing was handed over meanwhile, but not for ever, and returns whether that was so. The numbers are odd
/// while an entry is handed over, and other ones afterwards.
fn until_whole<T>(
    mut before: Vec<u64>,
    mut read: impl FnMut() -> Result<(Vec<u64>, T)>,
) -> Result<(T, bool)> {
    const ATTEMPTS: usize = 20;
    const LONGEST: Duration = Duration::from_millis(300);
    let begun = Instant::now();
    for attempt in 1.. {
        let (after, value) = read()?;
        let whole = after == before && after.iter().all(|flushes| flushes.is_multiple_of(2));
        if whole || attempt >= ATTEMPTS || begun.elapsed() > LONGEST {
            return Ok((value, whole));
        }
        before = after;
    }
    unreachable!()
}

fn last_of(loaded: &mut Vec<OwnedFd>) -> Result<OwnedFd> {
    loaded.pop().context("a BPF program is missing")
}

fn link(loaded: &mut Vec<OwnedFd>) -> Result<OwnedFd> {
    sys::link_iterator(last_of(loaded)?.as_fd()).context("the kernel refuses to link a BPF program")
}

/// Nanoseconds by the clock that the programs read (bpf_ktime_get_ns(), CLOCK_MONOTONIC).
pub fn now_ns() -> Result<u64> {
    clock::now_ns(ClockId::CLOCK_MONOTONIC).context("clock_gettime")
}

struct Prepared<'a> {
    name: &'a str,
    code: Vec<u64>,
    /// How the program is attached, and the type ID of the tracepoint or iterator, or 0.
    target: (Attachment, u32),
}

impl Prepared<'_> {
    fn new<'a>(
        object: &'a Object,
        name: &'static str,
        settings: &Settings,
        kernel: &Btf,
        maps: &Tables,
    ) -> Result<Prepared<'a>> {
        let program = object
            .programs
            .iter()
            .find(|program| program.name == name)
            .with_context(|| format!("there is no BPF program {name}"))?;
        let target = match program.kernel_type() {
            _ if event_of(name, settings).is_some() => (Attachment::Perf, 0),
            Some((kind, target)) => {
                let id = kernel.id(kind, &target);
                let id = id.with_context(|| format!("{TYPES} has no {target}"))?;
                (program.attachment, id)
            }
            None => (program.attachment, 0),
        };
        let code = relocate::relocate(program, kernel, &|name| maps.place(name))
            .map_err(|why| anyhow!("BPF program {name}: {why}"))?;
        Ok(Prepared { name, code, target })
    }

    /// Loads the program; if the verifier rejects it, once more to get its log, which costs time.
    fn load(&self) -> Result<OwnedFd> {
        let error = match self.load_with_log(&mut []) {
            Ok(program) => return Ok(program),
            Err(Errno::EPERM) => {
                bail!(
                    "the kernel refuses BPF programs (EPERM): run as root or with CAP_BPF and CAP_PERFMON"
                )
            }
            Err(error) => error,
        };
        let mut log = vec![0; 1 << 20];
        let _ = self.load_with_log(&mut log);
        bail!(
            "the kernel's verifier refuses BPF program {} ({error}): {}",
            self.name,
            log_tail(&log)
        )
    }

    fn load_with_log(&self, log: &mut [u8]) -> Result<OwnedFd, Errno> {
        sys::load_program(self.name, &self.code, self.target, log)
    }
}

/// Loads all programs at the same time: a trace begins late mostly because of the kernel's verifier.
fn load_all(programs: &[Prepared]) -> Result<Vec<OwnedFd>> {
    let mut loaded = Vec::new();
    threads::in_order(
        programs.len(),
        |number| programs[number].load(),
        |program| {
            loaded.push(program?);
            anyhow::Ok(())
        },
    )?;
    Ok(loaded)
}

fn log_tail(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
    let text = String::from_utf8_lossy(&log[..end]);
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty() && !line.starts_with("processed"))
        .collect();
    if lines.is_empty() {
        "no reason given".to_string()
    } else {
        lines[lines.len().saturating_sub(4)..].join(" | ")
    }
}

#[cfg(test)]
mod tests;
