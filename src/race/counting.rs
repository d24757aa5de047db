//! System calls of each command, counted in runs of their own, so that tracing disturbs no time.

use super::command::Command;
use super::course::Course;
use super::rounds::prepare;
use crate::model::Profile;
use crate::runner::NATIVE;
use crate::session::{Stage, Watch};
use crate::trace::{self, Bound, Detail, LOST_PRIVILEGE, More, Target, TraceOptions};
use anyhow::{Result, anyhow};

/// Runs of each: where they differ, the counts are ranges.
const RUNS: usize = 2;

/// With other calls those of what starts the command would be counted.
const ELSEWHERE: &str = "counted in native only";

/// The profile of each command, or why there is none.
pub fn count(commands: &[Command], course: &Course, watch: &dyn Watch) -> Vec<Result<Profile, String>> {
    watch.stage(Stage::Proving);
    let one = |(index, command): (usize, &Command)| {
        watch.at(index as f64 / commands.len() as f64, &command.text);
        match (course.options.count, course.interrupt.is_set()) {
            (false, _) => Err("not asked for".to_string()),
            (_, true) => Err("interrupted".to_string()),
            _ if command.inside.as_ref().is_some_and(|inside| inside.name != NATIVE) => Err(ELSEWHERE.to_string()),
            _ => profile(command, course).map_err(|error| format!("{error:#}")),
        }
    };
    commands.iter().enumerate().map(one).collect()
}

fn profile(command: &Command, course: &Course) -> Result<Profile> {
    let mut all: Option<Profile> = None;
    for _ in 0..RUNS {
        prepare(command, course)?;
        let bound = Bound { interrupt: course.interrupt, run: course.run, alone: true };
        let own = trace::run_bound(&options(command), &command.launch, bound)?;
        course.look(command);
        if !own.complete {
            return Err(anyhow!("tracing was cut short"));
        }
        // Other calls than those of the runs that are timed.
        if let Some(warning) = own.warnings.iter().find(|warning| warning.ends_with(LOST_PRIVILEGE)) {
            return Err(anyhow!("{warning}; root can count it"));
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
