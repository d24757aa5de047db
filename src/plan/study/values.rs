//! Values that can be written in more than one form in a study.

use indexmap::IndexMap;
use serde::Deserialize;
use std::fmt;

/// One value or a list of them.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a whole number, a text such as \"4K\", or a list of them")]
pub enum Values {
    One(Quantity),
    Many(Vec<Quantity>),
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a whole number or a text such as \"4K\"")]
pub enum Quantity {
    Number(u64),
    Text(String),
}

/// As in `--param`.
impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::One(value) => value.fmt(f),
            Values::Many(values) => f.write_str(&values.iter().map(Quantity::to_string).collect::<Vec<_>>().join(",")),
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Quantity::Number(number) => number.fmt(f),
            Quantity::Text(text) => f.write_str(text),
        }
    }
}

/// A case's code in one language.
#[derive(Deserialize)]
#[serde(untagged, expecting = "expected code, or a table with body and perhaps setup, prelude, entries")]
pub enum Body {
    Text(String),
    Table(BodyTable),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BodyTable {
    pub body: String,
    #[serde(default)]
    pub setup: String,
    #[serde(default)]
    pub prelude: String,
    pub entries: Option<String>,
}

impl Body {
    pub fn into_table(self) -> BodyTable {
        match self {
            Body::Table(table) => table,
            Body::Text(body) => BodyTable { body, setup: String::new(), prelude: String::new(), entries: None },
        }
    }
}

/// Expected kernel entries: for all, or by environment or language.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected text such as \"openat x1 close x1\", or a table of them by environment or language"
)]
pub enum Entries {
    All(String),
    By(IndexMap<String, String>),
}
