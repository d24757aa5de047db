//! Seccomp profiles as containers have them, compiled to the classic BPF program that the kernel runs at each system call. Pure.
//! Called by `runner`, whose launcher installs the program.
//!
//! Two formats are read: `linux.seccomp` of the OCI runtime specification (config-linux.md, "Seccomp"), alone or within a
//! `config.json`, and that of Docker and Podman, which adds `archMap`, `includes` and `excludes`. The actions and comparisons are
//! those of seccomp(2) and seccomp_rule_add(3).
//!
//! Rejected: the crate seccompiler. Its JSON is another one, with one action for all calls of a filter and for one architecture.

mod assemble;
mod bpf;
mod machine;
mod profile;
mod rules;

pub use bpf::{Call, Instruction, verdict};
pub use machine::Machine;

use crate::syscall_names::number;
use anyhow::{Result, ensure};
use std::collections::BTreeSet;

/// A compiled profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    pub program: Vec<Instruction>,
    /// The AUDIT_ARCH_* number of the machine's own calls.
    pub audit: u32,
    /// What the filter is and what of the profile is not in it, in a sentence.
    pub about: String,
}

/// Instructions that the kernel takes (linux/bpf_common.h, BPF_MAXINSNS).
const MOST_INSTRUCTIONS: usize = 4096;

/// Compiles the profile in `text`, as for a process without capabilities.
///
/// # Errors
/// If it is no profile, or asks for what a filter cannot do alone.
pub fn compile(text: &str, machine: Machine) -> Result<Filter> {
    let profile = profile::read(text)?;
    let architectures = profile.architectures(machine.architecture)?;
    let applicable = profile.rules(machine)?;
    let default = profile.default_action()?;
    let known = |name: &&String| architectures.iter().any(|own| number(own.audit, name).is_some());
    let names: BTreeSet<&String> = applicable.rules.iter().flat_map(|rule| &rule.names).collect();
    let unknown = names.iter().filter(|name| !known(name)).count();
    let tables = architectures.iter().map(|own| (own.audit, rules::by_number(&applicable.rules, own.audit, default)));
    let program = assemble::program(&tables.collect::<Vec<_>>(), default)?;
    ensure!(
        program.len() <= MOST_INSTRUCTIONS,
        "its filter would have {} instructions, and the kernel takes {MOST_INSTRUCTIONS}",
        program.len()
    );
    let labels: Vec<&str> = architectures.iter().map(|own| own.label).collect();
    let about = format!(
        "{} instructions for {}; {unknown} names are no call here and {} rules are for capabilities, other processors or kernels: left out",
        program.len(),
        labels.join(", "),
        applicable.left_out
    );
    Ok(Filter { program, audit: architectures[0].audit, about })
}

/// Calls that every program makes on its way to an answer, by the architectures' names.
const NEEDED: [&str; 12] = [
    "execve",
    "mmap",
    "mprotect",
    "munmap",
    "brk",
    "read",
    "write",
    "openat",
    "close",
    "rt_sigaction",
    "rt_sigprocmask",
    "exit_group",
];

impl Filter {
    /// The calls that the probe cannot do without and this filter does not allow, whatever their arguments.
    pub fn refused(&self) -> Vec<&'static str> {
        let is_refused = |name: &&'static str| {
            let call = number(self.audit, name).map(|number| Call { number, audit: self.audit, arguments: [0; 6] });
            call.is_some_and(|call| !bpf::lets_through(verdict(&self.program, &call)))
        };
        NEEDED.iter().copied().filter(is_refused).collect()
    }

    /// The program as `struct sock_filter` has it in this machine's memory, in hexadecimal digits.
    pub fn hex(&self) -> String {
        self.program.iter().flat_map(Instruction::bytes).map(|byte| format!("{byte:02x}")).collect()
    }
}

#[cfg(test)]
mod tests;
