//! `syscost compare FILE`: the ratios that one run's study derives, of what was measured in the same rounds.

use super::super::error::usage;
use super::super::exit::Exit;
use super::super::messages::Notes;
use super::super::{result_files, terminal};
use super::args::CompareArgs;
use crate::compare::{Column, within};
use crate::report::{Format, within_findings, within_table, write_table};
use crate::store;
use anyhow::{Result, anyhow};
use std::io::Write;
use std::path::Path;

/// Shows the ratios of the run in `file` and judges them. Errors: a usage error if there is none; what cannot be read
/// or written.
pub fn run(args: &CompareArgs, file: &Path, format: Format, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    let column = Column::new("", &store::read(file)?);
    let rows = within(&column, &args.gate.gate());
    if rows.is_empty() {
        return usage(result_files::check(&args.files, &args.labels)).map(|()| Exit::Success);
    }
    if !matches!(format, Format::Text | Format::Markdown) {
        let shown =
            "the ratios of one file are text or markdown; 'syscost show FILE --format json' has them as 'derived'";
        return usage(Err(anyhow!("--format: {shown}")));
    }
    let stem = || file.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let label = args.labels.first().cloned().unwrap_or_else(|| result_files::shortened(&stem()));
    write_table(&within_table(&rows, &label), format, terminal::screen(), out)?;
    out.flush()?;
    args.gate.conclude(&within_findings(&rows, &label), column.info.complete, notes)
}
