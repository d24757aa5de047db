//! The calls between two moments.
//!
//! A call is counted when it ends, with all of its time: one that waited for longer than the interval makes more blocked time than that.

use super::row::{By, Focus, Row, RowKey};
use indexmap::IndexMap;
use model::{CallCount, Class, Histogram, ProcessGroup, TracerFacts};
use stats::without;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Counts {
    /// Since tracing began.
    pub at_ns: u64,
    pub groups: Vec<ProcessGroup>,
    pub latencies: BTreeMap<String, Histogram>,
    pub tracer: TracerFacts,
    /// Reads during which calls were counted: of some it is not known whether they were there twice or not at all.
    pub torn: u64,
    pub own_cpu_ns: u64,
}

#[derive(Default)]
pub struct Rates {
    pub interval_ns: u64,
    /// Sorted by calls per second, highest first.
    pub rows: Vec<Row>,
    pub total: Row,
    /// Programs, or processes where counts are kept by PID.
    pub callers: usize,
    /// The overhead of all calls, as a share of one CPU.
    pub tax_share: Option<f64>,
    pub own_share: f64,
    /// While the counts of its end were read, calls were counted.
    pub torn: bool,
}

pub fn between(before: &Counts, now: &Counts, by: By, focus: &Focus) -> Rates {
    // Two reads may have the same time stamp.
    let interval_ns = now.at_ns.saturating_sub(before.at_ns).max(1);
    let (mut rows, mut total, mut all): (IndexMap<RowKey, CallCount>, _, _) =
        (IndexMap::new(), CallCount::default(), CallCount::default());
    let mut callers = 0;
    let earlier = by_key(before);
    for group in &now.groups {
        let mut called = false;
        for count in &group.calls {
            let mut count = count.clone();
            if let Some(before) = earlier.get(&key(group, &count)) {
                count.subtract(before);
            }
            let count = by_samples(count, now.tracer.sampled_hz);
            // Calls that go on have no count yet, but may have used time in the interval.
            if count.calls == 0 && count.elapsed_ns().unwrap_or(0) == 0 {
                continue;
            }
            all.add(&count);
            if focus.has(group, &count) {
                called = true;
                total.add(&count);
                add(&mut rows, by, group, &count);
            }
        }
        callers += usize::from(called);
    }
    let interval = Interval {
        ns: interval_ns,
        before,
        now,
    };
    let rows = rows.into_iter();
    let mut rows: Vec<Row> = rows.map(|(key, count)| interval.row(key, &count)).collect();
    rows.sort_by(by_calls);
    let share = |ns: f64| ns / interval_ns as f64;
    let tax_share = interval.tax_ns(all.calls).map(share);
    let own_share = share(now.own_cpu_ns.saturating_sub(before.own_cpu_ns) as f64);
    Rates {
        interval_ns,
        rows,
        total: interval.row(
            RowKey {
                call: focus.call.clone(),
                ..RowKey::default()
            },
            &total,
        ),
        callers,
        tax_share,
        own_share,
        torn: now.torn > before.torn,
    }
}

fn by_calls(a: &Row, b: &Row) -> Ordering {
    (b.calls, b.samples)
        .cmp(&(a.calls, a.samples))
        .then_with(|| a.key.cmp(&b.key))
}

type CountKey<'a> = (&'a str, Option<u32>, Option<&'a str>, &'a str, &'a Class);

fn key<'a>(group: &'a ProcessGroup, count: &'a CallCount) -> CountKey<'a> {
    (
        &group.name,
        group.pid,
        group.cgroup.as_deref(),
        &count.call,
        &count.class,
    )
}

fn by_key(counts: &Counts) -> HashMap<CountKey<'_>, &CallCount> {
    counts
        .groups
        .iter()
        .flat_map(|group| group.calls.iter().map(move |count| (group, count)))
        .map(|(group, count)| (key(group, count), count))
        .collect()
}

/// The mean time that a sample stands for changes since tracing began.
fn by_samples(count: CallCount, hz: Option<u64>) -> CallCount {
    match (count.samples, hz) {
        (Some(samples), Some(hz)) => CallCount {
            on_cpu_ns: Some(samples * 1_000_000_000 / hz.max(1)),
            ..count
        },
        _ => count,
    }
}

fn add(rows: &mut IndexMap<RowKey, CallCount>, by: By, group: &ProcessGroup, count: &CallCount) {
    let mut key = RowKey::default();
    match by {
        By::Program | By::Process => key.process = Some(group.name.clone()),
        By::Call | By::Class => key.call = Some(count.call.clone()),
        By::Cgroup => key.cgroup = Some(group.cgroup.clone().unwrap_or_default()),
        By::Error => return add_errors(rows, count),
    }
    if by == By::Process {
        (key.pid, key.cgroup) = (group.pid, group.cgroup.clone());
    }
    if by == By::Class {
        key.class = count.class.clone();
    }
    rows.entry(key).or_default().add(count);
}

fn add_errors(rows: &mut IndexMap<RowKey, CallCount>, count: &CallCount) {
    for (error, calls) in &count.errors {
        let failed = CallCount {
            calls: *calls,
            errors: [(error.clone(), *calls)].into(),
            ..CallCount::default()
        };
        let key = RowKey {
            call: Some(count.call.clone()),
            error: Some(error.clone()),
            ..RowKey::default()
        };
        rows.entry(key).or_default().add(&failed);
    }
}

struct Interval<'a> {
    ns: u64,
    before: &'a Counts,
    now: &'a Counts,
}

impl Interval<'_> {
    fn row(&self, key: RowKey, count: &CallCount) -> Row {
        let per_s = |count: u64| count as f64 * 1e9 / self.ns as f64;
        let share = |ns: Option<u64>| ns.map(|ns| ns as f64 / self.ns as f64);
        let quantiles = match (&key.call, &key.error) {
            (Some(call), None) => self.latency(call),
            _ => None,
        };
        let quantile = |share: f64| {
            let measured = quantiles.as_ref()?.quantile_ns(share)?;
            Some((measured - self.now.tracer.within_call_ns()).max(0.0))
        };
        Row {
            p50_ns: quantile(0.5),
            p99_ns: quantile(0.99),
            key,
            arguments: None,
            calls: count.calls,
            samples: count.samples,
            errors: count.failures(),
            calls_per_s: per_s(count.calls),
            errors_per_s: per_s(count.failures()),
            on_cpu_share: share(count.on_cpu_ns),
            runnable_threads: share(count.runnable_ns),
            blocked_threads: share(count.blocked_ns),
            mean_ns: count.mean_ns(),
        }
    }

    fn latency(&self, call: &str) -> Option<Histogram> {
        let now = self.now.latencies.get(call)?;
        let before = self.before.latencies.get(call);
        Some(before.map_or_else(|| now.clone(), |before| without(now, &[before])))
    }

    fn tax_ns(&self, calls: u64) -> Option<f64> {
        let (before, now) = (&self.before.tracer, &self.now.tracer);
        now.added_total_ns
            .zip(before.added_total_ns.or(Some(0)))
            .map(|(now, before)| now.saturating_sub(before) as f64)
            .or_else(|| Some(now.added_per_call_ns? * calls as f64))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::row::Who;
    use super::*;
    use model::fixtures::called;

    pub fn counted(call: &str, calls: u64, on_cpu_ns: u64) -> CallCount {
        CallCount {
            errors: [("EAGAIN".to_string(), calls / 2)].into(),
            on_cpu_ns: Some(on_cpu_ns),
            blocked_ns: Some(0),
            ..called(call, calls)
        }
    }

    pub fn group(name: &str, pid: u32, calls: Vec<CallCount>) -> ProcessGroup {
        ProcessGroup {
            name: name.into(),
            pid: Some(pid),
            cgroup: Some("/a".into()),
            calls,
            ..ProcessGroup::default()
        }
    }

    pub fn counts(at_ns: u64, groups: Vec<ProcessGroup>) -> Counts {
        let tracer = TracerFacts {
            added_per_call_ns: Some(100.0),
            ..TracerFacts::default()
        };
        Counts {
            at_ns,
            groups,
            tracer,
            own_cpu_ns: at_ns / 50,
            ..Counts::default()
        }
    }

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn rates_are_of_the_interval_alone() {
        let before = counts(
            SECOND,
            vec![group("a", 1, vec![counted("read", 100, 1000)])],
        );
        let a = vec![counted("read", 300, SECOND), counted("write", 10, 10)];
        let b = vec![counted("read", 1000, 2000)];
        let now = counts(3 * SECOND, vec![group("a", 1, a), group("b", 2, b)]);
        let rates = between(&before, &now, By::Process, &Focus::default());
        let seen = rates.rows.iter().map(|row| (row.pid, row.calls));
        assert_eq!(seen.collect::<Vec<_>>(), [(Some(2), 1000), (Some(1), 210)]);
        let a = &rates.rows[1];
        assert_eq!(
            (a.calls_per_s, a.errors, a.errors_per_s),
            (105.0, 105, 52.5)
        );
        assert!((a.on_cpu_share.unwrap() - 0.5).abs() < 1e-5 && a.p99_ns.is_none());
        assert_eq!(
            (rates.total.calls, rates.callers, rates.interval_ns),
            (1210, 2, 2 * SECOND)
        );
        // 1210 calls of 100 ns in 2 s; 40 ms of 2 s.
        assert!((rates.tax_share.unwrap() - 1210.0 * 100.0 / 2e9).abs() < 1e-12);
        assert!((rates.own_share - 0.02).abs() < 1e-12);
    }

    #[test]
    fn who_called_nothing_is_not_there() {
        let before = counts(0, vec![group("a", 1, vec![counted("read", 100, 1000)])]);
        let now = counts(SECOND, before.groups.clone());
        // The counts of a group that is gone must not become negative rates.
        for now in [now, counts(SECOND, Vec::new())] {
            let rates = between(&before, &now, By::Call, &Focus::default());
            let actual = (rates.rows.len(), rates.total.calls, rates.callers);
            assert_eq!(actual, (0, 0, 0));
        }
    }

    #[test]
    fn a_focus_keeps_its_process_and_its_call() {
        let a = vec![counted("read", 4, 1), counted("write", 2, 1)];
        let b = vec![counted("read", 8, 1)];
        let now = counts(SECOND, vec![group("a", 1, a), group("a", 2, b)]);
        fn process(pid: Option<u32>) -> Focus {
            Focus {
                process: Some(Who {
                    name: "a".into(),
                    pid,
                }),
                ..Focus::default()
            }
        }

        let write = Focus {
            call: Some("write".into()),
            ..process(Some(1))
        };
        let all = Focus::default();
        for (by, focus, expected) in [
            (By::Call, process(Some(1)), &[("read", 4), ("write", 2)][..]),
            (By::Class, write, &[("write", 2)]),
            (By::Call, process(None), &[("read", 12), ("write", 2)]),
            (By::Program, all.clone(), &[("", 14)]),
            (By::Cgroup, all.clone(), &[("", 14)]),
            (By::Error, all, &[("read", 6), ("write", 1)]),
        ] {
            let rows = between(&Counts::default(), &now, by, &focus).rows;
            let actual = rows
                .iter()
                .map(|row| (row.call.as_deref().unwrap_or(""), row.calls));
            assert_eq!(actual.collect::<Vec<_>>(), expected);
        }
    }

    #[test]
    fn quantiles_are_those_of_the_interval() {
        fn counts_at(at_ns: u64, calls: u64, slow: u64) -> Counts {
            Counts {
                latencies: latencies(slow),
                ..counts(at_ns, vec![group("a", 1, vec![counted("read", calls, 1)])])
            }
        }

        fn latencies(slow: u64) -> BTreeMap<String, Histogram> {
            let mut histogram = Histogram::default();
            histogram.add(histogram.bucket(100), 1000);
            histogram.add(histogram.bucket(100_000), slow);
            BTreeMap::from([("read".to_string(), histogram)])
        }

        let (before, now) = (counts_at(0, 1000, 0), counts_at(SECOND, 1010, 10));
        let row = &between(&before, &now, By::Call, &Focus::default()).rows[0];
        let p50_ns = row.p50_ns.unwrap();
        assert!((90_000.0..120_000.0).contains(&p50_ns), "{row:?}");
    }
}
