//! One trace, from the held child to the profile: starts, chooses a tracer, follows, adds the kernel's accounting.
//! `cli::trace` calls it. It prints nothing: messages for the user go to `report`.

use super::choose::choose;
use super::quotas::Quotas;
use super::signals::{self, Released};
use super::target::{Command, LaunchError, Target, words};
use super::{Detail, More, Root, TraceOptions, Tracer, Until};
use anyhow::{Context, Error, Result};
use measure::runner::{Interrupt, RunDirectory};
use model::{Ending, Failure, Profile, Usage};
use std::cell::RefCell;
use std::time::{Duration, Instant};
use sys::Sources;
use sys::clock;
use sys::host::facts;
use sys::launch::Launch;
use sys::process::name_of;
use sys::tree::check_numbers;
use sys::usage::{of_children, of_process};

/// Traces until the target has ended, and returns the profile. `report` gets lines for the user as they come up.
///
/// # Errors
/// [`LaunchError`] if the command cannot be run; otherwise the reasons why no tracer works.
pub fn run(options: &TraceOptions, report: &mut dyn FnMut(&str)) -> Result<Profile> {
    whole(options, |follow| {
        let (start, mut tracer) = begin(options, report)?;
        let tracer = tracer.as_mut();
        match start {
            Start::Command(launch) => {
                follow_command(tracer, &launch, None, options.time, report, follow)
            }
            Start::Running(root) => follow_running(tracer, root, options.time, follow),
        }
    })
}

/// Bound, and until the command ends itself.
pub fn run_bound(launch: &Launch, bound: Bound) -> Result<Profile> {
    let options = TraceOptions {
        target: Target::Command(Command {
            words: words(launch),
            ..Command::default()
        }),
        tracer: None,
        detail: Detail::Times,
        time: None,
        more: More::default(),
    };
    whole(&options, |follow| {
        check_numbers().map_err(Error::msg)?;
        let (mut tracer, _) = choose(&options)?;
        follow_command(
            tracer.as_mut(),
            launch,
            Some(bound),
            None,
            &mut |_| {},
            follow,
        )
    })
}

/// Follows until the traced processes have ended, or until a signal or a time limit.
type Follow<'a> = &'a mut dyn FnMut(&mut dyn Tracer, &Until) -> Result<()>;

fn whole(options: &TraceOptions, trace: impl FnOnce(Follow) -> Result<Profile>) -> Result<Profile> {
    // Before anything is attached: it would be recorded as a tax of the machine.
    let host = facts(&Sources::default(), None);
    let scope = options.target.scope();
    let started_unix_s = clock::since_1970().as_secs();
    let collected = trace(&mut |tracer, until| tracer.follow(until))?;
    let command = match &options.target {
        Target::Command(command) => command
            .words
            .iter()
            .map(|word| word.to_string_lossy().into_owned())
            .collect(),
        Target::Running(_) => Vec::new(),
    };
    Ok(Profile {
        tool: Some(assets::tool()),
        started_unix_s,
        command,
        scope,
        usage: Usage {
            cpus: host.cpus.map(u64::from),
            ..collected.usage
        },
        host,
        ..collected
    })
}

pub trait Watcher {
    fn delay(&self) -> Duration;

    /// Called after the delay, or `ended` if the traced processes have ended or are to be left. Returns whether to go on.
    fn look(&mut self, ended: bool, tracer: &mut dyn Tracer) -> Result<bool>;
}

/// Leads a process group, which ends with the interrupt.
#[derive(Clone, Copy)]
pub struct Bound<'a> {
    pub interrupt: &'a Interrupt,
    pub run: Option<&'a RefCell<RunDirectory>>,
    pub alone: bool,
}

impl Bound<'_> {
    pub(crate) fn note_group(&self, what: fn(&mut RunDirectory, u32), group: u32) {
        if let Some(run) = self.run {
            what(&mut run.borrow_mut(), group);
        }
    }
}

/// Traces while `watcher` looks at the counts. A command has neither input nor output, and is bound; returns how it ended.
pub fn watch(
    options: &TraceOptions,
    run: Option<&RefCell<RunDirectory>>,
    report: &mut dyn FnMut(&str),
    watcher: &mut dyn Watcher,
) -> Result<Option<Ending>> {
    let (start, mut tracer) = begin(options, report)?;
    // Not before the calibration in `begin`: until here a signal ends this process at once.
    let interrupt = Interrupt::on_signals()?;
    let deadline = options.time.map(|time| Instant::now() + time);
    let mut looks = |tracer: &mut dyn Tracer, until: &Until| look(tracer, until, deadline, watcher);
    match start {
        Start::Command(mut launch) => {
            (launch.silent, launch.bound) = (true, true);
            let mark = run.map(|run| run.borrow().mark());
            launch.environment.extend(mark);
            let bound = Bound {
                interrupt: &interrupt,
                run,
                alone: false,
            };
            let (tracer, bound) = (tracer.as_mut(), Some(bound));
            Ok(follow_command(tracer, &launch, bound, None, report, &mut looks)?.ending)
        }
        Start::Running(root) => {
            tracer.attach(root)?;
            let until = Until {
                stop: interrupt.0.clone(),
                ..Until::default()
            };
            looks(tracer.as_mut(), &until).map(|()| None)
        }
    }
}

fn look(
    tracer: &mut dyn Tracer,
    until: &Until,
    deadline: Option<Instant>,
    watcher: &mut dyn Watcher,
) -> Result<()> {
    loop {
        let begun = Instant::now();
        let left = deadline.map_or(Duration::MAX, |deadline| {
            deadline.saturating_duration_since(begun)
        });
        let slice = watcher.delay().min(left);
        tracer.follow(&Until {
            after: Some(slice),
            ..until.clone()
        })?;
        // `follow` returns early only if everything that it follows has ended.
        let ended = until.stopped() || begun.elapsed() < slice || slice == left;
        if !watcher.look(ended, tracer)? || ended {
            return Ok(());
        }
    }
}

enum Start {
    Command(Launch),
    Running(Root),
}

fn begin(options: &TraceOptions, report: &mut dyn FnMut(&str)) -> Result<(Start, Box<dyn Tracer>)> {
    check_numbers().map_err(Error::msg)?;
    let start = match &options.target {
        Target::Command(command) => Start::Command(command.prepare()?),
        Target::Running(what) => Start::Running(Root::Running(what.clone())),
    };
    let (tracer, mut line) = choose(options)?;
    if let Start::Command(Launch {
        user: Some(user), ..
    }) = &start
    {
        line = format!("{line}; the command runs as {}", user.name);
    }
    report(&line);
    Ok((start, tracer))
}

fn until(bound: Option<Bound>) -> Until {
    bound.map_or_else(Until::default, |bound| Until {
        stop: bound.interrupt.0.clone(),
        alone: bound.alone,
        ..Until::default()
    })
}

/// Signals are handled for a command that is not bound; with a time, that ends the tracing.
pub(super) fn follow_command(
    tracer: &mut dyn Tracer,
    launch: &Launch,
    bound: Option<Bound>,
    time: Option<Duration>,
    report: &mut dyn FnMut(&str),
    follow: Follow,
) -> Result<Profile> {
    let before = of_children();
    let held = launch
        .hold()
        .map_err(|error| LaunchError::at_start(launch, error))?;
    let group = held.pid;
    if let Some(bound) = bound {
        bound.note_group(RunDirectory::group_started, group);
    }
    let root = Root::Held(group);
    // Before the command runs, and after the child is in its final control group.
    let quotas = Quotas::around(&root);
    tracer.attach(root)?;
    let until = until(bound);
    let begun = Instant::now();
    let filter = tracer.wants_filter();
    let mut started = held.release(filter).context("the held command has ended")?;
    let collected = match bound {
        None => {
            let released = Released {
                started: &started,
                needs_tracer: filter,
                time,
            };
            let collected = signals::scope(&launch.ignored, &until, Some(released), || {
                collect(tracer, &until, begun, follow)
            })?;
            if until.stopped() && !started.has_ended() {
                let name = name_of(group.cast_signed());
                report(&format!("process {group} ({name}) still runs"));
            }
            collected
        }
        Some(bound) => {
            let collected = collect(tracer, &until, begun, follow);
            started.end();
            bound.note_group(RunDirectory::group_ended, group);
            let collected = collected?;
            if bound.alone && bound.interrupt.is_set() {
                return Err(Failure::interrupted().into());
            }
            collected
        }
    };
    if let Some((step, errno)) = started.failure() {
        return Err(LaunchError::at_step(launch, step, errno).into());
    }
    let accounted = Usage {
        throttled: quotas.throttled(),
        ..of_children().since(&before)
    };
    Ok(completed(collected, accounted, until.stopped()))
}

fn follow_running(
    tracer: &mut dyn Tracer,
    root: Root,
    time: Option<Duration>,
    follow: Follow,
) -> Result<Profile> {
    let before = of_processes(root.processes());
    let quotas = Quotas::around(&root);
    tracer.attach(root.clone())?;
    let until = Until {
        after: time,
        ..Until::default()
    };
    let begun = Instant::now();
    let collected = signals::scope(&[], &until, None, || collect(tracer, &until, begun, follow))?;
    let accounted = Usage {
        throttled: quotas.throttled(),
        ..of_processes(root.processes()).since(&before)
    };
    Ok(completed(collected, accounted, false))
}

/// Follows and collects; the wall time is that of the workload, without collecting.
fn collect(
    tracer: &mut dyn Tracer,
    until: &Until,
    begun: Instant,
    follow: Follow,
) -> Result<Profile> {
    follow(tracer, until)?;
    // Before the counts are read, which may take longer than a short command.
    let wall_ns = clock::ns(begun.elapsed());
    let collected = tracer.collect()?;
    let usage = collected.usage.or(Usage {
        wall_ns: Some(wall_ns),
        ..Usage::default()
    });
    Ok(Profile { usage, ..collected })
}

/// The accounting of one process. That of several is left to tracers: some may have ended.
fn of_processes(pids: &[u32]) -> Usage {
    if let [pid] = pids {
        of_process(*pid)
    } else {
        Usage::default()
    }
}

fn completed(collected: Profile, accounted: Usage, stopped: bool) -> Profile {
    Profile {
        complete: collected.tracer.lost == 0 && !stopped,
        usage: collected.usage.or(accounted),
        ..collected
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::TracerFacts;

    /// Follows for as long as it is asked to, and ends after some times.
    #[derive(Default)]
    struct Fake {
        follows: u32,
        ends_at: u32,
        collected: Option<Instant>,
    }

    impl Tracer for Fake {
        fn introduction(&self) -> String {
            String::new()
        }

        fn attach(&mut self, _: Root) -> Result<()> {
            Ok(())
        }

        fn follow(&mut self, until: &Until) -> Result<()> {
            self.follows += 1;
            if self.follows < self.ends_at {
                std::thread::sleep(until.after.context("a time to look")?);
            }
            Ok(())
        }

        fn snapshot(&mut self) -> Result<(Profile, bool)> {
            let tracer = TracerFacts {
                lost: u64::from(self.follows),
                ..TracerFacts::default()
            };
            let profile = Profile {
                tracer,
                ..Profile::default()
            };
            Ok((profile, false))
        }

        fn collect(&mut self) -> Result<Profile> {
            self.collected = Some(Instant::now());
            std::thread::sleep(Duration::from_millis(1));
            Ok(Profile::default())
        }
    }

    struct Looks {
        seen: Vec<(bool, u64)>,
        looks: usize,
    }

    impl Watcher for Looks {
        fn delay(&self) -> Duration {
            Duration::from_millis(500)
        }

        fn look(&mut self, ended: bool, tracer: &mut dyn Tracer) -> Result<bool> {
            self.seen.push((ended, tracer.snapshot()?.0.tracer.lost));
            Ok(self.seen.len() < self.looks)
        }
    }

    fn seen(ends_at: u32, looks: usize, time: Option<Duration>, until: &Until) -> Vec<(bool, u64)> {
        let mut watcher = Looks {
            seen: Vec::new(),
            looks,
        };
        let deadline = time.map(|time| Instant::now() + time);
        look(
            &mut Fake {
                ends_at,
                ..Fake::default()
            },
            until,
            deadline,
            &mut watcher,
        )
        .unwrap();
        watcher.seen
    }

    #[test]
    fn counts_are_looked_at_until_the_end() {
        let on = Until::default();
        assert_eq!(seen(3, 100, None, &on), [(false, 1), (false, 2), (true, 3)]);
        assert_eq!(seen(100, 2, None, &on), [(false, 1), (false, 2)]);
        // The time limit comes first.
        assert_eq!(
            seen(100, 100, Some(Duration::from_millis(1)), &on),
            [(true, 1)]
        );
        let stopped = Until::default();
        stopped
            .stop
            .store(true, std::sync::atomic::Ordering::SeqCst);
        assert_eq!(seen(100, 100, None, &stopped), [(true, 1)]);
    }

    #[test]
    fn wall_time_does_not_include_collecting() {
        let (mut fake, begun) = (Fake::default(), Instant::now());
        let root = Root::Running(crate::Running::System);
        let profile = follow_running(&mut fake, root, None, &mut |tracer, until| {
            tracer.follow(until)
        })
        .unwrap();
        let most = fake.collected.unwrap().duration_since(begun);
        assert!(
            Duration::from_nanos(profile.usage.wall_ns.unwrap()) <= most,
            "{profile:?}"
        );
    }
}
