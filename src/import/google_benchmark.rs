//! Google Benchmark's JSON (`--benchmark_format=json`, or `--benchmark_out`). The result is the real time: the median of
//! several repetitions; of a file with aggregates only, its median, else its mean.

use super::imported::{Imported, Malformed, SHOWN, outcome, record};
use crate::clean::excerpt;
use crate::model::{Case, Failure, FailureKind, Host, Outcome, Record};
use crate::stats;
use indexmap::IndexMap;
use serde::Deserialize;

const NOTE: &str = "Results as printed by Google Benchmark: real time, a mean over iterations. Compiler and kernel are \
    unknown.";

#[derive(Deserialize)]
struct Document {
    context: Context,
    benchmarks: Vec<Entry>,
}

#[derive(Deserialize)]
struct Context {
    date: Option<String>,
    host_name: Option<String>,
    executable: Option<String>,
    num_cpus: Option<u32>,
    mhz_per_cpu: Option<f64>,
    cpu_scaling_enabled: Option<bool>,
    #[serde(default)]
    load_avg: Vec<f64>,
    library_version: Option<String>,
    library_build_type: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    run_name: Option<String>,
    run_type: Option<String>,
    aggregate_name: Option<String>,
    threads: Option<u64>,
    iterations: Option<u64>,
    real_time: Option<f64>,
    time_unit: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    error_message: Option<String>,
}

/// Reads the JSON. Errors: where it differs from Google Benchmark's format, or that it has no result.
pub fn parse(text: &str) -> Result<Imported, Malformed> {
    let document: Document = serde_json::from_str(text).map_err(|error| misfit(&error, text))?;
    let mut groups: IndexMap<&str, Vec<&Entry>> = IndexMap::new();
    for entry in &document.benchmarks {
        groups.entry(entry.run_name.as_deref().unwrap_or(&entry.name)).or_default().push(entry);
    }
    let records = groups.iter().map(|(name, entries)| group(name, entries)).collect::<Result<Vec<_>, _>>()?;
    let context = &document.context;
    match records.is_empty() {
        true => Err(Malformed::nothing("an entry in \"benchmarks\"")),
        false => Ok(Imported {
            program: program(context),
            note: NOTE,
            compiler: None,
            host: host(context),
            warnings: warnings(context),
            records,
        }),
    }
}

fn misfit(error: &serde_json::Error, text: &str) -> Malformed {
    let found = text.lines().nth(error.line().saturating_sub(1)).unwrap_or_default();
    let message = error.to_string();
    let without_position = excerpt(message.split(" at line ").next().unwrap_or_default(), SHOWN);
    let expected = format!("Google Benchmark's JSON ({without_position})");
    Malformed::at(error.line().max(1), &expected, found)
}

/// All entries of one benchmark as one record.
fn group(name: &str, entries: &[&Entry]) -> Result<Record, Malformed> {
    let is_aggregate = |entry: &&&Entry| entry.run_type.as_deref() == Some("aggregate");
    let repetitions: Vec<&Entry> = entries.iter().filter(|e| !is_aggregate(e)).copied().collect();
    let aggregate = |name| entries.iter().find(|e| is_aggregate(e) && e.aggregate_name.as_deref() == Some(name));
    let outcome = match (repetitions.as_slice(), aggregate("median").or_else(|| aggregate("mean"))) {
        ([], Some(entry)) => of_aggregate(entry)?,
        ([], None) => return Err(wrong(name, "has neither repetitions nor a median or mean")),
        (all, _) => of_repetitions(all)?,
    };
    let threads = entries.iter().filter_map(|e| e.threads).max().filter(|threads| *threads > 1);
    let doubt = threads.map(|threads| format!("measured in {threads} threads at once"));
    Ok(record(Case::native(name), outcome, doubt.into_iter().collect()))
}

fn of_aggregate(entry: &Entry) -> Result<Outcome, Malformed> {
    let ns = entry.ns()?;
    let name = entry.aggregate_name.as_deref().unwrap_or_default();
    Ok(outcome(ns, format!("{ns} ns, {name} of the repetitions"), None))
}

fn of_repetitions(all: &[&Entry]) -> Result<Outcome, Malformed> {
    if let Some(failed) = all.iter().find(|entry| entry.error_occurred) {
        let message = failed.error_message.clone().unwrap_or_else(|| "the source says that it failed".into());
        return Ok(Outcome::Failed(Failure::new(FailureKind::Failed, message)));
    }
    let times = all.iter().map(|entry| entry.ns()).collect::<Result<Vec<f64>, _>>()?;
    let iterations = all.iter().map(|entry| entry.iterations.unwrap_or(0)).fold(0, u64::saturating_add);
    let ns = stats::median(times).unwrap_or(f64::NAN);
    let printed = match all.len() {
        1 => format!("{ns} ns, {iterations} iterations"),
        several => format!("{ns} ns, median of {several} repetitions, {iterations} iterations in all"),
    };
    Ok(outcome(ns, printed, Some(iterations)))
}

fn wrong(name: &str, what: &str) -> Malformed {
    Malformed::whole("sound entries in \"benchmarks\"", &format!("{name}: {what}"))
}

impl Entry {
    fn ns(&self) -> Result<f64, Malformed> {
        let units = [("ns", 1.0), ("us", 1e3), ("ms", 1e6), ("s", 1e9)];
        let unit = self.time_unit.as_deref().unwrap_or("ns");
        let Some((_, factor)) = units.iter().find(|(name, _)| *name == unit) else {
            return Err(wrong(&self.name, "its time_unit is none of ns, us, ms and s"));
        };
        self.real_time.map(|time| time * factor).ok_or_else(|| wrong(&self.name, "it has no real_time"))
    }
}

fn program(context: &Context) -> String {
    let version = context.library_version.iter().map(|version| format!(" {version}"));
    let of = context.executable.iter().map(|name| format!(" ({name})"));
    let on = context.date.iter().map(|date| format!(" of {date}"));
    std::iter::once("Google Benchmark".to_string()).chain(version).chain(of).chain(on).collect()
}

fn host(context: &Context) -> Host {
    let positive = |number: &f64| number.is_finite() && *number >= 0.0;
    Host {
        name: context.host_name.clone().filter(|name| !name.is_empty()),
        cpus: context.num_cpus.filter(|cpus| *cpus > 0),
        frequency_mhz: context.mhz_per_cpu.filter(positive),
        load_1min: context.load_avg.first().copied().filter(positive),
        ..Host::default()
    }
}

fn warnings(context: &Context) -> Vec<String> {
    let scaling = context.cpu_scaling_enabled == Some(true);
    let debug = context.library_build_type.as_deref() == Some("debug");
    let warnings = [
        (scaling, "the source warns that the CPU's frequency was scaled"),
        (debug, "the source was built as debug: its own loop costs more"),
    ];
    warnings.into_iter().filter(|(holds, _)| *holds).map(|(_, text)| text.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(benchmarks: &str) -> Result<Vec<Record>, String> {
        let text = format!("{{\"context\": {{}}, \"benchmarks\": [{benchmarks}]}}");
        parse(&text).map(|imported| imported.records).map_err(|error| error.to_string())
    }

    #[test]
    fn mistakes_are_named() {
        let error = parse("{\n\"context\": 5}").err().unwrap().to_string();
        assert!(error.starts_with("line 2: expected Google Benchmark's JSON (invalid type: integer"), "{error}");
        assert!(parsed("").unwrap_err().contains("an entry in \"benchmarks\""));
        assert!(parsed(r#"{"name": "a"}"#).unwrap_err().contains("a: it has no real_time"));
        assert!(parsed(r#"{"name": "a", "real_time": 1, "time_unit": "h"}"#).unwrap_err().contains("none of ns, us"));
        assert!(
            parsed(r#"{"name": "a_cv", "run_name": "a", "run_type": "aggregate", "aggregate_name": "cv"}"#)
                .unwrap_err()
                .contains("a: has neither repetitions nor")
        );
    }

    #[test]
    fn aggregates_alone_give_the_median() {
        let entry = |name: &str, us: f64| {
            format!(
                r#"{{"name": "a_{name}", "run_name": "a", "run_type": "aggregate", "aggregate_name": "{name}", "real_time": {us}, "time_unit": "us", "threads": 4}}"#
            )
        };
        let records = parsed(&[entry("mean", 3.0), entry("median", 2.5)].join(",")).unwrap();
        assert_eq!(records[0].outcome, outcome(2500.0, "2500 ns, median of the repetitions".into(), None));
        assert_eq!(records[0].warnings, ["measured in 4 threads at once"]);
    }
}
