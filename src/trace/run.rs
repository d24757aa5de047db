//! One trace, from the held child to the profile: starts, chooses a tracer, follows, adds the kernel's accounting.
//! `cli::trace` calls it. It prints nothing: what is to be said goes to `say`.

use super::choose::{Chosen, choose};
use super::signals::Signals;
use super::target::{Command, LaunchError, Running, Target};
use super::{Collected, Root, TraceOptions, Tracer, Until};
use crate::kernel::Sources;
use crate::kernel::host::facts;
use crate::kernel::launch::{Launch, Started};
use crate::kernel::tree::check_numbers;
use crate::kernel::usage::{of_children, of_process};
use crate::model::{Host, Profile, Tool, Usage};
use anyhow::{Context, Result, anyhow};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Traces, and returns the profile. `say` gets lines for the user as they come up.
///
/// # Errors
/// [`LaunchError`] if the command cannot be run; otherwise why no tracer works.
pub fn run(options: &TraceOptions, say: &mut dyn FnMut(&str)) -> Result<Profile> {
    check_numbers().map_err(|why| anyhow!("trace: {why}"))?;
    // Before anything is attached: it would be recorded as a tax of the machine.
    let host = facts(&Sources::default(), None);
    let start = match &options.target {
        Target::Command(command) => Start::Command(command, command.prepare()?),
        Target::Running { what, time } => Start::Running(what, *time),
    };
    let Chosen { mut tracer, mut line } = choose(options)?;
    if let Start::Command(_, Launch { user: Some(user), .. }) = &start {
        line = format!("{line}; the command runs as {}", user.name);
    }
    say(&line);
    let started_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let followed = match &start {
        Start::Command(command, launch) => follow_command(tracer.as_mut(), command, launch)?,
        Start::Running(what, time) => follow_running(tracer.as_mut(), what, *time)?,
    };
    Ok(profile(options, host, started_unix_s, followed))
}

/// A target that is ready to be traced.
enum Start<'a> {
    Command(&'a Command, Launch),
    Running(&'a Running, Option<Duration>),
}

/// What the tracer collected, and what was seen from outside.
struct Followed {
    collected: Collected,
    /// By the clock and from the kernel's accounting.
    usage: Usage,
    stopped: bool,
}

fn follow_command(tracer: &mut dyn Tracer, command: &Command, launch: &Launch) -> Result<Followed> {
    let before = of_children();
    let held = launch.hold().context("trace: cannot start a process")?;
    tracer.attach(Root::Held(held.pid))?;
    let until = Until::default();
    let begun = Instant::now();
    let mut started = held.release(tracer.wants_filter()).context("trace: the held command has ended")?;
    let collected = follow_started(tracer, &started, &until, &launch.ignored)?;
    if let Some((step, errno)) = started.failure() {
        return Err(LaunchError::of(command, step, errno).into());
    }
    let usage = Usage { wall_ns: Some(nanoseconds(begun.elapsed())), ..of_children().since(&before) };
    Ok(Followed { collected, usage, stopped: until.stopped() })
}

/// Follows and collects while signals to us are handled.
fn follow_started(tracer: &mut dyn Tracer, started: &Started, until: &Until, ignored: &[i32]) -> Result<Collected> {
    Signals::scope(ignored, until, Some(started), || {
        tracer.follow(until)?;
        tracer.collect()
    })
}

fn follow_running(tracer: &mut dyn Tracer, what: &Running, time: Option<Duration>) -> Result<Followed> {
    let until = Until { after: time, ..Until::default() };
    tracer.attach(Root::Running(what.clone()))?;
    let usage = || what.one_process().map(of_process).unwrap_or_default();
    let before = usage();
    let begun = Instant::now();
    let collected = Signals::scope(&[], &until, None, || {
        tracer.follow(&until)?;
        tracer.collect()
    })?;
    let usage = Usage { wall_ns: Some(nanoseconds(begun.elapsed())), ..usage().since(&before) };
    Ok(Followed { collected, usage, stopped: false })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn profile(options: &TraceOptions, host: Host, started_unix_s: u64, followed: Followed) -> Profile {
    let Followed { collected, usage, stopped } = followed;
    let command = match &options.target {
        Target::Command(command) => command.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        Target::Running { .. } => Vec::new(),
    };
    let cpus = host.cpus.map(u64::from);
    Profile {
        tool: Some(Tool::default()),
        host,
        started_unix_s,
        command,
        complete: collected.facts.lost == 0 && !stopped,
        ending: collected.ending,
        usage: Usage { cpus, ..collected.usage.or(usage) },
        groups: collected.groups,
        latencies: collected.latencies,
        scope: scope(&options.target),
        objects: collected.objects,
        objects_dropped: collected.objects_dropped,
        stacks: collected.stacks,
        slowest: collected.slowest,
        warnings: collected.warnings,
        tracer: collected.facts,
        source: None,
    }
}

/// What was followed instead of a command.
fn scope(target: &Target) -> Option<String> {
    let Target::Running { what, .. } = target else { return None };
    Some(match what {
        Running::Processes(pids) => {
            format!("process {}", pids.iter().map(u32::to_string).collect::<Vec<_>>().join(", "))
        }
        Running::Cgroup(path) => format!("cgroup {}", path.display()),
        Running::System => "the whole system".to_string(),
    })
}
