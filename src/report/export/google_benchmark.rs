//! JSON as printed by Google Benchmark with `--benchmark_format=json`, for its compare.py and other readers: one entry
//! per time block as a repetition, and the median of all as an aggregate.
//!
//! The format requires CPU time as well as wall time. CPU time is not measured by block: it is the wall time multiplied
//! by the share that the case was on a CPU over the whole run, or the wall time if that is not known. Numbers of instructions
//! are no time: they are left out.

use super::exported::{ExportFormat, Exported, Repetition};
use crate::model::Run;
use crate::report::numbers::iso_date;
use anyhow::Result;
use serde::Serialize;
use std::io::Write;

pub const FORMAT: ExportFormat = ExportFormat {
    name: "google-benchmark",
    what: "JSON as Google Benchmark prints it, for its compare.py",
    write: Some(write),
    holds_instructions: false,
    write_profile: None,
};

#[derive(Serialize)]
struct Document {
    context: Context,
    benchmarks: Vec<Entry>,
}

#[derive(Serialize)]
struct Context {
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    host_name: String,
    executable: String,
    num_cpus: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    mhz_per_cpu: Option<u64>,
    caches: [(); 0],
    load_avg: Vec<f64>,
    library_build_type: &'static str,
}

#[derive(Clone, Serialize)]
struct Entry {
    name: String,
    family_index: usize,
    per_family_instance_index: usize,
    run_name: String,
    run_type: &'static str,
    repetitions: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    repetition_index: Option<usize>,
    threads: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate_name: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aggregate_unit: Option<&'static str>,
    iterations: u64,
    real_time: f64,
    cpu_time: f64,
    time_unit: &'static str,
    /// A user counter, as the format calls it.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_entries: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
}

fn write(run: &Run, cases: &[Exported], out: &mut dyn Write) -> Result<()> {
    let benchmarks = cases.iter().enumerate().flat_map(|(i, case)| entries(i, case)).collect();
    serde_json::to_writer_pretty(&mut *out, &Document { context: context(run), benchmarks })?;
    Ok(writeln!(out)?)
}

fn context(run: &Run) -> Context {
    let host = &run.host;
    Context {
        date: (run.started_unix_s > 0).then(|| iso_date(run.started_unix_s)),
        host_name: host.name.clone().unwrap_or_default(),
        executable: format!("{} {}", run.tool.name, run.tool.version),
        num_cpus: host.cpus.unwrap_or(0),
        mhz_per_cpu: host.frequency_mhz.map(|mhz| mhz.round() as u64),
        caches: [],
        load_avg: host.load_1min.into_iter().collect(),
        library_build_type: "release",
    }
}

fn entries(index: usize, case: &Exported) -> Vec<Entry> {
    let repetitions = &case.repetitions;
    let each =
        |(i, repetition): (usize, &Repetition)| Entry { repetition_index: Some(i), ..entry(index, case, repetition) };
    let mut entries: Vec<Entry> = repetitions.iter().enumerate().map(each).collect();
    if repetitions.len() > 1 {
        entries.extend(median(index, case));
    }
    entries
}

fn entry(index: usize, case: &Exported, repetition: &Repetition) -> Entry {
    Entry {
        name: case.name.clone(),
        family_index: index,
        per_family_instance_index: 0,
        run_name: case.name.clone(),
        run_type: "iteration",
        repetitions: case.repetitions.len(),
        repetition_index: None,
        threads: 1,
        aggregate_name: None,
        aggregate_unit: None,
        iterations: repetition.iterations,
        real_time: repetition.ns,
        cpu_time: repetition.ns * case.cpu_share.unwrap_or(1.0),
        time_unit: "ns",
        kernel_entries: case.row.entries.as_ref().map(|entries| entries.total()),
        label: case.row.entries.as_ref().map(|entries| format!("kernel entries: {entries}")),
    }
}

/// The median that our tables show. As the format requires, its iterations are the number of repetitions.
fn median(index: usize, case: &Exported) -> Option<Entry> {
    let cost = case.row.cost()?;
    let over_all = Repetition { iterations: case.repetitions.len() as u64, ns: cost.median.0 };
    let name = format!("{}_median", case.name);
    let (aggregate_name, aggregate_unit) = (Some("median"), Some("time"));
    Some(Entry { name, run_type: "aggregate", aggregate_name, aggregate_unit, ..entry(index, case, &over_all) })
}

#[cfg(test)]
mod tests {
    use super::super::tests::written;
    use super::*;

    #[test]
    fn a_run_as_google_benchmark_prints_it() {
        let document: serde_json::Value = serde_json::from_str(&written(FORMAT)).unwrap();
        let entries = document["benchmarks"].as_array().unwrap();
        assert_eq!(entries.len(), 4 * 13 + 1, "12 blocks and a median each, and one published figure");
        assert_eq!((entries[1]["real_time"].as_f64(), entries[1]["iterations"].as_u64()), (Some(501.0), Some(4)));
        assert_eq!((&entries[12]["name"], &entries[12]["real_time"]), (&"file.lstat_median".into(), &505.5.into()));
        let published = &entries[52];
        assert_eq!((&published["run_type"], &published["repetitions"]), (&"iteration".into(), &1.into()));
        assert_eq!(published["label"], "kernel entries: umask x1");
        assert!(entries.iter().all(|entry| entry["run_name"] != "file.stat"), "it failed");
    }
}
