//! `syscost show`: the table again, from a result file alone.

use super::{Exit, terminal};
use crate::model::Run;
use crate::report::{Format, Screen, Sort, summary_table, write_summary, write_table};
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
}

pub fn run(args: &ShowArgs, out: &mut dyn Write) -> Result<Exit> {
    let run = crate::store::read(&args.file)?;
    write_run(&run, &args.view, terminal::screen(), out)?;
    Ok(Exit::Success)
}

/// Writes a run in the format that `view` asks for.
///
/// # Errors
/// When `out` cannot be written.
pub fn write_run(run: &Run, view: &View, screen: Screen, out: &mut dyn Write) -> Result<()> {
    let summary = summarize(run);
    match view.format {
        Format::Json => write_summary(run, &summary, out),
        format => write_table(&summary_table(&summary, &run.host, view.sort), format, screen, out),
    }
}
