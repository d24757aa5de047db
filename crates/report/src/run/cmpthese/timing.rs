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

/// Judging from its rates, Benchmark adds this to seconds before it divides by them: even 0 seconds give a rate.
const NO_TIME_S: f64 = 1e-15;

impl<'a> Timing<'a> {
    pub fn new(name: String, figure: &RowCost, record: &'a Record) -> Timing<'a> {
        let rate = 1.0 / (figure.median.0 / 1e9 + NO_TIME_S);
        Timing {
            name,
            rate: rate.max(f64::MIN_POSITIVE),
            measurement: record.outcome.measurement(),
        }
    }
}
