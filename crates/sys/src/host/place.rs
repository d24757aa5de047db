//! The layers between this process and the hardware: a hypervisor, a container, a sandbox.
//!
//! Only files are read, no CPU instruction is used: a hypervisor that hides from them stays hidden.

use super::Sources;
use super::cpu::Cpu;

/// Matched as a substring; the first match wins.
const FIRMWARE: &[(&str, &str)] = &[
    ("VMware", "vmware"),
    ("VMW", "vmware"),
    ("innotek GmbH", "virtualbox"),
    ("VirtualBox", "virtualbox"),
    ("Parallels", "parallels"),
    ("BHYVE", "bhyve"),
    ("Apple Virtualization", "apple"),
    ("Microsoft Corporation Virtual Machine", "hyper-v"),
    ("HVM domU", "xen"),
    ("Firecracker", "kvm"),
    ("Google Compute Engine", "kvm"),
    ("Amazon EC2", "kvm"),
    ("KVM", "kvm"),
    ("QEMU", "qemu"),
    ("OpenStack", "openstack"),
];
const FIRMWARE_FILES: &[&str] = &["sys_vendor", "product_name", "board_vendor", "bios_vendor"];

const GUEST_CLOCKS: &[(&str, &str)] = &[
    ("kvm-clock", "kvm"),
    ("hyperv_clocksource", "hyper-v"),
    ("xen", "xen"),
];

const MARKS: &[(&str, &str)] = &[
    ("run/.containerenv", "podman"),
    (".dockerenv", "docker"),
    (".flatpak-info", "flatpak"),
];

/// Substrings of the first process's control group.
const GROUPS: &[(&str, &str)] = &[
    ("kubepods", "kubernetes"),
    ("docker", "docker"),
    ("libpod", "podman"),
    ("containerd", "containerd"),
    ("crio", "cri-o"),
    ("lxc", "lxc"),
    ("garden", "garden"),
    ("machine.slice", "systemd-nspawn"),
];

/// The initial namespaces have fixed numbers (`linux/proc_ns.h`).
const FIRST_NAMESPACES: &[(&str, &str)] = &[
    ("pid", "pid:[4026531836]"),
    ("uts", "uts:[4026531838]"),
    ("ipc", "ipc:[4026531839]"),
];

/// The build that gVisor reports by default; newer ones have their name in the release.
const GVISOR_BUILD: &str = "#1 SMP Sun Jan 10 15:06:54 PST 2016";
const KERNELS: &[(&str, &str)] = &[
    (GVISOR_BUILD, "gvisor"),
    ("-Microsoft", "wsl1"),
    ("microsoft-standard", "wsl2"),
];

/// The hypervisor's name, by the best source there is: its own directory, its guests' clock sources, the firmware. `none` if the CPU
/// reports that there is no hypervisor, `unnamed` if it reports one that nothing names.
pub fn hypervisor(sources: &Sources) -> Option<String> {
    let flag = Cpu::read(sources, None).flag("hypervisor");
    if flag == Some(false) {
        return Some("none".to_string());
    }
    sources
        .text("sys/hypervisor/type")
        .or_else(|| by_clock(sources))
        .or_else(|| by_firmware(sources))
        .or_else(|| sources.text("proc/device-tree/hypervisor/compatible"))
        .or_else(|| {
            if flag == Some(true) {
                Some("unnamed".to_string())
            } else {
                None
            }
        })
}

fn by_clock(sources: &Sources) -> Option<String> {
    let clocks =
        sources.text("sys/devices/system/clocksource/clocksource0/available_clocksource")?;
    named(GUEST_CLOCKS, &clocks)
}

fn by_firmware(sources: &Sources) -> Option<String> {
    let firmware = FIRMWARE_FILES
        .iter()
        .filter_map(|name| sources.text(&format!("sys/class/dmi/id/{name}")))
        .collect::<Vec<_>>()
        .join(" ");
    // Rented bare-metal machines have the provider's name as well.
    if firmware.contains(".metal") {
        None
    } else {
        named(FIRMWARE, &firmware)
    }
}

/// Such as `docker`; `None` if nothing shows one.
pub fn container(sources: &Sources) -> Option<String> {
    sandbox(sources)
        .or_else(|| sources.container_variable().map(str::to_string))
        .or_else(|| sources.text("run/systemd/container"))
        .or_else(|| by_mark(sources))
        .or_else(|| by_group(sources))
}

fn sandbox(sources: &Sources) -> Option<String> {
    let version = sources.text("proc/version")?;
    if version.to_lowercase().contains("gvisor") {
        return Some("gvisor".to_string());
    }
    named(KERNELS, &version)
}

/// Images keep their marks when they are unpacked for a virtual machine: in the initial namespaces, a mark proves
/// nothing.
fn by_mark(sources: &Sources) -> Option<String> {
    let mark = MARKS.iter().find(|(path, _)| sources.exists(path))?;
    if FIRST_NAMESPACES.iter().all(|(kind, first)| {
        sources.link(&format!("proc/self/ns/{kind}")).as_deref() == Some(*first)
    }) {
        return None;
    }
    Some(mark.1.to_string())
}

fn by_group(sources: &Sources) -> Option<String> {
    named(GROUPS, &sources.text("proc/1/cgroup")?)
}

fn named(table: &[(&str, &str)], text: &str) -> Option<String> {
    table
        .iter()
        .find(|(part, _)| text.contains(part))
        .map(|(_, name)| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::{link, tree};

    const CLOCKS: &str = "sys/devices/system/clocksource/clocksource0/available_clocksource";

    const GUEST: (&str, &str) = ("proc/cpuinfo", "processor : 0\nflags : fpu hypervisor\n");

    #[test]
    fn hypervisors_are_named_by_clock_then_firmware() {
        for (files, expected) in [
            (
                &[GUEST, (CLOCKS, "tsc kvm-clock acpi_pm\n")][..],
                Some("kvm"),
            ),
            (&[GUEST, ("sys/hypervisor/type", "xen\n")], Some("xen")),
            (
                &[
                    GUEST,
                    ("sys/class/dmi/id/sys_vendor", "Microsoft Corporation\n"),
                    ("sys/class/dmi/id/product_name", "Virtual Machine\n"),
                ],
                Some("hyper-v"),
            ),
            (&[GUEST], Some("unnamed")),
            (
                &[
                    ("proc/cpuinfo", "flags : fpu\n"),
                    ("sys/class/dmi/id/sys_vendor", "Amazon EC2\n"),
                ],
                Some("none"),
            ),
            (
                &[("proc/cpuinfo", "processor : 0\nCPU part : 0xd0c\n")],
                None,
            ),
            (&[("sys/class/dmi/id/sys_vendor", "QEMU\n")], Some("qemu")),
        ] {
            assert_eq!(hypervisor(&tree(files).1).as_deref(), expected, "{files:?}");
        }
    }

    #[test]
    fn containers_are_known_by_version_mark_and_group() {
        let gvisor = format!("Linux version 4.4.0 {GVISOR_BUILD}");
        for (path, text, expected) in [
            ("proc/version", gvisor.as_str(), "gvisor"),
            (
                "proc/version",
                "Linux version 5.15.90.1-microsoft-standard-WSL2",
                "wsl2",
            ),
            (
                "proc/1/cgroup",
                "0::/kubepods.slice/kubepods-pod1.slice/cri\n",
                "kubernetes",
            ),
        ] {
            assert_eq!(
                container(&tree(&[(path, text)]).1).as_deref(),
                Some(expected)
            );
        }
        let (keep, sources) = tree(&[(".dockerenv", "")]);
        assert_eq!(container(&sources).as_deref(), Some("docker"));
        let links = FIRST_NAMESPACES
            .iter()
            .map(|(kind, first)| (format!("proc/self/ns/{kind}"), *first));
        let links: Vec<(String, &str)> = links.chain([(".dockerenv".to_string(), "")]).collect();
        let files: Vec<(&str, &str)> = links
            .iter()
            .map(|(path, text)| (path.as_str(), *text))
            .collect();
        assert_eq!(
            container(&tree(&files).1),
            None,
            "links of another machine, as text"
        );
        for (kind, first) in FIRST_NAMESPACES {
            link(&keep, &format!("proc/self/ns/{kind}"), first);
        }
        assert_eq!(
            container(&sources),
            None,
            "a mark counts unless the namespaces are the first ones"
        );
    }
}
