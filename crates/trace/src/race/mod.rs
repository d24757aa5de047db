//! Whole commands against each other: run in turn, in a random order within each round, and timed from outside; their system calls
//! are counted in runs of their own. The result is a `Race`; what it shows is for `compare::race`. Called by `cli::race`.
//!
//! Each command is forked and held before its execve, so that forking this process is not part of its time.

mod command;
mod counting;
mod course;
mod inside;
mod kept;
mod left;
mod options;
mod rounds;
mod site;
mod timing;

pub use command::{Command, Commands, Parameter, joined};
pub use inside::{Start, enter, mark_left, own_user, timed};
pub use kept::Kept;
pub use options::{FEWEST_ROUNDS, Options};

use anyhow::Result;
use course::Course;
use left::Left;
use measure::runner::{Interrupt, RunDirectory};
use measure::session::Watch;
use model::{Contender, Failure, InEnvironment, Profile, Race, TimedRun};
use rounds::{Ready, entries};
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::time::{Instant, SystemTime, UNIX_EPOCH};
use sys::Sources;
use sys::host::facts;

/// Runs the race in a directory that is removed with it, if there is one. `tell` gets what the user should know beforehand.
///
/// # Errors
/// A command that cannot be executed, or that fails; or an interrupt before the first round is complete.
pub fn run(
    commands: &[Command],
    options: &Options,
    (interrupt, run): (&Interrupt, Option<RunDirectory>),
    watch: &dyn Watch,
    tell: &dyn Fn(&str),
) -> Result<Race> {
    let (begun, now) = (Instant::now(), SystemTime::now());
    let run = run.map(RefCell::new);
    let host = facts(&Sources::default(), None);
    let least_rss_kib = timing::least_rss_kib()?;
    let entries = entries(commands);
    let course = Course {
        options,
        interrupt,
        run: run.as_ref(),
        left: Left::new(options.ends_left),
    };
    let (round, first) = rounds::warm_up(&entries, &course)?;
    let counted = counting::count(commands, &course, watch);
    let ready = Ready {
        entries: &entries,
        course: &course,
        begun,
        round,
    };
    ready.warn(tell);
    let seed = now
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_nanos() as u64);
    let mut runs = ready.rounds(seed, watch)?;
    if runs.first().is_none_or(Vec::is_empty) {
        return Err(Failure::interrupted().into());
    }
    let mut empty = runs.split_off(commands.len()).into_iter();
    let left = course.left.named();
    let mut first = first.into_iter();
    let contender = |((command, runs), counted): ((&Command, _), _)| Contender {
        left_running: left.get(&command.text).cloned().unwrap_or_default(),
        ..contender(command, runs, counted, empty.next(), first.next())
    };
    Ok(Race {
        tool: assets::tool(),
        host,
        started_unix_s: now
            .duration_since(UNIX_EPOCH)
            .map_or(0, |time| time.as_secs()),
        seed,
        complete: !interrupt.is_set(),
        contenders: commands
            .iter()
            .zip(runs)
            .zip(counted)
            .map(contender)
            .collect(),
        is_copied: commands.iter().any(|command| {
            command
                .inside
                .as_ref()
                .is_some_and(|inside| inside.site.is_fresh)
        }),
        least_rss_kib,
    })
}

/// `empty` are the runs of the program that does nothing, in the command's environment.
fn contender(
    command: &Command,
    runs: Vec<TimedRun>,
    counted: Result<Profile, String>,
    empty: Option<Vec<TimedRun>>,
    first: Option<TimedRun>,
) -> Contender {
    let inside = command.inside.as_ref().zip(empty);
    let environment = inside.map(|(inside, empty)| InEnvironment {
        name: inside.name.clone(),
        is_accounted: inside.is_accounted,
        has_others: inside.has_others,
        first,
        empty,
    });
    Contender {
        command: command.text.clone(),
        shell: command.shell,
        parameters: command.parameters.clone(),
        base: command.base,
        environment,
        runs,
        counted,
        left_running: BTreeSet::new(),
    }
}
