//! `syscost kernel diff`: counts the instructions of each operation in two kernels, and names the functions that changed.

use super::atlas::{count_boots, planned, session};
use super::parallel::{Pace, in_parallel, jobs};
use super::steps::{Effort, explained};
use crate::compare::percent;
use crate::complete;
use crate::error::{bail_usage, usage};
use crate::exit::Exit;
use crate::explain::kernel::{check_image, is_emulated};
use crate::messages::note;
use crate::terminal::screen;
use analysis::atlas::differences;
use anyhow::{Result, ensure};
use measure::runner::Interrupt;
use measure::session::{CountedBoot, cells};
use model::atlas::{AtlasCell, AtlasStep};
use model::kernel_diff::{KernelDiff, NotJudged};
use model::prose::counted;
use model::{Failure, Planned};
use report::{Format, kernel_diff_document, write_answer};
use std::io::Write;
use std::ops::Range;
use std::time::Instant;

/// Show the changes between two kernels, for every system call operation: instructions before and after, and the
/// functions responsible.
///
/// Both kernels run in emulated machines, so counts do not depend on this one and repeat to the last instruction.
/// Operations that vary from boot to boot, fail, exist in one kernel only, or execute the same functions as before are
/// named and not judged.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct DiffArgs {
    /// The old kernel: a version that was fetched (6.1), an image (arch/x86/boot/bzImage), or any emulated environment;
    /// boot parameters follow it ('6.12 audit=1').
    #[arg(value_name = "OLD")]
    old: String,
    /// The new kernel.
    #[arg(value_name = "NEW")]
    new: String,
    /// Only these operations, as for 'syscost run' [default: all].
    #[arg(value_name = "PATTERN", add = complete::operations())]
    patterns: Vec<String>,
    /// Exit with status 1 if an operation executes this many percent more instructions.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_over: Option<f64>,
    /// Name the functions responsible for so many changes, the largest first.
    #[arg(long, value_name = "N", default_value = "20")]
    explain: usize,
    /// Boots of each kernel for operations that differ in the first; the range of a count is over these.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=1000))]
    boots: u32,
    /// Emulated machines that run at once [default: one for each CPU].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  syscost kernel diff 6.1 6.12
  syscost kernel diff 6.12 '6.12 audit=1' file id.getppid
  syscost kernel diff old/bzImage arch/x86/boot/bzImage --fail-over 1%

Exit status: 1 if an operation grew by more than --fail-over.";

/// At most so many functions below an operation.
const FUNCTIONS: usize = 3;

/// Returns the status of `--fail-over`.
pub fn run(args: &DiffArgs, interrupt: &Interrupt, out: &mut dyn Write) -> Result<Exit> {
    let environments = [&args.old, &args.new].map(|kernel| environment(kernel));
    for name in &environments {
        if !is_emulated(name) {
            bail_usage!(
                "'{name}': not an emulated kernel; name a version such as 6.1, or an image"
            );
        }
        usage(check_image(name))?;
    }
    let planned = usage(planned(&usage(session(interrupt))?, &args.patterns))?;
    let diff = diff(args, &environments, &planned, interrupt)?;
    write_answer(
        &diff,
        || kernel_diff_document(&diff),
        args.format,
        screen(),
        out,
    )?;
    Ok(conclude(args, &diff.changed))
}

fn environment(kernel: &str) -> String {
    let name = kernel.split_whitespace().next().unwrap_or_default();
    if name.starts_with(|first: char| first.is_ascii_digit()) {
        format!("linux-{kernel}")
    } else if name.contains('/') && !name.contains(':') {
        format!("linux:{kernel}")
    } else {
        kernel.to_string()
    }
}

fn diff(
    args: &DiffArgs,
    environments: &[String; 2],
    planned: &[Planned],
    interrupt: &Interrupt,
) -> Result<KernelDiff> {
    let jobs = jobs(args.jobs.map(usize::from));
    let counted = counted_cells(args, environments, planned, jobs, interrupt);
    ensure!(!interrupt.is_set(), Failure::interrupted());
    let (before, after) = counted?;
    let cells = differences(&before, &after, args.boots);
    let effort = Effort {
        steps: args.explain,
        functions: FUNCTIONS,
        jobs,
    };
    let sides = [&*environments[0], &*environments[1]];
    let (unchanged, changed): (Vec<AtlasStep>, Vec<AtlasStep>) =
        explained(interrupt, sides, cells.changed, planned, effort)?
            .into_iter()
            .partition(AtlasStep::is_unchanged);
    let not_judged = unchanged.into_iter().map(NotJudged::from);
    Ok(KernelDiff {
        before: environments[0].clone(),
        after: environments[1].clone(),
        boots: args.boots,
        equal: cells.equal,
        changed,
        not_judged: not_judged.chain(cells.not_judged).collect(),
    })
}

/// The cells of the old and the new kernel. Operations that are equal in their first boots are not counted again: further boots only
/// show whether a difference exceeds the variation between boots.
fn counted_cells(
    args: &DiffArgs,
    environments: &[String; 2],
    planned: &[Planned],
    jobs: usize,
    interrupt: &Interrupt,
) -> Result<(Vec<AtlasCell>, Vec<AtlasCell>)> {
    let pace = Pace::new(2 * environments.len());
    let count = |planned: &[Planned], numbers: Range<u32>| -> Result<[Vec<CountedBoot>; 2]> {
        let at_once = jobs.div_ceil(environments.len());
        let sides = in_parallel(jobs, environments.iter(), |environment| {
            let begun = Instant::now();
            let boots = count_boots(interrupt, environment, planned, numbers.clone(), at_once)?;
            note(&format_args!(
                "{}: {} in {environment} counted in {:.0} s",
                pace.step(),
                counted(planned.len(), "operation"),
                begun.elapsed().as_secs_f64()
            ));
            Ok(boots)
        });
        let both = sides.into_iter().collect::<Result<Vec<_>>>()?;
        Ok(both.try_into().unwrap_or_default())
    };
    let [old, new] = count(planned, 0..1)?;
    let differing: Vec<usize> = (0..planned.len())
        .filter(|place| old[0].differs(&new[0], *place))
        .collect();
    let chosen: Vec<Planned> = differing
        .iter()
        .map(|place| planned[*place].clone())
        .collect();
    let [old_more, new_more] = if chosen.is_empty() || args.boots == 1 {
        Default::default()
    } else {
        count(&chosen, 1..args.boots)?
    };
    let all = |first: &CountedBoot, more: Vec<CountedBoot>| {
        let mut all = cells(planned, std::slice::from_ref(first));
        let boots: Vec<CountedBoot> = std::iter::once(first.only(&differing))
            .chain(more)
            .collect();
        for (place, cell) in differing.iter().zip(cells(&chosen, &boots)) {
            all[*place] = cell;
        }
        all
    };
    Ok((all(&old[0], old_more), all(&new[0], new_more)))
}

fn conclude(args: &DiffArgs, changed: &[AtlasStep]) -> Exit {
    let Some(limit) = args.fail_over else {
        return Exit::Success;
    };
    let grown = changed.iter().filter(|step| step.growth() > limit);
    for step in grown.clone() {
        note(&format_args!(
            "{} executes {:.1}% more instructions, beyond --fail-over {}%",
            step.operation,
            100.0 * step.growth(),
            100.0 * limit
        ));
    }
    if grown.count() > 0 {
        Exit::CostGrown
    } else {
        Exit::Success
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_images_are_environments() {
        for (kernel, name) in [
            ("6.1", "linux-6.1"),
            ("6.12 audit=1", "linux-6.12 audit=1"),
            ("./bzImage", "linux:./bzImage"),
            ("linux:bzImage", "linux:bzImage"),
            ("linux-arm64-6.1", "linux-arm64-6.1"),
        ] {
            assert_eq!(environment(kernel), name);
        }
    }
}
