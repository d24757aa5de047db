//! System calls of each command, counted in separate runs, so that tracing disturbs no time.

use super::command::Command;
use super::rounds::Course;
use crate::LOST_PRIVILEGE;
use anyhow::{Result, anyhow, ensure};
use measure::session::{Stage, Watch};
use model::Profile;

/// Runs of each command; in an environment one is enough. If they differ, the counts are ranges.
const RUNS: usize = 2;

/// A run that takes longer is not repeated if the whole race has little time.
const LONG_NS: u64 = 1_000_000_000;

const BPF: &str = "bpf";

/// Only eBPF sees processes that another tracer traces already, and only by name can it distinguish the command's processes from
/// others.
const ELSEWHERE: &str = "only eBPF, as root, counts there, and only what it has counted in native";
const NOBODY: &str = "none of the command's processes was found there by its name";

/// The profile of each command, or why there is none. The one in `native` is counted first: elsewhere, its names tell which processes
/// are the command's.
pub fn count_calls(course: &Course, watch: &dyn Watch) -> Vec<Result<Profile, String>> {
    let commands = course.commands;
    watch.stage(Stage::Proving);
    let native = commands.iter().position(Command::is_native);
    // First: its process names tell in other environments which processes are the command's.
    let in_native = native.map(|index| count_one(index, None, course, watch));
    (0..commands.len())
        .map(|index| match &in_native {
            Some(counted) if native == Some(index) => counted.clone(),
            Some(Ok(counted)) if counted.tracer.kind == BPF => {
                count_one(index, Some(counted), course, watch)
            }
            Some(_) if course.options.count => Err(ELSEWHERE.to_string()),
            _ => count_one(index, None, course, watch),
        })
        .collect()
}

fn count_one(
    index: usize,
    native: Option<&Profile>,
    course: &Course,
    watch: &dyn Watch,
) -> Result<Profile, String> {
    let command = &course.commands[index];
    watch.advance(index as f64 / course.commands.len() as f64, &command.text);
    let reasons = [
        (!course.options.count, "not asked for"),
        (command.is_control, "it is the control"),
        (course.bound.interrupt.is_set(), "interrupted"),
        (course.is_half_over(), "half of the time limit had passed"),
    ];
    if let Some((_, reason)) = reasons.iter().find(|(applies, _)| *applies) {
        return Err((*reason).to_string());
    }
    profile(command, native, course).map_err(|error| format!("{error:#}"))
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
        let run = crate::run_bound(launch, course.bound)?;
        course.look(command);
        if !run.complete {
            return Err(anyhow!("tracing was cut short"));
        }
        // Without its privilege, it makes other calls than in the runs that are timed.
        if let Some(warning) = run
            .warnings
            .iter()
            .find(|warning| warning.ends_with(LOST_PRIVILEGE))
        {
            return Err(anyhow!("{warning}; root can count it"));
        }
        // A second run of a long command would take the time of timed ones.
        let is_long = run.usage.wall_ns.is_some_and(|ns| ns > LONG_NS);
        match &mut all {
            Some(first) => first.repeats.push(run.as_run()),
            None => all = Some(run),
        }
        if is_long && course.options.end.is_some() {
            break;
        }
    }
    let mut all = all.ok_or_else(|| anyhow!("not traced"))?;
    if let Some(native) = native {
        all.groups
            .retain(|group| native.groups.iter().any(|other| other.name == group.name));
        ensure!(all.all_calls().calls > 0, NOBODY);
    }
    Ok(all)
}
