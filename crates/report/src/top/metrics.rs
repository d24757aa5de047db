//! Counts since tracing began as OpenMetrics 1.0: counters for a collector, which makes rates of them. A reader of
//! Prometheus' older text format takes them for untyped numbers.
//!
//! A counter that falls is a restart to a collector, which makes a rate of all of it. So what was shown stays, and keeps its
//! value where the counts have less: a call is counted under the old name of a process that is within execve, and under the
//! new one when it returns.

use analysis::top::Counts;
use anyhow::Result;
use model::{CallCount, clean};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;

/// Each is a time series. The first ones stay; later ones are summed under the label `overflow`.
const MOST_PROCESSES: usize = 100;

type Label = (&'static str, String);
type Sample = (Vec<Label>, f64);

/// What is counted of calls and of processes: the name without `syscost_` and `_total`, ending in
/// the unit if it has one, what it is, and its value.
type Value = fn(&CallCount) -> Option<f64>;
const VALUES: [(&str, &str, Value); 4] = [
    ("calls", "System calls", |count| Some(count.calls as f64)),
    ("on_cpu_seconds", "Time on CPUs in system calls", |count| {
        Some(count.on_cpu_ns? as f64 / 1e9)
    }),
    (
        "runnable_seconds",
        "Time runnable (waiting for a CPU) in system calls",
        |count| Some(count.runnable_ns? as f64 / 1e9),
    ),
    (
        "blocked_seconds",
        "Time blocked in system calls until woken",
        |count| Some(count.blocked_ns? as f64 / 1e9),
    ),
];

#[derive(Default)]
pub struct Series {
    counters: BTreeMap<String, BTreeMap<String, f64>>,
    processes: BTreeSet<String>,
}

impl Series {
    /// No counter is less than it was, and none is missing that was there.
    pub fn write(&mut self, counts: &Counts, scope: &str, out: &mut dyn Write) -> Result<()> {
        let calls = by_call(counts);
        for (name, what, value) in VALUES {
            let sample = |(call, count): (&String, &CallCount)| {
                Some((vec![("call", call.clone())], value(count)?))
            };
            let samples = calls.iter().filter_map(sample);
            self.counter(name, &format!("{what}, by call."), samples, out)?;
        }
        let errors = calls.iter().flat_map(|(call, count)| by_error(call, count));
        self.counter(
            "errors",
            "Failed system calls, by call and error.",
            errors,
            out,
        )?;
        let processes = self.by_process(counts);
        let failures: (_, _, Value) = ("errors", "Failed system calls", |count| {
            Some(count.failures() as f64)
        });
        for (name, what, value) in VALUES.into_iter().chain([failures]) {
            let sample =
                |(label, count): &(Label, CallCount)| Some((vec![label.clone()], value(count)?));
            let samples = processes.iter().filter_map(sample);
            let name = format!("process_{name}");
            self.counter(&name, &format!("{what}, by process."), samples, out)?;
        }
        let total = calls
            .values()
            .fold(0u64, |sum, count| sum.saturating_add(count.calls));
        self.of_tracer(counts, total, out)?;
        writeln!(
            out,
            "# HELP syscost_scope 1; the label tells what is traced.\n# TYPE syscost_scope gauge"
        )?;
        writeln!(
            out,
            "syscost_scope{} 1",
            braces(&[("scope", scope.to_string())])
        )?;
        Ok(writeln!(out, "# EOF")?)
    }

    fn of_tracer(&mut self, counts: &Counts, total: u64, out: &mut dyn Write) -> Result<()> {
        let tracer = &counts.tracer;
        let added_ns = tracer
            .added_total_ns
            .map(|ns| ns as f64)
            .or(tracer.added_per_call_ns.map(|ns| ns * total as f64));
        let own_s = counts.own_cpu_ns as f64 / 1e9;
        let alone = [
            (
                "lost_events",
                "Events that were seen but not counted, at most.",
                Some(tracer.lost as f64),
            ),
            (
                "torn_reads",
                "Reads of the counts that overlapped with counting: some calls may have been counted twice or not at all.",
                Some(counts.torn as f64),
            ),
            (
                "added_seconds",
                "CPU time that tracing added to all calls, calibrated.",
                added_ns.map(|ns| ns / 1e9),
            ),
            (
                "own_cpu_seconds",
                "CPU time of syscost itself.",
                Some(own_s),
            ),
        ];
        for (name, help, value) in alone {
            let samples = value.into_iter().map(|value| (Vec::new(), value));
            self.counter(name, help, samples, out)?;
        }
        Ok(())
    }

    /// Writes a counter with its samples of now and before.
    fn counter(
        &mut self,
        name: &str,
        help: &str,
        now: impl Iterator<Item = Sample>,
        out: &mut dyn Write,
    ) -> Result<()> {
        let known = self.counters.entry(name.to_string()).or_default();
        // Different names may be the same text, once they are clean.
        let mut sums: BTreeMap<String, f64> = BTreeMap::new();
        now.for_each(|(labels, value)| *sums.entry(braces(&labels)).or_default() += value);
        for (labels, value) in sums {
            let shown = known.entry(labels).or_default();
            *shown = shown.max(value);
        }
        if known.is_empty() {
            return Ok(());
        }
        writeln!(
            out,
            "# HELP syscost_{name} {help}\n# TYPE syscost_{name} counter"
        )?;
        if name.ends_with("_seconds") {
            writeln!(out, "# UNIT syscost_{name} seconds")?;
        }
        known.iter().try_for_each(|(labels, value)| {
            Ok(writeln!(out, "syscost_{name}_total{labels} {value}")?)
        })
    }

    /// New names get a series as long as there is room, those with the most calls first.
    fn by_process(&mut self, counts: &Counts) -> Vec<(Label, CallCount)> {
        let mut names: BTreeMap<&str, CallCount> = BTreeMap::new();
        for group in &counts.groups {
            let sum = names.entry(&group.name).or_default();
            group.calls.iter().for_each(|count| sum.add(count));
        }
        let mut new: Vec<_> = names
            .iter()
            .filter(|(name, _)| !self.processes.contains(**name))
            .collect();
        new.sort_by_key(|(name, sum)| (Reverse(sum.calls), **name));
        let room = MOST_PROCESSES.saturating_sub(self.processes.len());
        let new: Vec<String> = new
            .into_iter()
            .take(room)
            .map(|(name, _)| name.to_string())
            .collect();
        self.processes.extend(new);
        let (shown, others): (Vec<_>, Vec<_>) = names
            .into_iter()
            .partition(|(name, _)| self.processes.contains(*name));
        let mut overflow = CallCount::default();
        others.iter().for_each(|(_, sum)| overflow.add(sum));
        let overflow = (!others.is_empty()).then_some((("overflow", "true".to_string()), overflow));
        shown
            .into_iter()
            .map(|(name, sum)| (("process", name.to_string()), sum))
            .chain(overflow)
            .collect()
    }
}

fn by_error(call: &str, count: &CallCount) -> Vec<Sample> {
    let errors = count.errors.iter();
    errors
        .map(|(error, n)| {
            (
                vec![("call", call.to_string()), ("error", error.clone())],
                *n as f64,
            )
        })
        .collect()
}

fn by_call(counts: &Counts) -> BTreeMap<String, CallCount> {
    let mut calls: BTreeMap<String, CallCount> = BTreeMap::new();
    for count in counts.groups.iter().flat_map(|group| &group.calls) {
        calls.entry(count.call.clone()).or_default().add(count);
    }
    calls
}

fn braces(labels: &[(&str, String)]) -> String {
    let pairs: Vec<String> = labels
        .iter()
        .map(|(name, value)| format!("{name}=\"{}\"", clean::label(value)))
        .collect();
    if pairs.is_empty() {
        String::new()
    } else {
        format!("{{{}}}", pairs.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::called;
    use model::{ProcessGroup, TracerFacts};

    fn counts(names: usize) -> Counts {
        let read = CallCount {
            errors: [("EAGAIN".to_string(), 1)].into(),
            on_cpu_ns: Some(2_000_000_000),
            ..called("read", 4)
        };
        let group = |i| ProcessGroup {
            name: format!("a\"{i}"),
            calls: vec![read.clone()],
            ..ProcessGroup::default()
        };
        let tracer = TracerFacts {
            added_per_call_ns: Some(100.0),
            ..TracerFacts::default()
        };
        Counts {
            groups: (0..names).map(group).collect(),
            tracer,
            own_cpu_ns: 5_000_000,
            ..Counts::default()
        }
    }

    fn written(counts: &Counts) -> String {
        of_series(&mut Series::default(), counts)
    }

    fn of_series(series: &mut Series, counts: &Counts) -> String {
        let mut text = Vec::new();
        series.write(counts, "the whole system", &mut text).unwrap();
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
        assert!(
            !text.contains("blocked") && text.ends_with("\n# EOF\n"),
            "{text}"
        );
    }

    /// The counters of a text with their labels; fails if one occurs twice.
    fn read(text: &str) -> BTreeMap<&str, f64> {
        let mut series = BTreeMap::new();
        for (name, value) in text
            .lines()
            .filter(|l| !l.starts_with('#'))
            .filter_map(|line| line.rsplit_once(' '))
        {
            assert_eq!(
                series.insert(name, value.parse().unwrap()),
                None,
                "{name} occurs twice"
            );
        }
        series
    }

    fn process_calls(series: &BTreeMap<&str, f64>) -> Vec<f64> {
        let of = series
            .iter()
            .filter(|(name, _)| name.starts_with("syscost_process_calls_total"));
        of.map(|(_, value)| *value).collect()
    }

    #[test]
    fn many_names_are_bounded_and_none_is_lost() {
        let text = written(&counts(MOST_PROCESSES + 50));
        let values = process_calls(&read(&text));
        assert_eq!(
            (values.len(), values.iter().sum::<f64>()),
            (MOST_PROCESSES + 1, 4.0 * (MOST_PROCESSES + 50) as f64)
        );
        assert!(
            text.contains("syscost_process_calls_total{overflow=\"true\"} 200\n"),
            "{text}"
        );
    }

    #[test]
    fn names_that_are_the_same_text_once_clean_are_one_series() {
        let named = |name: &str| ProcessGroup {
            name: name.into(),
            ..counts(1).groups[0].clone()
        };
        let groups = vec![named("a\u{1b}"), named("a\u{7}"), named("other"), named("")];
        let text = written(&Counts {
            groups,
            ..counts(0)
        });
        assert_eq!(process_calls(&read(&text)), [4.0, 8.0, 4.0], "{text}");
    }

    fn snapshot(calls: &[(u16, u64)]) -> Counts {
        let group = |(name, calls): &(u16, u64)| {
            let (errors, on_cpu_ns) = ([("EIO".to_string(), calls / 3)].into(), Some(calls * 7));
            let count = CallCount {
                errors,
                on_cpu_ns,
                ..called("read", *calls)
            };
            ProcessGroup {
                name: format!("p{name}"),
                calls: vec![count],
                ..ProcessGroup::default()
            }
        };
        Counts {
            groups: calls.iter().map(group).collect(),
            ..counts(0)
        }
    }

    proptest::proptest! {
        #[test]
        fn no_counter_falls_or_goes_and_no_series_is_there_twice(
            snapshots in proptest::collection::vec(
                proptest::collection::vec((0u16..300, 0u64..1000), 0..250), 1..6)
        ) {
            let mut series = Series::default();
            let mut before: BTreeMap<String, f64> = BTreeMap::new();
            for calls in &snapshots {
                let text = of_series(&mut series, &snapshot(calls));
                let now = read(&text);
                for (name, value) in &before {
                    proptest::prop_assert!(now.get(name.as_str()).is_some_and(|now| now >= value), "{name} was {value}: {text}");
                }
                proptest::prop_assert!(process_calls(&now).len() <= MOST_PROCESSES + 1);
                before = now.into_iter().map(|(name, value)| (name.to_string(), value)).collect();
            }
        }

        #[test]
        fn of_counts_that_grow_all_calls_are_in_some_series(
            steps in proptest::collection::vec(
                proptest::collection::vec((0u16..300, 1u64..1000), 0..150), 1..6)
        ) {
            let (mut series, mut sums) = (Series::default(), BTreeMap::new());
            for step in &steps {
                step.iter().for_each(|(name, calls)| *sums.entry(*name).or_insert(0) += calls);
                let now: Vec<(u16, u64)> = sums.iter().map(|(name, calls)| (*name, *calls)).collect();
                let text = of_series(&mut series, &snapshot(&now));
                let shown: f64 = process_calls(&read(&text)).iter().sum();
                proptest::prop_assert_eq!(shown, sums.values().sum::<u64>() as f64);
            }
        }
    }
}
