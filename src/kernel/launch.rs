//! Starts a command and holds it just before its execve, so that a tracer can attach first.
//!
//! It forks itself instead of using `std::process::Command`, whose `spawn` waits for the execve, while here the execve
//! has to wait for us. The child makes only async-signal-safe calls (signal-safety(7)) and allocates nothing. It stays
//! in our process group, on our terminal, with our descriptors: job control works as with time(1). Called by
//! `trace::run`.

use super::pidfd;
use super::process::{die_with_parent, is_ignored};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::pipe2;
use nix::unistd::{ForkResult, fork};
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::time::Duration;

/// A command ready to be started: everything that the child needs, made before the fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The file to execute.
    pub program: CString,
    /// The command's arguments, its name first.
    pub arguments: Vec<CString>,
    /// `NAME=value`, all of them.
    pub environment: Vec<CString>,
    /// The user to run it as; `None` for the current one.
    pub user: Option<Identity>,
    /// Signals that were ignored when we started, as by `nohup` and a shell's `&`: the command inherits that.
    pub ignored: Vec<i32>,
    /// Whether standard input, output and error are /dev/null.
    pub silent: bool,
    /// Whether the command is killed if this process is.
    pub bound: bool,
    /// Where the command works; `None` for this process's working directory.
    pub directory: Option<CString>,
    /// Whether the program is our own launcher (probe/extra/confine.c), which waits once more after it has made its environment.
    pub enters: bool,
}

/// A user and the groups that come with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

/// Signals that we handle while a command runs.
pub const HANDLED: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// What the child could not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Filter,
    User,
    Execute,
    Directory,
}

/// What releases a held child.
const GO: u8 = b'g';
const FILTER: u8 = b'f';
/// What a launcher reports once it has made its environment; no number of a step.
const ENTERED: u8 = b'e';

/// The descriptors on which a launcher waits and reports.
const WAITING: i32 = 3;
const REPORTING: i32 = 4;

/// A child that waits to be released. If this is dropped before that, the child ends.
pub struct Held {
    pub pid: u32,
    /// Also becomes readable when the child has ended.
    descriptor: OwnedFd,
    go: File,
    failure: File,
}

/// A child that was released.
pub struct Started {
    descriptor: OwnedFd,
    go: File,
    failure: File,
}

impl Launch {
    /// Forks. The child waits.
    ///
    /// # Errors
    /// What the kernel refused.
    #[allow(unsafe_code)]
    pub fn hold(&self) -> Result<Held, Errno> {
        let plan = Plan::new(self);
        // SAFETY: `Plan::live` makes only async-signal-safe calls.
        unsafe { fork_held(|ends| plan.live(ends)) }
    }
}

/// The child's ends of the pipes, and the one of ours that it inherits.
#[derive(Clone, Copy)]
struct Ends {
    waiting: i32,
    go: i32,
    failing: i32,
}

/// Forks a child that does what `live` does, which waits by `Ends::wait`, and ends with the status that it returns.
///
/// # Safety
/// `live` must make only async-signal-safe calls (signal-safety(7)).
#[allow(unsafe_code)]
unsafe fn fork_held(live: impl FnOnce(Ends) -> i32) -> Result<Held, Errno> {
    let (waiting, go) = pipe2(OFlag::O_CLOEXEC)?;
    let (failure, failing) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: guaranteed by the caller.
    match unsafe { fork() }? {
        ForkResult::Child => {
            let ends = Ends { waiting: waiting.as_raw_fd(), go: go.as_raw_fd(), failing: failing.as_raw_fd() };
            // SAFETY: _exit(2) is safe after a fork.
            unsafe { libc::_exit(live(ends)) }
        }
        ForkResult::Parent { child } => {
            let descriptor = pidfd::open(child.as_raw())?;
            Ok(Held { pid: child.as_raw().unsigned_abs(), descriptor, go: go.into(), failure: failure.into() })
        }
    }
}

impl Ends {
    /// Waits to be released; returns GO or FILTER.
    #[allow(unsafe_code)]
    fn wait(self) -> u8 {
        // SAFETY: close(2), read(2) and _exit(2) are safe after a fork; the buffer is our own.
        unsafe {
            // If it kept a copy of the other end, the read would not return when we end.
            libc::close(self.go);
            let mut word = 0u8;
            if libc::read(self.waiting, (&raw mut word).cast(), 1) != 1 {
                libc::_exit(127);
            }
            word
        }
    }
}

impl Ends {
    /// Leaves both pipes to a launcher, on descriptors that it knows. First above those, which may be the pipes' own.
    #[allow(unsafe_code)]
    fn hand_over(self) -> bool {
        // SAFETY: fcntl(2) and dup2(2) take numbers and are safe after a fork.
        let onto = |end: i32, known: i32| unsafe { libc::dup2(end, known) == known };
        let above = |end: i32| unsafe { libc::fcntl(end, libc::F_DUPFD_CLOEXEC, REPORTING + 1) };
        let (waiting, failing) = (above(self.waiting), above(self.failing));
        onto(waiting, WAITING) && onto(failing, REPORTING)
    }
}

/// A child that makes `calls` calls of getppid when it is released, and ends; for calibrating a tracer.
///
/// # Errors
/// What the kernel refused.
#[allow(unsafe_code)]
pub fn hold_null_calls(calls: u32) -> Result<Held, Errno> {
    let live = |ends: Ends| {
        if ends.wait() == FILTER && !super::seccomp::install() {
            return 1;
        }
        for _ in 0..calls {
            // SAFETY: getppid(2) is async-signal-safe and accesses no memory.
            unsafe { libc::getppid() };
        }
        0
    };
    // SAFETY: `live` only reads a pipe, installs a filter, and makes null calls.
    unsafe { fork_held(live) }
}

impl Held {
    /// Releases the child to its execve; with `filter`, it first installs a seccomp filter that has every call traced.
    ///
    /// # Errors
    /// If the child has ended.
    pub fn release(mut self, filter: bool) -> std::io::Result<Started> {
        self.go.write_all(&[if filter { FILTER } else { GO }])?;
        Ok(Started { descriptor: self.descriptor, go: self.go, failure: self.failure })
    }
}

impl Started {
    /// Sends a signal; nothing happens if it has ended.
    pub fn signal(&self, signal: i32) {
        let _ = pidfd::send_signal(&self.descriptor, signal);
    }

    pub fn has_ended(&self) -> bool {
        self.ends_within(Duration::ZERO)
    }

    /// Whether a launcher has made its environment, so long or until a signal; `None` if that is not known yet.
    pub fn has_entered_within(&mut self, time: Duration) -> Option<bool> {
        let mut report = [0u8];
        let is_known = super::process::wait_readable(&self.failure, time);
        is_known.then(|| self.failure.read(&mut report).is_ok_and(|read| read == 1 && report[0] == ENTERED))
    }

    /// Releases the command that a launcher holds.
    ///
    /// # Errors
    /// If it has ended.
    pub fn release(&mut self) -> std::io::Result<()> {
        self.go.write_all(&[GO])
    }

    /// Waits until it has ended, so long or until a signal.
    pub fn ends_within(&self, time: Duration) -> bool {
        super::process::wait_readable(&self.descriptor, time)
    }

    /// Why the command was not executed; `None` if it was. Waits until that is known.
    pub fn failure(&mut self) -> Option<(Step, Errno)> {
        let mut report = [0u8; 5];
        self.failure.read_exact(&mut report).ok()?;
        let step = [Step::Filter, Step::User, Step::Execute, Step::Directory][usize::from(report[0]).min(3)];
        Some((step, Errno::from_raw(i32::from_ne_bytes([report[1], report[2], report[3], report[4]]))))
    }
}

/// What the child needs, as pointers that are prepared before the fork. They point into a `Launch` that outlives it.
struct Plan<'a> {
    launch: &'a Launch,
    arguments: Vec<*const libc::c_char>,
    /// For a script without `#!`, as execvp(3) does.
    by_shell: Vec<*const libc::c_char>,
    environment: Vec<*const libc::c_char>,
}

const SHELL: &std::ffi::CStr = c"/bin/sh";

fn pointers(texts: &[CString]) -> Vec<*const libc::c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([std::ptr::null()]).collect()
}

impl Plan<'_> {
    /// The child's whole life before the command.
    #[allow(unsafe_code)]
    fn live(&self, ends: Ends) -> i32 {
        self.restore_signals();
        let step = self.become_command(ends.wait() == FILTER, ends);
        let errno = Errno::last_raw().to_ne_bytes();
        let report = [step as u8, errno[0], errno[1], errno[2], errno[3]];
        // SAFETY: write(2) is safe after a fork; the buffer is our own.
        unsafe { libc::write(ends.failing, report.as_ptr().cast(), report.len()) };
        127
    }

    fn new(launch: &Launch) -> Plan<'_> {
        let arguments = pointers(&launch.arguments);
        let rest = arguments.iter().skip(1).copied();
        let by_shell = [SHELL.as_ptr(), launch.program.as_ptr()].into_iter().chain(rest).collect();
        Plan { launch, by_shell, environment: pointers(&launch.environment), arguments }
    }

    /// Returns what failed, with errno set.
    #[allow(unsafe_code)]
    fn become_command(&self, filter: bool, ends: Ends) -> Step {
        if filter && !super::seccomp::install() {
            return Step::Filter;
        }
        if !self.become_user() {
            return Step::User;
        }
        if self.launch.bound {
            die_with_parent();
        }
        if self.launch.silent && !become_silent() {
            return Step::Execute;
        }
        if !self.launch.directory.as_deref().is_none_or(work_in) {
            return Step::Directory;
        }
        if self.launch.enters && !ends.hand_over() {
            return Step::Execute;
        }
        // SAFETY: all three vectors end with a null pointer and point to strings that end with a zero byte.
        unsafe {
            libc::execve(self.launch.program.as_ptr(), self.arguments.as_ptr(), self.environment.as_ptr());
            if Errno::last() == Errno::ENOEXEC {
                libc::execve(SHELL.as_ptr(), self.by_shell.as_ptr(), self.environment.as_ptr());
            }
        }
        Step::Execute
    }

    /// By raw system calls: the C library's setuid(2) would signal threads that a forked child does not have.
    #[allow(unsafe_code)]
    fn become_user(&self) -> bool {
        let Some(user) = &self.launch.user else { return true };
        // SAFETY: setgroups reads as many numbers as it is given; the others take numbers only.
        unsafe {
            libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()) == 0
                && libc::syscall(libc::SYS_setgid, user.gid) == 0
                && libc::syscall(libc::SYS_setuid, user.uid) == 0
        }
    }

    /// Restores the dispositions that a command expects, of the signals that we handle, and of SIGPIPE, which Rust's
    /// start-up code ignores.
    #[allow(unsafe_code)]
    fn restore_signals(&self) {
        for signal in HANDLED.into_iter().chain([libc::SIGPIPE]) {
            let handler = if self.launch.ignored.contains(&signal) { libc::SIG_IGN } else { libc::SIG_DFL };
            // SAFETY: neither disposition is a function of ours; signal(2) is async-signal-safe.
            unsafe { libc::signal(signal, handler) };
        }
    }
}

#[allow(unsafe_code)]
fn work_in(directory: &std::ffi::CStr) -> bool {
    // SAFETY: chdir(2) reads a string that ends with a zero byte, and is async-signal-safe.
    unsafe { libc::chdir(directory.as_ptr()) == 0 }
}

/// Makes standard input, output and error /dev/null.
#[allow(unsafe_code)]
fn become_silent() -> bool {
    // SAFETY: open(2) reads a string that ends with a zero byte, dup2(2) takes numbers; both are async-signal-safe.
    unsafe {
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR);
        null >= 0
            && (0..3).all(|standard| libc::dup2(null, standard) == standard)
            && (null < 3 || libc::close(null) == 0)
    }
}

/// Which of the signals that we handle were ignored when we were started.
pub fn ignored_signals() -> Vec<i32> {
    HANDLED.into_iter().filter(|signal| is_ignored(*signal)).collect()
}
