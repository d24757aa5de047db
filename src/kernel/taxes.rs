//! What makes every system call slower: of this process (seccomp, a tracer) or of all (tracing, audit, kernel options).
//!
//! Nothing is mounted and no privilege is taken: what cannot be read is not reported, so an empty list means "none
//! seen". Seen as root only: tracefs, other processes' descriptors. Never seen: BPF programs that are pinned or held by
//! no descriptor, audit rules themselves, tracers in other containers. Called by `host::facts`.

mod descriptors;
mod tax;
mod tracing;

pub use tax::{is_passing, kind};
pub use tracing::directory as tracing_directory;

use tax::{processes, tax, who};

use super::Sources;
use crate::model::Tax;
use crate::prose::counted;

/// Everything found, in the order of who looks.
pub fn taxes(sources: &Sources) -> Vec<Tax> {
    let of_process = [seccomp, traced].into_iter().filter_map(|look| look(sources));
    let held_open = tracing::taxes(sources).into_iter().chain(descriptors::taxes(sources));
    let of_kernel = [audit_option, audit_daemon, context_tracking, lock_debugging];
    of_process.chain(held_open).chain(of_kernel.into_iter().filter_map(|look| look(sources))).collect()
}

fn seccomp(sources: &Sources) -> Option<Tax> {
    let mode = sources.status("Seccomp").filter(|mode| mode != "0")?;
    let filters = sources.status("Seccomp_filters").filter(|_| mode == "2").and_then(|n| n.parse::<u64>().ok());
    let told = |filters| format!("{} run at every system call", counted(filters, "filter"));
    Some(tax(kind::SECCOMP, filters.map_or_else(|| format!("mode {mode} is on"), told)))
}

fn traced(sources: &Sources) -> Option<Tax> {
    let tracer = sources.status("TracerPid").filter(|tracer| tracer != "0")?;
    Some(tax(kind::TRACED, format!("this process is traced by {}", who(sources, &tracer))))
}

/// Words of the kernel's command line.
fn option(sources: &Sources, wanted: impl Fn(&str) -> bool) -> Option<String> {
    sources.text("proc/cmdline")?.split_whitespace().find(|word| wanted(word)).map(str::to_string)
}

/// Audit from the start gives every process an audit record that is kept at each system call.
fn audit_option(sources: &Sources) -> Option<Tax> {
    let word = option(sources, |word| matches!(word, "audit=1" | "audit=on"))?;
    Some(tax(kind::AUDIT, format!("the kernel was started with {word}")))
}

fn audit_daemon(sources: &Sources) -> Option<Tax> {
    let is_daemon = |process: &String| sources.text(&format!("proc/{process}/comm")).as_deref() == Some("auditd");
    let process = processes(sources).find(is_daemon)?;
    Some(tax(kind::AUDIT_DAEMON, format!("{} may have rules that each call is held against", who(sources, &process))))
}

/// CPUs without timer ticks account for time at each entry and exit instead.
fn context_tracking(sources: &Sources) -> Option<Tax> {
    let asked = |word: &str| word.starts_with("nohz_full=") || word == "nohz_full";
    let listed = || sources.text("sys/devices/system/cpu/nohz_full").filter(|list| list != "(null)");
    let cpus = option(sources, asked).or_else(|| listed().map(|list| format!("nohz_full={list}")))?;
    Some(tax(kind::CONTEXT_TRACKING, format!("{cpus}: those CPUs account for time at each entry and exit")))
}

/// Kernels built to find locking errors check each lock that a call takes.
fn lock_debugging(sources: &Sources) -> Option<Tax> {
    let file = ["proc/lockdep", "proc/lock_stat"].into_iter().find(|file| sources.exists(file))?;
    Some(tax(kind::LOCK_DEBUGGING, format!("the kernel checks its locks (/{file} is there)")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::fake::tree;

    pub fn found(files: &[(&str, &str)]) -> Vec<(String, String)> {
        let (_keep, sources) = tree(files);
        taxes(&sources).into_iter().map(|tax| (tax.kind, tax.detail)).collect()
    }

    fn one(kind: &str, detail: &str) -> Vec<(String, String)> {
        vec![(kind.to_string(), detail.to_string())]
    }

    #[test]
    fn an_empty_tree_has_none() {
        assert!(found(&[]).is_empty());
        assert!(found(&[("proc/self/status", "TracerPid:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n")]).is_empty());
    }

    #[test]
    fn filters_are_counted() {
        let status = |text| found(&[("proc/self/status", text)]);
        assert_eq!(status("Seccomp:\t2\nSeccomp_filters:\t1\n"), one("seccomp", "1 filter run at every system call"));
        assert_eq!(status("Seccomp:\t2\nSeccomp_filters:\t3\n"), one("seccomp", "3 filters run at every system call"));
        assert_eq!(status("Seccomp:\t2\n"), one("seccomp", "mode 2 is on"));
    }

    #[test]
    fn a_tracer_is_named() {
        let files = [("proc/self/status", "TracerPid:\t12\n"), ("proc/12/comm", "strace\n")];
        assert_eq!(found(&files), one("ptrace", "this process is traced by strace (process 12)"));
    }

    #[test]
    fn audit_is_seen_by_option_and_by_daemon() {
        let option = "the kernel was started with audit=1";
        assert_eq!(found(&[("proc/cmdline", "quiet audit=1 ro\n")]), one("audit", option));
        assert!(found(&[("proc/cmdline", "audit=0 ro\n")]).is_empty());
        let daemon = found(&[("proc/7/comm", "auditd\n"), ("proc/8/comm", "kauditd\n")]);
        assert_eq!(daemon, one("audit daemon", "auditd (process 7) may have rules that each call is held against"));
    }

    #[test]
    fn cpus_without_ticks_are_seen() {
        let detail = "nohz_full=1-3: those CPUs account for time at each entry and exit";
        assert_eq!(found(&[("proc/cmdline", "nohz_full=1-3")]), one("context tracking", detail));
        assert_eq!(found(&[("sys/devices/system/cpu/nohz_full", "1-3\n")]), one("context tracking", detail));
        assert!(found(&[("sys/devices/system/cpu/nohz_full", "(null)\n")]).is_empty());
    }
}
