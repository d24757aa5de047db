//! The rounds: one run of each command, in a new random order each time.

use super::command::Command;
use super::options::{FEWEST_ROUNDS, Options, TIME_EACH, USUAL_ROUNDS};
use super::timing::time;

use crate::model::TimedRun;
use crate::runner::Interrupt;
use crate::session::{Stage, Watch};
use anyhow::{Result, bail};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;
use std::time::{Duration, Instant};

/// A race about to start: what the commands take is known from their warm-up.
pub struct Ready<'a> {
    pub commands: &'a [Command],
    pub options: &'a Options,
    pub begun: Instant,
    /// What a round took in the warm-up; `None` without one.
    pub round: Option<Duration>,
}

/// Runs each command as often as asked for, untimed, and returns how long the last round took.
///
/// # Errors
/// A command that cannot be run, or that fails.
pub fn warm_up(commands: &[Command], options: &Options, interrupt: &Interrupt) -> Result<Option<Duration>> {
    let mut last = None;
    for _ in 0..options.warmup {
        let begun = Instant::now();
        for command in commands {
            once(command, options, interrupt)?;
        }
        last = Some(begun.elapsed());
    }
    Ok(last)
}

/// Prepares and runs a command; `None` if that was interrupted.
fn once(command: &Command, options: &Options, interrupt: &Interrupt) -> Result<Option<TimedRun>> {
    if interrupt.is_set() {
        return Ok(None);
    }
    prepare(command, interrupt)?;
    let run = time(&command.traced, &command.launch, interrupt)?;
    match run {
        Some(run) if run.status != 0 && !options.ignore_failure => bail!(
            "'{}' failed with status {}: --show-output shows why, --ignore-failure times it all the same",
            command.text,
            run.status
        ),
        run => Ok(run),
    }
}

/// Runs what prepares the command.
///
/// # Errors
/// If it fails.
pub fn prepare(command: &Command, interrupt: &Interrupt) -> Result<()> {
    let Some(launch) = &command.prepare else { return Ok(()) };
    match time(&command.traced, launch, interrupt)? {
        Some(run) if run.status != 0 => bail!("--prepare failed with status {}: --show-output shows why", run.status),
        _ => Ok(()),
    }
}

impl Ready<'_> {
    /// The fewest rounds, and when to end after them; `None` for just these.
    fn limit(&self) -> (u32, Option<Instant>) {
        match (self.options.runs, self.options.time) {
            (Some(runs), _) => (runs, None),
            (None, Some(time)) => (FEWEST_ROUNDS, Some(self.begun + time)),
            (None, None) => {
                let time = TIME_EACH * u32::try_from(self.commands.len()).unwrap_or(u32::MAX);
                (USUAL_ROUNDS, Some(Instant::now() + time))
            }
        }
    }

    /// Says so if the fewest rounds take longer than the time that was asked for.
    pub fn warn(&self, tell: &dyn Fn(&str)) {
        let (fewest, end) = self.limit();
        let (Some(round), Some(end), Some(_)) = (self.round, end, self.options.time) else { return };
        let left = end.saturating_duration_since(Instant::now());
        if round * fewest > left {
            let (round, all) = (round.as_secs_f64(), (round * fewest).as_secs_f64());
            tell(&format!(
                "a round takes {round:.2} s, so {fewest} rounds, the fewest with an interval, take {all:.1} s"
            ));
        }
    }

    /// The runs of each command, one for each complete round.
    pub fn rounds(&self, seed: u64, interrupt: &Interrupt, watch: &dyn Watch) -> Result<Vec<Vec<TimedRun>>> {
        watch.stage(Stage::Measuring);
        let (mut random, (fewest, end)) = (ChaCha8Rng::seed_from_u64(seed), self.limit());
        let mut runs: Vec<Vec<TimedRun>> = vec![Vec::new(); self.commands.len()];
        let mut order: Vec<usize> = (0..self.commands.len()).collect();
        let begun = Instant::now();
        for done in 0.. {
            watch.at(share(done, fewest, begun, end), "");
            let each = begun.elapsed() / u32::max(done, 1);
            if done >= fewest && end.is_none_or(|end| Instant::now() + each > end) {
                break;
            }
            order.shuffle(&mut random);
            let Some(round) = self.round(&order, interrupt)? else { break };
            runs.iter_mut().zip(round).for_each(|(runs, own)| runs.push(own));
        }
        Ok(runs)
    }

    /// One run of each command, by command; `None` if the round was interrupted.
    fn round(&self, order: &[usize], interrupt: &Interrupt) -> Result<Option<Vec<TimedRun>>> {
        let mut runs = vec![TimedRun::default(); order.len()];
        for &index in order {
            match once(&self.commands[index], self.options, interrupt)? {
                Some(run) => runs[index] = run,
                None => return Ok(None),
            }
        }
        Ok(Some(runs))
    }
}

/// How much is done, from 0 to 1.
fn share(done: u32, fewest: u32, begun: Instant, end: Option<Instant>) -> f64 {
    let rounds = f64::from(done) / f64::from(fewest.max(1));
    let time = end.map_or(1.0, |end| begun.elapsed().as_secs_f64() / (end - begun).as_secs_f64().max(1e-3));
    rounds.min(time).min(1.0)
}
