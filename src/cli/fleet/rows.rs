//! `syscost fleet rows`: result files as flat rows, one line per case per run, for the engines that gather them.

use crate::cli::directory::{Skipped, expanded, shown};
use crate::cli::error::usage;
use crate::cli::exit::Exit;
use crate::cli::labels::Where;
use crate::cli::result_files::{check_labels, is_input};
use crate::kernel::threads::in_order;
use crate::report::rows::{Column, columns, write_row};
use crate::rows::{Row, rows};
use crate::store::{self, StoreError};
use anyhow::Result;
use clap::ValueEnum;
use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::io::Write;
use std::mem::take as take_out;
use std::path::{Path, PathBuf};

/// Print result files as rows for data engines: one JSON line per case per run, with the same flat columns in every line.
///
/// A file that cannot be read as a result file is named and skipped; the exit status is then 3.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RowsArgs {
    /// Result files, and directories whose *.json files are read; '-' for standard input.
    #[arg(value_name = "FILE|DIR", required = true)]
    inputs: Vec<PathBuf>,
    #[command(flatten)]
    filter: Where,
    /// Output format.
    #[arg(long, value_enum, default_value = "json")]
    format: RowsFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RowsFormat {
    /// JSON Lines.
    Json,
    /// A Parquet file, in builds with the cargo feature 'parquet'.
    Parquet,
}

const EXAMPLES: &str = "\
Examples:
  syscost fleet rows results/ > rows.jsonl
  syscost fleet rows results/ --where pool=web | duckdb -c \"SELECT host, median_ns FROM read_json('/dev/stdin')\"
  syscost fleet rows a.json b.json | clickhouse local --input-format JSONEachRow -q 'SELECT host, count() FROM table GROUP BY host'

Every line has every column, null where it is unknown; the labels are those of all files together, as label_KEY.
FORMAT.md describes the columns (syscost.row/1).";

/// Writes the rows of all files. Errors: if a directory cannot be read, or `out` cannot be written.
pub fn run(args: &RowsArgs, out: &mut dyn Write) -> Result<Exit> {
    usage(check_labels(&args.inputs, &[]))?;
    let mut skipped = Skipped::default();
    let files = expanded(&args.inputs, &["json"], &mut skipped)?;
    let mut sources = Sources { input: input(&files)?, files, filter: &args.filter, labels: BTreeSet::new(), skipped };
    sources.find_labels();
    let columns = columns(&sources.labels);
    match args.format {
        RowsFormat::Json => write_json(&mut sources, &columns, out)?,
        RowsFormat::Parquet => write_parquet(&mut sources, &columns, out)?,
    }
    Ok(sources.skipped.told())
}

fn write_json(sources: &mut Sources, columns: &[Column], out: &mut dyn Write) -> Result<()> {
    let lines = |rows: Vec<Row>| {
        let mut lines = Vec::new();
        rows.iter().try_for_each(|row| write_row(row, columns, &mut lines)).map(|()| lines)
    };
    sources.each(lines, |lines| Ok(out.write_all(&lines?)?))
}

#[cfg(feature = "parquet")]
fn write_parquet(sources: &mut Sources, columns: &[Column], out: &mut dyn Write) -> Result<()> {
    use std::io::IsTerminal;
    if std::io::stdout().is_terminal() {
        return usage(Err(anyhow::anyhow!("--format parquet is not for a terminal: redirect it to a file")));
    }
    let mut file = crate::report::rows::ParquetRows::new(columns, out)?;
    sources.each(|rows| rows, |rows| file.add(rows))?;
    file.finish()
}

#[cfg(not(feature = "parquet"))]
fn write_parquet(_: &mut Sources, _: &[Column], _: &mut dyn Write) -> Result<()> {
    usage(Err(anyhow::anyhow!(
        "--format parquet: this syscost was built without it; build it with 'cargo install --features parquet', or convert JSON \
         with duckdb: COPY (FROM 'rows.jsonl') TO 'rows.parquet'"
    )))
}

fn input(files: &[PathBuf]) -> Result<Option<Vec<u8>>> {
    Ok(files.iter().find(|file| is_input(file)).map(|file| store::bytes(file)).transpose()?)
}

/// The files. Each is read twice, first for its labels alone: columns must be known before the first row is written, and all
/// files do not fit in memory.
struct Sources<'a> {
    files: Vec<PathBuf>,
    /// Standard input, which can be read once only.
    input: Option<Vec<u8>>,
    filter: &'a Where,
    /// The keys of the labels of all files that are taken.
    labels: BTreeSet<String>,
    skipped: Skipped,
}

impl Sources<'_> {
    /// What `parse` makes of a file.
    fn read<T>(&self, file: &Path, parse: impl Fn(&[u8]) -> Result<T, StoreError>) -> Result<T, StoreError> {
        match &self.input {
            Some(bytes) if is_input(file) => parse(bytes),
            _ => parse(&store::bytes(file)?),
        }
    }

    /// Finds the labels. Files that cannot be read are left out: rows of one that can be read later would lack its labels.
    fn find_labels(&mut self) {
        let files = take_out(&mut self.files);
        let find = |index: usize| self.read(&files[index], |bytes| Ok(store::labels(bytes)));
        let mut found = Vec::with_capacity(files.len());
        let Ok(()) = in_order(files.len(), find, |labels| {
            found.push(labels);
            Ok::<(), Infallible>(())
        });
        for (file, labels) in files.into_iter().zip(found) {
            match labels {
                Ok(own) => {
                    self.labels
                        .extend(own.filter(|own| self.filter.takes(own)).into_iter().flat_map(BTreeMap::into_keys));
                    self.files.push(file);
                }
                Err(error) => self.skipped.add_unread(&error),
            }
        }
    }

    /// Hands what `make` makes of each file's rows to `take`, in order. Files that cannot be read are left out.
    fn each<T: Send>(
        &mut self,
        make: impl Fn(Vec<Row>) -> T + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<()> {
        let mut skipped = take_out(&mut self.skipped);
        let work = |index: usize| self.rows(&self.files[index]).map(|rows| rows.map(&make));
        let done = in_order(self.files.len(), work, |made| match made {
            Ok(made) => made.map_or(Ok(()), &mut take),
            Err((file, reason)) => {
                skipped.add(&file, &reason);
                Ok(())
            }
        });
        self.skipped = skipped;
        done
    }

    /// The rows of a file that is taken; else its name, and why it cannot be read.
    fn rows(&self, file: &Path) -> Result<Option<Vec<Row>>, (String, String)> {
        let run = self.read(file, |bytes| store::run_from_bytes(file, bytes));
        let run = run.map_err(|error| (error.file().to_string(), error.reason()))?;
        if !self.filter.takes(&run.labels) {
            return Ok(None);
        }
        match run.labels.keys().all(|key| self.labels.contains(key)) {
            true => Ok(Some(rows(run))),
            false => Err((shown(file), "was replaced while it was read: read it again".to_string())),
        }
    }
}
