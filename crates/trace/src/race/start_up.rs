//! Measures the cost of starting each environment: a program that does nothing is raced against itself natively, and the memory of
//! the environment's processes is summed up.

use super::{Options, inside, run};
use anyhow::Result;
use measure::runner::{Environment, Interrupt, RunDirectory};
use measure::session::Watch;
use model::{Contender, StartUp};
use std::collections::BTreeMap;
use std::time::Duration;

/// By the names of environments, without native. Rounds end after `time`, but there are at least so many as an interval takes.
///
/// # Errors
/// Native programs cannot be started, one that does nothing fails after it has started once, or an interrupt.
pub fn start_ups(
    environments: &[Environment],
    time: Duration,
    interrupt: &Interrupt,
    watch: &dyn Watch,
    tell: &dyn Fn(&str),
) -> Result<BTreeMap<String, StartUp>> {
    let mut directory = RunDirectory::create()?;
    let entered = inside::empty(environments, &mut directory, interrupt, tell)?;
    let (commands, memory): (Vec<_>, Vec<_>) = entered.into_iter().unzip();
    let options = Options {
        time: Some(time),
        warmup: 1,
        ..Options::default()
    };
    let race = run(
        &commands,
        &options,
        (interrupt, Some(directory)),
        watch,
        tell,
    )?;
    interrupt.check()?;
    let times: Vec<Vec<f64>> = race.contenders.iter().map(times_ns).collect();
    let added = |index: usize| -> Vec<f64> {
        let pairs = times[index].iter().zip(&times[0]);
        pairs.map(|(there, native)| there - native).collect()
    };
    let all = race.contenders.iter().enumerate().skip(2);
    Ok(all
        .filter_map(|(index, contender)| {
            let native_kib = memory[0];
            let start_up = StartUp {
                added_ns: added(index),
                control_ns: added(1),
                memory_kib: memory[index]
                    .zip(native_kib)
                    .map(|(there, native)| there.saturating_sub(native)),
            };
            Some((contender.environment.as_ref()?.name.clone(), start_up))
        })
        .collect())
}

fn times_ns(contender: &Contender) -> Vec<f64> {
    let empty = contender.environment.iter().flat_map(|there| &there.empty);
    let both = contender.runs.iter().zip(empty);
    both.map(|(one, other)| (one.wall_ns + other.wall_ns) as f64 / 2.0)
        .collect()
}
