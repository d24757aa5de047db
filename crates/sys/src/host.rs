//! The facts of [`Host`] that are read from files: what the machine is, not how it behaves.
//!
//! Not here: measurements by a probe, the choice of CPUs, trials (`checks`), and facts about all processes (`taxes`).

mod busy;
mod cpu;
mod file_system;
mod kernel_state;
mod place;
mod steal;

use super::Sources;
use super::sources::cpu_list;
pub use busy::BusyClock;
pub use file_system::{Room, file_system, file_system_kind, room};
pub(super) use kernel_state::listed_cpus;
pub use steal::StealClock;

use cpu::Cpu;
use model::Host;

/// The kernel's label, and the name in `Host::limits`.
const LIMITS: &[(&str, &str)] = &[
    ("Max open files", "nofile"),
    ("Max locked memory", "memlock"),
    ("Max stack size", "stack"),
    ("Max address space", "as"),
    ("Max processes", "nproc"),
    ("Max pending signals", "sigpending"),
    ("Max msgqueue size", "msgqueue"),
    ("Max file locks", "locks"),
    ("Max file size", "fsize"),
];

/// Reads what files say about the machine; an unknown fact is `None`. Call this before this process restricts its own CPUs:
/// `cpus_allowed` is read from the process.
pub fn facts(sources: &Sources, measuring_cpu: Option<u32>) -> Host {
    let cpu = Cpu::read(sources, measuring_cpu);
    Host {
        name: sources.text("proc/sys/kernel/hostname"),
        kernel: release(sources),
        kernel_version: sources
            .text("proc/sys/kernel/version")
            .or_else(|| sources.text("proc/version")),
        distribution: distribution(sources),
        memory_mib: memory_mib(sources),
        command_line: sources.text("proc/cmdline").map(|line| cost_options(&line)),
        mitigations: mitigations(sources),
        preemption: kernel_state::preemption(sources),
        huge_pages: kernel_state::huge_pages(sources),
        nohz_full: kernel_state::listed_cpus(sources, "nohz_full"),
        isolated_cpus: kernel_state::listed_cpus(sources, "isolated"),
        cpu_quota: crate::checks::quota::cpus(sources),
        clock_source: sources.text(&format!("{CLOCK_SOURCE}/current_clocksource")),
        hypervisor: place::hypervisor(sources),
        container: place::container(sources),
        autogroup: sources.flag("proc/sys/kernel/sched_autogroup_enabled"),
        load_1min: load(sources),
        user: user(sources),
        limits: limits(sources),
        system: sources
            .text("proc/sys/kernel/ostype")
            .or_else(|| Some("Linux".into())),
        // Kernels before 6.1 have no file for it.
        architecture: sources
            .text("proc/sys/kernel/arch")
            .or_else(|| Some(std::env::consts::ARCH.into())),
        cpu: cpu.name(),
        cpu_revision: cpu.revision(),
        cpus: sources
            .cpus("sys/devices/system/cpu/online")
            .map(|cpus| cpus.len() as u32),
        cpus_allowed: sources
            .status("Cpus_allowed_list")
            .and_then(|list| Some(cpu_list(&list)?.len() as u32)),
        governor: cpu.governor(sources),
        turbo: cpu.turbo(sources),
        frequency_mhz: cpu.frequency_mhz(sources),
        smt: sources.flag("sys/devices/system/cpu/smt/active"),
        ..Host::default()
    }
}

const COST_OPTIONS: &str = "\
    audit clocksource hpet idle init_on_alloc init_on_free intel_idle intel_pstate isolcpus kpti lockdown mds \
    mitigations nohz nohz_full nopti nosmt nospectre_v1 nospectre_v2 page_alloc preempt pti \
    randomize_kstack_offset rcu_nocbs retbleed slab_nomerge slub_debug spec_rstack_overflow \
    spec_store_bypass_disable spectre_v2 transparent_hugepage tsc vsyscall";

fn cost_options(line: &str) -> String {
    line.split_whitespace()
        .filter(|word| {
            COST_OPTIONS
                .split_whitespace()
                .any(|option| word.split('=').next() == Some(option))
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// The frequency in /proc/cpuinfo, in MHz: in a virtual machine usually that of its clock.
pub fn nominal_mhz(sources: &Sources) -> Option<f64> {
    Cpu::read(sources, None).shown_mhz()
}

const CLOCK_SOURCE: &str = "sys/devices/system/clocksource/clocksource0";

/// Some sandboxes have no osrelease; the third word of /proc/version is the release too.
fn release(sources: &Sources) -> Option<String> {
    sources.text("proc/sys/kernel/osrelease").or_else(|| {
        Some(
            sources
                .text("proc/version")?
                .split_whitespace()
                .nth(2)?
                .to_string(),
        )
    })
}

fn distribution(sources: &Sources) -> Option<String> {
    let name = ["etc/os-release", "usr/lib/os-release"]
        .iter()
        .find_map(|file| sources.field(file, "PRETTY_NAME="))?;
    Some(name.trim_matches(['"', '\'']).to_string())
}

fn memory_mib(sources: &Sources) -> Option<u64> {
    let total = sources.field("proc/meminfo", "MemTotal:")?;
    let kib: u64 = total.split_whitespace().next()?.parse().ok()?;
    Some(kib / 1024)
}

fn mitigations(sources: &Sources) -> Vec<String> {
    let directory = "sys/devices/system/cpu/vulnerabilities";
    sources
        .list(directory)
        .into_iter()
        .filter_map(|name| Some((sources.text(&format!("{directory}/{name}"))?, name)))
        .filter(|(state, _)| !state.starts_with("Not affected"))
        .map(|(state, name)| format!("{name}: {state}"))
        .collect()
}

fn load(sources: &Sources) -> Option<f64> {
    sources
        .text("proc/loadavg")?
        .split_whitespace()
        .next()?
        .parse()
        .ok()
}

fn user(sources: &Sources) -> Option<String> {
    let ids = sources.status("Uid")?;
    let effective = ids.split_whitespace().nth(1)?;
    Some(if effective == "0" { "root" } else { "user" }.to_string())
}

fn limits(sources: &Sources) -> Vec<String> {
    LIMITS
        .iter()
        .filter_map(|(label, name)| {
            let values = sources.field("proc/self/limits", label)?;
            let mut words = values.split_whitespace();
            Some(format!("{name} {} {}", words.next()?, words.next()?))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::tree;

    #[test]
    fn an_empty_tree_gives_no_facts_but_what_the_program_knows() {
        let (_keep, sources) = tree(&[]);
        let host = facts(&sources, None);
        let known = Host {
            system: host.system.clone(),
            architecture: host.architecture.clone(),
            ..Host::default()
        };
        assert_eq!(host, known);
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_string())
    }

    fn texts(texts: [&str; 2]) -> Vec<String> {
        texts.map(str::to_string).to_vec()
    }

    #[test]
    fn facts_are_read_from_their_files() {
        let (_keep, sources) = tree(&[
            ("proc/sys/kernel/hostname", "box\n"),
            ("proc/sys/kernel/osrelease", "6.1.0-1\n"),
            ("proc/sys/kernel/sched_autogroup_enabled", "1\n"),
            (
                "proc/meminfo",
                "MemTotal:        2048000 kB\nMemFree: 1 kB\n",
            ),
            ("proc/loadavg", "0.26 0.21 0.12 1/90 17321\n"),
            (
                "proc/self/status",
                "Name:\tx\nUid:\t1000\t0\t0\t0\nCpus_allowed_list:\t0-1,4\n",
            ),
            (
                "etc/os-release",
                "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12\"\n",
            ),
            ("sys/devices/system/cpu/online", "0-7\n"),
            ("sys/devices/system/cpu/smt/active", "0\n"),
            (
                "sys/devices/system/clocksource/clocksource0/current_clocksource",
                "tsc\n",
            ),
            (
                "sys/devices/system/cpu/vulnerabilities/meltdown",
                "Mitigation: PTI\n",
            ),
            (
                "sys/devices/system/cpu/vulnerabilities/l1tf",
                "Not affected\n",
            ),
            ("sys/devices/system/cpu/vulnerabilities/mds", "Vulnerable\n"),
            (
                "proc/self/limits",
                "Limit                     Soft Limit           Hard Limit           Units     \n\
                 Max stack size            8388608              unlimited            bytes     \n\
                 Max open files            1024                 20000                files     \n",
            ),
        ]);
        let expected = Host {
            name: text("box"),
            kernel: text("6.1.0-1"),
            distribution: text("Debian GNU/Linux 12"),
            memory_mib: Some(2000),
            load_1min: Some(0.26),
            cpus: Some(8),
            cpus_allowed: Some(3),
            autogroup: Some(true),
            smt: Some(false),
            user: text("root"),
            clock_source: text("tsc"),
            mitigations: texts(["mds: Vulnerable", "meltdown: Mitigation: PTI"]),
            limits: texts(["nofile 1024 20000", "stack 8388608 unlimited"]),
            ..facts(&tree(&[]).1, None)
        };
        assert_eq!(facts(&sources, None), expected);
    }

    #[test]
    fn the_release_is_found_in_the_version_too() {
        let (_keep, sources) = tree(&[("proc/version", "Linux version 4.4.0 #1 SMP\n")]);
        assert_eq!(facts(&sources, None).kernel.as_deref(), Some("4.4.0"));
    }
}
