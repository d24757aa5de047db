//! `syscost compare --history DIR`: all result files of a directory; those that are none are named and skipped.

use super::super::directory::{Skipped, files_of, shown};
use super::super::error::usage;
use super::super::exit::Exit;
use super::super::result_files::{column, readable};
use super::super::terminal;
use super::args::{CompareArgs, HistoryFormat};
use crate::clean;
use crate::compare::history::histories;
use crate::compare::{Column, GroupBy, Metric, Selection};
use crate::report::{HistoryDocument, history_document, write_answer, write_otava, write_otava_config};
use anyhow::{Result, anyhow};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Writes the history of `directory`. Exit status 3 where a file had to be skipped. Errors: when the directory cannot
/// be read, or holds no result file that is of use.
pub fn run(
    args: &CompareArgs,
    directory: &Path,
    selection: &Selection,
    margin: f64,
    out: &mut dyn Write,
) -> Result<Exit> {
    let by: Vec<GroupBy> = args.group_by.iter().map(|key| GroupBy::new(key)).collect();
    let mut skipped = Skipped::default();
    let files = files_of(directory, &["json"], &mut skipped).map_err(|error| anyhow!("--history {error:#}"));
    let files = usage(files)?;
    let columns = columns(&files, selection, &mut skipped);
    let exit = skipped.told();
    if let Some(unknown) = by.iter().find(|by| !columns.iter().any(|column| by.is_known(&column.info))) {
        let key = clean::line(&unknown.key);
        return usage(Err(anyhow!(
            "--group-by {key}: no run has such a fact or label: name host, cpu, kernel, or a key of --label"
        )));
    }
    let machines = histories(columns, &by, selection, margin);
    if machines.iter().all(|machine| machine.series.is_empty()) {
        let none = format!("{}: no result file here has a row to show", shown(directory));
        return usage(Err(anyhow!("{none}: write runs into it with 'syscost run --out', or mend --only and --study")));
    }
    match args.format {
        HistoryFormat::Otava => usage(write_otava(&machines, out))?,
        HistoryFormat::OtavaConfig => usage(write_otava_config(&machines, out))?,
        HistoryFormat::Ours(format) => {
            let json = HistoryDocument { margin, machines: &machines };
            write_answer(&json, || history_document(&machines, margin), (format, terminal::screen()), out)?;
        }
    }
    Ok(exit)
}

/// The columns of the files that can be read, called by the files' names.
fn columns(files: &[PathBuf], selection: &Selection, skipped: &mut Skipped) -> Vec<Column> {
    let read = readable(files, |_, run| column(selection.study.as_ref(), &Metric::Time, run), skipped);
    let named = |(file, mut column): (&Path, Column)| {
        column.info.label = clean::line(&file.file_name().unwrap_or_default().to_string_lossy());
        column
    };
    read.into_iter().map(named).collect()
}
