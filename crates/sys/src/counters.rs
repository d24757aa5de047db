//! Counters of a process and everything that it starts after it was attached (perf_event_open(2)). Neither exclude_host nor
//! exclude_guest is set: workers run no guests.

use super::Sources;
use super::perf::{ANY_CPU, Attributes, DISABLE, DISABLED, ENABLE, INHERIT, control, open};
use super::proc_stat::{self, ProcStat};
use super::tree::numbers;
use model::{EVENTS, Event};
use nix::errno::Errno;
use std::fs::File;
use std::io::{self, Read};
use std::time::{Duration, Instant};

const EXCLUDE_USER: u64 = 1 << 4;
const EXCLUDE_KERNEL: u64 = 1 << 5;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;
const WITH_TIMES: u64 = 1 | 2;

pub type Offer = Vec<(&'static Event, Result<(), String>)>;

/// Opens each one on this process for a moment.
pub fn offer(sources: &Sources) -> Offer {
    fn tried(event: &Event) -> Result<(), Errno> {
        open(&attributes(event), 0, ANY_CPU).map(drop)
    }

    EVENTS
        .iter()
        .map(|event| (event, tried(event).map_err(|errno| reason(sources, errno))))
        .collect()
}

fn reason(sources: &Sources, errno: Errno) -> String {
    match errno {
        Errno::ENOENT | Errno::EOPNOTSUPP | Errno::ENODEV | Errno::ENXIO => {
            "this machine does not offer it (a virtual machine does only if the hypervisor passes counters on)"
                .to_string()
        }
        Errno::EACCES | Errno::EPERM => format!(
            "perf_event_open is not permitted: kernel.perf_event_paranoid is {}, and root and CAP_PERFMON may unless system calls \
             are filtered",
            sources
                .text("proc/sys/kernel/perf_event_paranoid")
                .unwrap_or_else(|| "unknown".to_string())
        ),
        other => format!("perf_event_open: {other}"),
    }
}

fn attributes(event: &Event) -> Attributes {
    let excluded = match event.name.split_once(':') {
        Some((_, "u")) => EXCLUDE_KERNEL | EXCLUDE_HYPERVISOR,
        Some((_, "k")) => EXCLUDE_USER | EXCLUDE_HYPERVISOR,
        _ => 0,
    };
    Attributes {
        read_format: WITH_TIMES,
        flags: excluded | DISABLED | INHERIT,
        ..Attributes::new(event.kind, event.config)
    }
}

pub struct Counter(File);

impl Counter {
    /// Attaches a counter to a process and what it starts from now on. It does not count until it is switched on.
    pub fn attach(event: &Event, pid: u32) -> io::Result<Counter> {
        Ok(Counter(open(
            &attributes(event),
            pid.cast_signed(),
            ANY_CPU,
        )?))
    }

    /// Starts or stops counting, in all children that have been started since.
    pub fn switch(&self, on: bool) -> io::Result<()> {
        control(&self.0, if on { ENABLE } else { DISABLE })
    }

    /// `None` if it did not count all the time that it was on, because events shared a hardware counter.
    pub fn read(&mut self) -> io::Result<Option<u64>> {
        let mut bytes = [0u8; 24];
        self.0.read_exact(&mut bytes)?;
        let [count, enabled_ns, running_ns] = std::array::from_fn(|index| {
            u64::from_ne_bytes(std::array::from_fn(|i| bytes[index * 8 + i]))
        });
        Ok((running_ns >= enabled_ns).then_some(count))
    }
}

/// Bounds how long a worker may take to fall asleep; longer only makes a count less exact.
const MOST_OF_SETTLING: Duration = Duration::from_millis(5);
/// The pause between two looks, and after the last: a thread that is asleep in /proc may not have left its CPU yet.
const A_MOMENT: Duration = Duration::from_micros(30);

/// Waits until no thread of a process runs, so that it does nothing between a reading and what follows.
pub fn wait_until_asleep(pid: u32) {
    let deadline = Instant::now() + MOST_OF_SETTLING;
    while any_runs(pid) && Instant::now() < deadline {
        std::thread::sleep(A_MOMENT);
    }
    std::thread::sleep(A_MOMENT);
}

fn any_runs(pid: u32) -> bool {
    let tasks = format!("/proc/{pid}/task");
    numbers::<u32>(&tasks).iter().any(|tid| {
        let text = proc_stat::read(format!("{tasks}/{tid}/stat")).unwrap_or_default();
        ProcStat::parse(&text).is_some_and(|stat| stat.state() == Some("R"))
    })
}
