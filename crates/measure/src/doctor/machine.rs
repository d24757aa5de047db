//! Looks at the machine itself: its clock, the layers between it and the hardware, the file system for test files.

use super::{Finding, is_virtual};
use itertools::Itertools;
use model::Host;
use sys::checks::Checks;

const FAST_CLOCKS: &[&str] = &[
    "tsc",
    "kvm-clock",
    "hyperv_clocksource_tsc_page",
    "arch_sys_counter",
    "timebase",
    "tod",
    "riscv_clocksource",
];
const SLOW_CLOCKS: &[&str] = &["hpet", "acpi_pm", "jiffies", "refined-jiffies", "pit"];
/// Longer than a plain read of a register.
const SLOW_READING: f64 = 100.0;
/// A larger step lengthens batches.
const COARSE_STEP: f64 = 1000.0;

/// File systems whose costs are those of something other than a disk, each with that something.
const FILE_SYSTEMS: &[(&str, &str)] = &[
    ("tmpfs", "memory: no disk is involved"),
    ("ramfs", "memory: no disk is involved"),
    ("overlay", "two layers, where opens and lookups cost more"),
    (
        "fuse",
        "another process or the host, which answers each call",
    ),
    ("nfs", "the network and a server"),
    ("9p", "the host, which answers each call"),
    ("cifs", "the network and a server"),
    ("smb2", "the network and a server"),
    ("smb", "the network and a server"),
    ("ceph", "the network and a server"),
    ("ecryptfs", "an encrypting layer over another file system"),
];

const LEAST: &[(&str, u64)] = &[("nofile", 1024), ("nproc", 128), ("sigpending", 64)];
const LEAST_USER: &[(&str, u64)] = &[("memlock", 1 << 20), ("msgqueue", 64 << 10)];

/// Parts of the file system that the tool or its operations need, and that a bare chroot lacks.
pub fn root(_: &Host, checks: &Checks) -> Option<Finding> {
    if checks.missing.is_empty() {
        return None;
    }
    let advice = "Mount /proc and /dev: without them programs are not traced, a dynamically linked probe does not start, and \
                  operations that use them fail.";
    Finding::problem(format!("no {}", checks.missing.join(", ")), advice)
}

/// Fast and fine enough to time batches, or not.
pub fn clock_source(host: &Host, _: &Checks) -> Option<Finding> {
    let Some(name) = host.clock_source.as_deref() else {
        return Finding::notice("unknown", "Look at the cost of a clock reading instead.");
    };
    if FAST_CLOCKS.contains(&name) {
        return Finding::good(name);
    }
    if SLOW_CLOCKS.contains(&name) {
        let advice = "Each reading takes about a microsecond or has a coarse step; boot with clocksource=tsc if this \
                      CPU's counter is reliable.";
        return Finding::problem(name, advice);
    }
    Finding::notice(
        name,
        "Each reading may enter the kernel; look at the cost of a clock reading.",
    )
}

/// Cost and step in nanoseconds. None if they were not measured.
pub fn clock_reading(host: &Host, _: &Checks) -> Option<Finding> {
    let (cost, step) = (host.clock_cost_ns?, host.clock_step_ns?);
    let cost_and_step = format!("costs {cost:.0} ns, steps by {step:.0} ns");
    if cost > SLOW_READING || step > COARSE_STEP {
        return Finding::notice(
            cost_and_step,
            "Batches are longer to compensate, so fewer fit into the same time.",
        );
    }
    Finding::good(cost_and_step)
}

/// Settings besides the kernel's release that change costs. None if no setting is known.
pub fn kernel_state(host: &Host, _: &Checks) -> Option<Finding> {
    let state = [
        named("preemption", &host.preemption),
        host.tick_hz.map(|hz| format!("{hz} ticks a second")),
        named("huge pages", &host.huge_pages),
        named("CPUs without ticks", &host.nohz_full),
        named("isolated CPUs", &host.isolated_cpus),
    ];
    let known: Vec<String> = state.into_iter().flatten().collect();
    if known.is_empty() {
        return None;
    }
    Finding::good(known.join(", "))
}

fn named(name: &str, value: &Option<String>) -> Option<String> {
    Some(format!("{name} {}", value.as_ref()?))
}

/// Whether a hypervisor handles faults, timers and I/O, which makes them cost more.
pub fn hypervisor(host: &Host, _: &Checks) -> Option<Finding> {
    match host.hypervisor.as_deref() {
        None => Finding::notice(
            "unknown",
            "This may be a virtual machine; nothing tells whether it is.",
        ),
        Some("none") => Finding::good("none"),
        Some(name) => {
            let advice = "Page faults, timers and I/O may cost more than on hardware: compare with the same kind of \
                          machine.";
            Finding::notice(name, advice)
        }
    }
}

/// Whether a container's filter and limits, or a sandbox's own kernel, apply to the measured calls.
pub fn container(host: &Host, _: &Checks) -> Option<Finding> {
    match host.container.as_deref() {
        None => Finding::good("none detected"),
        Some("gvisor") => Finding::notice(
            "gvisor",
            "The sandbox's own kernel handles system calls: results are for that kernel.",
        ),
        Some(name) => {
            let advice = "Its system call filter and limits apply; run outside of it to measure the kernel alone.";
            Finding::notice(name, advice)
        }
    }
}

/// Never a problem: they are part of the cost of system calls on this machine.
pub fn mitigations(host: &Host, checks: &Checks) -> Option<Finding> {
    fn part(list: &[(&str, &str)], word: &str) -> Option<String> {
        if list.is_empty() {
            return None;
        }
        Some(format!("{word}: {}", names(list)))
    }

    fn names(list: &[(&str, &str)]) -> String {
        list.iter().map(|(name, _)| *name).join(", ")
    }

    if host.mitigations.is_empty() {
        return Finding::good("none reported");
    }
    let (open, closed): (Vec<_>, Vec<_>) = host
        .mitigations
        .iter()
        .filter_map(|line| line.split_once(": "))
        .partition(|(_, s)| s.starts_with("Vulnerable"));
    let parts = [part(&closed, "mitigated"), part(&open, "vulnerable")]
        .into_iter()
        .flatten()
        .collect::<Vec<_>>();
    let measured = match checks.speculation.len() {
        0 => "Environments ssbd and spec-ib do not work here: the kernel lets no process choose"
            .to_string(),
        number => format!(
            "`run id --env native,{}` measures {number} of them",
            checks.speculation.join(",")
        ),
    };
    Finding::notice(
        parts.join("; "),
        format!(
            "They are part of the cost of system calls here: compare with machines that have the same ones. {measured}; an emulated kernel, with and without `mitigations=off`, shows the instructions of the others (docs/environments.md)."
        ),
    )
}

/// A disk's or something else. None if the kind is unknown.
pub fn file_system(host: &Host, _: &Checks) -> Option<Finding> {
    let kind = host.file_system.as_deref()?;
    match FILE_SYSTEMS.iter().find(|(name, _)| *name == kind) {
        None => Finding::good(kind),
        Some((_, measured)) => {
            let advice = format!(
                "File results measure {measured}; set TMPDIR to a directory on the file system to measure."
            );
            Finding::notice(kind, advice)
        }
    }
}

/// The resource limits that are too low for some operations, with their soft values.
pub fn limits(host: &Host, _: &Checks) -> Option<Finding> {
    let for_user = if host.user.as_deref() == Some("root") {
        &[][..]
    } else {
        LEAST_USER
    };
    let short = LEAST
        .iter()
        .chain(for_user)
        .filter_map(|least| too_small(host, least))
        .join(", ");
    if short.is_empty() {
        return Finding::good("enough");
    }
    Finding::notice(
        short,
        "Some operations may fail; raise the limits with ulimit or in limits.conf.",
    )
}

fn too_small(host: &Host, limit: &(&str, u64)) -> Option<String> {
    let (name, least) = limit;

    let soft: u64 = host
        .limits
        .iter()
        .find(|line| line.split(' ').next() == Some(name))?
        .split(' ')
        .nth(1)?
        .parse()
        .ok()?;
    if soft < *least {
        Some(format!("{name} {soft}"))
    } else {
        None
    }
}

/// Normal in a virtual machine.
pub fn unknown(host: &Host) -> &'static str {
    if is_virtual(host) {
        "unknown in this VM"
    } else {
        "unknown"
    }
}
