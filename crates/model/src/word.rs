use serde::Serialize;
use serde_json::Value;

/// The name of a variant that serde writes, or the text under its `tag`.
pub fn word(value: &impl Serialize, tag: &str) -> String {
    match serde_json::to_value(value) {
        Ok(Value::String(name)) => name,
        Ok(fields) => fields[tag].as_str().unwrap_or_default().to_string(),
        Err(_) => String::new(),
    }
}
