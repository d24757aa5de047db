//! The JSON document of an interval: one a line.

use analysis::top::{Rates, Row};
use model::JsonDocument;
use schemars::JsonSchema;
use serde::Serialize;

/// The output of `syscost top`, one line per interval. A call is counted in the interval in which it ended, with all its time.
#[derive(Serialize, JsonSchema)]
pub struct TopDocument<'a> {
    /// The target: a command, `process 12`, `cgroup /x`, `the whole system`.
    scope: &'a str,
    /// When the interval ended, in seconds since 1970-01-01 UTC.
    at_unix_s: f64,
    /// How long it was, in seconds.
    interval_s: f64,
    /// Programs that called anything; processes, if rows are processes.
    callers: usize,
    /// The sum over all calls.
    total: &'a Row,
    /// The most called first.
    rows: &'a [Row],
    cost: Cost,
    /// Events that were seen but not counted since tracing began, at most. If there are any, counts are lower bounds.
    lost: u64,
    /// Whether calls were counted while these counts were read: some may be here twice or not at all.
    torn: bool,
}

/// The overhead of tracing.
#[derive(Serialize, JsonSchema)]
pub struct Cost {
    /// CPU time that tracing added to all calls, as a share of one CPU; null if unknown.
    calls_share: Option<f64>,
    /// CPU time of syscost itself, as a share of one CPU.
    own_share: f64,
}

impl<'a> TopDocument<'a> {
    /// The document of `rates`, of which `rows` are shown.
    pub fn new(
        scope: &'a str,
        at_unix_s: f64,
        rates: &'a Rates,
        rows: &'a [Row],
        lost: u64,
    ) -> TopDocument<'a> {
        TopDocument {
            scope,
            at_unix_s,
            interval_s: rates.interval_ns as f64 / 1e9,
            callers: rates.callers,
            total: &rates.total,
            rows,
            cost: Cost {
                calls_share: rates.tax_share,
                own_share: rates.own_share,
            },
            lost,
            torn: rates.torn,
        }
    }
}

impl JsonDocument for TopDocument<'_> {
    const SCHEMA: &'static str = "syscost.top/2";
}
