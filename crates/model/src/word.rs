/// The name of a variant that serde writes, or the text under its `tag`.
pub fn word(value: &impl serde::Serialize, tag: &str) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(name)) => name,
        Ok(fields) => fields[tag].as_str().unwrap_or_default().to_string(),
        Err(_) => String::new(),
    }
}
