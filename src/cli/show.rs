//! `syscost show`: the table again, from a result file alone.

use super::error::usage;
use super::{Exit, terminal};
use crate::fit::{Family, families};
use crate::model::{By, Run};
use crate::report::{
    Format, Screen, Sort, ViewKind, pages, parameter_table, plot, summary_table, write_cmpthese, write_profile,
    write_summary, write_table,
};
use crate::store::Stored;
use crate::summary::{Summary, summarize};
use anyhow::{Result, anyhow};
use clap::ValueEnum;
use std::io::Write;
use std::path::PathBuf;

/// Show a result file or a profile as a table.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ShowArgs {
    /// A file that `syscost run --out` or `syscost trace -o` wrote; - for standard input.
    file: PathBuf,
    /// The rows of a profile. [default: call]
    #[arg(long, value_enum)]
    by: Option<By>,
    #[command(flatten)]
    pub view: View,
}

const EXAMPLES: &str = "\
Examples:
  syscost show now.json
  syscost show now.json --format csv --sort cost
  syscost show published/perl-5.10.1-i686.json --view cmpthese
  syscost show profile.json --by class";

/// How a run is shown.
#[derive(clap::Args)]
pub struct View {
    /// How to print it.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
    /// The order of the rows.
    #[arg(long, value_enum, default_value = "asked")]
    pub sort: Sort,
    /// No plot of costs over a parameter; it is drawn for text on a screen of 60 columns or more.
    #[arg(long)]
    pub no_plot: bool,
    /// What is shown: the table, or what Perl's Benchmark would print.
    /// [default: those that the study names, else table]
    #[arg(long, value_enum, value_name = "KIND")]
    pub view: Option<ViewKind>,
}

impl View {
    /// What is shown, in order: what was asked for, else what the run's study names. Only text has other views.
    fn kinds(&self, run: &Run) -> Vec<ViewKind> {
        let named = run.study.iter().flat_map(|study| &study.views);
        let of_study: Vec<ViewKind> = named.filter_map(|name| ViewKind::from_str(name, true).ok()).collect();
        match self.view {
            Some(view) => vec![view],
            None if self.format == Format::Text && self.sort == Sort::Asked && !of_study.is_empty() => of_study,
            None => vec![ViewKind::Table],
        }
    }

    /// Whether it asks for what only runs have.
    fn is_for_runs(&self) -> bool {
        self.view.is_some() || self.sort != Sort::Asked || self.no_plot
    }

    /// Whether its parts go together; asked before anything is read or measured.
    ///
    /// # Errors
    /// Which do not.
    pub fn check(&self) -> Result<()> {
        if self.view.is_none_or(|view| view == ViewKind::Table) {
            return Ok(());
        }
        if self.format != Format::Text {
            let advice = "leave --format out, or choose --view table";
            return usage(Err(anyhow!("--view timethese and --view cmpthese are text only: {advice}")));
        }
        if self.sort != Sort::Asked {
            let advice = "leave --sort out, or choose --view table";
            return usage(Err(anyhow!("--view timethese and --view cmpthese have an order of their own: {advice}")));
        }
        Ok(())
    }
}

pub fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit> {
    args.view.check()?;
    let screen = terminal::screen();
    match crate::store::read_any(&args.file)? {
        Stored::Run(_) if args.by.is_some() => {
            usage(Err(anyhow!("--by is for profiles, {} is a result file: leave it out", args.file.display())))?
        }
        Stored::Run(run) => write_run(&run, &args.view, screen, out)?,
        Stored::Profile(_) if args.view.is_for_runs() => usage(Err(anyhow!(
            "--view, --sort and --no-plot are for result files, {} is a profile: leave them out, or say --by",
            args.file.display()
        )))?,
        Stored::Profile(profile) => {
            write_profile(&profile, args.by.unwrap_or_default(), args.view.format, screen, out)?;
        }
    }
    Ok(Exit::Success)
}

/// Writes a run in the format that `view` asks for; where a parameter has three values or more, with a table by that
/// parameter after the ordinary one. CSV is one table only, for the programs that read it.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_run(run: &Run, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let summary = summarize(run);
    for (i, kind) in view.kinds(run).into_iter().enumerate() {
        if i > 0 {
            writeln!(out)?;
        }
        match kind {
            ViewKind::Table => write_tables(run, &summary, view, screen, out)?,
            _ => write_cmpthese(run, &summary, kind, out)?,
        }
    }
    Ok(())
}

fn write_tables(run: &Run, summary: &Summary, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    match view.format {
        Format::Json => write_summary(run, summary, out),
        Format::Csv => write_table(&summary_table(summary, &run.host, view.sort), view.format, screen, out),
        format => {
            write_table(&summary_table(summary, &run.host, view.sort), format, screen, out)?;
            let families = families(run);
            families.iter().filter(|f| f.is_worth_a_table()).try_for_each(|f| write_family(f, view, screen, out))
        }
    }
}

fn write_family(family: &Family, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let width = screen.width.filter(|_| view.format == Format::Text);
    for page in pages(&parameter_table(family), width) {
        writeln!(out)?;
        write_table(&page, view.format, screen, out)?;
    }
    let lines = width.filter(|_| !view.no_plot).map(|width| plot(family, width)).unwrap_or_default();
    write_lines(&lines, out)
}

/// The lines below an empty one; nothing of none.
fn write_lines(lines: &[String], out: &mut dyn Write) -> Result<()> {
    if !lines.is_empty() {
        writeln!(out)?;
    }
    for line in lines {
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
