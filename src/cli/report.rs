//! `syscost report`: result files as one page to look at, or a single figure of it.

use super::error::usage;
use super::exit::Exit;
use super::messages::Notes;
use super::{complete, result_files};
use crate::compare::{Column, Comparison, Options, Selection, compare};
use crate::model::{Role, Run};
use crate::plan::Pattern;
use crate::report::Portrait;
use crate::report::figure::Figure;
use crate::report::figure::palette::SERIES;
use crate::report::figures;
use crate::report::html::{MOST_DETAILED, Page, write_page};
use crate::report::{latency_figure, svg, write_lines};
use anyhow::{Result, anyhow, bail};
use std::io::Write;
use std::mem::take;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// Make a self-contained HTML page from result files: it opens offline in any browser and loads nothing.
///
/// The question and the answer first; then the table of all operations, to be sorted and filtered, with the distribution of
/// the samples of each; charts by area; for several files costs and ratios side by side; for parameters cost against
/// value with models and crossovers; the machine and its warnings.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ReportArgs {
    /// Files that `syscost run --out` wrote, or figures of articles from published/; '-' is standard input.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Output file; '-' is standard output [default: report.html, or FIGURE.svg].
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// What to make: the whole page, or one figure of it.
    #[arg(long, value_enum, default_value = "html")]
    format: Kind,
    /// Which figure [default: bars].
    #[arg(long, value_enum)]
    figure: Option<FigureKind>,
    /// Label for each file, in order [default: its host name, else its file name].
    #[arg(long = "label", value_name = "TEXT")]
    labels: Vec<String>,
    /// File or label to divide the others by [default: the first file].
    #[arg(long, value_name = "FILE|LABEL")]
    baseline: Option<String>,
    /// Show only rows whose name, operation or area matches; repeatable.
    #[arg(long, value_name = "PATTERN", add = complete::operations())]
    only: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  syscost report now.json
  syscost report before.json after.json -o change.html
  syscost report 5.15.json 6.1.json 6.18.json --label 5.15 --label 6.1 --label 6.18
  syscost report now.json --format svg --figure distribution --only 'file.*' -o file.svg
  syscost run io.read_zero --param size=1..1Mx4 --out size.json && syscost report size.json";

/// What is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Kind {
    /// One page with everything.
    Html,
    /// One figure as a drawing of its own.
    Svg,
}

/// A figure of the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum FigureKind {
    /// Costs by area, on a logarithmic axis.
    Bars,
    /// How the samples of each case are spread.
    Distribution,
    /// Cost over a parameter with models and crossovers.
    Fit,
    /// Ratios to the first file.
    Ratios,
    /// Percentiles of single calls.
    Latency,
}

pub fn run(args: &ReportArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    usage(check(args))?;
    let only = usage(args.only.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<Pattern>>>())?;
    let selection = Selection { only, ..Selection::default() };
    let portrait = |index, run| portrait(args, &selection, index, run);
    let mut portraits = result_files::read(&args.files, &args.labels, portrait, |portrait| &mut portrait.column.info)?;
    let labels = portraits.iter().map(Portrait::label);
    let baseline = usage(result_files::baseline(args.baseline.as_deref(), &args.files, labels))?;
    portraits.iter().try_for_each(|portrait| usage(has_rows(portrait, args)))?;
    let comparison = (portraits.len() > 1).then(|| compared(&mut portraits, baseline, selection));
    let page = Page { files: &portraits, comparison: comparison.as_ref() };
    let made = match args.format {
        Kind::Html => {
            let mut html = Vec::new();
            write_page(&page, &mut html)?;
            html
        }
        Kind::Svg => {
            let figure = usage(figure(args, &page))?;
            svg::document(&figure).as_str().as_bytes().to_vec()
        }
    };
    deliver(&destination(args), &made, notes, out)?;
    Ok(Exit::Success)
}

/// Whether the parts of the question go together; asked before anything is read.
fn check(args: &ReportArgs) -> Result<()> {
    result_files::check_labels(&args.files, &args.labels)?;
    if args.figure.is_some() && args.format == Kind::Html {
        bail!("--figure is for one drawing, and a page has all: add --format svg, or leave it out");
    }
    if args.figure == Some(FigureKind::Ratios) && args.files.len() < 2 {
        bail!("--figure ratios needs two files or more: name another one, or choose another figure");
    }
    let output = destination(args);
    let same = |file: &&PathBuf| output != Path::new("-") && is_same(file, &output);
    match args.files.iter().find(same) {
        Some(file) => bail!("--output {} would replace a result file: choose another name", file.display()),
        None => Ok(()),
    }
}

/// Whether both names are one existing file, be it by a link.
fn is_same(a: &Path, b: &Path) -> bool {
    let facts = |path: &Path| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    facts(a).zip(facts(b)).is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()))
}

/// Of a file only what is shown.
fn portrait(args: &ReportArgs, selection: &Selection, index: usize, mut run: Run) -> Portrait {
    run.retain_records(|record| record.role == Role::Baseline || selection.takes(&record.case));
    let few = args.files.len() <= MOST_DETAILED && run.records.len() <= MOST_RECORDS;
    Portrait::new("", &run, may_be_baseline(args, index) || (args.format == Kind::Html && few))
}

/// Records of a file beside the baseline that are shown in detail: a page of more would be too large for a browser.
const MOST_RECORDS: usize = 2000;

/// The baseline is always shown in detail. It is known by its file before anything is read; asked for by the label that its
/// host gives it, it must be looked for in all.
fn may_be_baseline(args: &ReportArgs, index: usize) -> bool {
    let Some(wanted) = &args.baseline else { return index == 0 };
    let by_label = args.labels.iter().position(|label| label == wanted);
    by_label.or_else(|| result_files::by_path(wanted, &args.files)).is_none_or(|baseline| index == baseline)
}

fn has_rows(portrait: &Portrait, args: &ReportArgs) -> Result<()> {
    match portrait.column.rows.iter().any(|row| row.asked) {
        true => Ok(()),
        false if args.only.is_empty() => bail!("{} has no operations: name the result file of a run", portrait.label()),
        false => {
            bail!("--only: nothing in {} matches {}: leave it out to see all", portrait.label(), args.only.join(", "))
        }
    }
}

/// The portraits lend their rows, which may be many, and have them again afterwards.
fn compared(portraits: &mut [Portrait], baseline: usize, selection: Selection) -> Comparison {
    let lent = |portrait: &mut Portrait| Column {
        info: portrait.column.info.clone(),
        rows: take(&mut portrait.column.rows),
        derived: take(&mut portrait.column.derived),
        panel: take(&mut portrait.column.panel),
        run_scatter: portrait.column.run_scatter,
    };
    let columns: Vec<Column> = portraits.iter_mut().map(lent).collect();
    let comparison = compare(&columns, &Options { baseline, selection, ..Options::default() });
    portraits.iter_mut().zip(columns).for_each(|(portrait, column)| portrait.column = column);
    comparison
}

fn figure(args: &ReportArgs, page: &Page) -> Result<Figure> {
    let main = page.files.get(page.comparison.map_or(0, |comparison| comparison.baseline));
    let (main, detail) =
        main.and_then(|main| Some((main, main.detail.as_ref()?))).ok_or_else(|| anyhow!("there is no file to show"))?;
    match (args.figure.unwrap_or(FigureKind::Bars), page.comparison) {
        (FigureKind::Ratios, Some(comparison)) => Ok(figures::ratios(comparison)),
        (FigureKind::Bars | FigureKind::Ratios, _) => Ok(figures::bars(main.label(), detail, page.comparison)),
        (FigureKind::Distribution, _) => {
            let all = detail.distributions.iter().flatten().cloned().collect();
            Ok(figures::distributions("Distribution of the samples", all))
        }
        (FigureKind::Latency, _) => match detail.singles.as_ref().filter(|singles| !singles.curves.is_empty()) {
            Some(singles) => Ok(latency_figure(&singles.curves[..singles.curves.len().min(SERIES)])),
            None => bail!(
                "--figure latency: {} has no percentiles of single calls: measure again with 'syscost run --latency'",
                main.label()
            ),
        },
        (FigureKind::Fit, _) => match detail.parameters.first() {
            Some(one) => Ok(one.figure.clone()),
            None => bail!(
                "--figure fit: {} has no parameter with three values or more: measure some with --param KEY=A,B,C",
                main.label()
            ),
        },
    }
}

fn destination(args: &ReportArgs) -> PathBuf {
    let name = match (args.format, args.figure.unwrap_or(FigureKind::Bars)) {
        (Kind::Html, _) => "report.html",
        (Kind::Svg, FigureKind::Bars) => "bars.svg",
        (Kind::Svg, FigureKind::Distribution) => "distribution.svg",
        (Kind::Svg, FigureKind::Fit) => "fit.svg",
        (Kind::Svg, FigureKind::Ratios) => "ratios.svg",
        (Kind::Svg, FigureKind::Latency) => "latency.svg",
    };
    args.output.clone().unwrap_or_else(|| PathBuf::from(name))
}

/// Writes the document whole or not at all; says where, past a pipe.
fn deliver(path: &Path, made: &[u8], notes: Notes, out: &mut dyn Write) -> Result<()> {
    if path == Path::new("-") {
        return Ok(out.write_all(made)?);
    }
    crate::store::write_bytes(path, made)?;
    match notes.quiet {
        true => Ok(()),
        false => write_lines([format!("wrote {}", path.display())], out),
    }
}
