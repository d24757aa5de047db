//! Which tracer is used: the one that was asked for, else the first that is available. A tracer is one row.

use super::tracer::{Options, Tracer};
use anyhow::{Result, bail};

/// A way to trace, as users name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// The kernel counts: exact, least overhead. Root or CAP_BPF and CAP_PERFMON.
    Bpf,
    /// Each call stops twice: exact, unprivileged, slow. With --counts it stops once.
    Ptrace,
    /// Counters of the calls that --calls names. Counts alone.
    Perf,
}

/// A tracer, and the line that is said of it.
pub struct Chosen {
    pub tracer: Box<dyn Tracer>,
    pub line: String,
}

struct Row {
    kind: Kind,
    name: &'static str,
    /// Whether it is tried when none was asked for.
    automatic: bool,
    open: fn(&Options) -> Result<Box<dyn Tracer>>,
}

/// In the order in which they are tried.
const ROWS: &[Row] = &[
    Row { kind: Kind::Bpf, name: "bpf", automatic: true, open: super::bpf::open },
    Row { kind: Kind::Ptrace, name: "ptrace", automatic: true, open: super::ptrace::open },
    Row { kind: Kind::Perf, name: "perf", automatic: false, open: super::perf::open },
];

/// Opens a tracer.
///
/// # Errors
/// Why the one that was asked for, or any, is not available.
pub fn choose(wanted: Option<Kind>, options: &Options) -> Result<Chosen> {
    let mut refused = Vec::new();
    for row in ROWS.iter().filter(|row| wanted.map_or(row.automatic, |kind| kind == row.kind)) {
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
