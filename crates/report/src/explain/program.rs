//! A command in emulated kernels: its instructions in each, by system call and by kernel function.

use super::kernel::{COUNTS, change_cell};
use crate::numbers::{percent, thousands};
use crate::{Cell, Columns, Table};
use document::{Block, Document};
use indexmap::IndexMap;
use model::program::{ProgramInKernel, ProgramInKernels, side_by_side};
use model::prose::{counted, note_on};

/// Number of rows shown without --all.
const MOST: usize = 15;
/// From this difference on, a note warns that the recorded run is not like the others.
const ALIKE: f64 = 0.01;

/// Tables of all kernels, then of the calls and functions in the kernel. `all` includes small rows.
pub fn program_document(program: &ProgramInKernels, all: bool) -> Document {
    let most = if all { usize::MAX } else { MOST };
    let kernels = kernels(program);
    let records = kernels.records().clone();
    let mut blocks = vec![
        Block::Heading {
            title: program.command.join(" "),
            what: "a command in emulated kernels".to_string(),
        },
        Block::Facts(facts(program)),
        Block::Table(kernels),
    ];
    match &program.kernels[..] {
        [first, .., last] => {
            blocks.push(Block::Table(calls_of_two(first, last, most)));
            blocks.push(Block::Table(changes(program, first, last, most)));
        }
        [only] => {
            blocks.push(Block::Table(calls(only, most)));
            blocks.push(Block::Table(functions(only, most)));
        }
        [] => {}
    }
    blocks.push(Block::Notes(notes(program)));
    Document { blocks, records }
}

fn facts(program: &ProgramInKernels) -> Vec<(&'static str, String)> {
    let native = &program.native;
    let calls: u64 = native.calls.values().sum();
    let here = format!(
        "{} and {} in {}, status {}",
        counted(calls, "system call"),
        counted(native.files, "path"),
        bytes(native.bytes),
        native.status
    );
    vec![("Here", here), ("Counts", COUNTS.to_string())]
}

fn bytes(bytes: u64) -> String {
    format!("{:.1} MiB of files", bytes as f64 / f64::from(1 << 20))
}

fn kernels(program: &ProgramInKernels) -> Table {
    let first = program
        .kernels
        .first()
        .map_or(0, |kernel| kernel.instructions);
    let native = &program.native;
    Columns::new(&program.kernels)
        .left("kernel", |k| &k.environment)
        .field("environment", |k| &k.environment)
        .field("kernel", |k| &k.kernel)
        .counts("instructions", "instructions", |k| k.instructions)
        .right("ratio", |k| ratio(k.instructions, first))
        .right("range", range)
        .field("fewest", |k| k.fewest)
        .field("most", |k| k.most)
        .counts("user mode", "user", |k| k.split.user)
        .counts("in the kernel", "kernel_mode", |k| k.split.kernel_mode)
        .counts("calls", "calls", |k| k.calls.values().sum::<u64>())
        .field("differing_calls", |k| {
            k.differing_calls(native).len() as u64
        })
        .table()
}

fn ratio(instructions: u64, first: u64) -> Cell {
    let ratio = instructions as f64 / first as f64;
    Cell::known(Some(ratio), |ratio| format!("x{ratio:.3}"))
}

/// How far single runs are from the median: `-0.1% +1.2%`; `none` if all were alike.
fn range(kernel: &ProgramInKernel) -> String {
    let median = kernel.instructions.max(1) as f64;
    let [fewest, most] = [kernel.fewest, kernel.most]
        .map(|instructions| 100.0 * (instructions as f64 - median) / median);
    match most - fewest {
        0.0 => "none".to_string(),
        width if width < 0.1 => "under 0.1%".to_string(),
        _ => format!("{fewest:+.1}% {most:+.1}%"),
    }
}

fn share(part: u64, whole: u64) -> String {
    percent(100.0 * part as f64 / whole.max(1) as f64)
}

fn calls(kernel: &ProgramInKernel, most: usize) -> Table {
    let whole = kernel.split.kernel_mode.unwrap_or(0);
    let columns = Columns::new(&kernel.split.by_call)
        .left("in the kernel for", |row| &row.call)
        .right("entries", |row| row.entries)
        .right("instructions", |row| row.instructions)
        .right("%", |row| share(row.instructions, whole));
    shortened(columns.table(), most)
}

fn functions(kernel: &ProgramInKernel, most: usize) -> Table {
    let whole = kernel.split.kernel_mode.unwrap_or(0);
    let columns = Columns::new(&kernel.split.functions)
        .left("function", |row| &row.function)
        .left("mostly for", |row| &row.mostly_for)
        .right("own instructions", |row| row.self_instructions)
        .right("%", |row| share(row.self_instructions, whole));
    shortened(columns.table(), most)
}

fn shortened(mut table: Table, most: usize) -> Table {
    let more = table.rows().len().saturating_sub(most);
    table.truncate(most);
    match more {
        0 => table,
        more => table.noted([format!(
            "{} are not shown; --all lists them",
            counted(more, "row")
        )]),
    }
}

fn calls_of_two(before: &ProgramInKernel, after: &ProgramInKernel, most: usize) -> Table {
    let [of_before, of_after] = [before, after].map(|kernel| {
        kernel
            .split
            .by_call
            .iter()
            .map(|row| (row.call.as_str(), (), row.instructions))
    });
    let rows = side_by_side(of_before, of_after);
    let columns = Columns::new(&rows)
        .left("in the kernel for", |row| row.0)
        .right(&before.environment, |row| row.2)
        .right(&after.environment, |row| row.3)
        .right("change", |row| {
            change_cell(row.3.cast_signed() - row.2.cast_signed())
        });
    shortened(columns.table(), most)
}

fn changes(
    program: &ProgramInKernels,
    before: &ProgramInKernel,
    after: &ProgramInKernel,
    most: usize,
) -> Table {
    let columns = Columns::new(&program.changes)
        .left("function", |row| &row.function)
        .left("mostly for", |row| &row.mostly_for)
        .right(&before.environment, |row| row.before)
        .right(&after.environment, |row| row.after)
        .right("change", |row| change_cell(row.change));
    shortened(columns.table(), most)
}

fn notes(program: &ProgramInKernels) -> Vec<String> {
    let mut notes = program.notes.clone();
    for kernel in &program.kernels {
        let name = &kernel.environment;
        let differing = kernel.differing_calls(&program.native);
        let calls = differing
            .iter()
            .map(|(call, there, here)| format!("{call} {there} there, {here} here"));
        notes.extend(note_on(
            &format!("{name}: system calls differ from those on this machine"),
            calls,
        ));
        let missed =
            "in the guest the command looked for files that it did not use on this machine";
        notes.extend(note_on(&format!("{name}: {missed}"), &kernel.missed));
        notes.extend(unlike(kernel));
    }
    let mut unknown: IndexMap<&str, Vec<&str>> = IndexMap::new();
    for kernel in &program.kernels {
        if let Some(why) = &kernel.split.unknown {
            unknown.entry(why).or_default().push(&kernel.environment);
        }
    }
    let unknown = unknown.into_iter();
    notes.extend(unknown.map(|(why, names)| format!("{}: {why}", names.join(", "))));
    notes
}

fn unlike(kernel: &ProgramInKernel) -> Option<String> {
    let recorded = kernel.split.user? + kernel.split.kernel_mode?;
    let ratio = recorded as f64 / kernel.instructions.max(1) as f64;
    let name = &kernel.environment;
    if (ratio - 1.0).abs() > ALIKE {
        Some(format!(
            "{name}: the recorded run, which is split by mode, executed {} instructions",
            thousands(recorded as f64)
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_text;
    use model::program::{CallInKernel, FunctionInKernel, NativeRun, Split, changes as changed};
    use snapbox::{assert_data_eq, str};

    fn kernel(name: &str, instructions: u64, open: u64) -> ProgramInKernel {
        let by_call = vec![CallInKernel {
            call: "openat".into(),
            entries: 2,
            instructions: open,
        }];
        let function = FunctionInKernel {
            function: "path_openat".into(),
            self_instructions: open,
            mostly_for: "openat".into(),
        };
        let (user, kernel_mode) = (Some(instructions - open), Some(open));
        ProgramInKernel {
            environment: name.into(),
            instructions,
            fewest: instructions - 1,
            most: instructions + 10,
            split: Split {
                user,
                kernel_mode,
                by_call,
                functions: vec![function],
                unknown: None,
            },
            calls: [("openat".to_string(), 2)].into(),
            ..ProgramInKernel::default()
        }
    }

    #[test]
    fn two_kernels_are_side_by_side() {
        let native = NativeRun {
            calls: [("openat".to_string(), 3)].into(),
            ..NativeRun::default()
        };
        let kernels = vec![kernel("linux-a", 1000, 300), kernel("linux-b", 1100, 450)];
        let changes = changed(&kernels[0].split, &kernels[1].split);
        let program = ProgramInKernels {
            command: vec!["ls".into()],
            native,
            kernels,
            changes,
            ..ProgramInKernels::default()
        };
        assert_data_eq!(
            as_text(program_document(&program, false)),
            str![[r#"
ls: a command in emulated kernels

Here    3 system calls and 0 paths in 0.0 MiB of files, status 0
Counts  instructions of an emulated processor, not time: caches, the TLB and prediction are left out

kernel   instructions   ratio        range  user mode  in the kernel  calls
linux-a         1,000  x1.000  -0.1% +1.0%        700            300      2
linux-b         1,100  x1.100  -0.1% +0.9%        650            450      2

in the kernel for  linux-a  linux-b  change
openat                 300      450    +150

function     mostly for  linux-a  linux-b  change
path_openat  openat          300      450    +150

linux-a: system calls differ from those on this machine: openat 2 there, 3 here
linux-b: system calls differ from those on this machine: openat 2 there, 3 here

"#]]
        );
    }
}
