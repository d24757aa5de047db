//! The four questions as SQL: text that an engine runs as it is. Pure; called by `syscost fleet sql`.
//!
//! The statements use what DuckDB, ClickHouse, DataFusion and Spark have in common: window functions, no dialect's median (it
//! is exact in some and approximate in others), doubles written with an exponent (Spark reads `0.05` as a decimal), and no
//! name twice in a SELECT (ClickHouse takes the second). Values of rows are never part of the text.

use super::questions::{
    DEVIATIONS, FEWEST_DAYS, FEWEST_HOSTS, FEWEST_UPGRADED, LEAST_CHANGE, LEAST_SCALE, SMALL_GROUPS,
};
use crate::clean::excerpt;
use anyhow::{Result, bail};

/// A question with its statement and the columns whose values hosts of a group have in common, unless others are asked for.
pub struct Question {
    pub name: &'static str,
    template: &'static str,
    columns: &'static [&'static str],
}

pub const QUESTIONS: [Question; 4] = [
    Question { name: "outliers", template: include_str!("sql/outliers.sql"), columns: &["cpu", "kernel"] },
    Question { name: "upgrades", template: include_str!("sql/upgrades.sql"), columns: &["cpu"] },
    Question { name: "since", template: include_str!("sql/since.sql"), columns: &["cpu"] },
    Question { name: "spread", template: include_str!("sql/spread.sql"), columns: &["cpu", "kernel"] },
];

const CASE: [&str; 4] = ["operation", "params", "environment", "language"];
/// Columns of rows that describe a machine.
const MACHINE: [&str; 7] = ["cpu", "kernel", "hypervisor", "container", "libc", "mitigations", "tool"];

/// Who runs the statement; only the name of the rows differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    #[value(name = "duckdb")]
    DuckDb,
    #[value(name = "clickhouse")]
    ClickHouse,
    #[value(name = "datafusion")]
    DataFusion,
    Spark,
}

impl Question {
    /// The statement over `rows`, as [`source`] gives it. `columns` replaces those of the question unless it is empty.
    ///
    /// # Errors
    /// A column that does not group hosts.
    pub fn sql(&self, rows: &str, columns: &[String]) -> Result<String> {
        let columns: Vec<&str> = match columns {
            [] => self.columns.to_vec(),
            _ => columns.iter().map(String::as_str).collect(),
        };
        columns.iter().try_for_each(|column| self.check(column))?;
        // Whatever was put in is not looked at again: a path may hold braces.
        let mut left = self.template;
        let mut sql = String::new();
        while let Some((before, (name, after))) =
            left.split_once('{').and_then(|(b, rest)| Some((b, rest.split_once('}')?)))
        {
            sql += before;
            sql += &value(name, rows, &columns);
            left = after;
        }
        Ok(sql + left)
    }

    fn check(&self, column: &str) -> Result<()> {
        if column == "kernel" && self.name == "upgrades" {
            bail!("--group-by kernel: upgrades go from one kernel to another: leave it out");
        }
        check_column(column)
    }
}

/// Checks that hosts can be grouped by the column of rows.
///
/// # Errors
/// Which can, if it does not.
pub fn check_column(column: &str) -> Result<()> {
    let key = column.strip_prefix("label_").unwrap_or("");
    let is_label = !key.is_empty() && key.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
    if !is_label && !MACHINE.contains(&column) {
        let known = MACHINE.join(", ");
        bail!("--group-by: no column '{}': choose from {known}, label_KEY", excerpt(column, 60));
    }
    Ok(())
}

fn value(name: &str, rows: &str, columns: &[&str]) -> String {
    let known =
        |columns: &[&str]| columns.iter().map(|c| format!("coalesce({c}, '') AS {c}")).collect::<Vec<_>>().join(", ");
    match name {
        "rows" => rows.to_string(),
        "case" => CASE.join(", "),
        "case_of_rows" => known(&CASE),
        "group" => columns.join(", "),
        "group_of_rows" => known(columns),
        "least_change" => format!("{LEAST_CHANGE:e}"),
        "least_scale" => format!("{LEAST_SCALE:e}"),
        "deviations" => format!("{DEVIATIONS:e}"),
        "small_groups" => format!("{SMALL_GROUPS:e}"),
        "fewest_hosts" => FEWEST_HOSTS.to_string(),
        "fewest_upgraded" => FEWEST_UPGRADED.to_string(),
        "fewest_days" => FEWEST_DAYS.to_string(),
        _ => unreachable!("no value for {{{name}}} in a question's SQL; the tests render each"),
    }
}

/// How `engine` calls the rows in `from`: a table's name, or the path of Parquet or JSON files.
///
/// # Errors
/// If it is neither, or cannot be quoted for every engine.
pub fn source(from: &str, engine: Engine) -> Result<String> {
    if is_table(from) {
        return Ok(from.to_string());
    }
    if from.is_empty() || from.chars().any(|c| c.is_control() || c == '\\' || c == '`') {
        bail!("--from: a path without control characters, backslashes and backticks, or the name of a table");
    }
    let format = Format::from_path(from)?;
    let path = from.replace('\'', "''");
    Ok(match (engine, format) {
        (Engine::DuckDb, Format::Parquet) => format!("read_parquet('{path}')"),
        (Engine::DuckDb, Format::JsonLines) => format!("read_json_auto('{path}', format = 'newline_delimited')"),
        (Engine::ClickHouse, Format::Parquet) => format!("file('{path}', 'Parquet')"),
        (Engine::ClickHouse, Format::JsonLines) => format!("file('{path}', 'JSONEachRow')"),
        (Engine::DataFusion, Format::JsonLines) if !from.ends_with(".json") => {
            bail!(
                "--from {}: DataFusion reads JSON lines only from files that end with .json: rename them",
                excerpt(from, 80)
            )
        }
        (Engine::DataFusion, _) => format!("'{path}'"),
        (Engine::Spark, Format::Parquet) => format!("parquet.`{from}`"),
        (Engine::Spark, Format::JsonLines) => format!("json.`{from}`"),
    })
}

/// `rows`, `lake.syscost.rows`
fn is_table(from: &str) -> bool {
    let is_name = |part: &str| {
        part.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
    };
    Format::from_path(from).is_err() && from.split('.').all(is_name)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    Parquet,
    JsonLines,
}

impl Format {
    fn from_path(path: &str) -> Result<Format> {
        match path.rsplit_once('.').map(|(_, end)| end) {
            Some("parquet") => Ok(Format::Parquet),
            Some("json" | "jsonl" | "ndjson") => Ok(Format::JsonLines),
            _ => bail!(
                "--from {}: a table, or files that end with .parquet, .jsonl, .ndjson or .json",
                excerpt(path, 80)
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_question_has_a_statement_without_holes() {
        for question in &QUESTIONS {
            let sql = question.sql("rows", &[]).unwrap();
            assert!(!sql.contains(['{', '}']) && sql.contains("FROM rows\n"), "{sql}");
            let grouped = question.sql("rows", &["label_pool".into(), "libc".into()]).unwrap();
            let columns = "coalesce(label_pool, '') AS label_pool, coalesce(libc, '') AS libc";
            assert!(grouped.contains(columns), "{grouped}");
        }
    }

    #[test]
    fn a_column_is_a_name_and_nothing_else() {
        for wrong in
            ["host", "operation", "label_", "label_a b", "label_a;--", "label_a\"", "cpu, host", "", "median_ns"]
        {
            assert!(QUESTIONS[0].sql("rows", &[wrong.into()]).is_err(), "{wrong}");
        }
        assert!(QUESTIONS[1].sql("rows", &["kernel".into()]).is_err());
    }

    #[test]
    fn a_path_cannot_end_its_quotation() {
        let path = "it's {case} /*.parquet";
        let of = |engine| source(path, engine).unwrap();
        assert_eq!(of(Engine::DuckDb), "read_parquet('it''s {case} /*.parquet')");
        assert_eq!(of(Engine::ClickHouse), "file('it''s {case} /*.parquet', 'Parquet')");
        assert_eq!(of(Engine::Spark), "parquet.`it's {case} /*.parquet`");
        assert!(QUESTIONS[0].sql(&of(Engine::DataFusion), &[]).unwrap().contains("FROM 'it''s {case} /*.parquet'\n"));
        for wrong in ["a\nb.parquet", "a\\.parquet", "a`b.parquet", "", "a b", "rows; DROP TABLE x", "a/b.csv"] {
            assert!(source(wrong, Engine::DuckDb).is_err(), "{wrong:?}");
        }
        assert_eq!(source("lake.rows", Engine::Spark).unwrap(), "lake.rows");
    }
}
