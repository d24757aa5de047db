//! Profile x unit costs = seconds explained, here and elsewhere, with a range, and what is left unexplained. Pure.
//!
//! Not here: measuring (`session`), tracing (`trace`), and how it is shown (`report`). `cli::attribute` calls it.
//!
//! Three questions, a file each: `here`, where the workload's time went; `change`, what it would be with the unit costs of
//! another run; `advice`, what could be saved. The rule of errors stands in `spread`, the table of what prices which call
//! in `units`.

pub mod advice;
pub mod change;
pub mod costs;
pub mod here;
pub mod spread;
pub mod units;

use crate::model::{By, Profile};
use advice::Advice;
use change::Change;
use costs::Costs;
use here::Here;
use schemars::JsonSchema;
use serde::Serialize;

/// All that can be said of a profile with the unit costs at hand.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Attribution {
    pub here: Here,
    /// One for each set of unit costs that was to be compared with.
    pub versus: Vec<Change>,
    pub advice: Vec<Advice>,
    /// What is missing or doubtful, one line each.
    pub warnings: Vec<String>,
}

/// Attributes `profile`, its rows told apart `by` call or class. `costs` are unit costs of the machine that it is from,
/// `versus` those of others.
pub fn attribute(profile: &Profile, costs: Option<&Costs>, versus: &[Costs], by: By) -> Attribution {
    Attribution {
        here: here::here(profile, costs, by),
        versus: versus.iter().map(|there| change::change(profile, costs, there)).collect(),
        advice: costs.map_or_else(Vec::new, |costs| advice::advice(profile, costs)),
        warnings: warnings(profile, costs, versus),
    }
}

fn warnings(profile: &Profile, costs: Option<&Costs>, versus: &[Costs]) -> Vec<String> {
    let mut warnings = Vec::new();
    match costs {
        None => warnings.push(format!(
            "no unit costs of this machine: bare crossings, page faults and savings are not priced; make them by '{}' \
             and say --costs costs.json",
            wanted_run(profile)
        )),
        Some(costs) if costs.null_call().is_none() => warnings.push(format!(
            "{}: has no null call, so bare crossings are not priced: measure id.getppid too",
            costs.label
        )),
        Some(_) => {}
    }
    if !profile.complete {
        warnings.push("the profile is incomplete: all counts are lower bounds".to_string());
    }
    let published = costs.into_iter().chain(versus).filter(|costs| !costs.has_intervals);
    warnings.extend(published.map(|costs| {
        format!(
            "{}: figures without intervals, so ranges hold the model's error alone, and bare crossings have none",
            costs.label
        )
    }));
    warnings.extend(costs.into_iter().chain(versus).filter_map(|costs| concurrency(profile, costs)));
    warnings.extend(profile.warnings.iter().cloned());
    warnings.dedup();
    warnings
}

/// The command that measures what prices this profile's dearest calls, over the parameters that its classes have.
fn wanted_run(profile: &Profile) -> String {
    let mut operations = vec!["id.getppid", "mem.fault_anonymous"];
    let mut parameters = Vec::new();
    for total in profile.totals(By::Class) {
        let Some(unit) = units::unit_of(&total.count.call, &total.count.class) else { continue };
        let new = [unit.operations[0]].into_iter().chain(unit.less.iter().copied());
        let new: Vec<&str> = new.filter(|operation| !operations.contains(operation)).collect();
        operations.extend(new);
        let values = unit.per.measured_at().filter(|values| !parameters.contains(values));
        parameters.extend(values);
        if operations.len() >= MOST_WANTED {
            break;
        }
    }
    let parameters: String = parameters.iter().map(|values| format!(" --param {values}")).collect();
    format!("syscost run {}{parameters} --out costs.json", operations.join(" "))
}

/// Operations that a command for unit costs names: those of the dearest calls.
const MOST_WANTED: usize = 12;

/// Says so where more threads were inside the kernel at once than the unit costs were measured with.
pub fn concurrency(profile: &Profile, costs: &Costs) -> Option<String> {
    let covered = costs.threads;
    let unit = if covered == 1 { "one thread".to_string() } else { format!("up to {covered} threads") };
    let cover = format!("the unit costs ({}) are of {unit}", costs.label);
    let advice = "calls that contend for a lock or an object cost more than they say";
    let usage = &profile.usage;
    match (usage.peak_concurrency, usage.processes, usage.threads) {
        (Some(peak), ..) if peak > covered => {
            Some(format!("up to {peak} threads were in the kernel at once, {cover}: {advice}"))
        }
        (None, processes, threads) if processes.unwrap_or(1).saturating_add(threads.unwrap_or(0)) > covered => {
            Some(format!("several processes or threads ran, how many of them at once is not known; {cover}: {advice}"))
        }
        _ => None,
    }
}
