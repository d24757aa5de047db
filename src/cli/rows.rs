//! `syscost rows`: result files as flat rows, one line per case per run, for the engines that gather them.

use super::error::usage;
use super::exit::Exit;
use super::labels::Where;
use super::{messages, result_files};
use crate::report::rows::{Column, columns, write_row};
use crate::rows::{Row, rows};
use crate::store::{self, StoreError};
use anyhow::Result;
use clap::ValueEnum;
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
  syscost rows results/ > rows.jsonl
  syscost rows results/ --where pool=web | duckdb -c \"SELECT host, median_ns FROM read_json('/dev/stdin')\"
  syscost rows a.json b.json | clickhouse local --input-format JSONEachRow -q 'SELECT host, count() FROM table GROUP BY host'

Every line has every column, null where it is unknown; the labels are those of all files together, as label_KEY.
FORMAT.md describes the columns (syscost.row/1).";

/// Writes the rows of all files.
///
/// # Errors
/// If a directory cannot be read, or `out` cannot be written.
pub fn run(args: &RowsArgs, out: &mut dyn Write) -> Result<Exit> {
    let files = usage(result_files::expanded(&args.inputs))?;
    let sources = Sources { files: &files, input: input(&files)?, filter: &args.filter };
    let columns = columns(&sources.labels()?);
    let all_read = match args.format {
        RowsFormat::Json => write_json(&sources, &columns, out)?,
        RowsFormat::Parquet => write_parquet(&sources, &columns, out)?,
    };
    Ok(if all_read { Exit::Success } else { Exit::SomeFailed })
}

/// Returns whether every file was read; so does the other format.
fn write_json(sources: &Sources, columns: &[Column], out: &mut dyn Write) -> Result<bool> {
    let lines = |rows: Vec<Row>| {
        let mut lines = Vec::new();
        rows.iter().try_for_each(|row| write_row(row, columns, &mut lines)).map(|()| lines)
    };
    sources.each(lines, |lines| Ok(out.write_all(&lines?)?))
}

#[cfg(feature = "parquet")]
fn write_parquet(sources: &Sources, columns: &[Column], out: &mut dyn Write) -> Result<bool> {
    use std::io::IsTerminal;
    if std::io::stdout().is_terminal() {
        return usage(Err(anyhow::anyhow!("--format parquet is not for a terminal: redirect it to a file")));
    }
    let mut file = crate::report::rows::ParquetRows::new(columns, out)?;
    let all_read = sources.each(|rows| rows, |rows| file.add(rows))?;
    file.finish()?;
    Ok(all_read)
}

#[cfg(not(feature = "parquet"))]
fn write_parquet(_: &Sources, _: &[Column], _: &mut dyn Write) -> Result<bool> {
    usage(Err(anyhow::anyhow!(
        "--format parquet: this syscost was built without it; build it with 'cargo install --features parquet', or convert JSON \
         with duckdb: COPY (FROM 'rows.jsonl') TO 'rows.parquet'"
    )))
}

/// Standard input, if it is one of the files.
fn input(files: &[PathBuf]) -> Result<Option<Vec<u8>>> {
    Ok(files.iter().find(|file| result_files::is_input(file)).map(|file| store::bytes(file)).transpose()?)
}

/// The files. Each is read twice, first for its labels alone: columns must be known before the first row is written, and all
/// files do not fit in memory.
struct Sources<'a> {
    files: &'a [PathBuf],
    /// Standard input, which can be read once only.
    input: Option<Vec<u8>>,
    filter: &'a Where,
}

impl Sources<'_> {
    /// What `parse` makes of a file.
    fn read<T>(&self, index: usize, parse: impl Fn(&[u8]) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let file = &self.files[index];
        match &self.input {
            Some(bytes) if result_files::is_input(file) => parse(bytes),
            _ => parse(&store::bytes(file)?),
        }
    }

    /// The keys of the labels of all files that are taken, in their order. A file that cannot be read has none.
    fn labels(&self) -> Result<BTreeSet<String>> {
        let mut keys = BTreeSet::new();
        let labels = |index: usize| self.read(index, |bytes| Ok(store::labels(bytes))).unwrap_or_default();
        result_files::in_order(self.files.len(), labels, |own| {
            keys.extend(own.into_iter().filter(|own| self.filter.takes(own)).flat_map(|own| own.into_keys()));
            Ok(())
        })?;
        Ok(keys)
    }

    /// Hands what `make` makes of each file's rows to `take`, in order, and names the files that cannot be read. Returns
    /// whether there are none.
    fn each<T: Send>(
        &self,
        make: impl Fn(Vec<Row>) -> T + Sync,
        mut take: impl FnMut(T) -> Result<()>,
    ) -> Result<bool> {
        let mut all_read = true;
        let work = |index: usize| {
            let run = self.read(index, |bytes| store::run_from_bytes(&self.files[index], bytes))?;
            Ok::<_, StoreError>(self.filter.takes(&run.labels).then(|| make(rows(run))))
        };
        result_files::in_order(self.files.len(), work, |made| match made {
            Ok(made) => made.map_or(Ok(()), &mut take),
            Err(error) => {
                messages::tell(&format_args!("skipped: {error}"));
                all_read = false;
                Ok(())
            }
        })?;
        Ok(all_read)
    }
}
