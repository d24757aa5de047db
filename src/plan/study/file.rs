//! A study's TOML as written; only types and keys are checked. studies/README.md documents the keys.

use super::values::{Body, Entries, Values};
use indexmap::IndexMap;
use serde::Deserialize;
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
