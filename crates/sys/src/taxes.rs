//! Finds what makes every system call slower: of this process (seccomp, a tracer) or of all (tracing, audit, kernel options).
//!
//! Files that cannot be read are not reported. Seen as root only: tracefs, other processes' descriptors. Never seen: BPF programs
//! that are pinned or held by no descriptor, audit rules themselves, tracers in other containers.

mod descriptors;
mod tax;
mod tracing;

pub use tracing::directory as tracing_directory;

use tax::{processes, tax, who};

use super::Sources;
use super::host::listed_cpus;
use model::Tax;
use model::prose::counted;
use model::tax::kind;

/// All taxes that files show, those of this process first. As root it reads the descriptors of all processes.
pub fn taxes(sources: &Sources) -> Vec<Tax> {
    let of_process = [seccomp, traced]
        .into_iter()
        .filter_map(|look| look(sources));
    let held_open = tracing::taxes(sources)
        .into_iter()
        .chain(descriptors::taxes(sources));
    let of_kernel = [audit_option, audit_daemon, context_tracking, lock_debugging];
    of_process
        .chain(held_open)
        .chain(of_kernel.into_iter().filter_map(|look| look(sources)))
        .collect()
}

fn seccomp(sources: &Sources) -> Option<Tax> {
    let mode = sources.status("Seccomp").filter(|mode| mode != "0")?;
    let filters = if mode == "2" {
        sources
            .status("Seccomp_filters")
            .and_then(|n| n.parse::<u64>().ok())
    } else {
        None
    };
    let detail = match filters {
        Some(filters) => format!("{} run at every system call", counted(filters, "filter")),
        None => format!("mode {mode} is on"),
    };
    Some(tax(kind::SECCOMP, detail))
}

fn traced(sources: &Sources) -> Option<Tax> {
    let tracer = sources.status("TracerPid").filter(|tracer| tracer != "0")?;
    Some(tax(
        kind::TRACED,
        format!("this process is traced by {}", who(sources, &tracer)),
    ))
}

fn option(sources: &Sources, wanted: impl Fn(&str) -> bool) -> Option<String> {
    sources
        .text("proc/cmdline")?
        .split_whitespace()
        .find(|word| wanted(word))
        .map(str::to_string)
}

/// Audit from the start gives every process an audit record that is kept at each system call.
fn audit_option(sources: &Sources) -> Option<Tax> {
    let word = option(sources, |word| matches!(word, "audit=1" | "audit=on"))?;
    Some(tax(
        kind::AUDIT,
        format!("the kernel was started with {word}"),
    ))
}

fn audit_daemon(sources: &Sources) -> Option<Tax> {
    let process = processes(sources).find(|process| {
        sources.text(&format!("proc/{process}/comm")).as_deref() == Some("auditd")
    })?;
    Some(tax(
        kind::AUDIT_DAEMON,
        format!(
            "{} may have rules that each call is held against",
            who(sources, &process)
        ),
    ))
}

/// CPUs without timer ticks account for time at each entry and exit instead.
fn context_tracking(sources: &Sources) -> Option<Tax> {
    let cpus = option(sources, |word| {
        word.starts_with("nohz_full=") || word == "nohz_full"
    })
    .or_else(|| Some(format!("nohz_full={}", listed_cpus(sources, "nohz_full")?)))?;
    Some(tax(
        kind::CONTEXT_TRACKING,
        format!("{cpus}: those CPUs account for time at each entry and exit"),
    ))
}

/// Kernels built to find locking errors check each lock that a call takes.
fn lock_debugging(sources: &Sources) -> Option<Tax> {
    let file = ["proc/lockdep", "proc/lock_stat"]
        .into_iter()
        .find(|file| sources.exists(file))?;
    Some(tax(
        kind::LOCK_DEBUGGING,
        format!("the kernel checks its locks (/{file} is there)"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::tree;

    type Row = (
        &'static [(&'static str, &'static str)],
        &'static [(&'static str, &'static str)],
    );

    const STATUS: &str = "proc/self/status";
    const TICKLESS: &str = "nohz_full=1-3: those CPUs account for time at each entry and exit";
    const ROWS: &[Row] = &[
        (&[], &[]),
        (
            &[(STATUS, "TracerPid:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n")],
            &[],
        ),
        (
            &[(STATUS, "Seccomp:\t2\nSeccomp_filters:\t1\n")],
            &[(kind::SECCOMP, "1 filter run at every system call")],
        ),
        (
            &[(STATUS, "Seccomp:\t2\nSeccomp_filters:\t3\n")],
            &[(kind::SECCOMP, "3 filters run at every system call")],
        ),
        (
            &[(STATUS, "Seccomp:\t2\n")],
            &[(kind::SECCOMP, "mode 2 is on")],
        ),
        (
            &[(STATUS, "TracerPid:\t12\n"), ("proc/12/comm", "strace\n")],
            &[(
                kind::TRACED,
                "this process is traced by strace (process 12)",
            )],
        ),
        (
            &[("proc/cmdline", "quiet audit=1 ro\n")],
            &[(kind::AUDIT, "the kernel was started with audit=1")],
        ),
        (&[("proc/cmdline", "audit=0 ro\n")], &[]),
        (
            &[("proc/7/comm", "auditd\n"), ("proc/8/comm", "kauditd\n")],
            &[(
                kind::AUDIT_DAEMON,
                "auditd (process 7) may have rules that each call is held against",
            )],
        ),
        (
            &[("proc/cmdline", "nohz_full=1-3")],
            &[(kind::CONTEXT_TRACKING, TICKLESS)],
        ),
        (
            &[("sys/devices/system/cpu/nohz_full", "1-3\n")],
            &[(kind::CONTEXT_TRACKING, TICKLESS)],
        ),
        (&[("sys/devices/system/cpu/nohz_full", "(null)\n")], &[]),
        (
            &[
                ("sys/kernel/tracing/current_tracer", "nop\n"),
                (
                    "sys/kernel/tracing/set_event",
                    "bpf_trace:bpf_trace_printk\n",
                ),
            ],
            &[],
        ),
        (
            &[
                ("sys/kernel/debug/tracing/current_tracer", "function\n"),
                (
                    "sys/kernel/debug/tracing/set_event",
                    "sched:sched_switch\nraw_syscalls:sys_enter\n",
                ),
            ],
            &[
                (kind::TRACER, "function is on"),
                (kind::TRACEPOINTS, "raw_syscalls:sys_enter enabled"),
                (kind::OTHER_TRACEPOINTS, "sched:sched_switch enabled"),
            ],
        ),
        (
            &[
                ("sys/kernel/tracing/current_tracer", "nop\n"),
                ("sys/kernel/tracing/instances/foo/current_tracer", "nop\n"),
                (
                    "sys/kernel/tracing/instances/foo/set_event",
                    "syscalls:a\nsyscalls:b\nsyscalls:c\nsyscalls:d\n",
                ),
            ],
            &[(
                kind::TRACEPOINTS,
                "syscalls:a, syscalls:b, syscalls:c and 1 more enabled in instance foo",
            )],
        ),
        (
            &[(
                "sys/kernel/debug/kprobes/list",
                "ffff81 k do_sys_open+0x0 [FTRACE]\nffff82 r vfs_read+0x0 [DISABLED]\n",
            )],
            &[(kind::KPROBES, "at do_sys_open+0x0")],
        ),
    ];

    #[test]
    fn taxes_are_read_from_files() {
        for (files, expected) in ROWS {
            let actual = taxes(&tree(files).1);
            let actual: Vec<(&str, &str)> = actual
                .iter()
                .map(|tax| (tax.kind.as_str(), tax.detail.as_str()))
                .collect();
            assert_eq!(actual, *expected, "{files:?}");
        }
    }
}
