//! Where a workload's time went, what could be saved, and what its calls would cost elsewhere. Pure.
//!
//! Not here: measuring (`session`, `race`), tracing (`trace`), and all words and tables (`report`). `cli::why` calls it.
//!
//! What happened in the program is as the tracer measured it: `path` divides the wall time, `breakdown` the CPU time and the calls
//! (`blocked` and `charged` are what it knows of waits and of the kernel's accounting). `advice` says what could be saved.
//! Unit costs serve only where nothing can be run: `elsewhere` multiplies calls by the difference of two of them (`costs`, `prices`
//! and the table of `units`).

pub mod advice;
pub mod blocked;
pub mod breakdown;
mod charged;
pub mod costs;
pub mod elsewhere;
pub mod path;
mod prices;
pub mod seconds;
pub mod units;
pub mod waits;

use crate::model::Profile;
use advice::Advice;
use breakdown::{CallRow, CpuTime, Entering};
use costs::Costs;
use elsewhere::Elsewhere;
use path::Path;
use schemars::JsonSchema;
use serde::Serialize;

/// All that can be said of a profile.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Attribution {
    /// What the wall time was; `None` where that is not known.
    pub wall: Option<Path>,
    pub cpu: CpuTime,
    /// The calls, by falling time on a CPU and time in which nothing else of the program ran.
    pub calls: Vec<CallRow>,
    /// What entering the kernel takes; `None` where the cost of a null call is not known.
    pub entering: Option<Entering>,
    /// The greatest saving first.
    pub advice: Vec<Advice>,
    /// One for each set of unit costs to compare with.
    pub elsewhere: Vec<Elsewhere>,
    /// The profile was cut short: its counts are lower bounds.
    pub incomplete: bool,
    /// What its figures contradict, and what the profile says of itself.
    pub warnings: Vec<String>,
}

/// Attributes `profile`. `costs` are unit costs of the machine that it is from, which those of `versus` are compared with.
pub fn attribute(profile: &Profile, costs: Option<&Costs>, versus: &[Costs]) -> Attribution {
    let blocked = blocked::blocked(profile);
    let null_ns = costs.and_then(|costs| costs.null_ns()).or(profile.null_call_ns);
    Attribution {
        wall: path::path(profile, &blocked),
        cpu: breakdown::cpu_time(profile),
        calls: breakdown::rows(profile),
        entering: breakdown::entering(profile, null_ns),
        advice: advice::advice(profile, null_ns),
        elsewhere: costs.map_or_else(Vec::new, |here| elsewhere::all(profile, here, versus)),
        incomplete: !profile.complete,
        warnings: charged::contradiction(profile).into_iter().chain(profile.warnings.iter().cloned()).collect(),
    }
}
