//! Reads rows as `syscost fleet rows` printed them: `syscost.row/1`, one JSON object a line. Only what is needed to look at many hosts
//! is kept. Writing them is `report::rows`.

use crate::clean::excerpt;
use anyhow::{Context, Result, bail};
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

const SCHEMA: &str = "syscost.row/1";
/// Most bytes of a line; those of a run of a thousand blocks have 20 KB.
const MOST_BYTES: u64 = 16 << 20;

/// What is needed of a row. Text is as in the file.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RowLine {
    pub run_id: String,
    pub started_unix_s: Option<i64>,
    pub host: Option<String>,
    pub operation: String,
    pub params: String,
    pub environment: String,
    pub language: String,
    /// `ok` if there is a result.
    pub status: String,
    /// Nanoseconds per iteration; `None` for what is no time.
    pub median_ns: Option<f64>,
    /// What describes the machine, and labels, by column: those that have a text.
    pub columns: BTreeMap<String, String>,
}

/// Columns that hosts are grouped by, beside labels.
const GROUPING: [&str; 7] = ["cpu", "kernel", "hypervisor", "container", "libc", "mitigations", "tool"];

/// Hands each row of the file `path` to `take`.
///
/// # Errors
/// If it cannot be read or a line is no row. One line, without the file's name.
pub fn read_rows(path: &Path, mut take: impl FnMut(RowLine)) -> Result<()> {
    let file = File::open(path).context("cannot be read")?;
    let mut lines = BufReader::new(file);
    let mut line = Vec::new();
    for number in 1.. {
        line.clear();
        let read = (&mut lines).take(MOST_BYTES).read_until(b'\n', &mut line);
        if read.context("cannot be read")? == 0 {
            break;
        }
        if !line.trim_ascii().is_empty() {
            take(row(&line).with_context(|| format!("line {number}: not a row of 'syscost fleet rows'"))?);
        }
    }
    Ok(())
}

fn row(line: &[u8]) -> Result<RowLine> {
    let Line(schema, row) =
        serde_json::from_slice(line).map_err(|error| anyhow::anyhow!(excerpt(&error.to_string(), 200)))?;
    match schema.as_deref() {
        Some(SCHEMA) => Ok(row),
        Some(other) => bail!("its schema is '{}', and this syscost reads {SCHEMA}", excerpt(other, 60)),
        None => bail!("it has no \"schema\": \"{SCHEMA}\""),
    }
}

/// A line with its schema. Most of a line is not looked at, so that a million are read in seconds.
struct Line(Option<String>, RowLine);

impl<'de> Deserialize<'de> for Line {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Line, D::Error> {
        deserializer.deserialize_map(Fields)
    }
}

struct Fields;

impl<'de> Visitor<'de> for Fields {
    type Value = Line;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Line, A::Error> {
        let (mut schema, mut row) = (None, RowLine::default());
        while let Some(key) = map.next_key::<Cow<str>>()? {
            match key.as_ref() {
                "schema" => schema = map.next_value()?,
                "run_id" => row.run_id = text(&mut map)?,
                "started_unix_s" => row.started_unix_s = map.next_value()?,
                "host" => row.host = map.next_value()?,
                "operation" => row.operation = text(&mut map)?,
                "params" => row.params = text(&mut map)?,
                "environment" => row.environment = text(&mut map)?,
                "language" => row.language = text(&mut map)?,
                "status" => row.status = text(&mut map)?,
                "median_ns" => row.median_ns = map.next_value()?,
                column if GROUPING.contains(&column) || column.starts_with("label_") => {
                    if let Some(value) = map.next_value()? {
                        row.columns.insert(column.to_string(), value);
                    }
                }
                _ => _ = map.next_value::<IgnoredAny>()?,
            }
        }
        Ok(Line(schema, row))
    }
}

/// A text that may be null.
fn text<'de, A: MapAccess<'de>>(map: &mut A) -> Result<String, A::Error> {
    Ok(map.next_value::<Option<String>>()?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Vec<RowLine>> {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        let mut rows = Vec::new();
        read_rows(file.path(), |row| rows.push(row))?;
        Ok(rows)
    }

    #[test]
    fn a_row_is_what_the_line_says() {
        let line = r#"{"schema":"syscost.row/1","run_id":"r","started_unix_s":5,"host":"n","cpu":"x","kernel":null,
            "label_pool":"a\n\"","operation":"file.stat","params":null,"median_ns":2.5,"status":"ok","block_ns":[1,2]}"#;
        let rows = read(&format!("{}\n\n", line.replace('\n', ""))).unwrap();
        assert_eq!(rows.len(), 1);
        let columns = [("cpu", "x"), ("label_pool", "a\n\"")].map(|(k, v)| (k.to_string(), v.to_string()));
        assert_eq!((rows[0].median_ns, rows[0].params.as_str(), &rows[0].columns), (Some(2.5), "", &columns.into()));
    }

    #[test]
    fn what_is_no_row_is_named_with_its_line() {
        let good = r#"{"schema":"syscost.row/1","run_id":"r"}"#;
        let bad = [
            "{",
            "[]",
            "{}",
            r#"{"schema":"syscost.row/9"}"#,
            r#"{"schema":"syscost.row/1","median_ns":"x"}"#,
            "\u{1b}[",
        ];
        for bad in bad {
            let error = format!("{:#}", read(&format!("{good}\n{bad}")).unwrap_err());
            assert!(error.contains("line 2: not a row") && !error.contains('\n'), "{error}");
        }
    }
}
