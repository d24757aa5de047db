//! One case in Benchmark's terms.

use analysis::summary::RowCost;
use model::{Measurement, Record};

#[derive(Debug)]
pub struct Timing<'a> {
    pub name: String,
    /// Waits included. More than 0.
    pub rate: f64,
    pub measurement: Option<&'a Measurement>,
}

/// The shortest time that has a rate, in nanoseconds.
const SHORTEST_NS: f64 = 1e-6;

impl<'a> Timing<'a> {
    pub fn new(name: String, figure: &RowCost, record: &'a Record) -> Timing<'a> {
        let rate = 1e9 / figure.median.0.max(SHORTEST_NS);
        Timing {
            name,
            rate: rate.max(f64::MIN_POSITIVE),
            measurement: record.outcome.measurement(),
        }
    }
}
