//! Chooses a tracer: the requested one, else the first that is available. A tracer is one row.

use super::tracer::{TraceOptions, Tracer, TracerKind};
use anyhow::{Result, bail};

/// A tracer, and the line that introduces it.
pub struct Chosen {
    pub tracer: Box<dyn Tracer>,
    pub line: String,
}

struct Row {
    kind: TracerKind,
    name: &'static str,
    /// Whether it is tried if none was requested.
    automatic: bool,
    open: fn(&TraceOptions) -> Result<Box<dyn Tracer>>,
}

/// In the order in which they are tried.
const ROWS: &[Row] = &[
    Row { kind: TracerKind::Bpf, name: "bpf", automatic: true, open: super::bpf::open },
    Row { kind: TracerKind::Ptrace, name: "ptrace", automatic: true, open: super::ptrace::open },
    Row { kind: TracerKind::Perf, name: "perf", automatic: false, open: super::perf::open },
];

/// Opens a tracer.
///
/// # Errors
/// Why the requested one, or any, is not available.
pub fn choose(options: &TraceOptions) -> Result<Chosen> {
    let mut refused = Vec::new();
    for row in ROWS.iter().filter(|row| options.tracer.map_or(row.automatic, |kind| kind == row.kind)) {
        match (row.open)(options) {
            Ok(tracer) => {
                let line = format!("tracer: {}{}", tracer.introduction(), because(&refused));
                return Ok(Chosen { tracer, line });
            }
            Err(error) => refused.push(format!("{}: {error:#}", row.name)),
        }
    }
    bail!("trace: no tracer is available: {}", refused.join("; "))
}

fn because(refused: &[String]) -> String {
    if refused.is_empty() { String::new() } else { format!(" ({})", refused.join("; ")) }
}
