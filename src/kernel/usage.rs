//! The kernel's accounting of others: children that were waited for (getrusage(2)), and a process that runs. Called by
//! `trace`.

use super::proc_stat::{self, ProcStat};
use crate::model::Usage;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeVal;

/// All children so far, and what they waited for in turn.
pub fn of_children() -> Usage {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_CHILDREN) else { return Usage::default() };
    Usage {
        user_ns: Some(nanoseconds(usage.user_time())),
        system_ns: Some(nanoseconds(usage.system_time())),
        peak_rss_kib: Some(usage.max_rss().unsigned_abs()),
        minor_faults: Some(usage.minor_page_faults().unsigned_abs()),
        major_faults: Some(usage.major_page_faults().unsigned_abs()),
        voluntary_switches: Some(usage.voluntary_context_switches().unsigned_abs()),
        involuntary_switches: Some(usage.involuntary_context_switches().unsigned_abs()),
        ..Usage::default()
    }
}

fn nanoseconds(time: TimeVal) -> u64 {
    time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_usec().unsigned_abs() * 1000
}

/// One process so far, without its children, by its stat file (proc_pid_stat(5)): its times are in hundredths of a second
/// as a rule. Nothing is known of one that is gone.
pub fn of_process(pid: u32) -> Usage {
    parse(&proc_stat::text(pid), proc_stat::tick_ns()).unwrap_or_default()
}

#[doc(hidden)]
pub fn parse(stat: &str, tick_ns: u64) -> Option<Usage> {
    let stat = ProcStat::parse(stat)?;
    Some(Usage {
        minor_faults: stat.minor_faults(),
        major_faults: stat.major_faults(),
        user_ns: stat.user_ns(tick_ns),
        system_ns: stat.system_ns(tick_ns),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_file_is_read_behind_the_name() {
        let text = "7 (a) b) S 1 7 7 0 -1 4194560 120 0 3 0 25 50 0 0 20 0 1 0 100 4096 10\n";
        let usage = parse(text, 10_000_000).unwrap();
        assert_eq!((usage.minor_faults, usage.major_faults), (Some(120), Some(3)));
        assert_eq!((usage.user_ns, usage.system_ns), (Some(250_000_000), Some(500_000_000)));
        assert_eq!(parse("", 10_000_000), None);
        assert!(of_process(std::process::id()).minor_faults.is_some_and(|faults| faults > 0));
    }
}
