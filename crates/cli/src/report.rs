//! `syscost report`: result files as one page to look at, or a single figure of it.

mod args;
mod explained;
mod profile;

pub use args::ReportArgs;

use super::answers;
use super::error::{bail_usage, usage, usage_error};
use super::exit::Exit;
use super::result_files::{self, is_input};
use analysis::compare::{Comparison, Options, Selection, compare};
use anyhow::Result;
use args::{FigureKind, Kind};
use model::{Role, Run};
use report::figure::Figure;
use report::figure::palette::SERIES;
use report::html::{Explained, MOST_DETAILED, RunsPage, atlas_page, document_page, runs_page};
use report::{Portrait, figures, latency_figure, start_up};
use std::io::Write;
use std::path::Path;
use store::{Stored, installed};

pub fn run(args: &ReportArgs, out: &mut dyn Write) -> Result<Exit> {
    fn is_profile(file: &Path) -> bool {
        !is_input(file) && store::is_profile(file)
    }

    if let [only] = &args.files[..] {
        // Embedded directories have no entry in the file system.
        if installed::files(only).is_some() || only.is_dir() {
            return atlas(only, args, out);
        }
        if only.is_file()
            && let Some(answer) = answers::read(only, &store::bytes(only)?)?
        {
            check(args)?;
            return args.deliver(
                || document_page(answer.title, answer.document),
                || {
                    bail_usage!(
                        "--format svg: {} has no figure: make a page instead",
                        only.display()
                    )
                },
                out,
            );
        }
    }
    // Explanations are sections of a page about runs, so they are not counted as files below.
    let (explained, files) = explained::split(&args.files)?;
    if files.is_empty() {
        return explained::run(&explained, args, out);
    }
    let args = &ReportArgs {
        files,
        ..args.clone()
    };
    check(args)?;
    let [only] = &args.files[..] else {
        let are_profiles = args.files.iter().all(|file| is_profile(file));
        return match args.files.len() {
            2 if are_profiles => profile::run_two(args, out),
            _ if are_profiles => {
                bail_usage!(
                    "a page has one profile, or two to compare: 'syscost show' adds up several"
                )
            }
            _ => of_runs(args, None, &explained, out),
        };
    };
    match explained::explained_in(store::read_any(only)?) {
        Ok(only) => explained::run(&[only], args, out),
        Err(Stored::Profile(_)) if !explained.is_empty() => {
            bail_usage!("a profile has a page of its own: leave out the kernel explanations")
        }
        Err(Stored::Profile(profile)) => profile::run(*profile, args, out),
        Err(Stored::Run(run)) => of_runs(args, Some(*run), &explained, out),
        Err(_) => of_runs(args, None, &explained, out),
    }
}

fn atlas(directory: &Path, args: &ReportArgs, out: &mut dyn Write) -> Result<Exit> {
    if args.format != Kind::Html || args.figure.is_some() {
        bail_usage!(
            "--figure and --format svg are for single files: a directory has a page, so omit them"
        );
    }
    args.check_no_runs("an atlas")?;
    args.of_profile.check_for_runs()?;
    let atlas = usage(store::atlas::read(directory))?;
    args.deliver(
        || atlas_page(&atlas),
        || bail_usage!("--format svg: an atlas has no figure"),
        out,
    )
}

fn of_runs(
    args: &ReportArgs,
    read: Option<Run>,
    explained: &[Explained],
    out: &mut dyn Write,
) -> Result<Exit> {
    args.of_profile.check_for_runs()?;
    let selection = args.only.selection();
    let portrait = |index, run| portrait(args, &selection, index, run);
    // Only portraits are kept: runs with their samples would not fit in memory together.
    let mut portraits = match read {
        Some(run) => vec![portrait(0, run)],
        None => result_files::read(&args.files, portrait)?,
    };
    let wanted = args.baseline.as_deref();
    let baseline = result_files::label(&mut portraits, &args.files, &args.labels, wanted)?;
    portraits
        .iter()
        .try_for_each(|portrait| has_rows(portrait, args))?;
    let options = Options {
        baseline,
        selection,
        ..Options::default()
    };
    let comparison = if portraits.len() > 1 {
        Some(compared(&mut portraits, &options))
    } else {
        None
    };
    let page = RunsPage {
        files: &portraits,
        comparison: comparison.as_ref(),
        explained,
    };
    args.deliver(|| runs_page(&page), || figure(args, &page), out)
}

fn check(args: &ReportArgs) -> Result<()> {
    result_files::check_labels(&args.files, &args.labels)?;
    if args.figure.is_some() && args.format == Kind::Html {
        bail_usage!(
            "--figure selects one drawing, and a page has all of them: add --format svg, or leave it out"
        );
    }
    if args.figure == Some(FigureKind::Ratios) && args.files.len() < 2 {
        bail_usage!(
            "--figure ratios needs two files or more: name another one, or choose another figure"
        );
    }
    args.check_output("a result file")
}

fn portrait(args: &ReportArgs, selection: &Selection, index: usize, mut run: Run) -> Portrait {
    // Ratios need the baselines even if they are not selected.
    run.retain_records(|record| record.role == Role::Baseline || selection.takes(&record.case));
    let few = args.files.len() <= MOST_DETAILED && run.records.len() <= MOST_RECORDS;
    let is_detailed = may_be_baseline(args, index) || (args.format == Kind::Html && few);
    Portrait::new("", &run, is_detailed)
}

/// Beside the baseline, in detail: a page of more would be too large for a browser.
const MOST_RECORDS: usize = 2000;

/// The baseline is always shown in detail. It is known by its file before anything is read; asked for by the label that its
/// host gives it, it must be looked for in all.
fn may_be_baseline(args: &ReportArgs, index: usize) -> bool {
    let Some(wanted) = &args.baseline else {
        return index == 0;
    };
    args.labels
        .iter()
        .position(|label| label == wanted)
        .or_else(|| result_files::by_path(wanted, &args.files))
        .is_none_or(|baseline| index == baseline)
}

fn has_rows(portrait: &Portrait, args: &ReportArgs) -> Result<()> {
    let is_found = portrait.column.rows.iter().any(|row| row.asked);
    let label = portrait.label();
    args.only.check(is_found, &format!("row of {label}"))?;
    if !is_found {
        bail_usage!("{label} has no operations: name the result file of a run");
    }
    Ok(())
}

/// The rows, which may be many, are moved into columns and back, not copied.
fn compared(portraits: &mut [Portrait], options: &Options) -> Comparison {
    let columns: Vec<_> = portraits
        .iter_mut()
        .map(|portrait| std::mem::take(&mut portrait.column))
        .collect();
    let comparison = compare(&columns, options);
    for (portrait, column) in portraits.iter_mut().zip(columns) {
        portrait.column = column;
    }
    comparison
}

fn figure(args: &ReportArgs, page: &RunsPage) -> Result<Figure> {
    let (main, detail) = page
        .main()
        .and_then(|main| Some((main, main.detail.as_ref()?)))
        .ok_or_else(|| usage_error!("no file to show"))?;
    match (args.figure.unwrap_or(FigureKind::Bars), page.comparison) {
        (FigureKind::Ratios, Some(comparison)) => Ok(figures::ratios(comparison)),
        (FigureKind::Time | FigureKind::Stacks, _) => {
            bail_usage!("--figure time and stacks are for profiles: choose another figure")
        }
        (FigureKind::Bars | FigureKind::Ratios, _) => {
            // One drawing has one axis: that of times, if there are any.
            let unit = figures::units(detail).first().copied().unwrap_or_default();
            Ok(figures::costs(main.label(), detail, page.comparison, unit))
        }
        (FigureKind::Distribution, _) => {
            let all = detail.distributions.iter().flatten().cloned().collect();
            Ok(figures::distributions("Distribution of the samples", all))
        }
        (FigureKind::Latency, _) => match &detail.singles {
            Some((_, curves)) if !curves.is_empty() => {
                Ok(latency_figure(&curves[..curves.len().min(SERIES)]))
            }
            _ => bail_usage!(
                "--figure latency: {} has no percentiles of single calls: measure again with 'syscost run --latency'",
                main.label()
            ),
        },
        (FigureKind::StartUp, _) => start_up::figure(&detail.summary).ok_or_else(|| {
            usage_error!(
                "--figure start-up: {} has no start-up times: measure again with 'syscost run --env sandboxes --start-up'",
                main.label()
            )
        }),
        (FigureKind::Fit, _) => match detail.parameters.first() {
            Some((_, figure)) => Ok(figure.clone()),
            None => bail_usage!(
                "--figure fit: {} has no parameter with three values or more: measure some with --param KEY=A,B,C",
                main.label()
            ),
        },
    }
}
