//! Names of a guest's functions by address, from its kernel's list of symbols and the probe's file.

use model::Failure;
use object::{Object, ObjectSymbol, SymbolKind};
use std::collections::BTreeMap;
use std::fmt::Display;
use std::ops::Range;
use std::path::Path;

#[derive(Debug, PartialEq)]
pub struct NamedAddress<'a> {
    pub start: u64,
    pub name: &'a str,
}

#[derive(Default)]
pub struct Names {
    /// A function ends where the next one begins.
    by_start: BTreeMap<u64, String>,
    probe: Range<u64>,
}

/// The lowest kernel address on x86-64 and arm64.
pub const KERNEL: u64 = 1 << 63;

pub fn failed_at(path: &Path, error: impl Display) -> Failure {
    Failure::failed(format!("{}: {error}", path.display()))
}

impl Names {
    pub fn of_program(path: &Path) -> Result<Names, Failure> {
        let bytes = std::fs::read(path).map_err(|error| failed_at(path, error))?;
        let file = object::File::parse(&*bytes).map_err(|error| failed_at(path, error))?;
        let mut names = Names {
            probe: Range {
                start: u64::MAX,
                end: 0,
            },
            ..Names::default()
        };
        let functions = file
            .symbols()
            .filter(|s| s.kind() == SymbolKind::Text && !s.is_undefined() && s.address() > 0);
        for symbol in functions {
            if let Ok(name) = symbol.name() {
                let (start, probe) = (symbol.address(), &mut names.probe);
                *probe = probe.start.min(start)..probe.end.max(start + symbol.size().max(1));
                names.add(start, name);
            }
        }
        Ok(names)
    }

    /// Of several names the best is kept. Addresses that the kernel hides are 0; names such as `$x` mark code for arm64.
    pub fn add(&mut self, start: u64, name: &str) {
        if start == 0 || name.starts_with('$') {
            return;
        }
        let known = self
            .by_start
            .entry(start)
            .or_insert_with(|| name.to_string());
        if rank(name) < rank(known) {
            *known = name.to_string();
        }
    }

    /// These functions too, as [`Names::add`] adds each.
    pub fn with(mut self, functions: &[(u64, String)]) -> Names {
        for (start, name) in functions {
            self.add(*start, name);
        }
        self
    }

    pub fn start_of(&self, name: &str) -> Option<u64> {
        self.by_start
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(start, _)| *start)
    }

    pub fn at(&self, address: u64) -> NamedAddress<'_> {
        fn nameless(name: &str) -> NamedAddress<'_> {
            NamedAddress { start: 0, name }
        }

        if address < KERNEL && !self.probe.contains(&address) {
            return nameless("[vdso]");
        }
        match self.by_start.range(..=address).next_back() {
            Some((start, name)) if (*start < KERNEL) == (address < KERNEL) => NamedAddress {
                start: *start,
                name,
            },
            _ => nameless("[unknown]"),
        }
    }

    /// Of the function around `address`, or some behind it if that is not known.
    pub fn range(&self, address: u64) -> Range<u64> {
        const SOME: u64 = 512;
        let next = self
            .by_start
            .range(address + 1..)
            .next()
            .map_or(u64::MAX, |(next, _)| *next);
        let end = if self.at(address).start == 0 {
            address + SOME
        } else {
            next
        };
        address..end.max(address)
    }

    pub fn lacks_kernel(&self) -> bool {
        self.by_start.range(KERNEL..).next().is_none()
    }
}

/// The name with the lowest rank is shown: as in C, without prefixes of the build.
fn rank(name: &str) -> (bool, usize, usize, &str) {
    let made = [
        "__pfx_",
        "__ia32_",
        "__do_sys_",
        "__se_sys_",
        "__SCT__",
        "__cfi_",
        "__pi_",
    ];
    let underscores = name.len() - name.trim_start_matches('_').len();
    let is_of_build = is_of_section(name) || made.iter().any(|prefix| name.starts_with(prefix));
    (is_of_build, underscores, name.len(), name)
}

/// Made by the linker script, for the start or the end of a section: the function there may begin at the same address in
/// one kernel and not in the next.
fn is_of_section(name: &str) -> bool {
    ["_text_start", "_text_end", "_thunk_start", "_thunk_end"]
        .iter()
        .any(|end| name.ends_with(end))
}

/// Without what the compiler appends to the part of a function that it moved (`.cold`).
pub fn whole(name: &str) -> &str {
    name.strip_suffix(".cold").unwrap_or(name)
}

/// Without `.isra.0`, `.constprop.0`, `.part.0`, which differ between builds, and of `memset` and its like without the processor that
/// this variant is for, or that it can run before addresses are mapped (`__pi_memset_generic`).
pub fn in_source(name: &str) -> &str {
    let name = match name.find('.') {
        Some(at) if at > 0 => &name[..at],
        _ => name,
    };
    let own = name.strip_prefix("__pi_").unwrap_or(name);
    ["_orig", "_erms", "_generic"]
        .iter()
        .find_map(|end| own.strip_suffix(end))
        .filter(|function| function.starts_with("mem"))
        .unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const K: u64 = 0xffff_ffff_8100_0000;

    fn names(functions: &[(u64, &str)]) -> Names {
        let mut names = Names::default();
        for (start, name) in functions {
            names.add(K + start, name);
        }
        names
    }

    #[test]
    fn a_function_reaches_to_the_next() {
        let mut names = names(&[
            (0x10, "vfs_fstat"),
            (0x40, "cp_new_stat"),
            (0x50, "schedule"),
            (0x44, "$x"),
        ]);
        names.add(0, "hidden");
        let function = NamedAddress {
            start: K + 0x10,
            name: "vfs_fstat",
        };
        assert_eq!(names.at(K + 0x3f), function);
        let at = [K + 0x46, K + 0xf00_0000, K - 1, 0x7ffc_1000_0000];
        assert_eq!(
            at.map(|address| names.at(address).name),
            ["cp_new_stat", "schedule", "[unknown]", "[vdso]"]
        );
        assert_eq!(names.range(K + 0x12), K + 0x12..K + 0x40);
        assert!(!names.lacks_kernel() && Names::default().lacks_kernel());
    }

    #[test]
    fn of_aliases_the_one_in_the_source_is_shown() {
        let names = names(&[
            (0x10, "__se_sys_getppid"),
            (0x10, "__x64_sys_getppid"),
            (0x10, "__ia32_sys_getppid"),
            (0x20, "__memset"),
            (0x20, "memset"),
            (0x30, "__x86_indirect_thunk_array"),
            (0x30, "__softirqentry_text_end"),
            (0x30, "__x86_indirect_thunk_rax"),
        ]);
        assert_eq!(
            [0x10, 0x20, 0x30].map(|at| names.at(K + at).name),
            ["__x64_sys_getppid", "memset", "__x86_indirect_thunk_rax"]
        );
    }

    #[test]
    fn suffixes_of_the_compiler() {
        assert_eq!(
            (whole("do_exit.cold"), whole("f.part.0")),
            ("do_exit", "f.part.0")
        );
        assert_eq!(in_source("vfs_statx.constprop.0"), "vfs_statx");
        let variants = [
            "memset_orig",
            "memcpy_erms",
            "__pi_memset_generic",
            "set_orig",
            "__pi_strlen",
        ];
        assert_eq!(
            variants.map(in_source),
            ["memset", "memcpy", "memset", "set_orig", "__pi_strlen"]
        );
    }
}
