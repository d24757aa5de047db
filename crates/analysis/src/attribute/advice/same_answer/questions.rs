//! Questions and settings, and which other calls are a reason to ask or set once more.

use super::{Again, Remedy};
use crate::attribute::advice::caller::{
    Caller, FORKS, FUTEX, OPENS, Part, SEEKS, added, done, errors, is_one_of, waited,
};
use itertools::Itertools as _;
use model::CallCount;
use model::runtime::{is_library, is_runtime};
use model::syscall_names::bare_name;

struct Question {
    /// Calls, with the operation behind a slash if only that one counts.
    calls: &'static str,
    /// Each of these calls is a reason for one; those that stand twice for two.
    reasons: &'static [&'static str],
    remedy: &'static Remedy,
}

const fn question(calls: &'static str, reasons: &'static [&'static str]) -> Question {
    Question {
        calls,
        reasons,
        remedy: &ASK_ONCE,
    }
}

const fn instead(
    remedy: &'static Remedy,
    calls: &'static str,
    reasons: &'static [&'static str],
) -> Question {
    Question {
        calls,
        reasons,
        remedy,
    }
}

static ASK_ONCE: Remedy = Remedy::new("{calls}", "ask for it or set it once: it does not change");
static VDSO: Remedy = Remedy {
    // The vDSO still reads the clock.
    left: 0.25,
    ..Remedy::new(
        "{calls}",
        "the vDSO could answer without a call; another clock source, a static or 32-bit program or a direct syscall() prevents that",
    )
};
static OFFSETS: Remedy = Remedy::new(
    "{calls}",
    "pread and pwrite take an offset and need no seek",
);
static MASKS: Remedy = Remedy::new(
    "{calls}",
    "change the signal mask once; sigsetjmp(env, 0) and _setjmp leave it out",
);
static PROTECTION: Remedy = Remedy::new(
    "{calls}",
    "change the protection once, after all writes; or map the memory twice, once writable",
);
static RESERVED: Remedy = Remedy::new(
    "{calls}",
    "reserve the space once, or many records at a time",
);
static WAIT: Remedy = Remedy::instead_of_waiting(
    "{calls}",
    "use a call that blocks until the event: a futex, a blocking lock or wait, poll",
);
static WAITERS: Remedy = Remedy::new(
    "{calls} that wake nobody",
    "count the waiters, and wake only if there are any",
);

const NEW: &str = "socket socketpair accept accept4 pipe pipe2 dup dup2 dup3 connect bind listen";
const CHILDREN: &str = "fork vfork clone clone3 exit exit_group execve";

const QUESTIONS: &[Question] = &[
    question(
        // Identities change only in a child.
        "getpid gettid getppid getuid geteuid getgid getegid uname getresuid getresgid getgroups",
        &[FORKS],
    ),
    question(
        // Settings of the process: a child sets them once more, and so does the program that it executes.
        "getcwd prlimit64 getrlimit setrlimit sysinfo sched_getaffinity sched_setaffinity getpriority setpriority umask prctl \
         personality sched_getscheduler sched_setscheduler sched_getparam sched_get_priority_max sched_get_priority_min getsid getpgid \
         getpgrp capget get_mempolicy ioprio_get ioprio_set rt_sigaction sigaltstack set_robust_list",
        &[CHILDREN, CHILDREN, "chdir fchdir"],
    ),
    // Each new descriptor may be asked about once.
    question("fstat fstatfs getsockname getpeername", &[OPENS, NEW]),
    question("setsockopt getsockopt", &[OPENS, NEW]),
    question(
        // A file that is written anew may get its mode, its owner and its time.
        "fchmod fchown fsetxattr utimensat futimesat",
        &[OPENS, OPENS, OPENS],
    ),
    question(
        // Libraries read and set both kinds of flags of each new descriptor.
        "fcntl/getfd fcntl/setfd fcntl/getfl fcntl/setfl fcntl64/getfl fcntl64/setfl fcntl64/getfd fcntl64/setfd",
        &[OPENS, NEW, NEW, NEW],
    ),
    question(
        "ioctl/TCGETS ioctl/TIOCGWINSZ ioctl/FIONBIO ioctl/FIONCLEX ioctl/FIOCLEX",
        &[OPENS, NEW, "ioctl/TIOCSWINSZ"],
    ),
    // A descriptor is added, changed a few times, and removed.
    question("epoll_ctl", &[NEW, NEW, NEW, NEW]),
    question(
        "timerfd_settime timer_settime setitimer alarm fadvise64",
        &[OPENS],
    ),
    instead(
        &VDSO,
        "clock_gettime/realtime clock_gettime/monotonic clock_gettime/monotonic_raw clock_gettime/realtime_coarse \
         clock_gettime/monotonic_coarse clock_gettime/boottime clock_gettime/tai clock_gettime64/realtime clock_gettime64/monotonic \
         gettimeofday time",
        &[],
    ),
    instead(&OFFSETS, SEEKS, &[OPENS, OPENS]),
    instead(
        &MASKS,
        // Each mask that is set again, or unblocked, belongs to one that was blocked.
        "rt_sigprocmask/block",
        &["rt_sigprocmask/setmask rt_sigprocmask/unblock", CHILDREN],
    ),
    instead(
        &PROTECTION,
        "mprotect pkey_mprotect",
        &["mmap mmap2", "mmap mmap2"],
    ),
    instead(&RESERVED, "fallocate posix_fadvise", &[OPENS]),
    instead(&WAIT, "sched_yield", &[]),
    instead(&WAIT, "wait4 waitpid waitid", &[CHILDREN]),
    instead(&WAIT, "kill tgkill", &[CHILDREN]),
    instead(&WAIT, "ioctl/FIONREAD", &["read readv recvfrom recvmsg"]),
];

/// Each process may do it as often as it starts or sets something up.
pub const AGAIN: u64 = 20;

fn is_meant(count: &CallCount, words: &str) -> bool {
    words.split(' ').any(|word| {
        let (name, operation) = word
            .split_once('/')
            .map_or((word, None), |(name, operation)| (name, Some(operation)));
        let counted = count.class.operation.as_deref();
        is_one_of(count, name) && (operation.is_none() || counted == operation)
    })
}

pub(super) fn again<'a>(caller: &'a Caller<'a>) -> Vec<Again<'a>> {
    let repeated = QUESTIONS
        .iter()
        .filter_map(|question| question.again(caller));
    repeated.chain(wakes(caller)).collect()
}

impl Question {
    /// Calls beyond the reasons for them. Calls that wait are not questions, and `errors` has the failures.
    fn again<'a>(&self, caller: &'a Caller<'a>) -> Option<Again<'a>> {
        let is_asked = |count: &CallCount| is_meant(count, self.calls);
        let all = caller.sum(is_asked);
        let reasons = added(
            self.reasons
                .iter()
                .map(|words| done(&caller.sum(|count| is_meant(count, words)))),
        );
        let beyond = done(&all).saturating_sub(reasons);
        // A profile by hand may have left them out.
        let unknown = self.reasons.contains(&OPENS) && reasons == 0;
        if waited(&all) || unknown || beyond <= caller.processes.saturating_mul(AGAIN) {
            return None;
        }
        Some(Again::new(caller.some(beyond, is_asked), self.remedy))
    }
}

const MANY_WAKES: u64 = 1000;

/// Futex wakes beyond the waits that slept: one that wakes somebody ends a wait.
fn wakes<'a>(caller: &'a Caller<'a>) -> Option<Again<'a>> {
    let (waits, wakes) = (caller.sum(futex("wait")), caller.sum(futex("wake")));
    let slept = waits.calls.saturating_sub(errors(&waits, "EAGAIN"));
    let surplus = wakes.calls.saturating_sub(slept);
    if surplus < MANY_WAKES || caller.processes > 1 || locks_of_libraries(caller) {
        return None;
    }
    let part: Part = caller.some(surplus, futex("wake"));
    Some(Again::new(part, &WAITERS))
}

/// Whether most futex calls are those of locks of the C library or of a runtime, which count their waiters.
fn locks_of_libraries(caller: &Caller) -> bool {
    let stacks = caller.profile.stacks.iter();
    let calls = stacks
        .filter(|stack| {
            let call = bare_name(&stack.call);
            stack.process == caller.name && FUTEX.split(' ').contains(&call)
        })
        .map(|stack| {
            let mut frames = stack.frames.iter().rev();
            let lock = frames.find(|frame| *frame != "syscall");
            let is_lock = lock.is_some_and(|lock| {
                let is_named = !lock.starts_with('[') && !lock.contains("0x");
                is_library(lock) || is_named && is_runtime(lock)
            });
            (is_lock, stack.calls)
        });
    let calls = calls.into_grouping_map().sum();
    calls.get(&true) > calls.get(&false)
}

fn futex(operation: &'static str) -> impl Fn(&CallCount) -> bool {
    move |count| super::super::futex_traffic::is_futex(count, operation)
}
