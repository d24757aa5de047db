//! Names of calls by number and gate, and what the programs do for each. Pure.

use crate::kernel::bpf::What;
use crate::kernel::bpf::layout::{NUMBERS, gate, what};
use crate::model::{Drives, drives, selector};
use crate::syscall_names;

/// AUDIT_ARCH_* of this machine's native calls and of its 32-bit ones.
const AUDIT: (u32, u32) =
    if cfg!(target_arch = "aarch64") { (0xC000_00B7, 0x4000_0028) } else { (0xC000_003E, 0x4000_0003) };
/// The suffix of the names of 32-bit calls.
pub const COMPAT: &str = if cfg!(target_arch = "aarch64") { "(arm)" } else { "(i386)" };
/// x32's own numbers begin here (asm/unistd_x32.h); those below are the 64-bit ones.
const X32_FIRST: u16 = 512;

/// A call's name, followed by the gate unless that is the native one.
pub fn name(number: u16, by: u64) -> String {
    let own = AUDIT.0;
    match by {
        gate::COMPAT => syscall_names::name(AUDIT.1, number.into(), own),
        gate::X32 if number >= X32_FIRST => format!("syscall({number})(x32)"),
        gate::X32 => format!("{}(x32)", syscall_names::name(own, number.into(), own)),
        // The programs keep 16 bits of a number; no kernel has a call with this one.
        _ if number == u16::MAX => "syscall(unknown)".to_string(),
        _ => syscall_names::name(own, number.into(), own),
    }
}

/// What drives the cost of a call, by its number and gate.
pub fn drives_of(number: u16, by: u64) -> Option<Drives> {
    drives(bare(&name(number, by)))
}

/// A name without its gate.
pub fn bare(name: &str) -> &str {
    name.split('(').next().unwrap_or(name)
}

/// The table for the programs.
pub fn what_to_do() -> What {
    let gates = [gate::OWN, gate::COMPAT];
    let numbers = NUMBERS as usize;
    std::array::from_fn(|index| what_for(&name((index % numbers) as u16, gates[index / numbers])))
}

fn what_for(name: &str) -> u8 {
    let name = bare(name);
    let (operation, argument) = match drives(name) {
        _ if name == "prctl" => (what::RENAME, 0),
        _ if name.starts_with("futex") && selector(name).is_some() => (what::FUTEX, 1),
        None => return 0,
        Some(Drives::Path { argument }) if name.starts_with("exec") => (what::EXEC, argument),
        Some(Drives::Bytes { descriptor }) => (what::BYTES, descriptor),
        Some(Drives::Descriptor { argument }) => (what::DESCRIPTOR, argument),
        Some(Drives::Path { argument }) => (what::PATH, argument),
        Some(Drives::Length { argument }) => (what::LENGTH, argument),
        Some(Drives::Set { argument }) => (what::SET, argument),
    };
    operation as u8 | argument << 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_named_by_gate() {
        if cfg!(not(target_arch = "x86_64")) {
            eprintln!("SKIPPED: numbers of x86_64");
            return;
        }
        assert_eq!([name(39, gate::OWN), name(20, gate::COMPAT)], ["getpid", "getpid(i386)"]);
        assert_eq!([name(39, gate::X32), name(520, gate::X32)], ["getpid(x32)", "syscall(520)(x32)"]);
        assert_eq!([name(9999, gate::OWN), name(u16::MAX, gate::OWN)], ["syscall(9999)", "syscall(unknown)"]);
        assert_eq!((bare("getpid(i386)"), bare("read"), bare("syscall(7)")), ("getpid", "read", "syscall"));
    }

    #[test]
    fn arguments_are_among_those_that_the_programs_load() {
        let table = what_to_do();
        assert_eq!(table.len(), 2 * NUMBERS as usize);
        assert!(table.iter().all(|byte| byte >> 4 <= 2 && i32::from(byte & 15) <= what::EXEC));
        assert_eq!(table[libc::SYS_openat as usize], what::PATH as u8 | 1 << 4);
        assert_eq!(table[libc::SYS_execve as usize], what::EXEC as u8);
        assert_eq!(table[libc::SYS_getpid as usize], 0);
    }
}
