//! A run as a JSON document.

use crate::fit::{Family, families};
use crate::model::Run;
use crate::summary::Summary;
use crate::write::JsonDocument;
use schemars::JsonSchema;
use serde::Serialize;

/// The results of a run, without its samples.
#[derive(Serialize, JsonSchema)]
pub struct SummaryDocument<'a> {
    #[serde(flatten)]
    run: &'a Run,
    #[serde(flatten)]
    summary: &'a Summary,
    /// Cost as a function of each parameter that was measured at two or more values.
    fits: Vec<Family<'a>>,
}

impl<'a> SummaryDocument<'a> {
    pub fn new(run: &'a Run, summary: &'a Summary) -> SummaryDocument<'a> {
        SummaryDocument { run, summary, fits: families(run) }
    }
}

impl JsonDocument for SummaryDocument<'_> {
    const SCHEMA: &'static str = "syscost.summary/2";
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::synthetic::{Noise, run};
    use crate::summary::summarize;
    use crate::write::{json_schema, write_json};
    use serde_json::{Value, json};

    #[test]
    fn the_document_holds_models_and_crossovers_and_keeps_its_schema() {
        let sizes = [1, 10, 1000];
        let run = run(&[("io.a", &sizes, &|_| 100.0), ("io.b", &sizes, &|x| x as f64)], 12, Noise::NONE);
        let mut text = Vec::new();
        write_json(&SummaryDocument::new(&run, &summarize(&run)), &mut text).unwrap();
        let document: Value = serde_json::from_slice(&text).unwrap();
        assert!(jsonschema::is_valid(&json_schema::<SummaryDocument>(), &document));
        let fit = &document["fits"][0];
        assert_eq!((&fit["parameter"], &fit["strategies"][0]["operation"]), (&json!("size"), &json!("io.a")));
        assert_eq!(fit["strategies"][0]["fixed"]["ns"], 100.0);
        assert_eq!(fit["strategies"][0]["warnings"], json!([{"kind": "few_values", "values": 3}]));
        let crossing = &fit["comparisons"][0]["verdict"]["crossings"][0];
        assert_eq!((&crossing["faster_below"], &crossing["faster_above"]), (&json!(1), &json!(0)));
        assert!((crossing["at"].as_f64().unwrap() - 100.0).abs() < 1e-6, "{crossing}");
    }
}
