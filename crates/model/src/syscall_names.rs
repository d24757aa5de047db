//! Names of system calls by architecture, as the kernel's audit interface distinguishes them.

pub mod errno;

use std::str::FromStr;
use syscalls::{aarch64, arm, riscv64, x86, x86_64};

struct Architecture {
    /// AUDIT_ARCH_* (linux/audit.h).
    audit: u32,
    /// Follows a foreign call's name.
    label: &'static str,
    name_of: fn(usize) -> Option<&'static str>,
}

macro_rules! architecture {
    ($audit:literal, $label:literal, $table:ident) => {
        Architecture {
            audit: $audit,
            label: $label,
            name_of: |number| $table::Sysno::new(number).map(|call| call.name()),
        }
    };
}

/// Sources: linux/audit.h, and the tables of the `syscalls` crate.
const ARCHITECTURES: &[Architecture] = &[
    architecture!(0xC000_003E, "x86_64", x86_64),
    architecture!(0x4000_0003, "i386", x86),
    Architecture {
        name_of: aarch64_name,
        ..architecture!(0xC000_00B7, "aarch64", aarch64)
    },
    architecture!(0x4000_0028, "arm", arm),
    architecture!(0xC000_00F3, "riscv64", riscv64),
];

const X86_64: u32 = 0xC000_003E;
/// Marks the numbers of x32, which uses the gate of x86_64 (asm/unistd.h, __X32_SYSCALL_BIT).
const X32: u64 = 0x4000_0000;

/// Number 79 is newfstatat, as in the kernel's headers (asm-generic/unistd.h) and strace; the crate has the C library's name for it.
fn aarch64_name(number: usize) -> Option<&'static str> {
    let name = aarch64::Sysno::new(number)?.name();
    Some(if name == "fstatat" {
        "newfstatat"
    } else {
        name
    })
}

/// The name of a call by its number. If `audit` is not the process's `native` architecture, the gate follows: `getpid(i386)`. A number
/// without a name is `syscall(number)`.
pub fn name(audit: u32, number: u64, native: u32) -> String {
    // -1 has this bit too, but stands for a call that was cancelled.
    if audit == X86_64 && number & X32 != 0 && number != u64::MAX {
        return format!("{}(x32)", name(audit, number & !X32, audit));
    }
    let architecture = ARCHITECTURES.iter().find(|a| a.audit == audit);
    let index = usize::try_from(number).ok();
    let name = architecture
        .zip(index)
        .and_then(|(a, index)| (a.name_of)(index))
        .map_or_else(
            || format!("syscall({})", number.cast_signed()),
            str::to_string,
        );
    match architecture {
        Some(a) if audit != native => format!("{name}({})", a.label),
        _ => name,
    }
}

/// `getpid` for `getpid(i386)`.
pub fn bare_name(call: &str) -> &str {
    call.split('(').next().unwrap_or(call)
}

/// `None` if unknown, or the one that this program was built for.
pub fn foreign(audit: u32) -> Option<&'static str> {
    let label = ARCHITECTURES.iter().find(|a| a.audit == audit)?.label;
    (label != std::env::consts::ARCH).then_some(label)
}

/// Whether a call of this name exists on some architecture.
pub fn is_known(name: &str) -> bool {
    let others = [
        aarch64::Sysno::from_str(name).is_ok(),
        arm::Sysno::from_str(name).is_ok(),
        riscv64::Sysno::from_str(name).is_ok(),
    ];
    x86_64::Sysno::from_str(name).is_ok()
        || x86::Sysno::from_str(name).is_ok()
        || others.contains(&true)
}

#[cfg(test)]
mod tests {
    use super::*;
    const I386: u32 = 0x4000_0003;

    #[test]
    fn names_carry_a_foreign_gate() {
        const AARCH64: u32 = 0xC000_00B7;
        for (audit, number, native, expected) in [
            (X86_64, 39, X86_64, "getpid"),
            (X86_64, 262, X86_64, "newfstatat"),
            (AARCH64, 79, AARCH64, "newfstatat"),
            (I386, 20, X86_64, "getpid(i386)"),
            (I386, 20, I386, "getpid"),
            (X86_64, X32 | 39, X86_64, "getpid(x32)"),
            (X86_64, u64::MAX, X86_64, "syscall(-1)"),
            (X86_64, 9999, X86_64, "syscall(9999)"),
        ] {
            assert_eq!(name(audit, number, native), expected);
        }
    }
}
