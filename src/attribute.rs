//! Profile x unit costs = seconds explained, here and elsewhere, with a range, and what is left unexplained. Pure.
//!
//! Not here: measuring (`session`), tracing (`trace`), and all words and tables (`report`). `cli::attribute` calls it.
//!
//! Three questions, a file each: `breakdown`, where the workload's time went (`path`, `blocked` and `charged` are what it knows of
//! wall time, waits and CPU time); `change`, what the time would be with the unit costs of another run (`scaled` for a class,
//! `lines` for sums, `wall` for wall time); `advice`, what could be
//! saved. `spread` and `speed` hold the error model, `units` and
//! `waits` the tables of which operation prices which call, and of what calls wait for.

pub mod advice;
pub mod blocked;
pub mod breakdown;
pub mod change;
mod charged;
mod comparison;
pub mod costs;
pub mod lines;
pub mod needs;
pub mod path;
mod prices;
mod scaled;
mod speed;
pub mod spread;
pub mod units;
mod unlike;
pub mod waits;
pub mod wall;

use crate::model::{By, Profile};
use advice::Advice;
use breakdown::Breakdown;
use change::Change;
use costs::Costs;
use schemars::JsonSchema;
use serde::Serialize;
pub use unlike::UnlikeCall;

/// All that can be said of a profile with the unit costs at hand.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Attribution {
    pub here: Breakdown,
    /// One for each set of unit costs to compare with.
    pub versus: Vec<Change>,
    /// The greatest saving first.
    pub advice: Vec<Advice>,
    pub warnings: Vec<AttributionWarning>,
}

/// What is missing or doubtful.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum AttributionWarning {
    /// Without unit costs, bare crossings, page faults and savings have no price. `run --profile` measures those of these
    /// operations and values of parameters (as `--param` takes them) that this profile needs.
    NoUnitCosts { operations: Vec<String>, parameters: Vec<String> },
    /// These unit costs have no null call, so bare crossings have no price.
    NoNullCall { costs: String },
    /// The profile was cut short: its counts are lower bounds.
    IncompleteProfile,
    /// These unit costs have no intervals, so ranges contain the model's error alone.
    NoIntervals { costs: String },
    /// More threads were in the kernel at once than these unit costs were measured with; `peak` is `None` where the profile
    /// does not say how many.
    Concurrency { peak: Option<u64>, costs: String, measured_with: u64 },
    /// Calls whose time differs from these unit costs by a factor of 4 or more: they do other work than the measured operations.
    UnlikeUnitCosts { costs: String, calls: Vec<UnlikeCall> },
    /// What the profile itself says, in its words.
    Recorded { text: String },
}

/// Attributes `profile`, with a row for each call or for each class, as `by` says. `costs` are unit costs of the machine that
/// the profile is from; without them nothing can be compared. `versus` are those of other machines, kernels or environments.
pub fn attribute(profile: &Profile, costs: Option<&Costs>, versus: &[Costs], by: By) -> Attribution {
    let changes = |own| versus.iter().map(|other| change::change(profile, own, other)).collect();
    Attribution {
        here: breakdown::break_down(profile, costs, by),
        versus: costs.map_or_else(Vec::new, changes),
        advice: advice::advice(profile, costs.and_then(|own| own.null_call()).map(|null| null.cost.ns)),
        warnings: warnings(profile, costs, versus),
    }
}

fn warnings(profile: &Profile, costs: Option<&Costs>, versus: &[Costs]) -> Vec<AttributionWarning> {
    let mut warnings = Vec::new();
    match costs {
        None => warnings.push(no_unit_costs(profile)),
        Some(own) if own.null_call().is_none() => {
            warnings.push(AttributionWarning::NoNullCall { costs: own.label.clone() });
        }
        Some(_) => {}
    }
    warnings.extend((!profile.complete).then_some(AttributionWarning::IncompleteProfile));
    let all = || costs.into_iter().chain(versus);
    let inexact = all().filter(|costs| !costs.has_intervals);
    warnings.extend(inexact.map(|costs| AttributionWarning::NoIntervals { costs: costs.label.clone() }));
    warnings.extend(all().filter_map(|costs| concurrency(profile, costs)));
    let unlike = costs.map(|own| (own.label.clone(), unlike::unlike(profile, own)));
    let unlike = unlike.filter(|(_, calls)| !calls.is_empty());
    warnings.extend(unlike.map(|(costs, calls)| AttributionWarning::UnlikeUnitCosts { costs, calls }));
    warnings.extend(profile.warnings.iter().cloned().map(|text| AttributionWarning::Recorded { text }));
    warnings.dedup();
    warnings
}

fn no_unit_costs(profile: &Profile) -> AttributionWarning {
    let needs = needs::needs(profile, None);
    let operations = needs.operations().into_iter().map(str::to_string).collect();
    AttributionWarning::NoUnitCosts { operations, parameters: needs.parameters() }
}

/// Calls that contend for a lock or an object cost more than unit costs that were measured with fewer threads.
fn concurrency(profile: &Profile, costs: &Costs) -> Option<AttributionWarning> {
    let usage = &profile.usage;
    let threads = usage.processes.unwrap_or(1).saturating_add(usage.threads.unwrap_or(0));
    (usage.peak_concurrency.unwrap_or(threads) > costs.threads).then(|| AttributionWarning::Concurrency {
        peak: usage.peak_concurrency,
        costs: costs.label.clone(),
        measured_with: costs.threads,
    })
}
