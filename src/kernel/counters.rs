//! Hardware and software event counters of a process and everything that it starts (perf_event_open(2)): which of
//! `model::EVENTS` this machine and user may count, and groups of them. Called by `crate::counters` and `checks`.
//!
//! Each event is read by itself: kernels before 4.12 refuse PERF_FORMAT_GROUP with inherited events. The events of a group
//! still count at the same time or not at all. Neither exclude_host nor exclude_guest is set: workers run no guests.

use super::Sources;
use super::perf::{Attributes, DISABLE, DISABLED, ENABLE, INHERIT, NO_GROUP, SOFTWARE, control, open, paranoid};
use super::proc_stat::ProcStat;
use crate::model::{EVENTS, Event, INSTRUCTIONS_USER, USER_ONLY};
use nix::errno::Errno;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

const HARDWARE: u32 = 0;
const HARDWARE_CACHE: u32 = 3;
const EXCLUDE_USER: u64 = 1 << 4;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
/// PERF_FORMAT_TOTAL_TIME_ENABLED and PERF_FORMAT_TOTAL_TIME_RUNNING.
const WITH_TIMES: u64 = 1 | 2;
/// Fewer counters than any processor of today has, so that a group fits.
const GROUP: usize = 4;
const DEVICES: &str = "sys/bus/event_source/devices";

/// Devices of processors' counters; hybrid processors and ARM have names of their own.
const COUNTERS: &[&str] = &["cpu", "cpu_core", "cpu_atom", "armv8", "armv9", "cpum_cf"];

/// Misses of loads from a cache: its number, PERF_COUNT_HW_CACHE_OP_READ (0) and PERF_COUNT_HW_CACHE_RESULT_MISS (1).
const fn load_misses(cache: u64) -> (u32, u64) {
    (HARDWARE_CACHE, cache | 1 << 16)
}

/// The kernel's numbers of the events (linux/perf_event.h).
const CODES: &[(&str, (u32, u64))] = &[
    ("cycles", (HARDWARE, 0)),
    ("instructions", (HARDWARE, 1)),
    ("cache-misses", (HARDWARE, 3)),
    ("branches", (HARDWARE, 4)),
    ("branch-misses", (HARDWARE, 5)),
    ("L1-dcache-load-misses", load_misses(0)),
    ("L1-icache-load-misses", load_misses(1)),
    ("LLC-load-misses", load_misses(2)),
    ("dTLB-load-misses", load_misses(3)),
    ("iTLB-load-misses", load_misses(4)),
    ("page-faults", (SOFTWARE, 2)),
    ("context-switches", (SOFTWARE, 3)),
    ("cpu-migrations", (SOFTWARE, 4)),
];

/// Why an event cannot be counted here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error(
        "this machine offers no hardware counters (a virtual machine has them only if the hypervisor passes them on)"
    )]
    NoCounters,
    #[error("this processor does not have the event")]
    NoSuchEvent,
    #[error("this processor's counters do not support it")]
    NotSupported,
    #[error(
        "kernel.perf_event_paranoid is {paranoid}, which permits it to root and CAP_PERFMON only; user mode alone needs 2 \
         or less, kernel mode 1 or less"
    )]
    Paranoid { paranoid: String },
    #[error("perf_event_open is not permitted (a container's or service's system call filter, or a security module)")]
    Filtered,
    #[error("this kernel has no perf events")]
    NoPerfEvents,
    #[error("the kernel refuses it as requested (EINVAL)")]
    Invalid,
    #[error("all counters are taken by others (EBUSY)")]
    Busy,
    #[error("the limit of open files is too low (EMFILE: see ulimit -n)")]
    TooManyFiles,
    #[error("it can be opened, but stays at 0: whatever provides the counters does not count")]
    StaysZero,
    #[error("perf_event_open: {0}")]
    Other(Errno),
}

/// An event as it can be counted here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Countable {
    pub event: &'static Event,
    /// Whether kernel mode had to be left out of an event of both modes.
    pub user_only: bool,
}

impl Countable {
    /// As perf spells it.
    pub fn name(&self) -> String {
        format!("{}{}", self.event.name, if self.user_only { USER_ONLY } else { "" })
    }

    /// `extended` is the type of the processor's counters in the high half of `config`, or 0.
    fn attributes(&self, extended: u64, flags: u64) -> Option<Attributes> {
        let (base, mode) = self.event.name.split_once(':').unwrap_or((self.event.name, ""));
        let (kind, config) = CODES.iter().find(|(name, _)| *name == base)?.1;
        let excluded = match mode {
            "u" => EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            "k" => EXCLUDE_USER | EXCLUDE_HYPERVISOR,
            _ if self.user_only => EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
            _ => 0,
        };
        Some(Attributes {
            kind,
            size: size_of::<Attributes>() as u32,
            config: if kind == SOFTWARE { config } else { config | extended << 32 },
            read_format: WITH_TIMES,
            flags: excluded | flags,
            ..Attributes::default()
        })
    }
}

/// What can be counted on this machine by this user.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AvailableEvents {
    /// Each group fits into the processor's counters, as far as is known. Only one of them counts at a time.
    pub groups: Vec<Vec<Countable>>,
    pub refused: Vec<(&'static Event, Refusal)>,
    /// The type of the processor's counters where processors differ, else 0.
    pub(crate) extended: u64,
}

impl AvailableEvents {
    /// What can be counted on `cpu` (if `None`, on any), found out by opening each event on this process for a moment.
    pub fn here(sources: &Sources, cpu: Option<u32>) -> AvailableEvents {
        let extended = extended_type(sources, cpu);
        let offer = AvailableEvents::of(sources, |countable| try_out(countable, extended));
        AvailableEvents { extended, ..offer }
    }

    fn of(sources: &Sources, opens: impl Fn(&Countable) -> Result<bool, Errno>) -> AvailableEvents {
        let mut offer = AvailableEvents::default();
        let mut counted = Vec::new();
        for event in EVENTS {
            let whole = Countable { event, user_only: false };
            let part = Countable { event, user_only: true };
            match opens(&whole).map_err(|errno| explained(errno, event, sources)) {
                Ok(true) => counted.push(whole),
                Ok(false) => offer.refused.push((event, Refusal::StaysZero)),
                Err(Refusal::Paranoid { .. }) if has_user_part(event) && opens(&part) == Ok(true) => counted.push(part),
                Err(refusal) => offer.refused.push((event, refusal)),
            }
        }
        offer.blame_the_machine();
        let (hardware, software): (Vec<_>, Vec<_>) =
            counted.into_iter().partition(|countable| countable.event.hardware);
        offer.groups = hardware.chunks(GROUP).chain(software.chunks(GROUP)).map(<[Countable]>::to_vec).collect();
        offer
    }

    /// Where there are no hardware counters at all, permission to use them would not help. The kernel looks at it first.
    fn blame_the_machine(&mut self) {
        let refused = |event: &Event| self.refused.iter().find(|(own, _)| *own == event).map(|(_, refusal)| refusal);
        let user = Event::find(INSTRUCTIONS_USER).and_then(refused);
        if user == Some(&Refusal::NoCounters) {
            let hardware = self.refused.iter_mut().filter(|(event, _)| event.hardware);
            hardware.for_each(|(_, refusal)| *refusal = Refusal::NoCounters);
        }
    }

    /// Halves `group`, if it has several events; whether it had.
    pub fn split(&mut self, group: &[Countable]) -> bool {
        let Some(at) = self.groups.iter().position(|own| own == group).filter(|_| group.len() > 1) else {
            return false;
        };
        let rest = self.groups[at].split_off(group.len() / 2);
        self.groups.insert(at + 1, rest);
        true
    }

    /// The names of the refused events, by reason.
    pub fn reasons(&self) -> Vec<(&Refusal, Vec<&'static str>)> {
        let mut reasons: Vec<(&Refusal, Vec<&'static str>)> = Vec::new();
        for (event, refusal) in &self.refused {
            match reasons.iter_mut().find(|(known, _)| *known == refusal) {
                Some((_, names)) => names.push(event.name),
                None => reasons.push((refusal, vec![event.name])),
            }
        }
        reasons
    }

    /// Whether any hardware event can be counted.
    pub fn has_hardware(&self) -> bool {
        self.groups.iter().flatten().any(|countable| countable.event.hardware)
    }
}

/// Switches and migrations always happen in kernel mode.
fn has_user_part(event: &Event) -> bool {
    event.is_of_both_modes() && (event.hardware || event.name == crate::model::PAGE_FAULTS)
}

fn explained(errno: Errno, event: &Event, sources: &Sources) -> Refusal {
    match errno {
        // EOPNOTSUPP also says that there are no counters at all, on processors without an interrupt for them.
        Errno::ENOENT | Errno::EOPNOTSUPP | Errno::ENODEV | Errno::ENXIO
            if event.hardware && !has_processor_counters(sources) =>
        {
            Refusal::NoCounters
        }
        Errno::ENOENT | Errno::ENODEV | Errno::ENXIO => Refusal::NoSuchEvent,
        Errno::EOPNOTSUPP => Refusal::NotSupported,
        Errno::EACCES => Refusal::Paranoid { paranoid: paranoid(sources) },
        Errno::EPERM => Refusal::Filtered,
        Errno::ENOSYS => Refusal::NoPerfEvents,
        Errno::EINVAL => Refusal::Invalid,
        Errno::EBUSY => Refusal::Busy,
        Errno::EMFILE | Errno::ENFILE => Refusal::TooManyFiles,
        other => Refusal::Other(other),
    }
}

/// Whether the kernel shows a device for the processor's counters.
fn has_processor_counters(sources: &Sources) -> bool {
    let devices = sources.list("sys/bus/event_source/devices");
    devices.iter().any(|device| COUNTERS.iter().any(|name| device == name || device.starts_with(&format!("{name}_"))))
}

/// Opens an event on this process. One that cannot be 0 must count, too: whether it does.
fn try_out(countable: &Countable, extended: u64) -> Result<bool, Errno> {
    let attributes = countable.attributes(extended, 0).ok_or(Errno::ENOENT)?;
    let mut file = open(&attributes, 0, NO_GROUP)?;
    if !countable.event.never_zero {
        return Ok(true);
    }
    let ended = Instant::now() + Duration::from_millis(1);
    while Instant::now() < ended {
        // Work in both modes.
        let _ = nix::unistd::getppid();
    }
    Ok(!read(&mut file).is_ok_and(|reading| reading.count == 0 && reading.is_whole()))
}

/// The type of the counters of `cpu` where processors differ (Linux 5.13: PERF_PMU_CAP_EXTENDED_HW_TYPE), else 0.
fn extended_type(sources: &Sources, cpu: Option<u32>) -> u64 {
    let devices = sources.list(DEVICES);
    let cpus = |name: &String| sources.cpus(&format!("{DEVICES}/{name}/cpus"));
    let several = devices.iter().filter(|name| cpus(name).is_some()).count() > 1;
    let own = devices.iter().find(|name| cpus(name).is_some_and(|cpus| cpu.is_some_and(|cpu| cpus.contains(&cpu))));
    let number = own.filter(|_| several).and_then(|name| sources.number(&format!("{DEVICES}/{name}/type")));
    number.map_or(0, |number| number as u64)
}

/// A counter's value, and for how long it was wanted and did count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub count: u64,
    pub enabled_ns: u64,
    pub running_ns: u64,
}

impl Reading {
    pub fn since(&self, earlier: &Reading) -> Reading {
        Reading {
            count: self.count.wrapping_sub(earlier.count),
            enabled_ns: self.enabled_ns.wrapping_sub(earlier.enabled_ns),
            running_ns: self.running_ns.wrapping_sub(earlier.running_ns),
        }
    }

    /// Whether it counted all the time.
    pub fn is_whole(&self) -> bool {
        self.enabled_ns > 0 && self.running_ns >= self.enabled_ns
    }
}

/// Groups of counters of a process and of everything that it starts after they were attached; none counts until it is
/// switched on.
pub struct Attached {
    groups: Vec<(Vec<Countable>, Vec<File>)>,
}

impl Attached {
    /// Attaches the groups of `offer` to process `pid`. An event that does not fit into its group has one of its own.
    ///
    /// # Errors
    /// The event that could not be opened, and why.
    pub fn to(pid: u32, offer: &AvailableEvents, sources: &Sources) -> Result<Attached, (Countable, Refusal)> {
        let mut attached = Attached { groups: Vec::new() };
        for countable in offer.groups.iter().flat_map(|group| group.iter().enumerate()) {
            let (index, countable) = countable;
            let leader =
                attached.groups.last().filter(|_| index > 0).map_or(NO_GROUP, |(_, files)| files[0].as_raw_fd());
            let opened = attached.add(pid, *countable, leader, offer.extended);
            let alone = |errno| match errno {
                Errno::EINVAL if leader != NO_GROUP => attached.add(pid, *countable, NO_GROUP, offer.extended),
                other => Err(other),
            };
            opened.or_else(alone).map_err(|errno| (*countable, explained(errno, countable.event, sources)))?;
        }
        Ok(attached)
    }

    fn add(&mut self, pid: u32, countable: Countable, leader: i32, extended: u64) -> Result<(), Errno> {
        // Members follow their leader, which alone is switched on and off.
        let disabled = if leader == NO_GROUP { DISABLED } else { 0 };
        let attributes = countable.attributes(extended, disabled | INHERIT).ok_or(Errno::ENOENT)?;
        let file = open(&attributes, i32::try_from(pid).map_err(|_| Errno::ESRCH)?, leader)?;
        match self.groups.last_mut().filter(|_| leader != NO_GROUP) {
            Some((members, files)) => {
                members.push(countable);
                files.push(file);
            }
            None => self.groups.push((vec![countable], vec![file])),
        }
        Ok(())
    }

    pub fn groups(&self) -> Vec<Vec<Countable>> {
        self.groups.iter().map(|(members, _)| members.clone()).collect()
    }

    /// Switches a group on or off, in all its processes.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub fn switch(&self, group: usize, on: bool) -> io::Result<()> {
        control(&self.groups[group].1[0], if on { ENABLE } else { DISABLE })
    }

    /// The counters of a group, over all its processes.
    ///
    /// # Errors
    /// If the kernel does not return them.
    pub fn read(&mut self, group: usize) -> io::Result<Vec<Reading>> {
        self.groups[group].1.iter_mut().map(read).collect()
    }
}

fn read(file: &mut File) -> io::Result<Reading> {
    let mut bytes = [0u8; 24];
    file.read_exact(&mut bytes)?;
    let number = |index: usize| u64::from_ne_bytes(std::array::from_fn(|i| bytes[index * 8 + i]));
    Ok(Reading { count: number(0), enabled_ns: number(1), running_ns: number(2) })
}

/// Bounds how long a worker may take to fall asleep; longer only makes a count less exact.
const MOST_OF_SETTLING: Duration = Duration::from_millis(5);
/// Between two looks, and after the last: the way from its last instruction in view to the switch to another task.
const A_MOMENT: Duration = Duration::from_micros(30);

/// Waits until no thread of process `pid` runs, so that it does nothing between a reading and what follows.
pub fn wait_until_asleep(pid: u32) {
    let deadline = Instant::now() + MOST_OF_SETTLING;
    while any_runs(pid) && Instant::now() < deadline {
        std::thread::sleep(A_MOMENT);
    }
    std::thread::sleep(A_MOMENT);
}

fn any_runs(pid: u32) -> bool {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let texts = tasks.filter_map(|task| fs::read_to_string(task.path().join("stat")).ok());
    texts.into_iter().any(|text| ProcStat::parse(&text).is_some_and(|stat| stat.state() == Some("R")))
}

#[cfg(test)]
mod tests;
