//! Whole commands against each other: run in turn, in a random order within each round, and timed from outside; their system calls
//! are counted in runs of their own. The result is a `Race`; what it shows is for `compare::race`. Called by `cli::race`.
//!
//! Each command is forked and held before its execve, so that forking this process is not part of its time.

mod command;
mod counting;
mod options;
mod rounds;
mod timing;

pub use command::{Command, Commands, Parameter};
pub use options::{FEWEST_ROUNDS, Options};

use crate::kernel::Sources;
use crate::kernel::host::facts;
use crate::model::{Contender, Failure, Race, Tool};
use crate::runner::Interrupt;
use crate::session::Watch;
use anyhow::Result;
use rounds::Ready;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// Runs the race. `tell` gets what the user should know beforehand.
///
/// # Errors
/// A command that cannot be executed, or that fails; or an interrupt before the first round is complete.
pub fn run(
    commands: &[Command],
    options: &Options,
    interrupt: &Interrupt,
    watch: &dyn Watch,
    tell: &dyn Fn(&str),
) -> Result<Race> {
    let (begun, now) = (Instant::now(), SystemTime::now());
    let host = facts(&Sources::default(), None);
    let least_rss_kib = timing::least_rss_kib()?;
    let round = rounds::warm_up(commands, options, interrupt)?;
    let counted = counting::count(commands, options, interrupt, watch);
    let ready = Ready { commands, options, begun, round };
    ready.warn(tell);
    let seed = options.seed.unwrap_or(now.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_nanos() as u64));
    let runs = ready.rounds(seed, interrupt, watch)?;
    if runs.first().is_none_or(Vec::is_empty) {
        return Err(Failure::interrupted().into());
    }
    let contender = |((command, runs), counted): ((&Command, _), _)| Contender {
        command: command.text.clone(),
        shell: command.shell,
        parameters: command.parameters.clone(),
        base: command.base,
        runs,
        counted,
    };
    Ok(Race {
        tool: Tool::default(),
        host,
        started_unix_s: now.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        seed,
        complete: !interrupt.is_set(),
        contenders: commands.iter().zip(runs).zip(counted).map(contender).collect(),
        least_rss_kib,
    })
}
