//! Bencher Metric Format: a JSON object from benchmark to measure to value, with the bounds of its interval if it has
//! one (<https://bencher.dev/docs/reference/bencher-metric-format>). `latency` is a measure defined by Bencher, in
//! nanoseconds; `instructions` is ours, for what an emulated machine counted. The format cannot represent failures: they are
//! left out.

use super::exported::{ExportFormat, Exported, Taken, unique};
use crate::clean::cut;
use crate::model::Run;
use crate::summary::RowFigure;
use anyhow::Result;
use indexmap::IndexMap;
use serde::Serialize;
use std::io::Write;

pub const FORMAT: ExportFormat = ExportFormat {
    name: "bencher",
    what: "Bencher Metric Format, for `bencher run --adapter json`",
    write: Some(write),
    holds_instructions: true,
    write_profile: None,
};

/// Maximum number of characters in the name of a benchmark.
const LONGEST_NAME: usize = 1024;
/// How many of them are reserved for a number that makes equal names unique.
const ROOM: usize = 24;

#[derive(Serialize)]
struct Metric {
    value: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    lower_value: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    upper_value: Option<f64>,
}

fn write(_run: &Run, cases: &[Exported], out: &mut dyn Write) -> Result<()> {
    let mut taken = Taken::default();
    let benchmarks = cases.iter().filter_map(|case| {
        let measures = measures(case)?;
        // Names that differ only in the part that is cut off must stay different.
        Some((unique(cut(&case.name, LONGEST_NAME - ROOM), &mut taken), measures))
    });
    serde_json::to_writer_pretty(&mut *out, &benchmarks.collect::<IndexMap<_, _>>())?;
    Ok(writeln!(out)?)
}

fn measures(case: &Exported) -> Option<IndexMap<&'static str, Metric>> {
    let figure = match case.row.figure.as_ref().ok()? {
        RowFigure::Time(cost) => {
            let (low, high) = cost.interval.map(|interval| (interval.low, interval.high)).unzip();
            ("latency", Metric { value: cost.median.0, lower_value: low, upper_value: high })
        }
        RowFigure::Instructions(count) => {
            let (low, high) = (Some(count.low), Some(count.high));
            ("instructions", Metric { value: count.per_operation, lower_value: low, upper_value: high })
        }
    };
    let entries = case
        .row
        .entries
        .as_ref()
        .map(|entries| ("kernel-entries", Metric { value: entries.total(), lower_value: None, upper_value: None }));
    Some([figure].into_iter().chain(entries).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::written;
    use super::super::write_export;
    use super::*;
    use crate::model::fixtures::{record, run};
    use crate::summary::summarize;

    #[test]
    fn names_that_differ_only_at_their_end_are_two() {
        let named = |end: &str| {
            let mut record = record("x", 1);
            record.case.name = Some("x".repeat(2000) + end);
            record
        };
        let run = run(vec![named("a"), named("b")]);
        let mut out = Vec::new();
        write_export(&run, &summarize(&run), FORMAT, &mut out).unwrap();
        let document: serde_json::Value = serde_json::from_slice(&out).unwrap();
        let names: Vec<&String> = document.as_object().unwrap().keys().collect();
        assert!(names.len() == 2 && names.iter().all(|name| name.chars().count() <= 1024), "{names:?}");
    }

    #[test]
    fn a_run_in_benchers_format() {
        let document: serde_json::Value = serde_json::from_str(&written(FORMAT)).unwrap();
        let benchmarks = document.as_object().unwrap();
        assert_eq!(benchmarks.len(), 5, "all but the one that failed");
        let latency = &document["file.lstat depth=4 in m32"]["latency"];
        assert_eq!(latency["value"], 905.5);
        assert!(latency["lower_value"].as_f64().unwrap() < 905.5 && latency["upper_value"].as_f64().unwrap() > 905.5);
        assert_eq!(document["id.umask"]["kernel-entries"], serde_json::json!({"value": 1.0}));
        assert_eq!(document["id.umask"]["latency"], serde_json::json!({"value": 463.7241363525391}));
    }
}
