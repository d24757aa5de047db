//! `syscost show`: the table again, from a result file alone.

use super::{Exit, terminal};
use crate::fit::{Family, families};
use crate::model::Run;
use crate::report::{Format, Screen, Sort, pages, parameter_table, plot, summary_table, write_summary, write_table};
use crate::summary::summarize;
use anyhow::Result;
use std::io::Write;
use std::path::PathBuf;

/// Show a result file as a table.
#[derive(clap::Args)]
#[command(after_help = "Examples:\n  syscost show now.json\n  syscost show now.json --format csv --sort cost")]
pub struct ShowArgs {
    /// A file that `syscost run --out` wrote.
    file: PathBuf,
    #[command(flatten)]
    pub view: View,
}

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
}

pub fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit> {
    let run = crate::store::read(&args.file)?;
    write_run(&run, &args.view, terminal::screen(), out)?;
    Ok(Exit::Success)
}

/// Writes a run in the format that `view` asks for; where a parameter has three values or more, with a table by that
/// parameter after the ordinary one. CSV is one table only, for the programs that read it.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_run(run: &Run, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let summary = summarize(run);
    match view.format {
        Format::Json => write_summary(run, &summary, out),
        Format::Csv => write_table(&summary_table(&summary, &run.host, view.sort), view.format, screen, out),
        format => {
            write_table(&summary_table(&summary, &run.host, view.sort), format, screen, out)?;
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
