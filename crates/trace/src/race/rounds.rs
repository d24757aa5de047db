//! The rounds: one run of each command, in a new random order each time; in environments, also one of a program that does nothing.

use super::command::Command;
use super::left::Left;
use super::site::Inside;
use super::timing::time;
use super::{FEWEST_ROUNDS, Options};
use crate::Bound;
use anyhow::{Result, bail};
use measure::session::{Stage, Watch};
use model::TimedRun;
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use stats::next_trimmed_ratio;
use std::cell::Cell;
use std::time::{Duration, Instant};
use sys::usage::Used;

/// Without a time or a number of rounds: so long for each command, and at least so many rounds.
const TIME_EACH: Duration = Duration::from_secs(3);
const USUAL_ROUNDS: u32 = 10;

/// A ratio whose interval is half as wide is known.
const KNOWN: f64 = 0.05;

/// How long a race goes on whose ratios will not become known, so that intervals become narrower.
const PATIENCE: Duration = Duration::from_secs(8);

pub struct Course<'a> {
    pub commands: &'a [Command],
    pub options: &'a Options,
    pub bound: Bound<'a>,
    pub left: Left,
    pub begun: Instant,
    /// The time of a round in the warm-up; `None` without one.
    pub round: Option<Duration>,
    /// Traced ones included.
    pub executions: Cell<u32>,
}

enum Entry<'a> {
    Command(&'a Command),
    Empty(&'a Inside),
}

impl Course<'_> {
    /// Commands, and then the programs that are timed with them in their environments.
    fn entries(&self) -> Vec<Entry<'_>> {
        let inside = self.commands.iter().filter_map(|one| one.inside.as_ref());
        let commands = self.commands.iter().map(Entry::Command);
        commands.chain(inside.map(Entry::Empty)).collect()
    }

    /// Returns the runs of the first round.
    pub fn warm_up(&mut self) -> Result<Vec<TimedRun>> {
        let mut first = Vec::new();
        for done in 0..self.options.warmup {
            let begun = Instant::now();
            for entry in self.entries() {
                let run = self.once(&entry)?;
                if done == 0 {
                    first.extend(run);
                }
            }
            self.round = Some(begun.elapsed());
        }
        Ok(first)
    }

    fn once(&self, entry: &Entry) -> Result<Option<TimedRun>> {
        if self.bound.interrupt.is_set() {
            return Ok(None);
        }
        match entry {
            Entry::Command(command) => self.timed(command),
            Entry::Empty(inside) => self.nothing(inside),
        }
    }

    fn timed(&self, command: &Command) -> Result<Option<TimedRun>> {
        self.prepare(command)?;
        self.executions.update(|count| count + 1);
        self.left.begin();
        let run = time(&command.launch, self.bound)?;
        let run = run.map(|run| self.with_orphans(command, run));
        self.look(command);
        match run {
            Some(run) if run.status != 0 && !self.options.ignore_failure => bail!(
                "'{}' failed with status {}{}: --show-output shows why, --ignore-failure times it all the same",
                command.text,
                run.status,
                command.inside.as_ref().map(place).unwrap_or_default()
            ),
            run => Ok(run),
        }
    }

    /// An environment's processes may stay, and its accounting says whether it is the command's.
    fn with_orphans(&self, command: &Command, mut run: TimedRun) -> TimedRun {
        if command.inside.is_some() {
            return run;
        }
        for usage in self.left.accounting() {
            let used = Used::from(&usage);
            run.user_ns += used.user_ns;
            run.system_ns += used.system_ns;
            run.faults += used.minor_faults + used.major_faults;
            run.peak_rss_kib = run.peak_rss_kib.max(usage.ru_maxrss.unsigned_abs());
        }
        run
    }

    fn nothing(&self, inside: &Inside) -> Result<Option<TimedRun>> {
        inside.site.ready(self.bound.interrupt)?;
        self.left.accept();
        let run = time(&inside.empty, self.bound)?;
        self.left.settle();
        match run {
            Some(run) if run.status != 0 => bail!(
                "environment {}: a program that does nothing failed with status {}",
                inside.environment.name,
                run.status
            ),
            run => Ok(run),
        }
    }

    /// Runs `--prepare` too.
    ///
    /// # Errors
    /// The preparation failed, or its place cannot be made.
    pub fn prepare(&self, command: &Command) -> Result<()> {
        if let Some(inside) = &command.inside {
            inside.site.ready(self.bound.interrupt)?;
            self.left.accept();
        }
        let Some(launch) = &command.prepare else {
            return Ok(());
        };
        let run = time(launch, self.bound)?;
        self.left.accept();
        match run {
            Some(run) if run.status != 0 => bail!(
                "--prepare failed with status {}: --show-output shows why",
                run.status
            ),
            _ => Ok(()),
        }
    }

    /// Notes processes that a command has left. In an environment these may be part of it: they are ended with the race.
    pub fn look(&self, command: &Command) {
        if command.inside.is_some() {
            self.left.settle()
        } else {
            self.left.look(&command.text)
        }
    }

    /// The fewest rounds, and when to end after them; `None` for just these.
    fn limit(&self) -> (u32, Option<Instant>) {
        match (self.options.runs, self.options.time) {
            (Some(runs), _) => (runs, None),
            (None, Some(time)) => (FEWEST_ROUNDS, Some(self.begun + time)),
            (None, None) if self.options.end.is_some() => (FEWEST_ROUNDS, self.options.end),
            (None, None) => {
                let commands = self
                    .commands
                    .iter()
                    .filter(|command| !command.is_control)
                    .count();
                let time = TIME_EACH * u32::try_from(commands).unwrap_or(u32::MAX);
                (USUAL_ROUNDS, Some(Instant::now() + time))
            }
        }
    }

    /// The other half is not for the rounds: nothing is counted then.
    pub fn is_half_over(&self) -> bool {
        self.options
            .end
            .is_some_and(|end| self.begun.elapsed() > end.saturating_duration_since(self.begun) / 2)
    }

    /// The fewest rounds take longer than the time that was asked for.
    pub fn warn(&self, tell: &dyn Fn(&str)) {
        let (fewest, end) = self.limit();
        let has_time = self.options.time.is_some() && self.options.end.is_none();
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

    /// An interrupted round is dropped, so that all entries have the same number.
    pub fn rounds(&self, seed: u64, watch: &dyn Watch) -> Result<Vec<Vec<TimedRun>>> {
        watch.stage(Stage::Measuring);
        let (mut random, (fewest, end)) = (ChaCha8Rng::seed_from_u64(seed), self.limit());
        let mut entries: Vec<(usize, Entry)> = self.entries().into_iter().enumerate().collect();
        let mut runs: Vec<Vec<TimedRun>> = vec![Vec::new(); entries.len()];
        let begun = Instant::now();
        for done in 0.. {
            watch.advance(share(done, fewest, begun, end), "");
            let each = begun.elapsed() / u32::max(done, 1);
            let most = end.map_or(0.0, |end| {
                (end - begun).as_secs_f64() / each.as_secs_f64().max(1e-9)
            });
            if done >= fewest && (f64::from(done) + 1.0 > most || self.is_known(&runs, most)) {
                break;
            }
            // Removing the copies is part of the promised time.
            if self.has_to_clear() {
                break;
            }
            entries.shuffle(&mut random);
            let mut round = Vec::new();
            for (index, entry) in &entries {
                match self.once(entry)? {
                    Some(run) => round.push((*index, run)),
                    // An incomplete round is dropped: commands must have been run under the same conditions equally often.
                    None => return Ok(runs),
                }
            }
            for (index, run) in round {
                runs[index].push(run);
            }
        }
        Ok(runs)
    }

    /// Whether removing the files that were moved away needs the rest of the time.
    fn has_to_clear(&self) -> bool {
        let inside = self
            .commands
            .first()
            .and_then(|command| command.inside.as_ref());
        inside.zip(self.options.end).is_some_and(|(inside, end)| {
            inside.site.removal() > end.saturating_duration_since(Instant::now())
        })
    }

    /// Whether the ratios are known as precisely as is asked for; or will not be in `most` rounds, and had their time.
    fn is_known(&self, runs: &[Vec<TimedRun>], most: f64) -> bool {
        if self.options.end.is_none() {
            return false;
        }
        let done = runs[0].len();
        let (commands, empty) = runs.split_at(runs.len() / 2);
        let native = self.commands.iter().position(Command::is_native);
        let native = &empty[native.unwrap_or_default()];
        let mut nets = commands
            .iter()
            .zip(empty)
            .map(|(runs, there)| net_ns(runs, there, native));
        let base = nets.next().unwrap_or_default();
        let widest = nets
            .map(|head| {
                next_trimmed_ratio(&head, &base)
                    .map_or(f64::INFINITY, |ratio| ratio.error.percent() / 100.0)
            })
            .fold(0.0, f64::max);
        // The error of a mean shrinks with the root of the number of rounds.
        let is_hopeless = widest * (done as f64 / most).sqrt() > KNOWN;
        // A narrow interval of a few rounds may be luck.
        widest <= KNOWN && done >= USUAL_ROUNDS as usize
            || is_hopeless && self.begun.elapsed() > PATIENCE
    }
}

/// Times without the environment's start-up: that of a program that does nothing is subtracted there, and added as in `native`.
fn net_ns(runs: &[TimedRun], there: &[TimedRun], native: &[TimedRun]) -> Vec<f64> {
    let all = runs.iter().zip(there).zip(native);
    all.map(|((run, there), here)| run.wall_ns as f64 - there.wall_ns as f64 + here.wall_ns as f64)
        .collect()
}

/// The environment for an error: ` in podman, which lacks the network`.
fn place(inside: &Inside) -> String {
    let environment = &inside.environment;
    let lacks = environment
        .lacks
        .as_ref()
        .map(|lacks| format!(", which lacks {lacks}"));
    format!(" in {}{}", environment.name, lacks.unwrap_or_default())
}

fn share(done: u32, fewest: u32, begun: Instant, end: Option<Instant>) -> f64 {
    let rounds = f64::from(done) / f64::from(fewest.max(1));
    let time = end.map_or(1.0, |end| {
        begun.elapsed().as_secs_f64() / (end - begun).as_secs_f64().max(1e-3)
    });
    rounds.min(time).min(1.0)
}
