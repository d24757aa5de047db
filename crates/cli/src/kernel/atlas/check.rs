//! `syscost kernel atlas check`: counts some of an atlas again.

use super::build::{Boots, count_kernel, planned, session};
use super::source::Source;
use crate::complete;
use crate::exit::Exit;
use crate::kernel::parallel::{Pace, in_parallel, jobs};
use crate::messages::note;
use analysis::atlas;
use anyhow::{Result, ensure};
use measure::guest::images::{Architecture, Facts, Images};
use measure::runner::Interrupt;
use model::Planned;
use model::atlas::{AtlasCell, AtlasKernel};
use rand::seq::SliceRandom;
use report::write_lines;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// Count some kernels of an atlas again, chosen at random, and list what differs.
///
/// With the same emulator and the same probe, each count must be the same to the last instruction; otherwise a count
/// is listed only if it is outside both ranges, and where boots differ, by more than 1%. Missing kernels are fetched,
/// and removed afterwards. The exit status is 1 if anything differs or could not be counted.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// The atlas.
    #[arg(value_name = "DIR", add = complete::files())]
    directory: PathBuf,
    /// The share of kernels to count again, above 0 and up to 1; at least one kernel.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    share: f64,
    /// Only kernels that were fetched already.
    #[arg(long)]
    fetched: bool,
    /// Emulated machines that run at once [default: one for each CPU].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

const EXAMPLES: &str = "\
Examples:
  syscost kernel atlas check atlas
  syscost kernel atlas check atlas --share 1";

fn share(text: &str) -> Result<f64, String> {
    let share = text
        .parse::<f64>()
        .ok()
        .filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| format!("'{text}' is not a share above 0 and up to 1"))
}

pub fn run(args: &CheckArgs, interrupt: &Interrupt, out: &mut dyn Write) -> Result<Exit> {
    let atlas = store::atlas::read(&args.directory)?;
    let images = Images::open()?;
    let architectures = architectures(&atlas.kernels);
    let source = Source::open(&images, &architectures, interrupt, args.fetched);
    let planned = planned(&session(interrupt)?, &[])?;
    let chosen = chosen(&atlas.kernels, args.share);
    let stated = chosen
        .iter()
        .flat_map(|kernel| &kernel.cells)
        .filter(|cell| cell.count.is_some())
        .count();
    let (jobs, pace) = (jobs(args.jobs.map(usize::from)), Pace::new(chosen.len()));
    let tasks = chosen
        .into_iter()
        .take_while(|_| !interrupt.is_set())
        .map(|kernel| (kernel, source.get(&kernel.release)));
    let checked = in_parallel(jobs, tasks, |(kernel, facts)| {
        let boots = Boots::new(kernel.boots, jobs, &pace);
        let differ = again(interrupt, kernel, facts, &planned, boots);
        if interrupt.is_set() {
            return Vec::new();
        }
        note(&format_args!("{}: {}", pace.step(), kernel.release));
        differ
    });
    let mut differ = checked.concat();
    differ.sort();
    let number = differ.len();
    writeln!(out, "{number} of {stated} counts differ from the atlas")?;
    write_lines(&differ, out)?;
    Ok(match number {
        _ if interrupt.is_set() => Exit::Interrupted,
        0 => Exit::Success,
        _ => Exit::CostGrown,
    })
}

fn architectures(kernels: &[AtlasKernel]) -> Vec<Architecture> {
    let names: BTreeSet<&str> = kernels
        .iter()
        .map(|kernel| kernel.machine.architecture.as_str())
        .collect();
    names.into_iter().filter_map(Architecture::find).collect()
}

fn chosen(kernels: &[AtlasKernel], share: f64) -> Vec<&AtlasKernel> {
    let mut all: Vec<&AtlasKernel> = kernels.iter().collect();
    all.shuffle(&mut rand::rng());
    all.truncate(((all.len() as f64 * share).ceil() as usize).max(1));
    all
}

fn again(
    interrupt: &Interrupt,
    kernel: &AtlasKernel,
    facts: Result<Facts>,
    planned: &[Planned],
    boots: Boots,
) -> Vec<String> {
    fn has(planned: &&Planned, cell: &AtlasCell) -> bool {
        planned.case.to_string() == cell.operation
    }

    let planned: Vec<Planned> = kernel
        .cells
        .iter()
        .filter_map(|cell| planned.iter().find(|planned| has(planned, cell)).cloned())
        .collect();
    let counted = facts.and_then(|facts| {
        ensure!(
            facts.sha256 == kernel.image,
            "its image has changed: {} {}",
            facts.package,
            facts.version
        );
        count_kernel(interrupt, &facts, kernel.machine.clone(), &planned, boots)
    });
    let is_exact = counted
        .as_ref()
        .is_ok_and(|now| has_same_tools(now, kernel));
    kernel
        .cells
        .iter()
        .filter_map(|cell| differs(cell, &now(cell, &counted), is_exact))
        .map(|line| format!("{}: {line}", kernel.release))
        .collect()
}

/// The same cell as it was counted now; if the kernel could not be counted, with the reason.
fn now(cell: &AtlasCell, counted: &Result<AtlasKernel>) -> AtlasCell {
    match counted {
        Ok(counted) => counted
            .cells
            .iter()
            .find(|now| now.operation == cell.operation)
            .cloned()
            .unwrap_or_default(),
        Err(why) => AtlasCell {
            reason: Some(format!("{why:#}")),
            ..AtlasCell::default()
        },
    }
}

fn has_same_tools(a: &AtlasKernel, b: &AtlasKernel) -> bool {
    (&a.emulator, &a.probe, &a.probe_digest) == (&b.emulator, &b.probe, &b.probe_digest)
}

fn differs(cell: &AtlasCell, now: &AtlasCell, is_exact: bool) -> Option<String> {
    let stated = cell.count?;
    if now.count.is_some_and(|now| {
        if is_exact {
            now == stated
        } else {
            !atlas::is_step(&stated, &now)
        }
    }) {
        return None;
    }
    let found = match (&now.count, &now.reason) {
        (Some(count), _) => format!("{:.2}", count.mode),
        (None, Some(reason)) => reason.clone(),
        (None, None) => "this version of syscost has no such operation".to_string(),
    };
    let tools = if is_exact || now.count.is_none() {
        ""
    } else {
        ", with another emulator or probe"
    };
    Some(format!(
        "{} {:.2} to {:.2} in the atlas, now {found}{tools}",
        cell.operation, stated.least, stated.most
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::atlas::AtlasCount;

    #[test]
    fn what_is_beyond_the_range_or_not_counted_differs() {
        fn cell([mode, least, most]: [f64; 3]) -> AtlasCell {
            let count = Some(AtlasCount { mode, least, most });
            AtlasCell {
                operation: "x".into(),
                count,
                reason: None,
            }
        }

        let stated = cell([10.0, 9.0, 11.0]);
        let actual = |now: &AtlasCell| differs(&stated, now, false);
        assert_eq!(actual(&cell([11.0; 3])), None);
        assert!(
            differs(&stated, &cell([11.0; 3]), true).is_some(),
            "the same tools count the same"
        );
        assert!(differs(&stated, &stated, true).is_none());
        let step = "x 9.00 to 11.00 in the atlas, now 12.00, with another emulator or probe";
        assert_eq!(actual(&cell([12.0; 3])).as_deref(), Some(step));
        let failed = AtlasCell {
            reason: Some("ENOSYS".into()),
            ..AtlasCell::default()
        };
        assert_eq!(
            actual(&failed).as_deref(),
            Some("x 9.00 to 11.00 in the atlas, now ENOSYS")
        );
        assert!(
            share("0").is_err()
                && share("2").is_err()
                && share("nan").is_err()
                && share("1").is_ok()
        );
    }
}
