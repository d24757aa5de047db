//! Machines, and the architectures whose calls they take.

use crate::syscall_names;
use anyhow::{Context, Result, bail};

/// The machine that a filter is for.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// Its processor, as `uname -m` shows it.
    pub architecture: &'static str,
    /// The first two numbers of its kernel's version.
    pub kernel: (u32, u32),
}

/// An architecture that a profile names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Architecture {
    pub label: &'static str,
    pub audit: u32,
}

/// Those that a machine of this kind can run: its own comes first. The one called `x32` shares that of x86_64.
pub fn family(machine: &str) -> Result<&'static [(&'static str, &'static str)]> {
    Ok(match machine {
        "x86_64" => &[("SCMP_ARCH_X86_64", "x86_64"), ("SCMP_ARCH_X86", "i386")],
        "aarch64" => &[("SCMP_ARCH_AARCH64", "aarch64"), ("SCMP_ARCH_ARM", "arm")],
        "riscv64" => &[("SCMP_ARCH_RISCV64", "riscv64")],
        other => bail!("profiles are not compiled for {other}"),
    })
}

pub fn architecture(label: &'static str) -> Result<Architecture> {
    let audit = syscall_names::audit_of(label).with_context(|| format!("the calls of {label} are unknown"))?;
    Ok(Architecture { label, audit })
}
