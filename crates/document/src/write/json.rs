//! JSON documents: values with the name of their schema.

use anyhow::Result;
use model::JsonDocument;
use serde::Serialize;
use std::io::Write;

#[derive(Serialize)]
struct Named<'a, T> {
    schema: &'static str,
    #[serde(flatten)]
    document: &'a T,
}

/// Indented, for one document per file or command.
pub fn write_json<T: JsonDocument>(document: &T, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer_pretty(&mut *out, &named(document))?;
    Ok(writeln!(out)?)
}

/// On one line, for streams of documents.
pub fn write_json_line<T: JsonDocument>(document: &T, out: &mut dyn Write) -> Result<()> {
    serde_json::to_writer(&mut *out, &named(document))?;
    Ok(writeln!(out)?)
}

fn named<T: JsonDocument>(document: &T) -> Named<'_, T> {
    Named {
        schema: T::SCHEMA,
        document,
    }
}

/// The schema of the document's type, with the constant value of its `schema` field.
#[cfg(feature = "schema")]
pub fn json_schema<T: JsonDocument + schemars::JsonSchema>() -> serde_json::Value {
    let generator = schemars::generate::SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let mut schema = generator.into_root_schema_for::<T>().to_value();
    schema["properties"]["schema"] = serde_json::json!({"const": T::SCHEMA});
    if let Some(required) = schema["required"].as_array_mut() {
        required.push("schema".into());
    }
    schema
}
