//! Looks at what the machine is: its clock, what is between it and the hardware, where files are created.

use super::finding::{Answer, is_virtual};
use crate::kernel::checks::Checks;
use crate::model::Host;

/// Clock sources that are read without entering the kernel.
const FAST_CLOCKS: &[&str] =
    &["tsc", "kvm-clock", "hyperv_clocksource_tsc_page", "arch_sys_counter", "timebase", "tod", "riscv_clocksource"];
/// Clock sources that are read from a slow device, which takes about a microsecond, or advance in whole ticks.
const SLOW_CLOCKS: &[&str] = &["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
/// A clock reading that takes longer, in nanoseconds, is more than a plain read of a register.
const SLOW_READING: f64 = 100.0;
/// A larger clock step, in nanoseconds, lengthens batches.
const COARSE_STEP: f64 = 1000.0;

/// File systems whose results measure something other than a disk's file system, and what that is.
const FILE_SYSTEMS: &[(&str, &str)] = &[
    ("tmpfs", "memory: no disk is involved"),
    ("ramfs", "memory: no disk is involved"),
    ("overlay", "two layers, in which opening and looking up cost more"),
    ("fuse", "another process or the host, which answers each call"),
    ("nfs", "the network and a server"),
    ("9p", "the host, which answers each call"),
    ("cifs", "the network and a server"),
    ("smb2", "the network and a server"),
    ("smb", "the network and a server"),
    ("ceph", "the network and a server"),
    ("ecryptfs", "an encrypting layer over another file system"),
];

/// Limits, and the minimum that lets every operation run. The limit on locked memory does not apply to root.
const LEAST: &[(&str, u64)] = &[("nofile", 1024), ("nproc", 128), ("sigpending", 64)];
const LEAST_USER: &[(&str, u64)] = &[("memlock", 1 << 20), ("msgqueue", 64 << 10)];

pub fn clock_source(host: &Host, _: &Checks) -> Option<Answer> {
    let Some(name) = host.clock_source.as_deref() else {
        return Answer::notice("unknown", "See what a clock reading costs instead.");
    };
    if FAST_CLOCKS.contains(&name) {
        return Answer::good(name);
    }
    if SLOW_CLOCKS.contains(&name) {
        let advice = "Each reading takes about a microsecond or has a coarse step; boot with clocksource=tsc if this \
                      CPU's counter is reliable.";
        return Answer::spoils(name, advice);
    }
    Answer::notice(name, "Each reading may enter the kernel; see what a clock reading costs.")
}

/// `None` if it was not measured.
pub fn clock_reading(host: &Host, _: &Checks) -> Option<Answer> {
    let (cost, step) = (host.clock_cost_ns?, host.clock_step_ns?);
    let found = format!("costs {cost:.0} ns, steps by {step:.0} ns");
    if cost > SLOW_READING || step > COARSE_STEP {
        return Answer::notice(found, "Batches are longer to compensate, so fewer fit into the same time.");
    }
    Answer::good(found)
}

pub fn hypervisor(host: &Host, _: &Checks) -> Option<Answer> {
    match host.hypervisor.as_deref() {
        None => Answer::notice("unknown", "This may be a virtual machine; nothing says whether it is."),
        Some("none") => Answer::good("none"),
        Some(name) => {
            let advice = "Page faults, timers and I/O may cost more than on hardware: compare with the same kind of \
                          machine.";
            Answer::notice(name, advice)
        }
    }
}

pub fn container(host: &Host, _: &Checks) -> Option<Answer> {
    match host.container.as_deref() {
        None => Answer::good("none recognised"),
        Some("gvisor") => {
            Answer::notice("gvisor", "The sandbox's own kernel handles system calls: results are of that.")
        }
        Some(name) => {
            let advice = "Its system call filter and limits apply; run outside of it to measure the kernel alone.";
            Answer::notice(name, advice)
        }
    }
}

/// Only a notice: mitigations are part of what system calls cost on this machine.
pub fn mitigations(host: &Host, _: &Checks) -> Option<Answer> {
    if host.mitigations.is_empty() {
        return Answer::good("none reported");
    }
    let (open, closed): (Vec<_>, Vec<_>) = host
        .mitigations
        .iter()
        .filter_map(|line| line.split_once(": "))
        .partition(|(_, s)| s.starts_with("Vulnerable"));
    let names = |list: &[(&str, &str)]| list.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let part = |list: &[(&str, &str)], word| (!list.is_empty()).then(|| format!("{word}: {}", names(list)));
    let found = [part(&closed, "mitigated"), part(&open, "vulnerable")].into_iter().flatten().collect::<Vec<_>>();
    Answer::notice(found.join("; "), "Part of the cost of system calls here: compare with machines that have the same.")
}

/// `None` if it is unknown which one operations will use.
pub fn file_system(host: &Host, _: &Checks) -> Option<Answer> {
    let kind = host.file_system.as_deref()?;
    match FILE_SYSTEMS.iter().find(|(name, _)| *name == kind) {
        None => Answer::good(kind),
        Some((_, of)) => {
            let advice = format!("File results measure {of}; set TMPDIR to a directory on the file system to measure.");
            Answer::notice(kind, advice)
        }
    }
}

pub fn limits(host: &Host, _: &Checks) -> Option<Answer> {
    let for_user = if host.user.as_deref() == Some("root") { &[][..] } else { LEAST_USER };
    let short: Vec<String> = LEAST.iter().chain(for_user).filter_map(|least| too_small(host, least)).collect();
    if short.is_empty() {
        return Answer::good("enough");
    }
    Answer::notice(
        short.join(", "),
        "Some operations may fail; raise the limits with ulimit or in the session's settings.",
    )
}

fn too_small(host: &Host, (name, least): &(&str, u64)) -> Option<String> {
    let line = host.limits.iter().find(|line| line.split(' ').next() == Some(name))?;
    let soft: u64 = line.split(' ').nth(1)?.parse().ok()?;
    (soft < *least).then(|| format!("{name} {soft}"))
}

/// What to say about unknown frequencies: in a virtual machine, that is to be expected.
pub fn unknown(host: &Host) -> &'static str {
    if is_virtual(host) { "unknown in this VM" } else { "unknown" }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::super::fake::{hardware, permitted, state};
    use super::*;

    fn with(change: impl Fn(&mut Host), look: super::super::Look) -> Option<Answer> {
        let mut host = hardware();
        change(&mut host);
        look(&host, &permitted())
    }

    #[test]
    fn clock_sources_are_judged() {
        let judged = |name: &str| state(with(|host| host.clock_source = Some(name.to_string()), clock_source));
        assert_eq!(judged("kvm-clock"), Some(State::Good));
        assert_eq!(judged("acpi_pm"), Some(State::Spoils));
        assert_eq!(judged("xen"), Some(State::Notice));
    }

    #[test]
    fn a_clock_that_was_not_measured_is_not_judged() {
        assert_eq!(state(with(|host| host.clock_cost_ns = None, clock_reading)), None);
        assert_eq!(state(with(|host| host.clock_cost_ns = Some(900.0), clock_reading)), Some(State::Notice));
    }

    #[test]
    fn mitigated_and_vulnerable_are_listed_separately() {
        let lines = ["meltdown: Mitigation: PTI", "mds: Vulnerable: no microcode"].map(str::to_string);
        let answer = with(|host| host.mitigations = lines.to_vec(), mitigations);
        assert_eq!(answer.map(|answer| answer.found).as_deref(), Some("mitigated: meltdown; vulnerable: mds"));
    }

    #[test]
    fn small_limits_are_named_and_root_has_no_memory_limit() {
        let lines = ["nofile 256 1024", "memlock 65536 65536", "nproc unlimited unlimited"].map(str::to_string);
        let found = |user: &str| {
            let host = Host { limits: lines.to_vec(), user: Some(user.to_string()), ..hardware() };
            limits(&host, &permitted()).map(|answer| answer.found)
        };
        assert_eq!(found("root").as_deref(), Some("nofile 256"));
        assert_eq!(found("user").as_deref(), Some("nofile 256, memlock 65536"));
    }

    #[test]
    fn file_systems_in_memory_are_noticed() {
        let judged = |kind: &str| state(with(|host| host.file_system = Some(kind.to_string()), file_system));
        assert_eq!((judged("tmpfs"), judged("ext4")), (Some(State::Notice), Some(State::Good)));
    }
}
