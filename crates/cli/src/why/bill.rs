//! The extra time of a raced command's calls in each environment, by unit costs measured there after the race.

use crate::run::in_environments;
use analysis::attribute::bill::{bill, pricing};
use analysis::compare::RaceFound;
use anyhow::Result;
use model::Profile;
use std::time::Duration;

/// For all environments together: at most this, and not less.
const MOST: Duration = Duration::from_secs(6);
const LEAST: Duration = Duration::from_millis(2_500);
/// The time for starting and ending processes, beyond that of the run.
const AROUND: Duration = Duration::from_secs(1);
/// Starting the probe anew in an environment that starts more slowly takes too much of it.
const LONGEST_START_UP_S: f64 = 0.05;

/// `left` is what the answer may still take. Nothing is added if that is too little, to a race that was interrupted, or if this is.
pub fn add(race: &mut RaceFound, profile: &Profile, left: Duration) -> Result<()> {
    let time = left.saturating_sub(AROUND).min(MOST);
    if !race.complete || time < LEAST {
        return Ok(());
    }
    let start_up = |index: usize| race.results[index].inside.as_ref()?.start_up;
    let measured: Vec<usize> = (0..race.versus.len())
        .filter(|index| {
            let head = race.versus[*index].head;
            !race.results[head].control
                && start_up(head).is_some_and(|[start_up, ..]| start_up < LONGEST_START_UP_S)
        })
        .collect();
    let Some(first) = measured.first() else {
        return Ok(());
    };
    let base = race.results[race.versus[*first].base].name();
    let heads = measured
        .iter()
        .map(|index| race.results[race.versus[*index].head].name());
    let names: Vec<&str> = std::iter::once(base).chain(heads).collect();
    let run = in_environments(&pricing(profile), &names, time)?;
    if !run.complete {
        return Ok(());
    }
    let bills: Vec<_> = names[1..]
        .iter()
        .map(|name| bill(profile, &run, base, name))
        .collect();
    for (index, bill) in measured.into_iter().zip(bills) {
        race.versus[index].by_calls = bill;
    }
    Ok(())
}
