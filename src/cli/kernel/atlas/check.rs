//! `syscost kernel atlas check`: counts some of an atlas again.

use super::build::{Boots, count_kernel, planned, session};
use super::parallel::{Pace, in_parallel, jobs};
use super::source::Source;
use crate::atlas;
use crate::cli::complete;
use crate::cli::exit::Exit;
use crate::cli::messages::Notes;
use crate::cli::output::tables;
use crate::cli::terminal;
use crate::guest::images::{Architecture, Facts, Images};
use crate::model::Planned;
use crate::model::atlas::{AtlasCell, AtlasKernel};
use crate::report::{Cell, Format, Spec, Table, write_table};
use crate::runner::Interrupt;
use anyhow::Result;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// Count some kernels of an atlas again, chosen at random, and list what differs.
///
/// With the same emulator and the same probe, each count must be the same to the last instruction; otherwise only a step is
/// listed: beyond both ranges, and by more than 1% where boots differ. Kernels that are not here are fetched, and removed again. The
/// exit status is 1 if anything differs or could not be counted.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CheckArgs {
    /// The atlas.
    #[arg(value_name = "DIR", add = complete::files())]
    directory: PathBuf,
    /// The share of kernels that are counted again, from 0 to 1; at least one.
    #[arg(long, value_name = "SHARE", default_value = "0.1", value_parser = share)]
    share: f64,
    /// Seed of the choice; another one chooses others.
    #[arg(long, value_name = "N", default_value = "1")]
    seed: u64,
    /// Only kernels that were fetched already.
    #[arg(long)]
    fetched: bool,
    /// Emulated machines at once [default: one for each CPU].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Output format.
    #[arg(long, value_parser = tables(), default_value = "text")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  syscost kernel atlas check atlas
  syscost kernel atlas check atlas --share 1 --format csv";

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| format!("'{text}' is not a share above 0 and up to 1"))
}

/// What was counted again.
#[derive(Default)]
struct AtlasCheck {
    /// Counts that were counted again.
    counted: usize,
    /// Kernels that were counted with another emulator or probe than the atlas names: of their counts only steps differ.
    other_tools: Vec<String>,
    /// Those that differ or could not be counted.
    differ: Vec<Differs>,
}

/// A count that is not what the atlas says.
#[derive(Default)]
struct Differs {
    release: String,
    operation: String,
    /// The range that the atlas states.
    least: f64,
    most: f64,
    /// What was counted now; null if nothing was.
    now: Option<f64>,
    /// Why nothing was counted; null if something was.
    reason: Option<String>,
}

pub fn run(args: &CheckArgs, interrupt: &Interrupt, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    let atlas = atlas::read(&args.directory)?;
    let images = Images::open()?;
    let tell = |doing: &str| notes.tell(&doing);
    let source = if args.fetched {
        Source::fetched(&images)
    } else {
        Source::open(&images, &architectures(&atlas.kernels), (interrupt, notes), &tell)
    };
    let planned = planned(&session(interrupt)?, &[])?;
    let chosen = chosen(&atlas.kernels, args.share, args.seed);
    let (jobs, pace) = (jobs(args.jobs.map(usize::from)), Pace::new(chosen.len()));
    let tasks =
        chosen.into_iter().take_while(|_| !interrupt.is_set()).map(|kernel| (kernel, source.get(&kernel.release)));
    let checked = in_parallel(jobs, tasks, |(kernel, facts)| {
        let boots = Boots::new(kernel.boots, jobs, &pace);
        let found = again(interrupt, kernel, facts, (&planned, boots));
        if interrupt.is_set() {
            return AtlasCheck::default();
        }
        notes.tell(&format_args!("{}: {}", pace.step(), kernel.release));
        found
    });
    let found = together(checked);
    write_table(&table(&found), args.format, terminal::screen(), out)?;
    let exit = if found.differ.is_empty() { Exit::Success } else { Exit::CostGrown };
    Ok(if interrupt.is_set() { Exit::Interrupted } else { exit })
}

fn architectures(kernels: &[AtlasKernel]) -> Vec<Architecture> {
    let names: BTreeSet<&str> = kernels.iter().map(|kernel| kernel.machine.architecture.as_str()).collect();
    names.into_iter().filter_map(Architecture::find).collect()
}

/// A share of the kernels, at least one.
fn chosen(kernels: &[AtlasKernel], share: f64, seed: u64) -> Vec<&AtlasKernel> {
    let mut all: Vec<&AtlasKernel> = kernels.iter().collect();
    all.shuffle(&mut ChaCha8Rng::seed_from_u64(seed));
    all.truncate(((all.len() as f64 * share).ceil() as usize).max(1));
    all
}

/// What was found in several kernels, sorted.
fn together(checked: Vec<AtlasCheck>) -> AtlasCheck {
    let mut all = AtlasCheck::default();
    for each in checked {
        all.counted += each.counted;
        all.other_tools.extend(each.other_tools);
        all.differ.extend(each.differ);
    }
    all.other_tools.sort();
    all.differ.sort_by(|a, b| (&a.release, &a.operation).cmp(&(&b.release, &b.operation)));
    all
}

/// Counts all that was counted in a kernel again, in the same order.
fn again(
    interrupt: &Interrupt,
    kernel: &AtlasKernel,
    facts: Result<Facts>,
    (planned, boots): (&[Planned], Boots),
) -> AtlasCheck {
    let of = |cell: &AtlasCell| planned.iter().find(|planned| planned.case.to_string() == cell.operation).cloned();
    let planned: Vec<Planned> = kernel.cells.iter().filter_map(of).collect();
    let counted = facts.and_then(|facts| {
        let same = facts.sha256 == kernel.image;
        anyhow::ensure!(same, "its image is another one now: {} {}", facts.package, facts.version);
        count_kernel(interrupt, &facts, kernel.machine.clone(), (&planned, boots))
    });
    let is_exact = counted.as_ref().is_ok_and(|now| has_same_tools(now, kernel));
    let now = |cell: &AtlasCell| match &counted {
        Ok(counted) => counted.cells.iter().find(|now| now.operation == cell.operation).cloned().unwrap_or_default(),
        Err(why) => AtlasCell { reason: Some(format!("{why:#}")), ..AtlasCell::default() },
    };
    AtlasCheck {
        counted: kernel.cells.iter().filter(|cell| cell.count.is_some()).count(),
        other_tools: (counted.is_ok() && !is_exact).then(|| kernel.release.clone()).into_iter().collect(),
        differ: kernel.cells.iter().filter_map(|cell| differs(&kernel.release, cell, now(cell), is_exact)).collect(),
    }
}

/// Whether counts of a kernel must be the same to the last instruction.
fn has_same_tools(a: &AtlasKernel, b: &AtlasKernel) -> bool {
    (&a.emulator, &a.probe, &a.probe_digest) == (&b.emulator, &b.probe, &b.probe_digest)
}

/// Whether a count is not the same, or a step where the tools are others.
fn differs(release: &str, cell: &AtlasCell, now: AtlasCell, is_exact: bool) -> Option<Differs> {
    let stated = cell.count?;
    if now.count.is_some_and(|now| if is_exact { now == stated } else { !atlas::is_step(&stated, &now) }) {
        return None;
    }
    let count = now.count.map(|count| count.mode);
    let none = || now.reason.clone().unwrap_or_else(|| "this version of syscost has no such operation".to_string());
    Some(Differs {
        release: release.to_string(),
        operation: cell.operation.clone(),
        least: stated.least,
        most: stated.most,
        now: count,
        reason: count.is_none().then(none),
    })
}

fn table(found: &AtlasCheck) -> Table {
    let number = |value: f64| Cell::number(format!("{value:.2}"), value);
    let now = |row: &Differs| match row.now {
        Some(now) => Cell::number(format!("{now:.2}"), now),
        None => Cell::from(row.reason.clone().unwrap_or_default()),
    };
    let specs = [
        Spec::left("release", |row: &Differs| row.release.clone().into()).text("release", |row| row.release.clone()),
        Spec::left("operation", |row: &Differs| row.operation.clone().into())
            .text("operation", |row| row.operation.clone()),
        Spec::right("least", move |row: &Differs| number(row.least)).number("least", |row| Some(row.least)),
        Spec::right("most", move |row: &Differs| number(row.most)).number("most", |row| Some(row.most)),
        Spec::left("now", now).number("now", |row| row.now).text("reason", |row| row.reason.clone()),
    ];
    let title = format!("{} of {} counts differ from the atlas", found.differ.len(), found.counted);
    let others = found.other_tools.join(", ");
    let note =
        format!("Counted with another emulator or probe than in the atlas, so that only steps are listed: {others}");
    let notes = if others.is_empty() { Vec::new() } else { vec![note] };
    Table::of(&specs, &found.differ).titled(title).noted(notes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::atlas::AtlasCount;

    fn cell(operation: &str, [mode, least, most]: [f64; 3]) -> AtlasCell {
        AtlasCell { operation: operation.into(), count: Some(AtlasCount { mode, least, most }), reason: None }
    }

    #[test]
    fn a_seed_chooses_a_share_of_the_kernels() {
        let kernel = |at: u32| AtlasKernel { release: at.to_string(), ..AtlasKernel::default() };
        let kernels: Vec<AtlasKernel> = (0..99).map(kernel).collect();
        let names = |seed| chosen(&kernels, 0.1, seed).iter().map(|kernel| &kernel.release).collect::<Vec<_>>();
        assert_eq!((names(1).len(), names(1)), (10, names(1)));
        assert_ne!(names(1), names(2));
        assert_eq!((chosen(&kernels, 1.0, 1).len(), chosen(&kernels, 0.001, 1).len()), (99, 1));
    }

    #[test]
    fn another_probe_or_emulator_counts_otherwise() {
        let kernel = |emulator: &str, digest: &str| AtlasKernel {
            emulator: emulator.into(),
            probe_digest: digest.into(),
            ..AtlasKernel::default()
        };
        assert!(has_same_tools(&kernel("7.2", "ab"), &kernel("7.2", "ab")));
        assert!(!has_same_tools(&kernel("7.2", "ab"), &kernel("7.2", "")));
        assert!(!has_same_tools(&kernel("7.2", "ab"), &kernel("8.2", "ab")));
    }

    #[test]
    fn kernels_are_told_of_together() {
        let differs = |operation: &str| Differs { operation: operation.into(), ..Differs::default() };
        let one = |release: &str, operation: &str| AtlasCheck {
            counted: 2,
            other_tools: vec![release.into()],
            differ: vec![differs(operation)],
        };
        let all = together(vec![one("6.12", "b"), one("6.1", "a")]);
        assert_eq!((all.counted, all.other_tools.join(" ")), (4, "6.1 6.12".to_string()));
        assert_eq!(all.differ.iter().map(|row| row.operation.as_str()).collect::<Vec<_>>(), ["a", "b"]);
        assert!(table(&all).notes[0].ends_with("only steps are listed: 6.1, 6.12"), "{:?}", table(&all).notes);
    }

    #[test]
    fn what_is_beyond_the_range_or_not_counted_differs() {
        let stated = cell("x", [10.0, 9.0, 11.0]);
        let found = |now: AtlasCell| differs("6.1", &stated, now, false).map(|row| (row.now, row.reason));
        assert_eq!(found(cell("x", [11.0; 3])), None);
        assert!(differs("6.1", &stated, cell("x", [11.0; 3]), true).is_some(), "the same tools count the same");
        assert!(differs("6.1", &stated, stated.clone(), true).is_none());
        assert_eq!(found(cell("x", [12.0; 3])), Some((Some(12.0), None)));
        let failed = AtlasCell { reason: Some("ENOSYS".into()), ..AtlasCell::default() };
        assert_eq!(found(failed), Some((None, Some("ENOSYS".into()))));
        assert!(share("0").is_err() && share("2").is_err() && share("nan").is_err() && share("1").is_ok());
    }
}
