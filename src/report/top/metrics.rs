//! Counts since tracing began as OpenMetrics 1.0: counters for a collector, which makes rates of them. A reader of
//! Prometheus' older text format takes them for untyped numbers. No timestamps, which node_exporter's textfile collector
//! rejects.

use crate::clean;
use crate::model::CallCount;
use crate::top::Counts;
use anyhow::Result;
use std::collections::BTreeMap;
use std::io::Write;

/// The most names of processes that are told apart; the rest is `other`. Each is a time series of its own.
const MOST_PROCESSES: usize = 100;

type Sample = (Vec<(&'static str, String)>, f64);

/// A counter: its name without `syscost_` and `_total`, ending in the unit if it has one.
struct Counter {
    name: &'static str,
    unit: &'static str,
    help: &'static str,
}

/// What is counted of a call or a process, each with two families.
type Value = fn(&CallCount) -> Option<f64>;

const OF_CALLS: [(Counter, Value); 3] = [
    (Counter { name: "calls", unit: "", help: "System calls by name." }, |count| Some(count.calls as f64)),
    (Counter { name: "on_cpu_seconds", unit: "seconds", help: "Time on CPUs in system calls, by call." }, |count| {
        Some(count.on_cpu_ns? as f64 / 1e9)
    }),
    (Counter { name: "blocked_seconds", unit: "seconds", help: "Time blocked in system calls, by call." }, |count| {
        Some(count.blocked_ns? as f64 / 1e9)
    }),
];

const OF_PROCESSES: [(Counter, Value); 4] = [
    (Counter { name: "process_calls", unit: "", help: "System calls by name of the process." }, |count| {
        Some(count.calls as f64)
    }),
    (Counter { name: "process_errors", unit: "", help: "Failed system calls by name of the process." }, |count| {
        Some(count.failures() as f64)
    }),
    (
        Counter { name: "process_on_cpu_seconds", unit: "seconds", help: "Time on CPUs in system calls, by process." },
        |count| Some(count.on_cpu_ns? as f64 / 1e9),
    ),
    (
        Counter { name: "process_blocked_seconds", unit: "seconds", help: "Time blocked in system calls, by process." },
        |count| Some(count.blocked_ns? as f64 / 1e9),
    ),
];

const ERRORS: Counter = Counter { name: "errors", unit: "", help: "Failed system calls by name and error." };
const LOST: Counter = Counter { name: "lost_events", unit: "", help: "Events that were seen but not counted." };
const ADDED: Counter =
    Counter { name: "added_seconds", unit: "seconds", help: "CPU time that tracing added to all calls, calibrated." };
const OWN: Counter = Counter { name: "own_cpu_seconds", unit: "seconds", help: "CPU time of syscost itself." };

/// Writes all counts of what `scope` names.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_metrics(counts: &Counts, scope: &str, out: &mut dyn Write) -> Result<()> {
    let calls = by_call(counts);
    for (counter, value) in OF_CALLS {
        let sample = |(call, count): (&String, &CallCount)| Some((vec![("call", call.clone())], value(count)?));
        counter.write(calls.iter().filter_map(sample), out)?;
    }
    ERRORS.write(calls.iter().flat_map(|(call, count)| by_error(call, count)), out)?;
    let processes = by_process(counts);
    for (counter, value) in OF_PROCESSES {
        let sample = |(name, count): &(String, CallCount)| Some((vec![("process", name.clone())], value(count)?));
        counter.write(processes.iter().filter_map(sample), out)?;
    }
    let tracer = &counts.tracer;
    LOST.write(std::iter::once((Vec::new(), tracer.lost as f64)), out)?;
    let total = calls.values().fold(0u64, |sum, count| sum.saturating_add(count.calls));
    let added = tracer.added_total_ns.map(|ns| ns as f64).or(tracer.added_per_call_ns.map(|ns| ns * total as f64));
    ADDED.write(added.map(|ns| (Vec::new(), ns / 1e9)).into_iter(), out)?;
    OWN.write(std::iter::once((Vec::new(), counts.own_cpu_ns as f64 / 1e9)), out)?;
    writeln!(out, "# HELP syscost_scope 1; the label tells what is traced.\n# TYPE syscost_scope gauge")?;
    writeln!(out, "syscost_scope{} 1", braces(&[("scope", scope.to_string())]))?;
    Ok(writeln!(out, "# EOF")?)
}

fn by_error(call: &str, count: &CallCount) -> Vec<Sample> {
    let errors = count.errors.iter();
    errors.map(|(error, n)| (vec![("call", call.to_string()), ("error", error.clone())], *n as f64)).collect()
}

fn by_call(counts: &Counts) -> BTreeMap<String, CallCount> {
    let mut calls: BTreeMap<String, CallCount> = BTreeMap::new();
    for count in counts.groups.iter().flat_map(|group| &group.calls) {
        calls.entry(count.call.clone()).or_default().add(count);
    }
    calls
}

/// The names with the most calls, by name, and `other` for the rest.
fn by_process(counts: &Counts) -> Vec<(String, CallCount)> {
    let mut names: BTreeMap<&str, CallCount> = BTreeMap::new();
    for group in &counts.groups {
        let sum = names.entry(&group.name).or_default();
        group.calls.iter().for_each(|count| sum.add(count));
    }
    let mut names: Vec<(String, CallCount)> = names.into_iter().map(|(name, sum)| (name.to_string(), sum)).collect();
    if names.len() <= MOST_PROCESSES {
        return names;
    }
    names.sort_by(|a, b| b.1.calls.cmp(&a.1.calls).then_with(|| a.0.cmp(&b.0)));
    let mut other = CallCount::default();
    names.split_off(MOST_PROCESSES).iter().for_each(|(_, sum)| other.add(sum));
    names.sort_by(|a, b| a.0.cmp(&b.0));
    names.push(("other".to_string(), other));
    names
}

impl Counter {
    /// Writes the family with its samples; nothing if there are none.
    fn write(&self, samples: impl Iterator<Item = Sample>, out: &mut dyn Write) -> Result<()> {
        for (i, (labels, value)) in samples.enumerate() {
            if i == 0 {
                writeln!(out, "# HELP syscost_{} {}\n# TYPE syscost_{} counter", self.name, self.help, self.name)?;
                if !self.unit.is_empty() {
                    writeln!(out, "# UNIT syscost_{} {}", self.name, self.unit)?;
                }
            }
            writeln!(out, "syscost_{}_total{} {value}", self.name, braces(&labels))?;
        }
        Ok(())
    }
}

fn braces(labels: &[(&str, String)]) -> String {
    let pairs: Vec<String> = labels.iter().map(|(name, value)| format!("{name}=\"{}\"", clean::label(value))).collect();
    if pairs.is_empty() { String::new() } else { format!("{{{}}}", pairs.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ProcessGroup, TracerFacts};

    fn counts(names: usize) -> Counts {
        let read = CallCount {
            call: "read".into(),
            calls: 4,
            errors: [("EAGAIN".to_string(), 1)].into(),
            on_cpu_ns: Some(2_000_000_000),
            ..CallCount::default()
        };
        let group = |i| ProcessGroup { name: format!("a\"{i}"), calls: vec![read.clone()], ..ProcessGroup::default() };
        let tracer = TracerFacts { added_per_call_ns: Some(100.0), ..TracerFacts::default() };
        Counts { groups: (0..names).map(group).collect(), tracer, own_cpu_ns: 5_000_000, ..Counts::default() }
    }

    fn written(counts: &Counts) -> String {
        let mut text = Vec::new();
        write_metrics(counts, "the whole system", &mut text).unwrap();
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn counters_of_calls_and_processes() {
        let text = written(&counts(2));
        for line in [
            "# TYPE syscost_calls counter",
            "syscost_calls_total{call=\"read\"} 8",
            "syscost_errors_total{call=\"read\",error=\"EAGAIN\"} 2",
            "# UNIT syscost_on_cpu_seconds seconds",
            "syscost_on_cpu_seconds_total{call=\"read\"} 4",
            "syscost_process_calls_total{process=\"a\\\"1\"} 4",
            "syscost_added_seconds_total 0.0000008",
            "syscost_own_cpu_seconds_total 0.005",
            "syscost_lost_events_total 0",
            "syscost_scope{scope=\"the whole system\"} 1",
        ] {
            assert!(text.lines().any(|l| l == line), "{line}\n{text}");
        }
        // Unknown, and so not there.
        assert!(!text.contains("blocked") && text.ends_with("\n# EOF\n"), "{text}");
    }

    #[test]
    fn many_names_are_bounded_and_none_is_lost() {
        let text = written(&counts(MOST_PROCESSES + 50));
        let values: Vec<f64> = text
            .lines()
            .filter(|line| line.starts_with("syscost_process_calls_total"))
            .map(|line| line.rsplit(' ').next().unwrap().parse().unwrap())
            .collect();
        assert_eq!(
            (values.len(), values.iter().sum::<f64>()),
            (MOST_PROCESSES + 1, 4.0 * (MOST_PROCESSES + 50) as f64)
        );
        assert!(text.contains("syscost_process_calls_total{process=\"other\"} 200\n"), "{text}");
    }
}
