//! Requests of io_uring as a table, and TLB shoot-downs as a note.

use crate::numbers::thousands;
use crate::{Cell, Columns, Table};
use analysis::attribute::Attribution;
use model::prose::some;
use model::{Profile, RingWay, ring_latency};
use std::cmp::Reverse;
use std::collections::BTreeMap;

const MOST: usize = 10;
/// Fewer in a second are not worth a note.
const LEAST_SHOOT_DOWNS: f64 = 100.0;
const MOST_SHOOT_DOWNS: usize = 3;

#[derive(Default)]
struct Row<'a> {
    operation: &'a str,
    process: &'a str,
    by_way: [u64; 3],
    elapsed_ns: u64,
}

impl Row<'_> {
    fn requests(&self) -> u64 {
        self.by_way
            .iter()
            .fold(0, |sum, more| sum.saturating_add(*more))
    }
}

/// The 99th percentile is that of all processes.
pub fn rings(profile: &Profile, attribution: &Attribution) -> Table {
    let mut rows: BTreeMap<(&str, &str), Row> = BTreeMap::new();
    for ring_count in &attribution.rings {
        let key = (ring_count.operation.as_str(), ring_count.process.as_str());
        let row = rows.entry(key).or_default();
        (row.operation, row.process) = key;
        let sum = &mut row.by_way[ring_count.way as usize];
        *sum = sum.saturating_add(ring_count.requests);
        row.elapsed_ns = row.elapsed_ns.saturating_add(ring_count.elapsed_ns);
    }
    let mut rows: Vec<Row> = rows.into_values().collect();
    rows.sort_by_key(|row| Reverse(row.requests()));
    rows.truncate(MOST);
    let p99 = |row: &Row| {
        let times = profile.latencies.get(&ring_latency(row.operation))?;
        times.quantile_ns(0.99).map(|ns| ns / 1e3)
    };
    let columns = Columns::new(&rows)
        .left("operation", |row| row.operation)
        .right("requests", Row::requests)
        .right("inline", |row| row.by_way[RingWay::Inline as usize])
        .right("later", |row| row.by_way[RingWay::Later as usize])
        .right("by worker", |row| row.by_way[RingWay::Worker as usize])
        .right("us each", |row| {
            let each = row.elapsed_ns as f64 / 1e3 / row.requests().max(1) as f64;
            Cell::number(format!("{each:.2}"), each)
        })
        .right("p99 us", |row| {
            Cell::known(p99(row), |us| format!("{us:.2}"))
        })
        .yielding(1)
        .left("who", |row| row.process);
    columns
        .table()
        .titled("io_uring requests, from submission to completion")
}

/// A note on the calls that cause most TLB shoot-downs; `None` if there are too few to matter.
pub fn shoot_downs(profile: &Profile, attribution: &Attribution) -> Option<String> {
    // Without other threads, those are of processes that share their memory until an exec.
    if profile.usage.threads == Some(0) {
        return None;
    }
    let wall_s = profile.usage.wall_ns? as f64 / 1e9;
    let shoot_downs = attribution.shoot_downs.iter();
    let many = shoot_downs.filter(|downs| downs.count as f64 > LEAST_SHOOT_DOWNS * wall_s);
    let many: Vec<String> = many
        .take(MOST_SHOOT_DOWNS)
        .map(|downs| {
            let call = match downs.call.as_str() {
                "syscall(unknown)" => "other calls",
                call => call,
            };
            format!("{} by {call}", thousands(downs.count as f64))
        })
        .collect();
    let text = some(&many, MOST_SHOOT_DOWNS);
    if many.is_empty() {
        return None;
    }
    Some(format!(
        "TLB shoot-downs, which interrupt the CPUs of other threads: {text}."
    ))
}
