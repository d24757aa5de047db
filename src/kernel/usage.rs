//! The kernel's accounting of others: children that were waited for (getrusage(2)), and a process that runs. Called by
//! `trace`.

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
    let ticks = nix::unistd::sysconf(nix::unistd::SysconfVar::CLK_TCK).ok().flatten().map_or(100, i64::unsigned_abs);
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    parse(&text, ticks).unwrap_or_default()
}

#[doc(hidden)]
pub fn parse(stat: &str, ticks_per_second: u64) -> Option<Usage> {
    // The second field is the name, which may hold anything; the third stands behind its last parenthesis.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_ascii_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
    let time = |number| Some(field(number)?.saturating_mul(1_000_000_000 / ticks_per_second.max(1)));
    Some(Usage {
        minor_faults: field(10),
        major_faults: field(12),
        user_ns: time(14),
        system_ns: time(15),
        ..Usage::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stat_file_is_read_behind_the_name() {
        let text = "7 (a) b) S 1 7 7 0 -1 4194560 120 0 3 0 25 50 0 0 20 0 1 0 100 4096 10\n";
        let usage = parse(text, 100).unwrap();
        assert_eq!((usage.minor_faults, usage.major_faults), (Some(120), Some(3)));
        assert_eq!((usage.user_ns, usage.system_ns), (Some(250_000_000), Some(500_000_000)));
        assert_eq!(parse("", 100), None);
        assert!(of_process(std::process::id()).minor_faults.is_some_and(|faults| faults > 0));
    }
}
