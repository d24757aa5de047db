//! `syscost compare --history DIR`: all result files of a directory; those that are none are named and skipped.

use super::super::directory::{Skipped, files_of, shown};
use super::super::error::usage;
use super::super::exit::Exit;
use super::super::result_files::{column, readable};
use super::super::terminal;
use crate::clean;
use crate::compare::history::histories;
use crate::compare::{Column, GroupBy, Metric, Selection};
use crate::report::{Format, HistoryDocument, history_document, write_answer, write_otava, write_otava_config};
use anyhow::{Result, anyhow};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// How a history is written: in a format of our own, or for Apache Otava.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HistoryFormat {
    Ours(Format),
    Otava,
    OtavaConfig,
}

impl ValueEnum for HistoryFormat {
    fn value_variants<'a>() -> &'a [HistoryFormat] {
        static ALL: LazyLock<Vec<HistoryFormat>> = LazyLock::new(|| {
            let ours = Format::value_variants().iter().map(|format| HistoryFormat::Ours(*format));
            ours.chain([HistoryFormat::Otava, HistoryFormat::OtavaConfig]).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            HistoryFormat::Ours(format) => format.to_possible_value(),
            HistoryFormat::Otava => Some(PossibleValue::new("otava").help("A history as CSV for Apache Otava")),
            HistoryFormat::OtavaConfig => {
                Some(PossibleValue::new("otava-config").help("The configuration that goes with it"))
            }
        }
    }
}

/// What is asked.
pub struct Question<'a> {
    pub directory: &'a Path,
    /// What runs are grouped by; nothing for the host.
    pub by: &'a [GroupBy],
    pub selection: &'a Selection,
    /// Smaller changes are left out, as a share.
    pub margin: f64,
    pub format: HistoryFormat,
}

/// Writes the history of `directory`. Exit status 3 where a file had to be skipped. Errors: when the directory cannot
/// be read, or holds no result file that is of use.
pub fn run(question: &Question, out: &mut dyn Write) -> Result<Exit> {
    let Question { directory, by, selection, margin, format } = *question;
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
    let machines = histories(columns, by, selection, margin);
    if machines.iter().all(|machine| machine.series.is_empty()) {
        let none = format!("{}: no result file here has a row to show", shown(directory));
        return usage(Err(anyhow!("{none}: write runs into it with 'syscost run --out', or mend --only and --study")));
    }
    match format {
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
