//! System calls of each command, counted in runs of their own, so that tracing disturbs no time.

use super::command::Command;
use super::rounds::Course;
use crate::LOST_PRIVILEGE;
use anyhow::{Result, anyhow, ensure};
use measure::session::{Stage, Watch};
use model::Profile;

/// But one in an environment. Where they differ, the counts are ranges.
const RUNS: usize = 2;

/// Where the whole race has little time, a run that takes longer is not repeated.
const LONG_NS: u64 = 1_000_000_000;

const BPF: &str = "bpf";

/// Only eBPF sees what another tracer traces already, and only by their names can it tell the command's processes from others.
const ELSEWHERE: &str = "only eBPF, as root, counts there, and only what it has counted in native";
const NOBODY: &str = "no process there has a name that the command's processes have in native";

pub fn count(course: &Course, watch: &dyn Watch) -> Vec<Result<Profile, String>> {
    let commands = course.commands;
    watch.stage(Stage::Proving);
    let one = |(index, command): (usize, &Command), there: Option<&Profile>| {
        watch.at(index as f64 / commands.len() as f64, &command.text);
        if !course.options.count {
            return Err("not asked for".to_string());
        }
        if command.is_control {
            return Err("it is the control".to_string());
        }
        if course.bound.interrupt.is_set() {
            return Err("interrupted".to_string());
        }
        if course.is_half_over() {
            return Err("half of the time limit had passed".to_string());
        }
        profile(command, there, course).map_err(|error| format!("{error:#}"))
    };
    let native = commands.iter().position(Command::is_native);
    let found = native.map(|index| one((index, &commands[index]), None));
    commands
        .iter()
        .enumerate()
        .map(|(index, command)| match &found {
            Some(found) if native == Some(index) => found.clone(),
            Some(Ok(there)) if there.tracer.kind == BPF => one((index, command), Some(there)),
            Some(_) if course.options.count => Err(ELSEWHERE.to_string()),
            _ => one((index, command), None),
        })
        .collect()
}

fn profile(command: &Command, native: Option<&Profile>, course: &Course) -> Result<Profile> {
    let mut all: Option<Profile> = None;
    let runs = if native.is_some() { 1 } else { RUNS };
    for _ in 0..runs {
        course.prepare(command)?;
        course.executions.update(|count| count + 1);
        let inside = if native.is_some() {
            command.inside.as_ref()
        } else {
            None
        };
        let launch = inside.map_or(&command.launch, |inside| &inside.counted);
        let own = crate::run_bound(launch, course.bound)?;
        course.look(command);
        if !own.complete {
            return Err(anyhow!("tracing was cut short"));
        }
        // Other calls than those of the runs that are timed.
        if let Some(warning) = own
            .warnings
            .iter()
            .find(|warning| warning.ends_with(LOST_PRIVILEGE))
        {
            return Err(anyhow!("{warning}; root can count it"));
        }
        let is_long = own.usage.wall_ns.is_some_and(|ns| ns > LONG_NS);
        match &mut all {
            Some(first) => first.repeats.push(own.as_run()),
            None => all = Some(own),
        }
        if is_long && course.options.end.is_some() {
            break;
        }
    }
    let mut all = all.ok_or_else(|| anyhow!("not traced"))?;
    if let Some(native) = native {
        all.groups
            .retain(|group| native.groups.iter().any(|own| own.name == group.name));
        ensure!(all.all_calls().calls > 0, NOBODY);
    }
    Ok(all)
}
