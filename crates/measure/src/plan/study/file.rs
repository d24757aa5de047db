//! A study's TOML as written; only types and keys are checked. studies/README.md documents the keys.

use indexmap::IndexMap;
use itertools::Itertools;
use serde::Deserialize;
use std::fmt;
use toml::Spanned;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StudyFile {
    pub title: String,
    #[serde(default)]
    pub question: String,
    #[serde(default)]
    pub answer: String,
    #[serde(default)]
    pub patterns: Vec<Spanned<String>>,
    #[serde(default, rename = "case")]
    pub cases: Vec<Spanned<CaseTable>>,
    #[serde(default)]
    pub environments: Vec<Spanned<String>>,
    #[serde(default)]
    pub parameters: Parameters,
    #[serde(default, rename = "fixture")]
    pub fixtures: Vec<Spanned<FixtureTable>>,
    #[serde(default)]
    pub derived: Vec<Spanned<DerivedTable>>,
    pub scale: Option<ScaleTable>,
    #[serde(default)]
    pub views: Vec<Spanned<String>>,
    pub seconds: Option<Spanned<f64>>,
    pub cpu_seconds: Option<Spanned<f64>>,
    #[serde(default)]
    pub start_up: bool,
}

pub type Parameters = IndexMap<Spanned<String>, Spanned<Values>>;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CaseTable {
    pub name: Spanned<String>,
    pub operation: Option<Spanned<String>>,
    pub language: Option<Spanned<String>>,
    pub body: Option<String>,
    #[serde(default)]
    pub setup: String,
    #[serde(default)]
    pub prelude: String,
    pub for_languages: Option<IndexMap<Spanned<String>, Body>>,
    pub against: Option<Spanned<String>>,
    #[serde(default)]
    pub params: Parameters,
    #[serde(default)]
    pub most: Parameters,
    pub entries: Option<Spanned<Entries>>,
    #[serde(default)]
    pub environments: Vec<Spanned<String>>,
    pub scale: Option<ScaleTable>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FixtureTable {
    pub file: Option<String>,
    pub directory: Option<String>,
    pub size: Option<Values>,
    pub line_length: Option<Values>,
    pub entries: Option<Values>,
    pub depth: Option<Values>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DerivedTable {
    pub name: Option<String>,
    pub difference: Option<[String; 2]>,
    pub ratio: Option<[String; 2]>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScaleTable {
    pub calls: Spanned<u64>,
    pub unit: Spanned<String>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a whole number, a text such as \"4K\", or a list of them"
)]
pub enum Values {
    One(Amount),
    Many(Vec<Amount>),
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a whole number or a text such as \"4K\""
)]
pub enum Amount {
    Number(u64),
    Text(String),
}

impl fmt::Display for Values {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Values::One(value) => value.fmt(f),
            Values::Many(values) => f.write_str(&values.iter().map(Amount::to_string).join(",")),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Amount::Number(number) => number.fmt(f),
            Amount::Text(text) => f.write_str(text),
        }
    }
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected code, or a table with body and optionally setup, prelude, entries"
)]
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
            Body::Text(body) => BodyTable {
                body,
                setup: String::new(),
                prelude: String::new(),
                entries: None,
            },
        }
    }
}

/// For all, or by environment or language.
#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected text such as \"openat x1 close x1\", or a table of them by environment or language"
)]
pub enum Entries {
    All(String),
    By(IndexMap<String, String>),
}
