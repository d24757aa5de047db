//! `syscost fleet sql`: prints a question about gathered rows as SQL.

use super::super::error::usage;
use super::super::exit::Exit;
use crate::fleet::sql::{Engine, QUESTIONS, source};
use anyhow::{Result, anyhow};
use clap::builder::PossibleValuesParser;
use std::io::Write;

/// Print a question about the rows of many hosts as SQL, for the engine that keeps them.
///
/// outliers: hosts whose cost of a case is far from that of others with the same processor and kernel. upgrades: kernel
/// upgrades that changed the cost of a case, with ratio, hosts and first day. since: the day on which a cost changed. spread:
/// scatter between hosts, and between the runs of one. DuckDB, ClickHouse, DataFusion and Spark run the statements as they are, with
/// the same answers.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct SqlArgs {
    /// What to ask.
    #[arg(value_parser = PossibleValuesParser::new(QUESTIONS.iter().map(|question| question.name)))]
    question: String,
    /// Where the rows are: a table, or files of 'syscost fleet rows' by a path with wildcards, which end with .parquet or .jsonl.
    #[arg(long, value_name = "TABLE|PATH", default_value = "rows")]
    from: String,
    /// The engine that reads the files: each has its own syntax for them. A table's name works in all.
    #[arg(long, value_enum, default_value = "duckdb")]
    engine: Engine,
    /// Columns that compared hosts share; repeatable [default: cpu and kernel, of upgrades and since: cpu].
    #[arg(long, value_name = "COLUMN", value_delimiter = ',')]
    group_by: Vec<String>,
}

const EXAMPLES: &str = "\
Examples:
  syscost fleet sql outliers --from 'rows/*.parquet' | duckdb
  syscost fleet sql upgrades --from 'rows/*.parquet' --engine clickhouse | clickhouse local
  syscost fleet sql since --from lake.syscost_rows --group-by cpu,label_pool

docs/fleet-sql.md tells how the verdicts are made, how often they are wrong, and what to change for Trino and BigQuery.";

/// Writes the statement. Errors: if the rows or a column cannot be named in SQL.
pub fn run(args: &SqlArgs, out: &mut dyn Write) -> Result<Exit> {
    let question = QUESTIONS.iter().find(|question| question.name == args.question);
    let question = usage(question.ok_or_else(|| anyhow!("no question '{}'", args.question)))?;
    let rows = usage(source(&args.from, args.engine))?;
    out.write_all(usage(question.sql(&rows, &args.group_by))?.as_bytes())?;
    Ok(Exit::Success)
}
