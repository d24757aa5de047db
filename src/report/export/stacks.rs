//! The stacks of a profile as formats for stacks have them: cleaned paths with whole weights, one list for each weight.

use crate::clean;
use crate::model::{Profile, StackCount};
use crate::report::profile::{Weight, stack_path};
use anyhow::{Result, bail};

/// The stacks that have a weight.
pub struct Weighed {
    /// `calls`, `on a CPU in calls` or `blocked in calls`.
    pub what: &'static str,
    /// Whether weights are nanoseconds; otherwise they are numbers of calls.
    pub is_time: bool,
    /// The process, its functions from the outermost, and the call; with the weight.
    pub stacks: Vec<(Vec<String>, u64)>,
}

/// The stacks by each weight that is known. Errors: if the profile has no stacks.
pub fn weighed(profile: &Profile) -> Result<Vec<Weighed>> {
    if profile.stacks.is_empty() {
        bail!("the profile has no stacks: trace with --stacks");
    }
    let all = [("calls", Weight::Calls), ("on a CPU in calls", Weight::OnCpu), ("blocked in calls", Weight::Blocked)];
    let of = |(what, weight): (&'static str, Weight)| {
        let one =
            |stack: &StackCount| Some((path(stack), weight.of(stack).map(|weight| weight as u64).filter(|w| *w > 0)?));
        let stacks: Vec<_> = profile.stacks.iter().filter_map(one).collect();
        Weighed { what, is_time: weight != Weight::Calls, stacks }
    };
    Ok(all.into_iter().map(of).filter(|weighed| !weighed.stacks.is_empty()).collect())
}

fn path(stack: &StackCount) -> Vec<String> {
    stack_path(stack).map(|(_, name)| clean::line(name)).collect()
}

/// The command, or `syscost`.
pub fn name(profile: &Profile) -> String {
    let command = clean::line(&profile.command.join(" "));
    if command.is_empty() { "syscost".to_string() } else { command }
}
