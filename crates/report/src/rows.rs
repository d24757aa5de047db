//! Runs as JSON lines for data engines: facts about the run and its machine, then the fields of CSV.
//!
//! So that every engine infers the same types, each line has all fields, null where unknown, and no
//! value is a list or a map.

use super::run::columns::{columns, lines};
use analysis::summary::{Row, summarize};
use anyhow::Result;
use document::Records;
use itertools::Itertools;
use model::{Host, NATIVE, Run, Unit, word};
use serde::{Serialize, Serializer};
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

#[derive(Serialize)]
struct Line<'a> {
    file: Option<&'a str>,
    started_unix_s: Option<i64>,
    complete: bool,
    #[serde(flatten)]
    machine: Machine,
    tool: String,
    compiler: &'a str,
    run_warnings: &'a str,
    #[serde(flatten)]
    labels: &'a BTreeMap<String, Option<&'a String>>,
    warnings: String,
    #[serde(flatten, serialize_with = "fields")]
    fields: (&'a Records, usize),
}

fn fields<S: Serializer>(entry: &(&Records, usize), serializer: S) -> Result<S::Ok, S::Error> {
    let (records, row) = entry;

    serializer.collect_map(records.names().iter().zip(&records.rows()[*row]))
}

/// `labels` are the keys that all lines have; they also have the one that names a node, which the SQL of contrib/fleet reads.
pub fn write_rows(
    run: &Run,
    file: Option<&str>,
    labels: &BTreeSet<String>,
    out: &mut dyn Write,
) -> Result<()> {
    let summary = summarize(run);
    let lines = lines(&summary, &summary.rows.iter().collect::<Vec<&Row>>());
    let records = columns(&summary, &lines).records();
    let run_warnings = kinds(&summary.warnings);
    let labels = labels
        .iter()
        .map(String::as_str)
        .chain(["node"])
        .map(|key| (format!("label_{key}"), run.labels.get(key)))
        .collect();
    for (row, line) in lines.iter().enumerate() {
        let written = Line {
            file,
            started_unix_s: i64::try_from(run.started_unix_s)
                .ok()
                .filter(|seconds| *seconds > 0),
            complete: run.runs().all(|run| run.complete),
            machine: Machine::for_environment(run, line.environment),
            tool: format!("{} {}", run.tool.name, run.tool.version),
            compiler: &run.tool.compiler,
            run_warnings: &run_warnings,
            labels: &labels,
            warnings: kinds(line.row.iter().flat_map(|row| &row.warnings)),
            fields: (&records, row),
        };
        serde_json::to_writer(&mut *out, &written)?;
        out.write_all(b"\n")?;
    }
    Ok(())
}

fn kinds<'a, T: Serialize + 'a>(warnings: impl IntoIterator<Item = &'a T>) -> String {
    let kinds: indexmap::IndexSet<String> = warnings
        .into_iter()
        .map(|warning| word(warning, "kind"))
        .collect();
    kinds.into_iter().join(" ")
}

/// The machine that a row is of, as far as it groups rows. In an environment it may be another than
/// the run's: a wrong kernel is worse than none.
#[derive(Default, Serialize)]
pub struct Machine {
    pub host: Option<String>,
    pub cpu: Option<String>,
    pub kernel: Option<String>,
    /// The emulator or hypervisor of the machine; `none` on bare metal.
    pub hypervisor: Option<String>,
    pub container: Option<String>,
    pub libc: Option<String>,
    /// `vulnerability: mitigation`, joined by `; `.
    pub mitigations: Option<String>,
}

impl Machine {
    fn for_environment(run: &Run, environment: &str) -> Machine {
        let facts = run
            .environments
            .iter()
            .find(|facts| facts.name == environment);
        let other = facts.and_then(|facts| facts.host.as_deref());
        let machine = Machine::from_host(other.unwrap_or(&run.host));
        let libc = if other.is_some() || environment == NATIVE {
            machine.libc.clone()
        } else {
            None
        };
        let Some(facts) = facts else {
            return Machine { libc, ..machine };
        };
        let kernel = facts.kernel.clone();
        if facts.emulator.is_some() || facts.unit == Unit::Instructions {
            return Machine {
                host: machine.host,
                kernel,
                hypervisor: facts.emulator.clone(),
                ..Machine::default()
            };
        }
        Machine {
            kernel: kernel.or(machine.kernel),
            libc,
            ..machine
        }
    }

    fn from_host(host: &Host) -> Machine {
        Machine {
            host: host.name.clone(),
            cpu: host.cpu.clone(),
            kernel: host.kernel.clone(),
            hypervisor: host.hypervisor.clone(),
            container: host.container.clone(),
            libc: host.libc.clone(),
            mitigations: Some(host.mitigations.join("; ")).filter(|text| !text.is_empty()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::{record, run};

    #[test]
    fn warnings_of_the_run_and_of_the_row_are_told_apart() {
        let mut run = run(vec![record("id.getppid", 100)]);
        run.host.disturbed_percent = Some(40.0);
        let mut out = Vec::new();
        write_rows(&run, Some("a.json"), &BTreeSet::new(), &mut out).unwrap();
        let line: serde_json::Value = serde_json::from_slice(&out).unwrap();
        assert_eq!(line["run_warnings"], "disturbed", "{line}");
        let warnings = line["warnings"].as_str().unwrap();
        assert!(!warnings.contains("disturbed"), "{warnings}");
    }
}
