//! The kernel's accounting of tasks and processes.

use super::proc_stat::{self, ProcStat};
use model::Usage;
use nix::sys::resource::{UsageWho, getrusage};
use zerocopy::{FromBytes, Immutable, IntoBytes, transmute};

#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable)]
pub struct Used {
    pub user_ns: u64,
    pub system_ns: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    /// Time on CPUs, exact; 0 if unknown.
    pub ran_ns: u64,
    /// Runnable, but not on a CPU; 0 if unknown.
    pub waited_ns: u64,
    /// Neither; 0 if unknown.
    pub blocked_ns: u64,
}

impl From<&libc::rusage> for Used {
    fn from(usage: &libc::rusage) -> Used {
        fn ns(time: libc::timeval) -> u64 {
            time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1000
        }

        Used {
            user_ns: ns(usage.ru_utime),
            system_ns: ns(usage.ru_stime),
            minor_faults: usage.ru_minflt.unsigned_abs(),
            major_faults: usage.ru_majflt.unsigned_abs(),
            voluntary_switches: usage.ru_nvcsw.unsigned_abs(),
            involuntary_switches: usage.ru_nivcsw.unsigned_abs(),
            ..Used::default()
        }
    }
}

impl From<Used> for Usage {
    fn from(used: Used) -> Usage {
        Usage {
            user_ns: Some(used.user_ns),
            system_ns: Some(used.system_ns),
            minor_faults: Some(used.minor_faults),
            major_faults: Some(used.major_faults),
            voluntary_switches: Some(used.voluntary_switches),
            involuntary_switches: Some(used.involuntary_switches),
            ..Usage::default()
        }
    }
}

impl Used {
    /// User and system time, in nanoseconds.
    pub fn cpu_ns(&self) -> u64 {
        self.user_ns + self.system_ns
    }

    /// `share` is 0 to 1; rounded field by field.
    pub fn add(&mut self, other: &Used, share: f64) {
        let (sum, more): ([u64; 9], [u64; 9]) = (transmute!(*self), transmute!(*other));
        let sums: [u64; 9] =
            std::array::from_fn(|field| sum[field] + (more[field] as f64 * share).round() as u64);
        *self = transmute!(sums);
    }
}

/// Waited for; without their peak memory: the kernel keeps only the largest of several.
pub fn of_children() -> Usage {
    getrusage(UsageWho::RUSAGE_CHILDREN).map_or_else(
        |_| Usage::default(),
        |usage| Used::from(usage.as_ref()).into(),
    )
}

fn cpu_ns(who: UsageWho) -> u64 {
    getrusage(who).map_or(0, |usage| Used::from(usage.as_ref()).cpu_ns())
}

/// The CPU time of this process without its children, in nanoseconds.
pub fn own_cpu_ns() -> u64 {
    cpu_ns(UsageWho::RUSAGE_SELF)
}

/// The CPU time of this process and the children that it has waited for, in nanoseconds.
pub fn cpu_ns_with_children() -> u64 {
    own_cpu_ns() + cpu_ns(UsageWho::RUSAGE_CHILDREN)
}

/// The usage of a process without its children; times usually have a resolution of 10 ms. Everything is unknown if it has ended.
pub fn of_process(pid: u32) -> Usage {
    parse(&proc_stat::text(pid), proc_stat::tick_ns()).unwrap_or_default()
}

/// A stat file's times are in ticks of `tick_ns`.
#[doc(hidden)]
pub fn parse(stat: &str, tick_ns: u64) -> Option<Usage> {
    let stat = ProcStat::parse(stat)?;
    let [user_ns, system_ns] =
        [14, 15].map(|field| Some(stat.number(field)?.saturating_mul(tick_ns)));
    Some(Usage {
        minor_faults: stat.number(10),
        major_faults: stat.number(12),
        user_ns,
        system_ns,
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_file_is_read_after_the_name() {
        let text = "7 (a) b) S 1 7 7 0 -1 4194560 120 0 3 0 25 50 0 0 20 0 1 0 100 4096 10\n";
        let usage = Usage {
            minor_faults: Some(120),
            major_faults: Some(3),
            user_ns: Some(250_000_000),
            system_ns: Some(500_000_000),
            ..Usage::default()
        };
        assert_eq!(parse(text, 10_000_000), Some(usage));
        assert_eq!(parse("", 10_000_000), None);
        assert!(
            of_process(std::process::id())
                .minor_faults
                .is_some_and(|faults| faults > 0)
        );
    }
}
