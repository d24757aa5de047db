//! Calls that are made again and again although once, or none, would do: a table of which, and which other calls are a reason for
//! one each. What goes wrong again and again is a table too.

use super::caller::{Caller, OPENS, POLLS, Part, added, done, errors, is_one_of, share};
use super::rule::{Advice, Rule};
use crate::attribute::seconds::Seconds;
use crate::model::{CallCount, DescriptorKind};

/// Calls of a kind that are too many.
struct Repeat {
    rule: Rule,
    calls: &'static [&'static str],
    /// What they must do; anything if it is empty.
    operations: &'static [&'static str],
    /// Each of these calls is a reason for one.
    reasons: &'static [&'static [&'static str]],
    /// What is left of their time by what takes their place.
    left: f64,
}

const fn repeat(rule: Rule, calls: &'static [&'static str]) -> Repeat {
    Repeat { rule, calls, operations: &[], reasons: &[], left: 0.0 }
}

/// Calls that make a descriptor, which is then looked at and set up.
const NEW: &[&str] =
    &["socket", "accept", "accept4", "pipe", "pipe2", "dup", "dup2", "dup3", "connect", "bind", "listen"];
const CHILDREN: &[&str] = &["fork", "vfork", "clone", "clone3", "exit", "exit_group", "execve"];
/// Clocks that the vDSO reads (vdso(7)). That of CPU time always takes a call.
const VDSO: &[&str] =
    &["realtime", "monotonic", "monotonic_raw", "realtime_coarse", "monotonic_coarse", "boottime", "tai"];

const REPEATS: &[Repeat] = &[
    Repeat { operations: VDSO, left: 0.25, ..repeat(Rule::RealClockCalls, &["clock_gettime", "clock_gettime64"]) },
    Repeat { left: 0.25, ..repeat(Rule::RealClockCalls, &["gettimeofday", "time"]) },
    // Not who its parent is: to ask may be to wait for that.
    repeat(
        Rule::SameAnswer,
        &["getpid", "gettid", "getuid", "geteuid", "getgid", "getegid", "uname", "getresuid", "getgroups"],
    ),
    Repeat {
        reasons: &[CHILDREN, &["chdir", "fchdir"]],
        ..repeat(
            Rule::SameAnswer,
            &[
                "getcwd",
                "prlimit64",
                "getrlimit",
                "setrlimit",
                "sysinfo",
                "sched_getaffinity",
                "sched_setaffinity",
                "getpriority",
                "setpriority",
                "umask",
                "prctl",
                "personality",
            ],
        )
    },
    Repeat { reasons: &[OPENS, NEW], ..repeat(Rule::SameAnswer, &["fstat", "fstatfs", "getsockname", "getpeername"]) },
    Repeat { reasons: &[OPENS, NEW], ..repeat(Rule::SameAnswer, &["setsockopt", "getsockopt"]) },
    Repeat {
        reasons: &[OPENS, OPENS, OPENS],
        ..repeat(Rule::SameAnswer, &["fchmod", "fchown", "fsetxattr", "utimensat", "futimesat"])
    },
    Repeat {
        operations: &["getfd", "setfd", "getfl", "setfl"],
        reasons: &[OPENS, NEW, NEW, NEW],
        ..repeat(Rule::SameAnswer, &["fcntl", "fcntl64"])
    },
    Repeat {
        operations: &["TCGETS", "TIOCGWINSZ", "FIONBIO", "FIONCLEX", "FIOCLEX"],
        reasons: &[OPENS, NEW],
        ..repeat(Rule::SameAnswer, &["ioctl"])
    },
    Repeat { reasons: &[NEW, NEW, NEW, NEW], ..repeat(Rule::SameAnswer, &["epoll_ctl"]) },
    repeat(Rule::SameAnswer, &["timerfd_settime", "timer_settime", "setitimer", "alarm"]),
    Repeat { reasons: &[OPENS, OPENS], ..repeat(Rule::Seeks, &["lseek", "_llseek"]) },
    repeat(Rule::Spin, &["sched_yield"]),
    Repeat { reasons: &[CHILDREN], ..repeat(Rule::Spin, &["wait4", "waitpid", "waitid"]) },
    Repeat { reasons: &[CHILDREN], ..repeat(Rule::Spin, &["kill", "tgkill", "getppid"]) },
    Repeat {
        operations: &["FIONREAD"],
        reasons: &[&["read", "readv", "recvfrom", "recvmsg"]],
        ..repeat(Rule::Spin, &["ioctl"])
    },
    repeat(Rule::SmallMaps, &["brk"]),
    repeat(Rule::SmallMaps, &["mprotect", "pkey_mprotect"]),
    Repeat { operations: &["dontneed", "free"], ..repeat(Rule::SmallMaps, &["madvise"]) },
];

/// What is beyond the reasons for them. Those that wait are no questions.
pub fn repeats(caller: &Caller) -> Vec<Advice> {
    let one = |repeat: &Repeat| {
        let own = |count: &CallCount| {
            let operation = count.class.operation.as_deref().unwrap_or_default();
            is_one_of(count, repeat.calls) && (repeat.operations.is_empty() || repeat.operations.contains(&operation))
        };
        let all = caller.sum(own);
        let reasons = added(repeat.reasons.iter().map(|names| caller.succeeded(names)));
        let beyond = all.calls.saturating_sub(errors(&all, "EBADF")).saturating_sub(reasons);
        let waits = all.blocked_ns > all.on_cpu_ns;
        // A profile by hand may have left them out.
        let unknown = !repeat.reasons.is_empty() && reasons == 0;
        if waits || unknown || beyond <= caller.processes.saturating_mul(AGAIN) {
            return None;
        }
        let part = caller.part(|count| if own(count) { share(beyond, all.calls) } else { 0.0 });
        let Seconds { value, low, high } = part.left_out();
        let left = 1.0 - repeat.left;
        Some(part.advice(repeat.rule, Seconds { value: value * left, low: low * left * left, high }))
    };
    REPEATS.iter().filter_map(one).collect()
}

/// Each process may do it as often as it starts or sets something up.
const AGAIN: u64 = 20;

/// Errors that are no surprise: time-outs, interruptions, and what other rules look at.
const USUAL: &[&str] =
    &["EAGAIN", "EINTR", "ETIMEDOUT", "EINPROGRESS", "ENOENT", "ECHILD", "ERESTARTSYS", "ERESTARTNOHAND"];

/// Calls that fail with the same error again and again: descriptors that are not open, what is not supported, locks that others hold.
pub fn failures(caller: &Caller) -> Vec<Advice> {
    let mut names: Vec<&String> = caller.counts.iter().flat_map(|count| count.errors.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let mut found: Vec<Advice> = names.into_iter().filter_map(|error| failing(caller, error)).collect();
    found.extend(held(caller));
    found
}

fn failing(caller: &Caller, error: &str) -> Option<Advice> {
    let part = of_error(caller, error, |count| {
        // Of a path it is an answer.
        count.class.descriptor == Some(DescriptorKind::None)
            || (count.class.depth.is_none() && !is_one_of(count, POLLS))
    });
    let again = part.calls > caller.processes.saturating_mul(AGAIN);
    // Without paths nobody can tell whether a name that is absent is asked for again.
    let is_usual = USUAL.contains(&error) && !(error == "ENOENT" && caller.profile.objects.is_empty());
    let rule = if error == "EBADF" { Rule::DescriptorSweep } else { Rule::Failures };
    (again && !is_usual).then(|| Advice { of: Some(error.to_string()), ..part.avoid(rule) })
}

/// Locks that others hold, asked for without waiting: locks on files, and files that must be new.
fn held(caller: &Caller) -> Option<Advice> {
    let locks = |count: &CallCount| is_one_of(count, &["flock", "fcntl", "fcntl64"]);
    let files = of_error(caller, "EEXIST", |count| is_one_of(count, OPENS));
    let locks = of_error(caller, "EAGAIN", locks);
    let part = if locks.calls > files.calls { locks } else { files };
    (part.calls > caller.processes.saturating_mul(AGAIN)).then(|| part.avoid(Rule::Spin))
}

fn of_error<'a>(caller: &'a Caller, error: &str, keep: impl Fn(&CallCount) -> bool) -> Part<'a> {
    caller.part(
        |count| if keep(count) && done(count) < count.calls { share(errors(count, error), count.calls) } else { 0.0 },
    )
}
