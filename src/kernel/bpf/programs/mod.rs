//! The six programs, written with `asm`. Pure: offsets and map descriptors in, instructions out.
//!
//! In all programs, R6 is the context and R7 the state of the running task. Programs at these tracepoints run with
//! preemption disabled and do not interrupt each other, so state and window need no lock. `slot` lays out the stack
//! frame below R10.

mod count;
mod depth;
mod descriptor;
mod enter;
mod exit;
mod life;
mod switch;
mod writer;

pub use writer::{Maps, ProgramSpec};

use writer::Writer;

/// A program's name, its tracepoint (an index of `kernel_types::TRACEPOINTS`), and its instructions.
pub type Program = (&'static str, usize, Vec<u64>);

/// All programs, in the order in which to attach them: those that track task state first.
///
/// # Errors
/// A label that was not placed or a jump that is too far, with the program's name.
pub fn all(target: &ProgramSpec) -> Result<Vec<Program>, String> {
    type Write = fn(&mut Writer);
    let programs: [(&'static str, usize, Write); 6] = [
        ("syscost_switch", 2, switch::write),
        ("syscost_fork", 3, life::write_fork),
        ("syscost_exec", 4, life::write_exec),
        ("syscost_end", 5, life::write_end),
        ("syscost_exit", 1, exit::write),
        ("syscost_enter", 0, enter::write),
    ];
    let written = programs.map(|(name, tracepoint, write)| {
        let code = Writer::program(target, write).map_err(|why| format!("{name}: {why}"))?;
        Ok((name, tracepoint, code))
    });
    written.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::bpf::kernel_types::{Fields, KernelTypes, Registers};

    fn types() -> KernelTypes {
        KernelTypes {
            tracepoints: [1, 2, 3, 4, 5, 6],
            switch_has_state: true,
            fields: Fields {
                files: 32,
                signal: 40,
                pid: 48,
                tgid: 52,
                group_leader: 104,
                fdt: 32,
                fd: 8,
                f_inode: 32,
                i_flags: 12,
                i_rdev: 76,
                maxrss: 600,
                ..Fields::default()
            },
            compat: (16, 2),
            state: 24,
            accounting: [56, 64, 72, 80, 88, 96],
            registers: Registers { number: 120, arguments: [112, 104, 96], compat_arguments: [40, 88, 96] },
            cast: None,
        }
    }

    #[test]
    fn programs_are_whole_and_small() {
        let types = types();
        for (times, adopts) in [(true, true), (true, false), (false, false)] {
            let target = ProgramSpec { types: &types, maps: Maps::default(), times, adopts };
            let programs = all(&target).unwrap();
            assert_eq!(programs.len(), 6);
            let longest = programs.iter().map(|(_, _, code)| code.len()).max().unwrap();
            assert!(longest < 600, "{longest}");
        }
    }

    /// How often a program reads the clock.
    fn clocks(wanted: &str, times: bool) -> usize {
        let types = types();
        let target = ProgramSpec { types: &types, maps: Maps::default(), times, adopts: false };
        let programs = all(&target).unwrap();
        let (_, _, code) = programs.iter().find(|(name, _, _)| *name == wanted).unwrap();
        code.iter().filter(|instruction| **instruction == (0x85 | 5 << 32)).count()
    }

    #[test]
    fn counting_alone_reads_no_clock_at_calls() {
        assert_eq!((clocks("syscost_exit", true), clocks("syscost_exit", false)), (1, 0));
        // The remaining one is for the execve of a held task.
        assert_eq!((clocks("syscost_enter", true), clocks("syscost_enter", false)), (2, 1));
    }
}
