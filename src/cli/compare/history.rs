//! `syscost compare --history DIR`: all result files of a directory; those that are none are named and skipped.

use super::super::error::usage;
use super::super::exit::Exit;
use super::super::result_files::{column, in_directory, read_all};
use super::super::{messages, terminal};
use crate::clean;
use crate::compare::history::histories;
use crate::compare::{Column, Selection};
use crate::report::{Format, HistoryDocument, write_history, write_history_csv, write_json};
use anyhow::{Result, anyhow};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes the history of `directory`. Exit status 3 where a file had to be skipped.
///
/// # Errors
/// When the directory cannot be read, or holds no result file that is of use.
pub fn run(directory: &Path, selection: &Selection, margin: f64, format: Format, out: &mut dyn Write) -> Result<Exit> {
    let files = usage(in_directory(directory).map_err(|error| anyhow!("--history {error:#}")))?;
    let (columns, skipped) = readable(&files, selection);
    let machines = histories(columns, selection, margin);
    if machines.iter().all(|machine| machine.series.is_empty()) {
        let none = format!("{}: no result file here has a row to show", shown(directory));
        return usage(Err(anyhow!("{none}: write runs into it with 'syscost run --out', or mend --only and --study")));
    }
    match format {
        Format::Json => write_json(&HistoryDocument { margin, machines: &machines }, out)?,
        Format::Csv => write_history_csv(&machines, out)?,
        format => write_history(&machines, margin, format, terminal::screen(), out)?,
    }
    Ok(if skipped { Exit::SomeFailed } else { Exit::Success })
}

fn shown(path: &Path) -> String {
    clean::line(&path.to_string_lossy())
}

/// The columns of the files that can be read, called by the files' names; the others are named on standard error.
fn readable(files: &[PathBuf], selection: &Selection) -> (Vec<Column>, bool) {
    let mut columns = Vec::new();
    let mut skipped = false;
    for (file, found) in files.iter().zip(read_all(files, |_, run| column(selection.study.as_ref(), run))) {
        match found {
            Ok(mut column) => {
                column.info.label = clean::line(&file.file_name().unwrap_or_default().to_string_lossy());
                columns.push(column);
            }
            Err(error) => {
                messages::tell(&format_args!("skipped: {error}"));
                skipped = true;
            }
        }
    }
    (columns, skipped)
}
