//! The first lines of `why`: threads that hang or wait for locks, the greatest saving or, if none is known, the largest parts of the
//! time.

use super::advice;
use super::hung::hung_lines;
use super::ledger::{ledger_rows, waited};
use super::notes;
use super::rows::Row;
use super::time::{NOT_KNOWN, RUNNABLE, time_rows};
use super::why::ALL;
use crate::numbers::{counted, duration, percent};
use crate::profile::notes::programs;
use analysis::attribute::Attribution;
use analysis::attribute::advice::Advice;
use analysis::attribute::blocked::Because;
use analysis::attribute::ledger::{Ledger, LedgerPart, LedgerWait, State};
use analysis::attribute::seconds::s;
use analysis::attribute::spent::{Part, PartKind, Spent};
use analysis::attribute::stops::logged_s;
use analysis::attribute::waits::Reason;
use indexmap::IndexMap;
use itertools::Itertools;
use model::prose::some;
use model::{By, CallCount, Profile, sum_by_key};

/// From this share of user mode on, system calls are not the problem.
const USER_BOUND: f64 = 0.8;
const MOST_ROWS: usize = 3;
const MOST: f64 = 0.5;
/// Advice that saves a smaller share of the time is not the answer.
const SMALL: f64 = 0.02;
/// The rule of a program that may not compute any more.
const QUOTA: &str = "cpu-quota";
const IDLE: &str = "idle";
/// Threads that wait for others of the program: the time of these is in other rows.
const WORKED_FOR: [&str; 2] = ["idle: other threads", "idle: children"];
/// From this share of the threads' time on, waiting for locks or servers is an answer.
const WAIT_BOUND: f64 = 0.1;
const MOST_FUNCTIONS: usize = 2;
/// With less CPU time, other waits bound what the program takes without its locks.
const LEAST_BOUND: f64 = 0.1;
/// Parts with a smaller share of the time are not named in the answer.
const LEAST: f64 = 0.05;

/// Hung threads first, then the greatest saving. At least one line, even if no rule applies.
pub fn answer(profile: &Profile, attribution: &Attribution) -> Vec<String> {
    let threads = attribution.threads.as_ref();
    let mut lines = hung_lines(attribution);
    if lines.is_empty() {
        let lock = threads.and_then(lock_bound);
        lines.extend(lock.map(|line| line + &without_locks(profile, &attribution.time)));
        lines.extend(threads.and_then(server_bound));
    }
    let computes =
        threads.is_none_or(|ledger| seconds_of(ledger, user_mode) > seconds_of(ledger, is_lock));
    let is_throttled = attribution
        .advice
        .first()
        .is_some_and(|first| first.rule == QUOTA);
    if computes && !is_throttled {
        lines.extend(user_bound(profile, &attribution.time));
    }
    match attribution.advice.first() {
        Some(first) => {
            if lines.is_empty() && is_aside(first, profile, attribution) {
                lines.extend(most_time(profile, attribution));
            }
            lines.push(advice::line(first, attribution));
        }
        None if lines.is_empty() => {
            let most = most_time(profile, attribution).map_or_else(String::new, |most| most + " ");
            lines.push(format!(
                "{most}No advice: no rule applies.{}",
                untimed(attribution)
            ));
        }
        None => {}
    }
    if attribution.hung.is_empty() {
        lines.extend(untold_waits(profile, attribution));
    }
    lines
}

/// The answer, and the other savings.
pub fn all_lines(profile: &Profile, attribution: &Attribution) -> Vec<String> {
    let further = attribution.advice.iter().skip(1);
    let further = further.map(|advice| advice::line(advice, attribution));
    answer(profile, attribution)
        .into_iter()
        .chain(further)
        .collect()
}

/// The calls in which threads waited, where the tracer does not divide the time of several threads (ptrace) and waits are most of it.
fn untold_waits(profile: &Profile, attribution: &Attribution) -> Option<String> {
    if attribution.threads.is_some() || profile.usage.threads.unwrap_or(0) == 0 {
        return None;
    }
    let waits = profile.totals(By::Call).into_iter();
    let waits = waits.map(|total| (total.count.call, s(total.count.blocked_ns.unwrap_or(0))));
    let waits = waits.sorted_by(|a, b| b.1.total_cmp(&a.1)).collect_vec();
    let all_s: f64 = waits.iter().map(|(_, seconds)| seconds).sum();
    if all_s <= attribution.time.cpu_s? {
        return None;
    }
    let longest = waits
        .iter()
        .filter(|(_, seconds)| *seconds >= LEAST * all_s);
    let longest = longest.map(|(call, seconds)| format!("{call} {}", duration(*seconds)));
    Some(format!(
        "Threads wait most of the time, summed over threads: {}. As root, eBPF shows what they wait for.",
        longest.take(MOST_ROWS).join(", ")
    ))
}

/// Advice that saves little, or is about something else than what a command waits for most of its time. Logs show calls alone.
fn is_aside(first: &Advice, profile: &Profile, attribution: &Attribution) -> bool {
    let time = untraced(&attribution.time);
    let all_s: f64 = time.parts.iter().map(Part::seconds).sum();
    let is_small = first.saved.is_some_and(|saved| saved.value < SMALL * all_s);
    let waits_longer = time.parts.first().is_some_and(|longest| {
        matches!(longest.kind, PartKind::Blocked { .. })
            && longest.seconds() >= MOST * all_s
            && first.measured_s < Some(MOST * longest.seconds())
    });
    let is_log = attribution.time.cpu_s.is_none();
    is_log || !profile.is_service() && (is_small || waits_longer)
}

/// The time of calls where ptrace's stops hide the rest.
fn untimed(attribution: &Attribution) -> String {
    match attribution.entering {
        Some(entering) if is_stopped(&attribution.time) => format!(
            " {} take at least {}; ptrace stops hide the rest.",
            counted(entering.calls, "call"),
            duration(entering.seconds)
        ),
        _ => String::new(),
    }
}

fn is_stopped(time: &Spent) -> bool {
    time.seconds_of(PartKind::Stops) > 0.0
}

/// The first rows of the table below, and the CPU time of several programs; of a log, which has no CPU time, the longest calls.
fn most_time(profile: &Profile, attribution: &Attribution) -> Option<String> {
    let time = &attribution.time;
    if time.cpu_s.is_none()
        && let Some(longest) = longest_calls(profile)
    {
        let stops = if logged_s(profile) > 0.0 && profile.tracer.kind == "strace" {
            " (ranked without strace's stops)"
        } else {
            ""
        };
        return Some(format!("Most time in calls{stops}: {longest}."));
    }
    if attribution.entering.is_some() && is_stopped(time) {
        return None;
    }
    let mut rows = match &attribution.threads {
        Some(ledger) => ledger_rows(profile, ledger, ALL),
        None => time_rows(&untraced(time), &attribution.waits, MOST_ROWS),
    };
    let ledger = attribution.threads.as_ref();
    // What makes requests slow.
    let answers = ledger.is_some_and(|ledger| ledger.requests.is_some());
    let is_left_out = answers || ledger.is_some_and(|ledger| is_worked(ledger, time));
    rows.retain(|row| {
        // The tracer's own time around the command.
        let is_around = row.name == NOT_KNOWN && !row.what.is_empty();
        !(is_around
            || is_left_out && row.name.starts_with(IDLE)
            || WORKED_FOR.contains(&&*row.name))
    });
    let least_s = LEAST * rows.iter().map(|row| row.seconds).sum::<f64>();
    let rows = rows.iter().filter(|row| row.seconds >= least_s);
    let rows: Vec<&Row> = rows
        .sorted_by(|a, b| b.seconds.total_cmp(&a.seconds))
        .take(MOST_ROWS)
        .collect();
    let waits = rows.first().is_some_and(|row| row.name == RUNNABLE);
    let others = if waits && profile.usage.has_one_thread() && profile.usage.throttled.is_none() {
        " Other programs use the CPUs."
    } else {
        ""
    };
    let rows = rows.into_iter().map(part).join("; ");
    if rows.is_empty() {
        return None;
    }
    let of_busy = if answers { " of busy threads" } else { "" };
    let programs = programs(profile, MOST_ROWS).map_or_else(String::new, |text| format!(" {text}"));
    Some(format!("Most time{of_busy}: {rows}.{others}{programs}"))
}

/// Whether busy threads explain the wall time: those that wait, as a runtime's own, delay nothing.
fn is_worked(ledger: &Ledger, time: &Spent) -> bool {
    let busy = ledger.parts.iter().filter(|part| !part.state.is_idle());
    let busy_s: f64 = busy.map(|part| part.seconds).sum();
    time.wall_s.is_some_and(|wall_s| busy_s >= MOST * wall_s)
}

/// `q2: read of pipe:[17] 1.32 s, sleep: clock_nanosleep 1.31 s`: of a log, whose time is not divided. Waits for children are those
/// of the children's calls.
fn longest_calls(profile: &Profile) -> Option<String> {
    let stop_s = logged_s(profile);
    let mut sums: IndexMap<(&str, &str), (f64, f64)> = IndexMap::new();
    for group in &profile.groups {
        for count in &group.calls {
            let seconds = count.elapsed_ns.map_or(0.0, s);
            let is_known = count.elapsed_ns.is_some();
            if is_known && Reason::from_call(&count.call, &count.class) != Reason::Children {
                let sum = sums.entry((&group.name, &count.call)).or_default();
                sum.0 += seconds - count.calls as f64 * stop_s;
                sum.1 += seconds;
            }
        }
    }
    let least_s = LEAST
        * sums
            .values()
            .map(|(long_s, _)| long_s.max(0.0))
            .sum::<f64>();
    let longest = sums
        .into_iter()
        .filter(|(_, (long_s, _))| *long_s >= least_s);
    let longest = longest.sorted_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let longest = longest.map(|((process, call), (_, seconds))| {
        let objects = profile.objects.iter();
        let objects =
            objects.filter(|object| object.process == process && object.count.call == call);
        let most = objects.max_by_key(|object| object.count.elapsed_ns);
        let most = most.filter(|object| object.count.elapsed_ns.map_or(0.0, s) > seconds / 2.0);
        let on = most.map_or_else(String::new, |object| format!(" of {}", object.name));
        let process = Some(process).filter(|name| !name.is_empty());
        let process = process.map_or_else(String::new, |name| format!("{name}: "));
        format!("{process}{call}{on} {}", duration(seconds))
    });
    let longest = longest.take(MOST_ROWS).join("; ");
    if longest.is_empty() {
        None
    } else {
        Some(longest)
    }
}

fn untraced(time: &Spent) -> Spent {
    let parts = time.parts.iter();
    let traced_program = parts.filter(|part| part.kind != PartKind::Tracer);
    Spent {
        parts: traced_program.cloned().collect(),
        ..Spent::default()
    }
}

/// `waiting for disk 0.20 s (fsync of /a/log)`
fn part(row: &Row) -> String {
    let what = if row.what.is_empty() {
        String::new()
    } else {
        format!(" ({})", row.what)
    };
    format!("{} {}{what}", row.name, duration(row.seconds))
}

fn is_lock(part: &LedgerPart) -> bool {
    let because = Because::Lock;
    part.state == State::Blocked { because }
}

fn is_server(part: &LedgerPart) -> bool {
    let because = Because::Peer;
    part.state == State::Blocked { because }
}

fn user_mode(part: &LedgerPart) -> bool {
    let cpu = part.cpu.as_ref();
    cpu.is_some_and(|cpu| cpu.kind == PartKind::UserMode)
}

fn seconds_of(ledger: &Ledger, is_one: fn(&LedgerPart) -> bool) -> f64 {
    let parts = ledger.parts.iter().filter(|part| is_one(part));
    parts.map(|part| part.seconds).sum()
}

/// The answer for threads that wait for each other's locks: the lock with most of the time, where they wait, and who holds it.
fn lock_bound(ledger: &Ledger) -> Option<String> {
    let share = seconds_of(ledger, is_lock) / ledger.thread_s;
    if share < WAIT_BOUND {
        return None;
    }
    let mut locks: IndexMap<_, (f64, Vec<&LedgerWait>)> = IndexMap::new();
    for part in ledger.parts.iter().filter(|part| is_lock(part)) {
        let wait = part.wait.as_ref()?;
        let (seconds, waits) = locks.entry((&wait.process, &wait.on)).or_default();
        *seconds += part.seconds;
        waits.push(wait);
    }
    let all = locks.len() as u64;
    let locks = locks.into_iter();
    let ((process, on), (_, waits)) = locks.max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    // The address of a lock that is no variable means nothing to a reader: its functions do.
    let on = on.as_deref().map(notes::lock);
    let on = on
        .filter(|on| !on.starts_with("futex "))
        .unwrap_or("a lock".into());
    let lock = match all {
        1 => on.to_string(),
        _ => format!("{}, most of it for {on}", counted(all, "lock")),
    };
    let names = waits.iter().filter_map(|wait| wait.function.as_deref());
    let functions: Vec<String> = names.map(notes::function).collect();
    let place = match functions.len() {
        0 => String::new(),
        _ => format!(" in {}", some(&functions, MOST_FUNCTIONS)),
    };
    let holder = waits[0].by.as_ref().map_or_else(String::new, |by| {
        format!(", which {} holds", notes::other(by, process))
    });
    Some(format!(
        "Lock contention: threads wait {}% of their time for {lock}{place}{holder}.",
        percent(100.0 * share)
    ))
}

/// The least time without these waits: the program's other work takes all CPUs. Empty for services, which never end.
fn without_locks(profile: &Profile, time: &Spent) -> String {
    let usage = &profile.usage;
    let known = time.wall_s.zip(time.cpu_s).zip(usage.cpus);
    let Some(((wall_s, cpu_s), cpus)) = known.filter(|_| !profile.is_service()) else {
        return String::new();
    };
    let calls = profile
        .calls()
        .filter(|count| count.call.starts_with("futex"));
    let locks: CallCount = calls.sum();
    let tracing = time
        .parts
        .iter()
        .filter(|part| part.kind == PartKind::Tracer);
    let tracing_s: f64 = tracing.filter_map(|part| part.cpu_s).sum();
    let work_s = cpu_s - tracing_s - s(locks.on_cpu_ns.unwrap_or(0));
    let least_s = (work_s / cpus.max(1) as f64).min(wall_s);
    if least_s < LEAST_BOUND * wall_s {
        return String::new();
    }
    format!(
        " Without them the program takes at least {} of these {}: {} of other CPU time on {}.",
        duration(least_s),
        duration(wall_s),
        duration(work_s),
        counted(cpus, "CPU")
    )
}

/// The answer for threads that wait for servers, with the wait that takes most of the time.
fn server_bound(ledger: &Ledger) -> Option<String> {
    let share = seconds_of(ledger, is_server) / ledger.thread_s;
    if share < WAIT_BOUND {
        return None;
    }
    let parts = ledger.parts.iter().filter(|part| is_server(part));
    let most = parts.max_by(|a, b| a.seconds.total_cmp(&b.seconds))?;
    let wait = waited(most.wait.as_ref()?);
    Some(format!(
        "Waiting for servers takes {}% of the threads' time, most of it {wait}.",
        percent(100.0 * share)
    ))
}

/// The answer for a program that computes. Waiting for a CPU, which other programs cause, and tracing are left out of the share.
fn user_bound(profile: &Profile, time: &Spent) -> Option<String> {
    let (whole_s, user_s) = (time.untraced_s(0.0)?, time.seconds_of(PartKind::UserMode));
    // Stops slow down user mode too: with many stops its share is too large to blame the program.
    if time.seconds_of(PartKind::Tracer) + time.seconds_of(PartKind::Stops) > user_s {
        return None;
    }
    let waiting_s = time.seconds_of(PartKind::WaitingForCpu);
    let share = user_s / (whole_s - waiting_s);
    if share.is_nan() || share < USER_BOUND {
        return None;
    }
    let without = if waiting_s > 0.0 {
        " (waits for a CPU left out)"
    } else {
        ""
    };
    let whole = match time.wall_s {
        Some(_) => "wall time",
        None => "CPU time",
    };
    let place = computing(profile).map(notes::function);
    let place = place.or_else(|| main_program(profile));
    let place = place.map_or_else(String::new, |place| format!(", most of it in {place}"));
    Some(format!(
        "CPU-bound: {}% of the {whole}{without} is user mode, not system calls{place}.",
        percent(100.0 * share)
    ))
}

/// The one of several programs that takes most of the time in user mode.
fn main_program(profile: &Profile) -> Option<String> {
    let groups = profile.groups.iter();
    let times = sum_by_key(groups.map(|group| (group.name.as_str(), group.user_ns.unwrap_or(0))));
    let all: u64 = times.values().sum();
    let several = times.len() > 1;
    let (name, _) = times.into_iter().find(|(_, ns)| several && 2 * ns > all)?;
    Some(name.to_string())
}

/// The function that most of the samples found.
fn computing(profile: &Profile) -> Option<&str> {
    let outside = profile.usage.outside.as_ref()?;
    let first = outside.functions.first()?;
    let has_name = !first.name.contains("0x") && !first.name.starts_with('[');
    let is_most = 2 * first.samples > outside.samples && has_name;
    is_most.then_some(first.name.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;
    use analysis::attribute::spent::Part;
    use model::ProcessGroup;
    use model::{Outside, SampledFunction};

    #[test]
    fn the_lock_with_most_of_the_time_is_named_with_its_functions() {
        fn part(seconds: f64, on: &str, function: &str) -> LedgerPart {
            let because = Because::Lock;
            LedgerPart {
                state: State::Blocked { because },
                seconds,
                waits: None,
                wait: Some(LedgerWait {
                    process: "app".into(),
                    on: Some(on.into()),
                    by: Some("thread app".into()),
                    function: Some(function.into()),
                    ..LedgerWait::default()
                }),
                cpu: None,
            }
        }

        let mut ledger = Ledger {
            thread_s: 10.0,
            parts: vec![
                part(2.0, "futex 0x10 queue", "push"),
                part(1.0, "futex 0x10 queue", "pop"),
            ],
            ..Ledger::default()
        };
        let expected = "Lock contention: threads wait 30% of their time for lock queue in push(), pop(), which another thread holds.";
        assert_eq!(lock_bound(&ledger).as_deref(), Some(expected));
        ledger.parts.push(part(2.5, "futex 0x20", "log"));
        let expected = "Lock contention: threads wait 55% of their time for 2 locks, most of it for lock queue in push(), pop(), which another thread holds.";
        assert_eq!(lock_bound(&ledger).as_deref(), Some(expected));
        ledger.thread_s = 100.0;
        assert_eq!(lock_bound(&ledger), None);
    }

    #[test]
    fn waits_that_are_not_divided_by_thread_are_told() {
        let call = |call: &str, seconds: u64| CallCount {
            call: call.into(),
            calls: 1,
            blocked_ns: Some(seconds * 1_000_000_000),
            ..CallCount::default()
        };
        let mut profile = Profile {
            groups: vec![ProcessGroup {
                calls: vec![call("read", 1), call("futex", 3)],
                ..ProcessGroup::default()
            }],
            ..Profile::default()
        };
        let mut attribution = Attribution::default();
        attribution.time.cpu_s = Some(0.5);
        assert_eq!(untold_waits(&profile, &attribution), None);
        profile.usage.threads = Some(1);
        let expected = "Threads wait most of the time, summed over threads: futex 3.00 s, read 1.00 s. As root, eBPF shows what they wait for.";
        assert_eq!(
            untold_waits(&profile, &attribution).as_deref(),
            Some(expected)
        );
    }

    #[test]
    fn idle_threads_are_no_answer_if_others_worked() {
        let part = |state, seconds| LedgerPart {
            state,
            seconds,
            waits: None,
            wait: None,
            cpu: None,
        };
        let because = Because::Timer;
        let ledger = Ledger {
            parts: vec![
                part(State::OnCpu, 0.6),
                part(State::Blocked { because }, 3.0),
            ],
            ..Ledger::default()
        };
        let mut attribution = Attribution {
            threads: Some(ledger),
            ..Attribution::default()
        };
        for (wall_s, expected) in [
            (1.0, "Most time: on a CPU 0.6000 s."),
            (3.0, "Most time: idle: timer 3.00 s; on a CPU 0.6000 s."),
        ] {
            attribution.time.wall_s = Some(wall_s);
            let line = most_time(&Profile::default(), &attribution);
            assert_eq!(line.as_deref(), Some(expected));
        }
    }

    #[test]
    fn the_server_that_threads_wait_for_is_named() {
        let because = Because::Peer;
        let mut ledger = Ledger {
            thread_s: 10.0,
            parts: vec![LedgerPart {
                state: State::Blocked { because },
                seconds: 4.5,
                waits: None,
                wait: Some(LedgerWait {
                    process: "app".into(),
                    call: "recvfrom".into(),
                    on: Some("127.0.0.1:9932".into()),
                    ..LedgerWait::default()
                }),
                cpu: None,
            }],
            ..Ledger::default()
        };
        let expected = "Waiting for servers takes 45% of the threads' time, most of it app: recvfrom of 127.0.0.1:9932.";
        assert_eq!(server_bound(&ledger).as_deref(), Some(expected));
        ledger.thread_s = 100.0;
        assert_eq!(server_bound(&ledger), None);
    }

    #[test]
    fn the_share_of_user_mode_is_that_without_waiting_for_a_cpu() {
        fn part(kind: PartKind, seconds: f64) -> Part {
            Part {
                kind,
                wall_s: Some(seconds),
                cpu_s: None,
                what: Vec::new(),
            }
        }

        let time = Spent {
            wall_s: Some(10.0),
            parts: vec![
                part(PartKind::WaitingForCpu, 8.0),
                part(PartKind::UserMode, 1.7),
            ],
            ..Spent::default()
        };
        let mut profile = Profile::default();
        for (samples, place) in [(50, ""), (51, ", most of it in load() (app.py:3)")] {
            profile.usage.outside = Some(Outside {
                samples: 100,
                functions: vec![SampledFunction {
                    name: "load (app.py:3)".into(),
                    samples,
                    ..SampledFunction::default()
                }],
                ..Outside::default()
            });
            let expected = format!(
                "CPU-bound: 85% of the wall time (waits for a CPU left out) is user mode, not system calls{place}."
            );
            assert_eq!(user_bound(&profile, &time).unwrap(), expected);
        }
    }
}
