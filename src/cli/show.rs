//! `syscost show`: a result file or a profile as a table.

pub mod profile;

use super::error::usage;
use super::exit::Exit;
use super::{complete, terminal};
use crate::compare::Selection;
use crate::fit::{Family, families};
use crate::model::{By, Role, Run};
use crate::plan::Pattern;
use crate::report::{
    Format, RunFormat, Screen, Sort, SummaryDocument, ViewKind, first_run_note, pages, parameter_table, plot,
    summary_table, write_bars, write_cmpthese, write_counters, write_distributions, write_export, write_json,
    write_latency, write_lines, write_table,
};
use crate::store::Stored;
use crate::summary::{Summary, summarize};
use anyhow::{Result, anyhow};
use clap::ValueEnum;
use profile::{Secrets, StackWeight};
use std::io::Write;
use std::path::PathBuf;

/// Show a result file or a profile as a table.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ShowArgs {
    /// A file written by 'syscost run --out' or 'syscost trace -o'; '-' for standard input.
    file: PathBuf,
    /// Show only rows whose name, operation or area matches; repeatable.
    #[arg(long, value_name = "PATTERN", add = complete::operations())]
    only: Vec<String>,
    /// The rows of a profile. [default: call]
    #[arg(long, value_enum)]
    by: Option<By>,
    /// What the lines of --view stacks count. [default: calls]
    #[arg(long, value_enum, value_name = "WHAT")]
    weight: Option<StackWeight>,
    #[command(flatten)]
    secrets: Secrets,
    #[command(flatten)]
    pub view: View,
}

const EXAMPLES: &str = "\
Examples:
  syscost show now.json
  syscost show now.json --format csv --sort cost
  syscost show now.json --format openmetrics > /var/lib/node_exporter/syscost.prom
  syscost show now.json --format go-benchmark > now.txt && benchstat now.txt
  syscost show published/perl-5.10.1-i686.json --view cmpthese
  syscost show now.json --view distribution
  syscost show now.json --view latency --format csv
  syscost show now.json --only 'file.*' --only id
  syscost show profile.json --by class
  syscost show profile.json --view latency
  syscost show profile.json --view stacks --weight blocked > blocked.folded
  syscost show profile.json --format openmetrics > /var/lib/node_exporter/workload.prom";

/// How a run is shown.
#[derive(clap::Args)]
pub struct View {
    /// Output format.
    #[arg(long, value_enum, default_value = "text")]
    pub format: RunFormat,
    /// Row order.
    #[arg(long, value_enum, default_value = "asked")]
    pub sort: Sort,
    /// Do not plot cost over a parameter (text output draws one if the screen has 60 columns or more).
    #[arg(long)]
    pub no_plot: bool,
    /// What to show: the table, what Perl's Benchmark would print, a plot, or what else a profile holds.
    /// [default: those that the study names, else table]
    #[arg(long, value_enum, value_name = "KIND")]
    pub view: Option<ViewKind>,
}

impl View {
    /// The views to show, in order: the one asked for, else those of the run's study. Only text has views other than the table.
    fn kinds(&self, run: &Run) -> Vec<ViewKind> {
        let named = run.study.iter().flat_map(|study| &study.views);
        let of_study: Vec<ViewKind> = named.filter_map(|name| ViewKind::from_str(name, true).ok()).collect();
        match self.view {
            Some(view) => vec![view],
            None if matches!(self.format, RunFormat::Ours(Format::Text))
                && self.sort == Sort::Asked
                && !of_study.is_empty() =>
            {
                of_study
            }
            None => vec![ViewKind::Table],
        }
    }

    /// Whether the view is one that has the formats of tables.
    fn is_other_table(&self) -> bool {
        let ours = matches!(self.format, RunFormat::Ours(_));
        let of_profile = self.view.is_some_and(ViewKind::is_of_profiles);
        (of_profile || self.view == Some(ViewKind::Latency)) && ours && self.sort == Sort::Asked
    }

    /// Checks that a run has the view.
    ///
    /// # Errors
    /// If only profiles have it.
    pub fn check_for_run(&self) -> Result<()> {
        match self.view.filter(|view| view.is_of_profiles()) {
            Some(_) => usage(Err(anyhow!("this --view is for profiles, of 'syscost trace': choose another one"))),
            None => self.check(),
        }
    }

    /// Checks, before anything is read or measured, that the options are compatible.
    ///
    /// # Errors
    /// Which are not.
    pub fn check(&self) -> Result<()> {
        if self.view.is_none_or(|view| view == ViewKind::Table) || self.is_other_table() {
            return Ok(());
        }
        if !matches!(self.format, RunFormat::Ours(Format::Text)) {
            let advice = "omit --format, or use --view table";
            return usage(Err(anyhow!("views other than table are text only: {advice}")));
        }
        if self.sort != Sort::Asked {
            let advice = "omit --sort, or use --view table";
            return usage(Err(anyhow!("views other than table have their own order: {advice}")));
        }
        Ok(())
    }
}

/// Shows one file.
///
/// # Errors
/// If the file cannot be read, an option does not apply to it, or `out` cannot be written.
pub fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit> {
    args.view.check()?;
    let screen = terminal::screen();
    match crate::store::read_any(&args.file)? {
        Stored::Run(_) if args.by.is_some() || args.weight.is_some() || args.secrets.any() => usage(Err(anyhow!(
            "--by, --weight, --no-arguments and --anonymous are for profiles, {} is a result file: omit them",
            args.file.display()
        )))?,
        Stored::Run(run) => {
            args.view.check_for_run()?;
            write_run(&only(*run, args)?, &args.view, screen, out)?;
        }
        Stored::Profile(profile) => {
            profile::check(args)?;
            profile::write(&args.secrets.hide(*profile), args, screen, out)?;
        }
    }
    Ok(Exit::Success)
}

/// The run without the rows that were not asked for; baselines stay, since ratios need them.
fn only(mut run: Run, args: &ShowArgs) -> Result<Run> {
    let only = usage(args.only.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<Pattern>>>())?;
    let selection = Selection { only, ..Selection::default() };
    run.retain_records(|record| record.role == Role::Baseline || selection.takes(&record.case));
    if !args.only.is_empty() && !run.records.iter().any(|record| record.role == Role::Asked) {
        let patterns = args.only.join(", ");
        return usage(Err(anyhow!("--only: no row matches {patterns}; leave it out to see all")));
    }
    Ok(run)
}

/// Writes a run in the format of `view`. If a parameter has three values or more, a table by that parameter follows; not in
/// CSV, which programs read as one table.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_run(run: &Run, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let summary = summarize(run);
    for (i, kind) in view.kinds(run).into_iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        match kind {
            ViewKind::Table => write_tables(run, &summary, view, screen, out)?,
            ViewKind::Bars => write_bars(run, screen, out)?,
            ViewKind::Distribution => write_distributions(run, out)?,
            ViewKind::Counters => write_counters(&summary, &run.host, screen, out)?,
            ViewKind::Latency => write_singles(run, &summary, view, screen, out)?,
            ViewKind::Timethese | ViewKind::Cmpthese => write_cmpthese(run, &summary, kind, out)?,
            // Not reached: `check_for_run`.
            ViewKind::Slowest | ViewKind::Paths | ViewKind::Descriptors | ViewKind::Stacks => {}
        }
    }
    let for_people = matches!(view.format, RunFormat::Ours(Format::Text | Format::Markdown));
    let of_samples = view.kinds(run).iter().any(|kind| *kind != ViewKind::Table)
        || families(run).iter().any(Family::is_worth_a_table);
    let note = first_run_note(&summary).filter(|_| for_people && of_samples);
    note.map_or(Ok(()), |note| write_lines([String::new(), note], out))
}

/// The view of single calls; as JSON the document of the run, which has them.
fn write_singles(run: &Run, summary: &Summary, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    match view.format {
        RunFormat::Ours(format) if format != Format::Json => write_latency(summary, format, screen, view.no_plot, out),
        _ => write_json(&SummaryDocument::new(run, summary), out),
    }
}

fn write_tables(run: &Run, summary: &Summary, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let table = || summary_table(summary, &run.host, view.sort);
    match view.format {
        RunFormat::Export(format) => write_export(run, summary, format, out),
        RunFormat::Ours(Format::Json) => write_json(&SummaryDocument::new(run, summary), out),
        RunFormat::Ours(Format::Csv) => write_table(&table(), Format::Csv, screen, out),
        RunFormat::Ours(format) => {
            write_table(&table(), format, screen, out)?;
            let families = families(run);
            let mut tables = families.iter().filter(|f| f.is_worth_a_table());
            tables.try_for_each(|f| write_family(f, format, view.no_plot, screen, out))
        }
    }
}

fn write_family(family: &Family, format: Format, no_plot: bool, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let width = screen.width.filter(|_| format == Format::Text);
    for page in pages(&parameter_table(family), width) {
        writeln!(out)?;
        write_table(&page, format, screen, out)?;
    }
    let lines = width.filter(|_| !no_plot).map(|width| plot(family, width)).unwrap_or_default();
    if !lines.is_empty() {
        writeln!(out)?;
    }
    write_lines(lines.iter().map(|line| line.trim_end()), out)
}
