//! Whole commands against each other: run in turn, in a random order within each round, and timed from outside; their system calls
//! are counted in separate runs. `compare::race` judges the result.
//!
//! Each command is forked and held before its execve, so that forking this process is not part of its time.

mod command;
mod counting;
mod effects;
mod inside;
mod kept;
mod left;
mod rounds;
mod site;
mod start_up;
mod timing;
mod trash;

pub use command::{Command, Commands, Parameter, joined};
pub use effects::effect;
pub use inside::{Start, enter, mark_left, own_user, timed};
pub use kept::Kept;
pub use start_up::start_ups;

use crate::Bound;
use anyhow::{Result, bail};
use left::Left;
use measure::runner::{Deadline, Interrupt, RunDirectory};
use measure::session::Watch;
use model::{Contender, InEnvironment, Profile, Race, TimedRun};
use rounds::Course;
use site::Inside;
use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use sys::clock::since_1970;

/// Fewer rounds have no interval (`stats::FEWEST_TRIMMED`).
pub const FEWEST_ROUNDS: u32 = 5;

#[derive(Clone, Default)]
pub struct Options {
    /// `None` for as many rounds as `time` holds.
    pub runs: Option<u32>,
    pub time: Option<Duration>,
    /// In environments: the race ends then, even within a round; after `time` if it has enough rounds; and earlier if the ratios are known,
    /// or will not be.
    pub end: Option<Instant>,
    pub warmup: u32,
    pub ignore_failure: bool,
    pub ends_left: bool,
    pub count: bool,
}

/// Runs the race; the directory is removed with it. `tell` gets lines for the user before the first round.
///
/// # Errors
/// A command that cannot be executed, or that fails; or an interrupt before the first round is complete.
pub fn run(
    commands: &[Command],
    options: &Options,
    with: (&Interrupt, Option<RunDirectory>),
    watch: &dyn Watch,
    tell: &dyn Fn(&str),
) -> Result<Race> {
    let (interrupt, run) = with;

    let (begun, since) = (Instant::now(), since_1970());
    let run = run.map(RefCell::new);
    let least_rss_kib = timing::least_rss_kib()?;
    let deadline: Option<Deadline> = options.end.map(|end| interrupt.or_at(end)).transpose()?;
    let mut course = Course {
        commands,
        options,
        bound: Bound {
            interrupt: deadline.as_ref().map_or(interrupt, |end| &end.interrupt),
            run: run.as_ref(),
            alone: true,
        },
        executions: Cell::default(),
        left: Left::new(options.ends_left),
        begun,
        round: None,
    };
    let first = course.warm_up()?;
    let counted = counting::count_calls(&course, watch);
    course.warn(tell);
    let seed = since.as_nanos() as u64;
    let mut runs = course.rounds(seed, watch)?;
    if runs.first().is_none_or(Vec::is_empty) {
        interrupt.check()?;
        bail!(
            "the time limit passed before the command had run once in each environment: 'syscost race --env ...' has none"
        );
    }
    let mut empty = runs.split_off(commands.len()).into_iter();
    let left = course.left.named();
    let mut first = first.into_iter();
    let timed = commands.iter().zip(runs).zip(counted);
    let contenders = timed.map(|((command, runs), counted)| {
        let inside = command.inside.as_ref().zip(empty.next());
        let first = first.next();
        Contender {
            environment: inside.map(|(inside, empty)| in_environment(inside, empty, first)),
            left_running: left.get(&command.text).cloned().unwrap_or_default(),
            ..contender(command, runs, counted)
        }
    });
    Ok(Race {
        seed,
        complete: !interrupt.is_set(),
        contenders: contenders.collect(),
        is_copied: commands.iter().any(Command::has_fresh_copies),
        least_rss_kib,
        executions: course.executions.get(),
    })
}

fn contender(
    command: &Command,
    runs: Vec<TimedRun>,
    counted: Result<Profile, String>,
) -> Contender {
    Contender {
        command: command.text.clone(),
        parameters: command.parameters.clone(),
        base: command.base,
        is_control: command.is_control,
        environment: None,
        runs,
        counted,
        left_running: BTreeSet::new(),
    }
}

fn in_environment(inside: &Inside, empty: Vec<TimedRun>, first: Option<TimedRun>) -> InEnvironment {
    let environment = &inside.environment;
    InEnvironment {
        name: environment.name.clone(),
        is_accounted: !environment.unaccounted,
        is_traced: environment.switches && !environment.unaccounted,
        first,
        empty,
    }
}
