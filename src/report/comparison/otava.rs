//! The history of a machine as Apache Otava reads it (<https://otava.apache.org/docs/csv>): a CSV file with a line for each run
//! and a column for each case, and the configuration that names the columns. Otava takes a number in every cell, so that a case
//! has to be in every run; the others are left out.

use crate::clean;
use crate::compare::history::{Machine, Series};
use crate::report::numbers::iso_date;
use anyhow::{Result, bail};
use std::collections::BTreeMap;
use std::io::Write;

/// The columns before those of the cases: when a run was made, and what Otava shows beside a change.
const FIRST: [&str; 4] = ["time", "host", "kernel", "file"];
/// What the configuration calls the file.
const FILE: &str = "history.csv";

/// Writes the lines of the only machine or group.
///
/// # Errors
/// If there are several, of which Otava would see one series, or `out` cannot be written.
pub fn write_otava(machines: &[Machine], out: &mut dyn Write) -> Result<()> {
    let machine = only(machines)?;
    let columns = columns(machine);
    let costs: Vec<BTreeMap<usize, f64>> = columns
        .iter()
        .map(|(_, series)| series.points.iter().map(|point| (point.run, point.cost_ns)).collect())
        .collect();
    let mut csv = csv::Writer::from_writer(out);
    csv.write_record(FIRST.iter().map(ToString::to_string).chain(columns.iter().map(|(name, _)| name.clone())))?;
    for (index, run) in machine.runs.iter().enumerate() {
        let facts = [run.host.name.as_deref(), run.host.kernel.as_deref(), Some(run.label.as_str())];
        let facts = facts.map(|fact| clean::csv(&clean::line(fact.unwrap_or_default())));
        let values = costs.iter().map(|of| of.get(&index).map_or(String::new(), f64::to_string));
        csv.write_record([iso_date(run.started_unix_s)].into_iter().chain(facts).chain(values))?;
    }
    Ok(csv.flush()?)
}

/// Writes the configuration: YAML, of which all text is quoted as in JSON.
///
/// # Errors
/// As [`write_otava`].
pub fn write_otava_config(machines: &[Machine], out: &mut dyn Write) -> Result<()> {
    let machine = only(machines)?;
    writeln!(out, "# The file is what 'syscost compare --history DIR --format otava' prints.")?;
    writeln!(out, "tests:\n  syscost:\n    type: csv\n    file: {FILE}\n    time_column: {}", FIRST[0])?;
    writeln!(out, "    attributes: [{}]\n    metrics:", FIRST[1..].join(", "))?;
    for (name, _) in columns(machine) {
        let name = serde_json::to_string(&name)?;
        writeln!(out, "      {name}: {{column: {name}, direction: -1}}")?;
    }
    Ok(())
}

fn only(machines: &[Machine]) -> Result<&Machine> {
    match machines {
        [one] => Ok(one),
        several => bail!(
            "--format otava holds one machine, and there are {}: group them by what they share (--group-by cpu), or give \
             each a directory",
            several.len()
        ),
    }
}

/// The cases that every run has, with unique names.
fn columns(machine: &Machine) -> Vec<(String, &Series)> {
    let mut taken: BTreeMap<String, usize> = FIRST.iter().map(|name| (name.to_string(), 1)).collect();
    let whole = machine.series.iter().filter(|series| series.points.len() == machine.runs.len());
    let named = whole.map(|series| {
        let environment = &series.key.environment;
        let plain =
            if environment == "native" { series.key.to_string() } else { format!("{} in {environment}", series.key) };
        let name = clean::csv(&clean::line(&plain));
        let count = taken.entry(name.clone()).and_modify(|count| *count += 1).or_insert(1);
        (if *count > 1 { format!("{name} #{count}") } else { name }, series)
    });
    named.collect()
}
