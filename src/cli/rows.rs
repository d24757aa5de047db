//! `syscost rows`: result files as flat rows, one line per case per run, for the engines that gather them.

use super::error::usage;
use super::exit::Exit;
use super::{messages, result_files};
use crate::report::rows::{Column, columns, write_row};
use crate::rows::rows;
use crate::store::{self, StoreError};
use anyhow::Result;
use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

/// Print result files as rows for data engines: one JSON line per case per run, with the same flat columns in every line.
///
/// A file that cannot be read as a result file is named and skipped; the exit status is then 3.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RowsArgs {
    /// Result files, and directories whose *.json files are read; '-' for standard input.
    #[arg(value_name = "FILE|DIR", required = true)]
    inputs: Vec<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  syscost rows results/ > rows.jsonl
  syscost rows results/ | duckdb -c \"SELECT host, median_ns FROM read_json('/dev/stdin') WHERE operation = 'file.stat'\"
  syscost rows a.json b.json | clickhouse local --input-format JSONEachRow -q 'SELECT host, count() FROM table GROUP BY host'

Every line has every column, null where it is unknown; the labels are those of all files together, as label_KEY.
FORMAT.md describes the columns (syscost.row/1).";

/// Writes the rows of all files.
///
/// # Errors
/// If a directory cannot be read, or `out` cannot be written.
pub fn run(args: &RowsArgs, out: &mut dyn Write) -> Result<Exit> {
    let files = usage(result_files::expanded(&args.inputs))?;
    let sources = Sources::of(&files)?;
    let columns = columns(&sources.labels()?);
    let mut skipped = false;
    let lines = |index: usize| sources.lines(index, &columns);
    result_files::in_order(files.len(), lines, |lines| {
        match lines {
            Ok(lines) => out.write_all(&lines?)?,
            Err(error) => {
                messages::tell(&format_args!("skipped: {error}"));
                skipped = true;
            }
        }
        Ok(())
    })?;
    Ok(if skipped { Exit::SomeFailed } else { Exit::Success })
}

/// The files. Each is read twice, first for its labels alone: columns must be known before the first row is written, and all
/// files do not fit in memory.
struct Sources<'a> {
    files: &'a [PathBuf],
    /// Standard input, which can be read once only.
    input: Option<Vec<u8>>,
}

impl Sources<'_> {
    fn of(files: &[PathBuf]) -> Result<Sources<'_>> {
        let input =
            files.iter().find(|file| result_files::is_input(file)).map(|file| store::bytes(file)).transpose()?;
        Ok(Sources { files, input })
    }

    /// What a file holds, to be read as a run by `read`.
    fn read<T>(&self, index: usize, read: impl Fn(&[u8]) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let file = &self.files[index];
        match &self.input {
            Some(bytes) if result_files::is_input(file) => read(bytes),
            _ => read(&store::bytes(file)?),
        }
    }

    /// The keys of all files' labels, in their order. A file that cannot be read has none.
    fn labels(&self) -> Result<BTreeSet<String>> {
        let mut keys = BTreeSet::new();
        let labels = |index: usize| self.read(index, |bytes| Ok(store::label_keys(bytes))).unwrap_or_default();
        result_files::in_order(self.files.len(), labels, |own| {
            keys.extend(own);
            Ok(())
        })?;
        Ok(keys)
    }

    /// The lines of one file.
    fn lines(&self, index: usize, columns: &[Column]) -> Result<Result<Vec<u8>>, StoreError> {
        let run = self.read(index, |bytes| store::run_from_bytes(&self.files[index], bytes))?;
        let mut lines = Vec::new();
        let written = rows(run).iter().try_for_each(|row| write_row(row, columns, &mut lines));
        Ok(written.map(|()| lines))
    }
}
