//! What `syscost explain` prints as JSON.

use crate::model::code::{Cost, Explanation, Variant};
use crate::report::JsonDocument;
use serde::Serialize;

#[derive(Serialize)]
pub struct OneJson<'a> {
    #[serde(flatten)]
    pub explanation: &'a Explanation,
    pub cost: Option<Cost>,
}

#[derive(Serialize)]
pub struct VariantsJson<'a> {
    /// Null unless all operations of one family are compared.
    family: Option<&'a str>,
    variants: Vec<VariantJson<'a>>,
    answer: &'a str,
}

#[derive(Serialize)]
struct VariantJson<'a> {
    operation: &'a str,
    environment: &'a str,
    cost: Option<Cost>,
    explanation: Option<&'a Explanation>,
    /// Why there is no explanation.
    failure: Option<&'a str>,
}

impl<'a> VariantsJson<'a> {
    pub fn new(family: Option<&'a str>, variants: &'a [Variant], answer: &'a str) -> VariantsJson<'a> {
        let row = |variant: &'a Variant| VariantJson {
            operation: &variant.operation,
            environment: &variant.environment,
            cost: variant.cost,
            explanation: variant.explained.as_ref().ok(),
            failure: variant.explained.as_ref().err().map(|failure| failure.message.as_str()),
        };
        VariantsJson { family, variants: variants.iter().map(row).collect(), answer }
    }
}

impl JsonDocument for OneJson<'_> {
    const SCHEMA: &'static str = "syscost.explain/1";
}

impl JsonDocument for VariantsJson<'_> {
    const SCHEMA: &'static str = OneJson::SCHEMA;
}
