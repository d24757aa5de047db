//! A command in emulated kernels: what it executes in each, and where in the kernel.

use super::kernel::{COUNTS, change_cell};
use crate::numbers::{count_cell, counts, percent, thousands};
use crate::{Cell, Spec, Table};
use document::{Block, Document};
use model::program::{
    CallInKernel, FunctionInKernel, FunctionInKernels, ProgramInKernel, ProgramInKernels,
    SideBySide, side_by_side,
};
use model::prose::{counted, some};

/// Rows that are shown without --all, and names in a sentence.
const MOST: usize = 15;
const MOST_NAMED: usize = 6;
/// From this difference on, the recorded run is not like the others.
const ALIKE: f64 = 0.01;

pub fn program_document(found: &ProgramInKernels, all: bool) -> Document {
    let most = if all { usize::MAX } else { MOST };
    let kernels = kernels(found);
    let records = kernels.records().clone();
    let title = found.command.join(" ");
    let mut blocks = vec![
        Block::Heading {
            title,
            what: "a command in emulated kernels".to_string(),
        },
        Block::Facts(facts(found)),
        Block::Table(kernels),
    ];
    match &found.kernels[..] {
        [first, .., last] => {
            blocks.push(Block::Table(calls_of_two(first, last, most)));
            blocks.push(Block::Table(changes(found, (first, last), most)));
        }
        [only] => {
            blocks.push(Block::Table(calls(only, most)));
            blocks.push(Block::Table(functions(only, most)));
        }
        [] => {}
    }
    blocks.push(Block::Notes(notes(found)));
    Document { blocks, records }
}

fn facts(found: &ProgramInKernels) -> Vec<(&'static str, String)> {
    let native = &found.native;
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

fn kernels(found: &ProgramInKernels) -> Table {
    type Kernel = ProgramInKernel;
    let first = found
        .kernels
        .first()
        .map_or(0, |kernel| kernel.instructions);
    let native = &found.native;
    let optional = |value: Option<u64>| value.map_or(Cell::default(), count_cell);
    let specs = [
        Spec::left("kernel", |k: &Kernel| k.environment.as_str().into())
            .text("environment", |k: &Kernel| k.environment.clone())
            .text("kernel", |k: &Kernel| k.kernel.clone()),
        counts("instructions", "instructions", |k: &Kernel| k.instructions),
        Spec::right("ratio", move |k: &Kernel| ratio(k.instructions, first)),
        Spec::right("range", |k: &Kernel| range(k).into())
            .count("fewest", |k: &Kernel| k.fewest)
            .count("most", |k: &Kernel| k.most),
        Spec::right("user mode", move |k: &Kernel| optional(k.split.user))
            .count("user", |k: &Kernel| k.split.user),
        Spec::right("in the kernel", move |k: &Kernel| {
            optional(k.split.kernel_mode)
        })
        .count("kernel_mode", |k: &Kernel| k.split.kernel_mode),
        counts("calls", "calls", |k: &Kernel| k.calls.values().sum()),
        Spec::hidden().count("differing_calls", move |k: &Kernel| {
            k.differing_calls(native).len() as u64
        }),
    ];
    Table::of(&specs, &found.kernels)
}

fn ratio(instructions: u64, first: u64) -> Cell {
    if first == 0 {
        Cell::default()
    } else {
        format!("x{:.3}", instructions as f64 / first as f64).into()
    }
}

/// How far single runs are from the median: `-0.1% +1.2%`.
fn range(kernel: &ProgramInKernel) -> String {
    let median = kernel.instructions.max(1) as f64;
    let from = |value: u64| 100.0 * (value as f64 - median) / median;
    format!("{:+.1}% {:+.1}%", from(kernel.fewest), from(kernel.most))
}

fn share(part: u64, whole: u64) -> Cell {
    percent(100.0 * part as f64 / whole.max(1) as f64).into()
}

fn calls(kernel: &ProgramInKernel, most: usize) -> Table {
    let whole = kernel.split.kernel_mode.unwrap_or(0);
    type Row = CallInKernel;
    let specs = [
        Spec::left("in the kernel for", |row: &Row| row.call.as_str().into()),
        Spec::right("entries", |row: &Row| count_cell(row.entries)),
        Spec::right("instructions", |row: &Row| count_cell(row.instructions)),
        Spec::right("%", move |row: &Row| share(row.instructions, whole)),
    ];
    shortened(&specs, &kernel.split.by_call, most)
}

fn functions(kernel: &ProgramInKernel, most: usize) -> Table {
    let whole = kernel.split.kernel_mode.unwrap_or(0);
    type Row = FunctionInKernel;
    let specs = [
        Spec::left("function", |row: &Row| row.function.as_str().into()),
        Spec::left("mostly for", |row: &Row| row.mostly_for.as_str().into()),
        Spec::right("own instructions", |row: &Row| count_cell(row.own)),
        Spec::right("%", move |row: &Row| share(row.own, whole)),
    ];
    shortened(&specs, &kernel.split.functions, most)
}

fn shortened<R>(specs: &[Spec<R>], rows: &[R], most: usize) -> Table {
    let mut table = Table::of(specs, rows);
    table.truncate(most);
    match rows.len().saturating_sub(most) {
        0 => table,
        more => table.noted(vec![format!(
            "{} are not shown; --all lists them",
            counted(more, "row")
        )]),
    }
}

fn calls_of_two(before: &ProgramInKernel, after: &ProgramInKernel, most: usize) -> Table {
    type Row<'a> = SideBySide<'a, ()>;
    let [of_before, of_after] = [before, after].map(|kernel| {
        let calls = kernel.split.by_call.iter();
        calls.map(|row| (row.call.as_str(), (), row.instructions))
    });
    let rows = side_by_side(of_before, of_after);
    let specs = [
        Spec::left("in the kernel for", |row: &Row| row.0.into()),
        Spec::right(&before.environment, |row: &Row| count_cell(row.2)),
        Spec::right(&after.environment, |row: &Row| count_cell(row.3)),
        Spec::right("change", |row: &Row| {
            change_cell(row.3.cast_signed() - row.2.cast_signed())
        }),
    ];
    shortened(&specs, &rows, most)
}

fn changes(
    found: &ProgramInKernels,
    (before, after): (&ProgramInKernel, &ProgramInKernel),
    most: usize,
) -> Table {
    type Row = FunctionInKernels;
    let specs = [
        Spec::left("function", |row: &Row| row.function.as_str().into()),
        Spec::left("mostly for", |row: &Row| row.mostly_for.as_str().into()),
        Spec::right(&before.environment, |row: &Row| count_cell(row.before)),
        Spec::right(&after.environment, |row: &Row| count_cell(row.after)),
        Spec::right("change", |row: &Row| change_cell(row.change)),
    ];
    shortened(&specs, &found.changes, most)
}

fn notes(found: &ProgramInKernels) -> Vec<String> {
    let mut notes = found.notes.clone();
    for kernel in &found.kernels {
        let name = &kernel.environment;
        let differing = kernel.differing_calls(&found.native);
        let named: Vec<String> = differing
            .iter()
            .map(|(call, there, here)| format!("{call} {there} there, {here} here"))
            .collect();
        if !named.is_empty() {
            notes.push(format!(
                "{name}: system calls differ from those here: {}",
                some(&named, MOST_NAMED)
            ));
        }
        if !kernel.missed.is_empty() {
            let missed = some(&kernel.missed, MOST_NAMED);
            notes.push(format!(
                "{name}: the command looked for files that the run here did not use and the guest does not have: {missed}"
            ));
        }
        notes.extend(
            kernel
                .split
                .unknown
                .iter()
                .map(|why| format!("{name}: no split by mode: {why}")),
        );
        notes.extend(unlike(kernel));
    }
    notes
}

fn unlike(kernel: &ProgramInKernel) -> Option<String> {
    let recorded = kernel.split.user? + kernel.split.kernel_mode?;
    let ratio = recorded as f64 / kernel.instructions.max(1) as f64;
    let name = &kernel.environment;
    ((ratio - 1.0).abs() > ALIKE).then(|| {
        format!(
            "{name}: the recorded run, which is split by mode, executed {} instructions",
            thousands(recorded as f64)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::as_text;
    use model::program::{NativeRun, Split, changes as changed};
    use snapbox::{assert_data_eq, str};

    fn kernel(name: &str, instructions: u64, open: u64) -> ProgramInKernel {
        let by_call = vec![CallInKernel {
            call: "openat".into(),
            entries: 2,
            instructions: open,
        }];
        let function = FunctionInKernel {
            function: "path_openat".into(),
            own: open,
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
        let found = ProgramInKernels {
            command: vec!["ls".into()],
            native,
            kernels,
            changes,
            ..ProgramInKernels::default()
        };
        assert_data_eq!(
            as_text(program_document(&found, false)),
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

linux-a: system calls differ from those here: openat 2 there, 3 here
linux-b: system calls differ from those here: openat 2 there, 3 here

"#]]
        );
    }
}
