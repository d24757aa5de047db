//! What the kernel's tracing file system says is switched on: tracers, events, kernel probes.
//!
//! Events that perf or BPF opened do not stand here; see `descriptors`.

use super::tax::{kind, tax};
use crate::kernel::Sources;
use crate::model::Tax;
use crate::prose::some;

/// Where tracefs stands if anyone mounted it, and its old place within debugfs.
const DIRECTORIES: &[&str] = &["sys/kernel/tracing", "sys/kernel/debug/tracing"];
/// Groups of events that fire at every system call.
const EVERY_CALL: &[&str] = &["raw_syscalls:", "syscalls:"];
/// How many names a detail shows.
const SHOWN: usize = 3;

/// The tracing directory, where it can be read.
pub fn directory(sources: &Sources) -> Option<&'static str> {
    DIRECTORIES.iter().copied().find(|directory| sources.text(&format!("{directory}/current_tracer")).is_some())
}

pub fn taxes(sources: &Sources) -> Vec<Tax> {
    let mut found = Vec::new();
    for (place, directory) in buffers(sources) {
        found.extend(tracer(sources, &place, &directory));
        found.extend(events(sources, &place, &directory));
    }
    found.extend(probes(sources));
    found
}

/// The top buffer and each instance: how a detail names it, and its directory.
fn buffers(sources: &Sources) -> Vec<(String, String)> {
    let Some(top) = directory(sources) else { return Vec::new() };
    let instances = sources.list(&format!("{top}/instances")).into_iter();
    let named = instances.map(|name| (format!(" in instance {name}"), format!("{top}/instances/{name}")));
    [(String::new(), top.to_string())].into_iter().chain(named).collect()
}

fn tracer(sources: &Sources, place: &str, directory: &str) -> Option<Tax> {
    let tracer = sources.text(&format!("{directory}/current_tracer")).filter(|tracer| tracer != "nop")?;
    Some(tax(kind::TRACER, format!("{tracer} is on{place}")))
}

fn events(sources: &Sources, place: &str, directory: &str) -> Vec<Tax> {
    let text = sources.text(&format!("{directory}/set_event")).unwrap_or_default();
    let (calls, others): (Vec<&str>, Vec<&str>) =
        text.lines().partition(|event| EVERY_CALL.iter().any(|group| event.starts_with(group)));
    let listed = |kind, events: Vec<&str>| {
        (!events.is_empty()).then(|| tax(kind, format!("{} enabled{place}", some(&events, SHOWN))))
    };
    [listed(kind::TRACEPOINTS, calls), listed(kind::OTHER_TRACEPOINTS, others)].into_iter().flatten().collect()
}

/// Probes of all origins; those of disabled ones cost nothing. Which calls pass them is not known here.
fn probes(sources: &Sources) -> Option<Tax> {
    let text = sources.text("sys/kernel/debug/kprobes/list")?;
    let live = text.lines().filter(|line| !line.contains("[DISABLED]") && !line.contains("[GONE]"));
    let places: Vec<&str> = live.filter_map(|line| line.split_whitespace().nth(2)).collect();
    (!places.is_empty()).then(|| tax(kind::KPROBES, format!("at {}", some(&places, SHOWN))))
}

#[cfg(test)]
mod tests {
    use super::super::tests::found;
    use super::*;

    #[test]
    fn quiet_tracing_costs_nothing() {
        assert!(
            found(&[("sys/kernel/tracing/current_tracer", "nop\n"), ("sys/kernel/tracing/set_event", "")]).is_empty()
        );
    }

    #[test]
    fn events_at_every_call_are_told_from_others() {
        let files = [
            ("sys/kernel/debug/tracing/current_tracer", "function\n"),
            ("sys/kernel/debug/tracing/set_event", "sched:sched_switch\nraw_syscalls:sys_enter\n"),
        ];
        let expected = [
            (kind::TRACER, "function is on"),
            (kind::TRACEPOINTS, "raw_syscalls:sys_enter enabled"),
            (kind::OTHER_TRACEPOINTS, "sched:sched_switch enabled"),
        ];
        assert_eq!(found(&files), expected.map(|(kind, detail)| (kind.to_string(), detail.to_string())));
    }

    #[test]
    fn instances_are_looked_at() {
        let files = [
            ("sys/kernel/tracing/current_tracer", "nop\n"),
            ("sys/kernel/tracing/instances/foo/current_tracer", "nop\n"),
            ("sys/kernel/tracing/instances/foo/set_event", "syscalls:a\nsyscalls:b\nsyscalls:c\nsyscalls:d\n"),
        ];
        let detail = "syscalls:a, syscalls:b, syscalls:c and 1 more enabled in instance foo";
        assert_eq!(found(&files), [(kind::TRACEPOINTS.to_string(), detail.to_string())]);
    }

    #[test]
    fn disabled_probes_are_left_out() {
        let list = "ffff81 k do_sys_open+0x0 [FTRACE]\nffff82 r vfs_read+0x0 [DISABLED]\n";
        let probes = found(&[("sys/kernel/debug/kprobes/list", list)]);
        assert_eq!(probes, [(kind::KPROBES.to_string(), "at do_sys_open+0x0".to_string())]);
    }
}
