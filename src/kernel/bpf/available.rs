//! Whether BPF tracing is available here; if not, why, in one line.

use super::kernel_types::FILE;
use super::maps;
use nix::errno::Errno;
use std::path::Path;

/// The first release with task storage for tracing programs.
const OLDEST: (u32, u32) = (5, 11);
/// From linux/capability.h.
const CAP_SYS_ADMIN: u32 = 21;
const CAP_PERFMON: u32 = 38;
const CAP_BPF: u32 = 39;

/// Checks everything that tracing needs.
///
/// # Errors
/// The first thing that is missing, and what to do.
pub fn available() -> Result<(), String> {
    if !cfg!(all(target_endian = "little", any(target_arch = "x86_64", target_arch = "aarch64"))) {
        return Err("eBPF tracing supports x86_64 and aarch64 only".to_string());
    }
    let uname = nix::sys::utsname::uname().map_err(|error| format!("uname: {error}"))?;
    check_release(&uname.release().to_string_lossy())?;
    if !Path::new(FILE).exists() {
        return Err(format!("eBPF needs {FILE}: a kernel built with CONFIG_DEBUG_INFO_BTF"));
    }
    check_capabilities(&std::fs::read_to_string("/proc/self/status").unwrap_or_default())?;
    try_map()
}

fn check_release(release: &str) -> Result<(), String> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(|part| part.parse::<u32>().unwrap_or(0));
    let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if version < OLDEST {
        return Err(format!("eBPF needs Linux {}.{} or newer, this is {release}", OLDEST.0, OLDEST.1));
    }
    Ok(())
}

fn check_capabilities(status: &str) -> Result<(), String> {
    let line = status.lines().find_map(|line| line.strip_prefix("CapEff:"));
    let effective = line.and_then(|text| u64::from_str_radix(text.trim(), 16).ok()).unwrap_or(0);
    let has = |capability: u32| effective >> capability & 1 == 1;
    if has(CAP_SYS_ADMIN) || (has(CAP_BPF) && has(CAP_PERFMON)) {
        return Ok(());
    }
    Err("eBPF needs root or CAP_BPF and CAP_PERFMON".to_string())
}

/// The decisive test: a sandbox may refuse what the capabilities promise.
fn try_map() -> Result<(), String> {
    match maps::try_create() {
        Ok(_) => Ok(()),
        Err(Errno::EPERM) => Err("bpf(2) is refused here (EPERM), by a container or sandbox".to_string()),
        Err(Errno::ENOSYS) => Err("this kernel has no bpf(2) (ENOSYS)".to_string()),
        Err(error) => Err(format!("bpf(2) is refused here ({error})")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_kernels_are_named() {
        assert!(check_release("5.11.0-generic").is_ok() && check_release("6.1").is_ok());
        let refused = "eBPF needs Linux 5.11 or newer, this is 5.10.0-28-amd64";
        assert_eq!(check_release("5.10.0-28-amd64").unwrap_err(), refused);
        assert!(check_release("").is_err());
    }

    #[test]
    fn either_root_or_both_capabilities_do() {
        let status = |bits: u64| format!("Name:\tx\nCapEff:\t{bits:016x}\n");
        assert!(check_capabilities(&status(1 << CAP_SYS_ADMIN)).is_ok());
        assert!(check_capabilities(&status(1 << CAP_BPF | 1 << CAP_PERFMON)).is_ok());
        assert!(check_capabilities(&status(1 << CAP_BPF)).is_err());
        assert!(check_capabilities("").is_err());
    }
}
