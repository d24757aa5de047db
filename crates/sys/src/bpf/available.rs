//! Whether BPF tracing is available here; if not, why, in one line.

use super::btf::TYPES;
use super::maps::{self, MapSpec};
use crate::Sources;
use crate::sources::capability::{BPF, PERFMON, SYS_ADMIN};
use nix::errno::Errno;
use nix::unistd::geteuid;
use std::path::Path;

/// The first release whose programs may compare and exchange, which on arm64 came later.
const OLDEST: (u32, u32) = if cfg!(target_arch = "aarch64") {
    (5, 18)
} else {
    (5, 12)
};

/// # Errors
/// The reason in one line, for people: the architecture, the kernel's release or configuration, a capability, or bpf(2) itself.
pub fn available() -> Result<(), String> {
    if !cfg!(all(
        target_endian = "little",
        any(target_arch = "x86_64", target_arch = "aarch64")
    )) {
        return Err("eBPF tracing supports x86_64 and aarch64 only".to_string());
    }
    let uname = nix::sys::utsname::uname().map_err(|error| format!("uname: {error}"))?;
    check_release(&uname.release().to_string_lossy())?;
    if !Path::new(TYPES).exists() {
        return Err(format!(
            "eBPF needs {TYPES}: a kernel built with CONFIG_DEBUG_INFO_BTF"
        ));
    }
    check_capabilities(&Sources::default())?;
    try_map()
}

pub(super) fn version(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
}

fn check_release(release: &str) -> Result<(), String> {
    if version(release) < OLDEST {
        return Err(format!(
            "eBPF needs Linux {}.{} or newer, this is {release}",
            OLDEST.0, OLDEST.1
        ));
    }
    Ok(())
}

fn check_capabilities(sources: &Sources) -> Result<(), String> {
    let lacking: Vec<&str> = [(BPF, "CAP_BPF"), (PERFMON, "CAP_PERFMON")]
        .into_iter()
        .filter(|(number, _)| !sources.has(*number))
        .map(|(_, name)| name)
        .collect();
    if sources.has(SYS_ADMIN) || lacking.is_empty() {
        return Ok(());
    }
    let whose = if geteuid().is_root() {
        "root lacks here"
    } else {
        "root has"
    };
    Err(format!(
        "eBPF needs {}, which {whose}",
        lacking.join(" and ")
    ))
}

/// The decisive test: a sandbox may refuse what the capabilities promise.
fn try_map() -> Result<(), String> {
    let spec = MapSpec {
        name: "syscost_try",
        kind: maps::ARRAY,
        max_entries: 1,
        flags: 0,
        types: None,
    };
    match maps::create(&spec, 4, 8) {
        Ok(_) => Ok(()),
        Err(Errno::EPERM) => {
            Err("bpf(2) is refused here (EPERM), by a container or sandbox".to_string())
        }
        Err(Errno::ENOSYS) => Err("this kernel has no bpf(2) (ENOSYS)".to_string()),
        Err(error) => Err(format!("bpf(2) is refused here ({error})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fake::tree;

    #[test]
    fn old_kernels_are_named() {
        assert!(check_release("5.18.0-generic").is_ok() && check_release("6.1").is_ok());
        let refused = format!(
            "eBPF needs Linux {}.{} or newer, this is 5.10.0-28-amd64",
            OLDEST.0, OLDEST.1
        );
        assert_eq!(check_release("5.10.0-28-amd64").unwrap_err(), refused);
        assert!(check_release("").is_err());
    }

    #[test]
    fn either_root_or_both_capabilities_do() {
        fn check(bits: u64) -> Result<(), String> {
            let status = format!("Name:\tx\nCapEff:\t{bits:016x}\n");
            check_capabilities(&tree(&[("proc/self/status", &status)]).1)
        }

        assert!(check(1 << SYS_ADMIN).is_ok() && check(1 << BPF | 1 << PERFMON).is_ok());
        let refused = check(1 << BPF).unwrap_err();
        assert!(
            refused.starts_with("eBPF needs CAP_PERFMON, which root "),
            "{refused}"
        );
        let refused = check_capabilities(&tree(&[]).1).unwrap_err();
        assert!(
            refused.starts_with("eBPF needs CAP_BPF and CAP_PERFMON, "),
            "{refused}"
        );
    }
}
