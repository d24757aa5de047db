//! Tracers, events and kernel probes that the kernel's tracing file system shows to be switched on.

use super::tax::tax;
use crate::Sources;
use model::Tax;
use model::prose::some;
use model::tax::kind;

/// The places of tracefs if anyone mounted it: its own, and the old one within debugfs.
const DIRECTORIES: &[&str] = &["sys/kernel/tracing", "sys/kernel/debug/tracing"];
/// Groups of events that fire at every system call.
const EVERY_CALL: &[&str] = &["raw_syscalls:", "syscalls:"];
const SHOWN: usize = 3;

/// `None` if tracefs is not mounted or may not be read.
pub fn directory(sources: &Sources) -> Option<&'static str> {
    DIRECTORIES.iter().copied().find(|directory| {
        sources
            .text(&format!("{directory}/current_tracer"))
            .is_some()
    })
}

/// The tracers and events that are on, in the main buffer and in each instance, and kernel probes.
pub fn taxes(sources: &Sources) -> Vec<Tax> {
    let mut taxes = Vec::new();
    for (place, directory) in buffers(sources) {
        taxes.extend(tracer(sources, &place, &directory));
        taxes.extend(events(sources, &place, &directory));
    }
    taxes.extend(probes(sources));
    taxes
}

fn buffers(sources: &Sources) -> Vec<(String, String)> {
    let Some(top) = directory(sources) else {
        return Vec::new();
    };
    let instances = sources.list(&format!("{top}/instances")).into_iter();
    let named = instances.map(|name| {
        (
            format!(" in instance {name}"),
            format!("{top}/instances/{name}"),
        )
    });
    [(String::new(), top.to_string())]
        .into_iter()
        .chain(named)
        .collect()
}

/// The kernel enables it for good when a BPF program that may print is loaded; only a print costs anything.
const OF_PRINTS: &str = "bpf_trace:bpf_trace_printk";

fn tracer(sources: &Sources, place: &str, directory: &str) -> Option<Tax> {
    let tracer = sources
        .text(&format!("{directory}/current_tracer"))
        .filter(|tracer| tracer != "nop")?;
    Some(tax(kind::TRACER, format!("{tracer} is on{place}")))
}

fn events(sources: &Sources, place: &str, directory: &str) -> Vec<Tax> {
    let enabled = sources
        .text(&format!("{directory}/set_event"))
        .unwrap_or_default();
    let (calls, others): (Vec<&str>, Vec<&str>) = enabled
        .lines()
        .filter(|event| !event.starts_with(OF_PRINTS))
        .partition(|event| EVERY_CALL.iter().any(|group| event.starts_with(group)));
    [
        (kind::TRACEPOINTS, calls),
        (kind::OTHER_TRACEPOINTS, others),
    ]
    .into_iter()
    .filter(|(_, events)| !events.is_empty())
    .map(|(kind, events)| tax(kind, format!("{} enabled{place}", some(&events, SHOWN))))
    .collect()
}

/// Disabled ones cost nothing. Which calls pass a probe is not known here.
fn probes(sources: &Sources) -> Option<Tax> {
    let text = sources.text("sys/kernel/debug/kprobes/list")?;
    let places: Vec<&str> = text
        .lines()
        .filter(|line| !line.contains("[DISABLED]") && !line.contains("[GONE]"))
        .filter_map(|line| line.split_whitespace().nth(2))
        .collect();
    if places.is_empty() {
        return None;
    }
    Some(tax(kind::KPROBES, format!("at {}", some(&places, SHOWN))))
}
