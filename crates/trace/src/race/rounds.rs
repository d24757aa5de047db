//! The rounds: one run of each command, in a new random order each time; in environments, also one of a program that does nothing.

use super::command::Command;
use super::course::Course;
use super::options::{FEWEST_ROUNDS, KNOWN, PATIENCE, TIME_EACH, USUAL_ROUNDS};
use super::site::Inside;
use super::timing::time;
use anyhow::{Result, bail};
use measure::runner::NATIVE;
use measure::session::{Stage, Watch};
use model::TimedRun;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use stats::next_trimmed_ratio;
use std::time::{Duration, Instant};

/// What is timed once in each round.
pub enum Entry<'a> {
    Command(&'a Command),
    /// The program that does nothing, in an environment.
    Empty(&'a Inside),
}

impl Entry<'_> {
    fn is_native(&self) -> bool {
        matches!(self, Entry::Empty(inside) if inside.name == NATIVE)
    }
}

/// A race about to start: what the commands take is known from their warm-up.
pub struct Ready<'a> {
    pub entries: &'a [Entry<'a>],
    pub course: &'a Course<'a>,
    pub begun: Instant,
    /// What a round took in the warm-up; `None` without one.
    pub round: Option<Duration>,
}

/// The commands, and then what is timed with them in their environments.
pub fn entries(commands: &[Command]) -> Vec<Entry<'_>> {
    let empty = commands
        .iter()
        .filter_map(|command| command.inside.as_ref())
        .map(Entry::Empty);
    commands.iter().map(Entry::Command).chain(empty).collect()
}

/// Runs each entry as often as asked for, and returns how long the last round took, and the first runs.
pub fn warm_up(entries: &[Entry], course: &Course) -> Result<(Option<Duration>, Vec<TimedRun>)> {
    let (mut last, mut first) = (None, Vec::new());
    for done in 0..course.options.warmup {
        let begun = Instant::now();
        for entry in entries {
            let run = once(entry, course)?;
            first.extend(run.filter(|_| done == 0));
        }
        last = Some(begun.elapsed());
    }
    Ok((last, first))
}

/// Prepares and runs an entry; `None` if that was interrupted.
fn once(entry: &Entry, course: &Course) -> Result<Option<TimedRun>> {
    if course.interrupt.is_set() {
        return Ok(None);
    }
    match entry {
        Entry::Command(command) => timed(command, course),
        Entry::Empty(inside) => nothing(inside, course),
    }
}

fn timed(command: &Command, course: &Course) -> Result<Option<TimedRun>> {
    prepare(command, course)?;
    let run = time(&command.traced, &command.launch, course)?;
    course.look(command);
    match run {
        Some(run) if run.status != 0 && !course.options.ignore_failure => bail!(
            "'{}' failed with status {}{}: --show-output shows why, --ignore-failure times it all the same",
            command.text,
            run.status,
            command.inside.as_ref().map(place).unwrap_or_default()
        ),
        run => Ok(run),
    }
}

/// ` in podman, which lacks the network`
fn place(inside: &Inside) -> String {
    let lacks = inside
        .lacks
        .as_ref()
        .map(|lacks| format!(", which lacks {lacks}"))
        .unwrap_or_default();
    format!(" in {}{lacks}", inside.name)
}

fn nothing(inside: &Inside, course: &Course) -> Result<Option<TimedRun>> {
    inside.site.ready(false, course.interrupt)?;
    match time(&inside.empty, &inside.empty_launch, course)? {
        Some(run) if run.status != 0 => {
            bail!(
                "environment {}: a program that does nothing failed with status {}",
                inside.name,
                run.status
            )
        }
        run => Ok(run),
    }
}

/// Prepares the place of the command, and runs what prepares the command itself.
pub fn prepare(command: &Command, course: &Course) -> Result<()> {
    if let Some(inside) = &command.inside {
        inside.site.ready(true, course.interrupt)?;
    }
    let Some(launch) = &command.prepare else {
        return Ok(());
    };
    let run = time(&command.traced, launch, course)?;
    course.left.accept();
    match run {
        Some(run) if run.status != 0 => bail!(
            "--prepare failed with status {}: --show-output shows why",
            run.status
        ),
        _ => Ok(()),
    }
}

impl Ready<'_> {
    /// The fewest rounds, and when to end after them; `None` for just these.
    fn limit(&self) -> (u32, Option<Instant>) {
        match (self.course.options.runs, self.course.options.time) {
            (Some(runs), _) => (runs, None),
            (None, Some(time)) => (FEWEST_ROUNDS, Some(self.begun + time)),
            (None, None) => {
                let commands = self
                    .entries
                    .iter()
                    .filter(|entry| matches!(entry, Entry::Command(_)))
                    .count();
                let time = TIME_EACH * u32::try_from(commands).unwrap_or(u32::MAX);
                (USUAL_ROUNDS, Some(Instant::now() + time))
            }
        }
    }

    /// Says so if the fewest rounds take longer than the time that was asked for.
    pub fn warn(&self, tell: &dyn Fn(&str)) {
        let (fewest, end) = self.limit();
        let has_time = self.course.options.time.is_some() && !self.course.options.until_known;
        let (Some(round), Some(end), true) = (self.round, end, has_time) else {
            return;
        };
        let left = end.saturating_duration_since(Instant::now());
        if round * fewest > left {
            let (round, all) = (round.as_secs_f64(), (round * fewest).as_secs_f64());
            tell(&format!(
                "a round takes {round:.2} s, so {fewest} rounds, the fewest with an interval, take {all:.1} s"
            ));
        }
    }

    /// The runs of each entry, one for each complete round.
    pub fn rounds(&self, seed: u64, watch: &dyn Watch) -> Result<Vec<Vec<TimedRun>>> {
        watch.stage(Stage::Measuring);
        let (mut random, (fewest, end)) = (ChaCha8Rng::seed_from_u64(seed), self.limit());
        let mut runs: Vec<Vec<TimedRun>> = vec![Vec::new(); self.entries.len()];
        let mut order: Vec<usize> = (0..self.entries.len()).collect();
        let begun = Instant::now();
        for done in 0.. {
            watch.at(share(done, fewest, begun, end), "");
            let each = begun.elapsed() / u32::max(done, 1);
            let most = end.map_or(0.0, |end| {
                (end - begun).as_secs_f64() / each.as_secs_f64().max(1e-9)
            });
            if done >= fewest && (f64::from(done) + 1.0 > most || self.is_known(&runs, most)) {
                break;
            }
            order.shuffle(&mut random);
            let Some(round) = self.round(&order)? else {
                break;
            };
            runs.iter_mut()
                .zip(round)
                .for_each(|(runs, own)| runs.push(own));
        }
        Ok(runs)
    }

    /// Whether the ratios are known as precisely as is asked for; or will not be in `most` rounds, and had their time.
    fn is_known(&self, runs: &[Vec<TimedRun>], most: f64) -> bool {
        let done = runs[0].len();
        if !self.course.options.until_known {
            return false;
        }
        let (commands, empty) = runs.split_at(runs.len() / 2);
        let native = self.entries[commands.len()..]
            .iter()
            .position(Entry::is_native)
            .unwrap_or_default();
        let net = |which: usize| -> Vec<f64> {
            let all = commands[which]
                .iter()
                .zip(&empty[which])
                .zip(&empty[native]);
            all.map(|((own, there), here)| {
                own.wall_ns as f64 - there.wall_ns as f64 + here.wall_ns as f64
            })
            .collect()
        };
        let base = net(0);
        let widths = (1..commands.len())
            .map(|head| Some(next_trimmed_ratio(&net(head), &base)?.error.percent() / 100.0));
        let widest = widths
            .map(|width| width.unwrap_or(f64::INFINITY))
            .fold(0.0, f64::max);
        // The error of a mean shrinks with the root of the number of rounds.
        let is_hopeless = widest * (done as f64 / most).sqrt() > KNOWN;
        // What a few rounds seem to know may be luck.
        widest <= KNOWN && done >= USUAL_ROUNDS as usize
            || is_hopeless && self.begun.elapsed() > PATIENCE
    }

    /// One run of each entry, by entry; `None` if the round was interrupted.
    fn round(&self, order: &[usize]) -> Result<Option<Vec<TimedRun>>> {
        let mut runs = vec![TimedRun::default(); order.len()];
        for &index in order {
            match once(&self.entries[index], self.course)? {
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
    let time = end.map_or(1.0, |end| {
        begun.elapsed().as_secs_f64() / (end - begun).as_secs_f64().max(1e-3)
    });
    rounds.min(time).min(1.0)
}
