//! The rows of a table as programs read them.

use itertools::Itertools;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    pub(crate) names: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<Value>>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Value {
    Unknown,
    Text(String),
    Number(f64),
    Count(u64),
}

impl From<f64> for Value {
    fn from(number: f64) -> Value {
        if number.is_finite() {
            Value::Number(number)
        } else {
            Value::Unknown
        }
    }
}

impl From<u64> for Value {
    fn from(count: u64) -> Value {
        Value::Count(count)
    }
}

impl From<String> for Value {
    fn from(text: String) -> Value {
        Value::Text(text)
    }
}

impl From<&str> for Value {
    fn from(text: &str) -> Value {
        Value::Text(text.to_string())
    }
}

impl From<&String> for Value {
    fn from(text: &String) -> Value {
        Value::Text(text.clone())
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(known: Option<T>) -> Value {
        known.map_or(Value::Unknown, Into::into)
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Unknown => Ok(()),
            Value::Text(text) => f.write_str(text),
            Value::Number(number) => write!(f, "{number}"),
            Value::Count(count) => write!(f, "{count}"),
        }
    }
}

impl Records {
    /// The field names, in the order of the values in each row.
    pub fn names(&self) -> &[&'static str] {
        &self.names
    }

    /// One list of values per row, as many as there are names.
    pub fn rows(&self) -> &[Vec<Value>] {
        &self.rows
    }
}

/// `file.stat depth=4 entries=0`
pub fn with_params(name: &str, parameters: &BTreeMap<String, u64>) -> String {
    format!("{name} {}", params(parameters))
        .trim_end()
        .to_string()
}

/// `depth=4 entries=0`
pub fn params<'p, V: fmt::Display + 'p>(
    params: impl IntoIterator<Item = (&'p String, &'p V)>,
) -> String {
    params
        .into_iter()
        .map(|(name, value)| format!("{name}={value}"))
        .join(" ")
}
