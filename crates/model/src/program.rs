use crate::JsonDocument;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The output of `syscost explain --env linux-6.1,linux-6.12 -- COMMAND`: instructions of a command in emulated kernels, never times. Calls and functions are named as in the kernel; in place of a
/// call stand `[page fault]`, `[interrupt]`, `[exception]`, `[entry]` (a call whose function was not reached) and `[after a switch]`, what ran
/// from the switch to another process to the next entry of the kernel.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub struct ProgramInKernels {
    /// Name and arguments.
    pub command: Vec<String>,
    /// The run on this system that showed what it needs.
    pub native: NativeRun,
    /// One for each kernel, in the order of `--env` and `--versus`.
    pub kernels: Vec<ProgramInKernel>,
    /// Kernel functions whose own instructions differ between the first kernel and the last, the largest change first.
    pub changes: Vec<FunctionInKernels>,
    /// Notes on it.
    pub notes: Vec<String>,
}

impl JsonDocument for ProgramInKernels {
    const SCHEMA: &'static str = "syscost.explain-program/1";
}

/// The command on this system.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub struct NativeRun {
    /// Exit status; 128 + N for signal N.
    pub status: i32,
    /// System calls by name, from the execve on.
    pub calls: BTreeMap<String, u64>,
    /// Files, directories and links that it used.
    pub files: usize,
    /// Bytes of these files.
    pub bytes: u64,
}

/// The command in one emulated kernel.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub struct ProgramInKernel {
    /// The kernel as it was named, with boot parameters if there were any.
    pub environment: String,
    /// Its release.
    pub kernel: String,
    /// Instructions of each run but the first.
    pub runs: Vec<u64>,
    /// The median of the runs.
    pub instructions: u64,
    /// The fewest of a run.
    pub fewest: u64,
    /// The most of a run.
    pub most: u64,
    /// The instructions of one run by the code that executed them, or why that is not known.
    #[serde(flatten)]
    pub split: Split,
    /// System calls by name, as on this system.
    pub calls: BTreeMap<String, u64>,
    /// Files that it asked for, that exist on this system, and that were not brought along.
    pub missed: Vec<String>,
}

/// The instructions of one run by mode, and in the kernel by what they were executed for.
#[derive(Default, Serialize, Deserialize, JsonSchema)]
pub struct Split {
    /// In user mode, of the run that was recorded; null if it is not known, as of a run that is too long to log each instruction.
    pub user: Option<u64>,
    /// In the kernel, of that run.
    pub kernel_mode: Option<u64>,
    /// In the kernel, by system call or other reason to be there, most instructions first.
    pub by_call: Vec<CallInKernel>,
    /// In the kernel, by function, most instructions first.
    pub functions: Vec<FunctionInKernel>,
    /// Why it or a part of it is not known.
    pub unknown: Option<String>,
}

/// Instructions for one system call or other reason to be in the kernel.
#[derive(Debug, Serialize, Deserialize, JsonSchema)]
pub struct CallInKernel {
    /// Its name.
    pub call: String,
    /// How often the kernel was entered for it.
    pub entries: u64,
    /// In the kernel.
    pub instructions: u64,
}

/// A function of the kernel.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct FunctionInKernel {
    /// As in the source.
    pub function: String,
    /// Its own instructions.
    #[serde(rename = "own")]
    pub self_instructions: u64,
    /// The call for which most of them were executed.
    pub mostly_for: String,
}

/// A function's own instructions in two kernels; 0 if it is not executed or does not exist.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct FunctionInKernels {
    /// As in the source.
    pub function: String,
    /// The call for which most of them were executed.
    pub mostly_for: String,
    /// In the first kernel.
    pub before: u64,
    /// In the last one.
    pub after: u64,
    /// After minus before.
    pub change: i64,
}

impl ProgramInKernel {
    /// The name, the number there and the number here.
    pub fn differing_calls(&self, native: &NativeRun) -> Vec<(String, u64, u64)> {
        let [there, here] = [&self.calls, &native.calls].map(|calls| {
            calls
                .iter()
                .map(|(name, count)| (name.as_str(), (), *count))
        });
        side_by_side(there, here)
            .into_iter()
            .map(|(name, (), there, here)| (name.to_string(), there, here))
            .collect()
    }
}

/// A name, what goes with it, and instructions before and after.
pub type SideBySide<'a, T> = (&'a str, T, u64, u64);

/// The largest change first.
pub fn side_by_side<'a, T>(
    before: impl Iterator<Item = (&'a str, T, u64)>,
    after: impl Iterator<Item = (&'a str, T, u64)>,
) -> Vec<SideBySide<'a, T>> {
    let mut all: BTreeMap<&str, (T, u64, u64)> = BTreeMap::new();
    let sides = before
        .map(|(name, with, n)| (name, with, n, 0))
        .chain(after.map(|(name, with, n)| (name, with, 0, n)));
    for (name, with, before, after) in sides {
        let row = all.entry(name).or_insert((with, 0, 0));
        (row.1, row.2) = (row.1 + before, row.2 + after);
    }
    let mut rows: Vec<_> = all
        .into_iter()
        .map(|(name, (with, before, after))| (name, with, before, after))
        .filter(|(_, _, before, after)| before != after)
        .collect();
    rows.sort_by_key(|(_, _, before, after)| std::cmp::Reverse(before.abs_diff(*after)));
    rows
}

/// The largest change first.
pub fn changes(before: &Split, after: &Split) -> Vec<FunctionInKernels> {
    let [before, after] = [before, after].map(|split| {
        split.functions.iter().map(|row| {
            (
                row.function.as_str(),
                &row.mostly_for,
                row.self_instructions,
            )
        })
    });
    side_by_side(before, after)
        .into_iter()
        .map(|(function, mostly_for, before, after)| FunctionInKernels {
            function: function.to_string(),
            mostly_for: mostly_for.clone(),
            before,
            after,
            change: after.cast_signed() - before.cast_signed(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_one_kernel_only_change_by_all_they_have() {
        fn function(name: &str, self_instructions: u64) -> FunctionInKernel {
            FunctionInKernel {
                function: name.into(),
                self_instructions,
                mostly_for: "open".into(),
            }
        }

        fn split(functions: Vec<FunctionInKernel>) -> Split {
            Split {
                functions,
                ..Split::default()
            }
        }

        let rows = changes(
            &split(vec![function("a", 10), function("b", 5)]),
            &split(vec![function("b", 5), function("c", 30)]),
        );
        let rows: Vec<_> = rows
            .iter()
            .map(|row| (row.function.as_str(), row.before, row.after, row.change))
            .collect();
        assert_eq!(rows, [("c", 0, 30, 30), ("a", 10, 0, -10)]);
    }

    #[test]
    fn calls_that_differ_are_named() {
        fn calls(pairs: &[(&str, u64)]) -> BTreeMap<String, u64> {
            pairs
                .iter()
                .map(|(name, n)| ((*name).to_string(), *n))
                .collect()
        }

        let native = NativeRun {
            calls: calls(&[("read", 3), ("brk", 1)]),
            ..NativeRun::default()
        };
        let there = ProgramInKernel {
            calls: calls(&[("read", 3), ("mmap", 2)]),
            ..ProgramInKernel::default()
        };
        assert_eq!(
            there.differing_calls(&native),
            [("mmap".into(), 2, 0), ("brk".into(), 0, 1)]
        );
    }
}
