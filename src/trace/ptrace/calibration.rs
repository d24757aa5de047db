//! What the tracer adds to a call, as measured with null calls.

use std::time::Instant;

/// What is subtracted of each call, and what is added to each.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Calibration {
    /// CPU time of a null call between its stops, beyond what it takes without a tracer.
    pub on_cpu_ns: u64,
    /// Time off the CPU between the stops of a null call, which waits for nothing but the tracer.
    pub off_cpu_ns: u64,
    /// Wall time that tracing adds to a call.
    pub added_ns: f64,
}

impl Calibration {
    pub fn elapsed_ns(&self) -> u64 {
        self.on_cpu_ns + self.off_cpu_ns
    }
}

/// One null call under the tracer.
#[derive(Clone, Copy, Debug)]
pub struct NullCall {
    pub at: Instant,
    pub on_cpu_ns: u64,
    pub off_cpu_ns: u64,
}
