//! Rows as JSON Lines, and their JSON Schema.

use super::columns::LABEL;
use super::{Column, Kind, SCHEMA, Value, columns};
use crate::rows::Row;
use anyhow::Result;
use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::{Map, json};
use std::io::Write;

/// A row with its columns.
struct Line<'a>(&'a Row, &'a [Column]);

impl Serialize for Line<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Line(row, columns) = self;
        let mut map = serializer.serialize_map(Some(columns.len()))?;
        columns.iter().try_for_each(|column| map.serialize_entry(&column.name, &column.value(row)))?;
        map.end()
    }
}

impl Serialize for Value<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Value::Null => serializer.serialize_unit(),
            Value::Text(text) => serializer.serialize_str(text),
            Value::Flag(flag) => serializer.serialize_bool(flag),
            Value::Whole(number) => serializer.serialize_i64(number),
            Value::Number(number) => serializer.serialize_f64(number),
            Value::Numbers(numbers) => numbers.serialize(serializer),
        }
    }
}

/// Writes `row` on a line.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_row(row: &Row, columns: &[Column], out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(&mut *out, &Line(row, columns))?;
    Ok(out.write_all(b"\n")?)
}

/// The JSON Schema of a line.
pub fn schema() -> serde_json::Value {
    let columns = columns([]);
    let property = |column: &Column| (column.name.clone(), property(column));
    let mut properties: Map<String, serde_json::Value> = columns.iter().map(property).collect();
    properties["schema"] = json!({"const": SCHEMA});
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": SCHEMA,
        "description": "One case of one run. A line of `syscost fleet rows`.",
        "type": "object",
        "properties": properties,
        "patternProperties": {"^label_[a-z][a-z0-9_]*$": {"description": sentence(LABEL), "type": ["string", "null"]}},
        "required": columns.iter().map(|column| column.name.as_str()).collect::<Vec<_>>(),
    })
}

fn property(column: &Column) -> serde_json::Value {
    let name = match column.kind {
        Kind::Text => "string",
        Kind::Flag => "boolean",
        Kind::Whole => "integer",
        Kind::Number => "number",
        Kind::Numbers => "array",
    };
    let kind = if column.nullable { json!([name, "null"]) } else { json!(name) };
    let mut property = json!({"description": sentence(column.about), "type": kind});
    if column.kind == Kind::Numbers {
        property["items"] = json!({"type": "number"});
    }
    property
}

fn sentence(about: &str) -> String {
    let mut letters = about.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>()).unwrap_or_default();
    format!("{first}{}.", letters.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Run;
    use crate::model::fixtures::{instructions, record, run};
    use crate::rows::rows;

    fn lines(run: Run, labels: &[&str]) -> Vec<serde_json::Value> {
        let keys: Vec<String> = labels.iter().map(ToString::to_string).collect();
        let columns = columns(&keys);
        let mut out = Vec::new();
        rows(run).iter().for_each(|row| write_row(row, &columns, &mut out).unwrap());
        let text = String::from_utf8(out).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    #[test]
    fn every_row_has_every_column_and_only_scalars_and_doubles() {
        let mut whole = run(vec![record("file.stat", 300), instructions("file.stat", "linux-6.1", &[1000])]);
        whole.started_unix_s = u64::MAX;
        whole.seed = u64::MAX;
        whole.labels.insert("pool".into(), "a\"\n\u{1b}\u{2028}".into());
        let mut names: Vec<String> =
            columns(&["pool".to_string(), "zone".to_string()]).into_iter().map(|column| column.name).collect();
        names.sort();
        for line in lines(whole, &["pool", "zone"]) {
            let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
            assert_eq!(keys, names.iter().collect::<Vec<_>>());
            assert_eq!((&line["label_pool"], &line["label_zone"]), (&json!("a\"\n\u{1b}\u{2028}"), &json!(null)));
            for (key, value) in line.as_object().unwrap() {
                let doubles = value.as_array().is_none_or(|list| list.iter().all(serde_json::Value::is_f64));
                let scalar = !value.is_object() && !value.is_u64() || key == "started_unix_s";
                assert!(doubles && scalar, "{key}: {value}");
            }
            assert_eq!(line["started_unix_s"], json!(null));
        }
    }

    #[test]
    fn instructions_are_never_nanoseconds() {
        let line = lines(run(vec![instructions("file.stat", "linux-6.1", &[1000])]), &[]).remove(0);
        assert_eq!((&line["unit"], &line["value"]), (&json!("instructions"), &json!(1000.0)));
        for (key, value) in line.as_object().unwrap().iter().filter(|(key, _)| key.ends_with("_ns")) {
            assert_eq!(*value, json!(null), "{key}");
        }
    }
}
