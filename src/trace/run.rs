//! One trace, from the held child to the profile: starts, chooses a tracer, follows, adds the kernel's accounting.
//! `cli::trace` calls it. It prints nothing: what is to be said goes to `say`.

use super::Options;
use super::choose::{Chosen, choose};
use super::signals::Signals;
use super::target::{Command, LaunchError, Target};
use super::tracer::Kind;
use super::{Collected, Detail, Root, Tracer, Until};
use crate::kernel::Sources;
use crate::kernel::host::facts;
use crate::kernel::launch::{Launch, Started};
use crate::kernel::tree::check_numbers;
use crate::kernel::usage::{of_children, of_process};
use crate::model::{Host, Profile, Tool, Usage};
use anyhow::{Context, Result, anyhow};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// What the user decides.
#[derive(Clone, Debug)]
pub struct Wishes {
    pub target: Target,
    pub tracer: Option<Kind>,
    pub detail: Detail,
    /// The names that the perf tracer counts.
    pub calls: Vec<String>,
}

/// Traces. Lines for the user are handed to `say` as they come up.
///
/// # Errors
/// [`LaunchError`] where the command cannot be run; otherwise what the tracer was refused.
pub fn run(wishes: &Wishes, say: &mut dyn FnMut(&str)) -> Result<Profile> {
    let held = matches!(wishes.target, Target::Command(_));
    check_numbers().map_err(|why| anyhow!("trace: {why}"))?;
    // Before anything is attached, which the facts would show as a tax of the machine.
    let host = facts(&Sources::default(), None);
    let start = match &wishes.target {
        Target::Command(command) => Start::Command(command, command.prepare()?),
        Target::Process { pid, time } => Start::Process(*pid, *time),
    };
    let options = Options { detail: wishes.detail, calls: wishes.calls.clone(), held };
    let Chosen { mut tracer, mut line } = choose(wishes.tracer, &options)?;
    if let Start::Command(_, Launch { user: Some(user), .. }) = &start {
        line = format!("{line}; the command runs as {}", user.name);
    }
    say(&line);
    let started_unix_s = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs());
    let followed = match &start {
        Start::Command(command, launch) => follow_command(tracer.as_mut(), command, launch)?,
        Start::Process(pid, time) => follow_process(tracer.as_mut(), *pid, *time)?,
    };
    Ok(profile(wishes, host, started_unix_s, followed))
}

/// A target that is ready to be followed.
enum Start<'a> {
    Command(&'a Command, Launch),
    Process(u32, Option<Duration>),
}

/// What came of following, and what the run saw from outside.
struct Followed {
    collected: Collected,
    /// By the clock and, of a command, from the kernel's accounting.
    usage: Usage,
    stopped: bool,
}

fn follow_command(tracer: &mut dyn Tracer, command: &Command, launch: &Launch) -> Result<Followed> {
    let before = of_children();
    let held = launch.hold().context("trace: cannot start a process")?;
    tracer.attach(Root::Held(held.pid))?;
    let until = Until::default();
    let begun = Instant::now();
    let mut started = held.release(tracer.wants_filter()).context("trace: the held command is gone")?;
    let collected = follow_started(tracer, &started, &until, &launch.ignored)?;
    if let Some((step, errno)) = started.failure() {
        return Err(LaunchError::of(command, step, errno).into());
    }
    let usage = Usage { wall_ns: Some(nanoseconds(begun.elapsed())), ..of_children().since(&before) };
    Ok(Followed { collected, usage, stopped: until.stopped() })
}

/// Follows while signals that reach us are taken care of.
fn follow_started(tracer: &mut dyn Tracer, started: &Started, until: &Until, ignored: &[i32]) -> Result<Collected> {
    Signals::scope(ignored, until, Some(started), || {
        tracer.follow(until)?;
        tracer.collect()
    })
}

fn follow_process(tracer: &mut dyn Tracer, pid: u32, time: Option<Duration>) -> Result<Followed> {
    let until = Until { after: time, ..Until::default() };
    tracer.attach(Root::Running(pid))?;
    let before = of_process(pid);
    let begun = Instant::now();
    let collected = Signals::scope(&[], &until, None, || {
        tracer.follow(&until)?;
        tracer.collect()
    })?;
    let usage = Usage { wall_ns: Some(nanoseconds(begun.elapsed())), ..of_process(pid).since(&before) };
    Ok(Followed { collected, usage, stopped: false })
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

fn profile(wishes: &Wishes, host: Host, started_unix_s: u64, followed: Followed) -> Profile {
    let Followed { collected, usage, stopped } = followed;
    let command = match &wishes.target {
        Target::Command(command) => command.words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        Target::Process { .. } => Vec::new(),
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
        warnings: collected.warnings,
        tracer: collected.facts,
        source: None,
    }
}
