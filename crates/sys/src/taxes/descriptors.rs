//! Perf events and BPF links that other processes hold open: at a tracepoint they tax every process, and the tracing file system
//! does not show them. The kernel does not report the kind of a perf event, so it is a suspicion. Users other than root see their own
//! processes only.

use super::tax::{processes, tax, who};
use crate::Sources;
use model::Tax;
use model::prose::counted;
use model::tax::kind;

const PERF_EVENT: &str = "anon_inode:[perf_event]";
/// Written with `_` by kernels so far and with `-` elsewhere in the same family.
const BPF_LINKS: &[&str] = &[
    "anon_inode:bpf_link",
    "anon_inode:bpf-link",
    "anon_inode:bpf-raw-tp",
];
const TRACEPOINT_FIELDS: &[&str] = &["tp_name:", "name:"];

#[derive(Default)]
struct Held {
    perf_events: usize,
    attached: Vec<String>,
}

/// Shown by open descriptors of other processes.
pub fn taxes(sources: &Sources) -> Vec<Tax> {
    let link = sources.link("proc/self");
    processes(sources)
        .filter(|process| Some(process) != link.as_ref())
        .flat_map(|process| taxes_of(&who(sources, &process), &held(sources, &process)))
        .collect()
}

fn taxes_of(who: &str, held: &Held) -> Vec<Tax> {
    let bpf = if held.attached.is_empty() {
        None
    } else {
        Some(tax(
            kind::BPF,
            format!("{who} is attached to {}", held.attached.join(", ")),
        ))
    };
    // A BPF program at an ordinary tracepoint holds a perf event too: it is reported once.
    let perf = if held.perf_events > 0 && bpf.is_none() {
        let events = counted(held.perf_events, "perf event");
        Some(tax(
            kind::PERF,
            format!("{who} holds {events}, perhaps of system calls"),
        ))
    } else {
        None
    };
    bpf.into_iter().chain(perf).collect()
}

fn held(sources: &Sources, process: &str) -> Held {
    let mut held = Held::default();
    for descriptor in sources.list(&format!("proc/{process}/fd")) {
        let Some(target) = sources.link(&format!("proc/{process}/fd/{descriptor}")) else {
            continue;
        };
        if target == PERF_EVENT {
            held.perf_events += 1;
        } else if BPF_LINKS.contains(&target.as_str()) {
            held.attached.extend(tracepoint(
                sources,
                &format!("proc/{process}/fdinfo/{descriptor}"),
            ));
        }
    }
    held
}

fn tracepoint(sources: &Sources, information: &str) -> Option<String> {
    TRACEPOINT_FIELDS
        .iter()
        .find_map(|field| sources.field(information, field))
        .filter(|name| name.starts_with("sys_enter") || name.starts_with("sys_exit"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{link, tree};

    #[test]
    fn links_to_system_call_tracepoints_are_found() {
        let (keep, sources) = tree(&[
            ("proc/12/comm", "bpftrace\n"),
            (
                "proc/12/fdinfo/4",
                "link_type:\traw_tracepoint\ntp_name:\tsys_enter\n",
            ),
            (
                "proc/12/fdinfo/5",
                "link_type:\traw_tracepoint\ntp_name:\tsched_switch\n",
            ),
        ]);
        link(&keep, "proc/12/fd/4", "anon_inode:bpf_link");
        link(&keep, "proc/12/fd/5", "anon_inode:bpf_link");
        let detail = "bpftrace (process 12) is attached to sys_enter".to_string();
        assert_eq!(taxes(&sources), [tax(kind::BPF, detail)]);
    }

    #[test]
    fn perf_events_of_others_are_a_suspicion_and_our_own_are_not() {
        let (keep, sources) = tree(&[("proc/7/comm", "perf\n"), ("proc/8/comm", "syscost\n")]);
        link(&keep, "proc/self", "8");
        link(&keep, "proc/7/fd/3", PERF_EVENT);
        link(&keep, "proc/7/fd/4", PERF_EVENT);
        link(&keep, "proc/8/fd/3", PERF_EVENT);
        let detail = "perf (process 7) holds 2 perf events, perhaps of system calls".to_string();
        assert_eq!(taxes(&sources), [tax(kind::PERF, detail)]);
    }
}
