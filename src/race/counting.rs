//! System calls of each command, counted in runs of their own, so that tracing disturbs no time.

use super::command::Command;
use super::options::Options;
use super::rounds::prepare;
use crate::model::Profile;
use crate::runner::{Interrupt, NATIVE};
use crate::session::{Stage, Watch};
use crate::trace::{self, Detail, More, Target, TraceOptions};
use anyhow::{Result, anyhow};

/// Runs of each: where they differ, the counts are ranges.
const RUNS: usize = 2;

/// With other calls those of what starts the command would be counted.
const ELSEWHERE: &str = "counted in native only";

/// The profile of each command, or why there is none.
pub fn count(
    commands: &[Command],
    options: &Options,
    interrupt: &Interrupt,
    watch: &dyn Watch,
) -> Vec<Result<Profile, String>> {
    watch.stage(Stage::Proving);
    let one = |(index, command): (usize, &Command)| {
        watch.at(index as f64 / commands.len() as f64, &command.text);
        match (options.count, interrupt.is_set()) {
            (false, _) => Err("not asked for".to_string()),
            (_, true) => Err("interrupted".to_string()),
            _ if command.inside.as_ref().is_some_and(|inside| inside.name != NATIVE) => Err(ELSEWHERE.to_string()),
            _ => profile(command, interrupt).map_err(|error| format!("{error:#}")),
        }
    };
    commands.iter().enumerate().map(one).collect()
}

fn profile(command: &Command, interrupt: &Interrupt) -> Result<Profile> {
    let mut all: Option<Profile> = None;
    for _ in 0..RUNS {
        prepare(command, interrupt)?;
        let own = trace::run(&options(command), &mut |_| {})?;
        if !own.complete {
            return Err(anyhow!("tracing was cut short"));
        }
        match &mut all {
            Some(first) => first.repeats.push(own.as_run()),
            None => all = Some(own),
        }
    }
    all.ok_or_else(|| anyhow!("not traced"))
}

fn options(command: &Command) -> TraceOptions {
    TraceOptions {
        target: Target::Command(command.traced.clone()),
        tracer: None,
        detail: Detail::Times,
        more: More::default(),
    }
}
