//! Starts a command and holds it just before its execve, so that a tracer can be put onto it first.
//!
//! A fork of our own instead of `std::process::Command`: that one's `spawn` waits for the execve, which here must wait
//! for us. The child makes only calls that are safe after a fork (signal-safety(7)) and allocates nothing. It stays in
//! our process group, on our terminal, with our descriptors: job control is as `time` has it. What it is called with is
//! made by `trace::run`.

use super::pidfd;
use super::process::is_ignored;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::unistd::{ForkResult, fork, pipe2};
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};

/// A command ready to be started: everything that the child needs, made before the fork.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The file that is executed.
    pub program: CString,
    /// The command's arguments, its name first.
    pub arguments: Vec<CString>,
    /// `NAME=value`, all of them.
    pub environment: Vec<CString>,
    /// Whom it runs as; `None` as ourselves.
    pub user: Option<Identity>,
    /// Signals that we found ignored, as `nohup` and a shell's `&` make them: the command inherits that.
    pub ignored: Vec<i32>,
}

/// A user and the groups that come with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

/// Signals whose handling is ours while a command runs.
pub const HANDLED: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// What the child could not do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Filter,
    User,
    Execute,
}

/// How a held child is let go.
const GO: u8 = b'g';
const FILTER: u8 = b'f';

/// A child that waits to be let go. Dropped before that, it ends.
pub struct Held {
    pub pid: u32,
    /// Also becomes readable when the child has ended.
    descriptor: OwnedFd,
    go: File,
    failure: File,
}

/// Who was let go.
pub struct Started {
    descriptor: OwnedFd,
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
        // SAFETY: `Plan::live` makes only calls that are safe after a fork.
        unsafe { fork_held(&plan) }
    }
}

/// The child's ends of the pipes, and the one of ours that it inherits.
#[derive(Clone, Copy)]
struct Ends {
    waiting: i32,
    go: i32,
    failing: i32,
}

/// What a held child does. It waits with `Ends::wait`.
trait Life {
    fn live(&self, ends: Ends) -> !;
}

/// Forks a child that lives `life`.
///
/// # Safety
/// `live` must make only calls that are safe after a fork in a process with threads (signal-safety(7)).
#[allow(unsafe_code)]
unsafe fn fork_held(life: &dyn Life) -> Result<Held, Errno> {
    let (waiting, go) = pipe2(OFlag::O_CLOEXEC)?;
    let (failure, failing) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: as the caller says.
    match unsafe { fork() }? {
        ForkResult::Child => {
            life.live(Ends { waiting: waiting.as_raw_fd(), go: go.as_raw_fd(), failing: failing.as_raw_fd() })
        }
        ForkResult::Parent { child } => {
            let descriptor = pidfd::open(child.as_raw())?;
            Ok(Held { pid: child.as_raw().unsigned_abs(), descriptor, go: go.into(), failure: failure.into() })
        }
    }
}

impl Ends {
    /// Waits to be let go, and returns how.
    #[allow(unsafe_code)]
    fn wait(self) -> u8 {
        // SAFETY: close(2), read(2) and _exit(2) are safe after a fork; the buffer is our own.
        unsafe {
            // With its own copy of the other end it would never learn that we ended.
            libc::close(self.go);
            let mut word = 0u8;
            if libc::read(self.waiting, (&raw mut word).cast(), 1) != 1 {
                libc::_exit(127);
            }
            word
        }
    }
}

/// A child that makes `calls` calls of getppid when it is let go, and ends: what a tracer is calibrated with.
///
/// # Errors
/// What the kernel refused.
#[allow(unsafe_code)]
pub fn hold_null_calls(calls: u32) -> Result<Held, Errno> {
    // SAFETY: `NullCalls` reads a pipe, sets a filter, and makes the calls that its name says.
    unsafe { fork_held(&NullCalls(calls)) }
}

struct NullCalls(u32);

impl Life for NullCalls {
    #[allow(unsafe_code)]
    fn live(&self, ends: Ends) -> ! {
        let filtered = ends.wait() == FILTER;
        // SAFETY: getppid(2) and _exit(2) are safe after a fork and touch no memory.
        unsafe {
            if filtered && !super::seccomp::install() {
                libc::_exit(1);
            }
            for _ in 0..self.0 {
                libc::getppid();
            }
            libc::_exit(0)
        }
    }
}

impl Held {
    /// Lets the child go on to its execve; with `filter`, through a seccomp filter first that has every call traced.
    ///
    /// # Errors
    /// When the child is gone.
    pub fn release(mut self, filter: bool) -> std::io::Result<Started> {
        self.go.write_all(&[if filter { FILTER } else { GO }])?;
        Ok(Started { descriptor: self.descriptor, failure: self.failure })
    }
}

impl Started {
    /// Passes a signal on. One that has ended gets none.
    pub fn signal(&self, signal: i32) {
        let _ = pidfd::send_signal(&self.descriptor, signal);
    }

    /// Whether it has ended.
    pub fn has_ended(&self) -> bool {
        super::process::wait_readable(&self.descriptor, std::time::Duration::ZERO)
    }

    /// Why the command was not executed; `None` where it was. Waits until that is known.
    pub fn failure(&mut self) -> Option<(Step, Errno)> {
        let mut report = [0u8; 5];
        self.failure.read_exact(&mut report).ok()?;
        let step = [Step::Filter, Step::User, Step::Execute][usize::from(report[0]).min(2)];
        Some((step, Errno::from_raw(i32::from_ne_bytes([report[1], report[2], report[3], report[4]]))))
    }
}

/// What the child does, as pointers that are ready before the fork. They point into a `Launch` that outlives it.
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

impl Life for Plan<'_> {
    /// The child's whole life before the command.
    #[allow(unsafe_code)]
    fn live(&self, ends: Ends) -> ! {
        self.restore_signals();
        let step = self.become_command(ends.wait() == FILTER);
        let errno = Errno::last_raw().to_ne_bytes();
        let report = [step as u8, errno[0], errno[1], errno[2], errno[3]];
        // SAFETY: write(2) and _exit(2) are safe after a fork; the buffer is our own.
        unsafe {
            libc::write(ends.failing, report.as_ptr().cast(), report.len());
            libc::_exit(127)
        }
    }
}

impl Plan<'_> {
    fn new(launch: &Launch) -> Plan<'_> {
        let arguments = pointers(&launch.arguments);
        let rest = arguments.iter().skip(1).copied();
        let by_shell = [SHELL.as_ptr(), launch.program.as_ptr()].into_iter().chain(rest).collect();
        Plan { launch, by_shell, environment: pointers(&launch.environment), arguments }
    }

    /// Returns what failed, with errno set.
    #[allow(unsafe_code)]
    fn become_command(&self, filter: bool) -> Step {
        if filter && !super::seccomp::install() {
            return Step::Filter;
        }
        if !self.become_user() {
            return Step::User;
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

    /// By plain system calls: the C library's setuid(2) would signal threads that a forked child does not have.
    #[allow(unsafe_code)]
    fn become_user(&self) -> bool {
        let Some(user) = &self.launch.user else { return true };
        // SAFETY: setgroups reads as many numbers as it is told; the others take numbers only.
        unsafe {
            libc::syscall(libc::SYS_setgroups, user.groups.len(), user.groups.as_ptr()) == 0
                && libc::syscall(libc::SYS_setgid, user.gid) == 0
                && libc::syscall(libc::SYS_setuid, user.uid) == 0
        }
    }

    /// What we catch, and SIGPIPE, which Rust's start-up code ignores, are as a command expects them.
    #[allow(unsafe_code)]
    fn restore_signals(&self) {
        for signal in HANDLED.into_iter().chain([libc::SIGPIPE]) {
            let handler = if self.launch.ignored.contains(&signal) { libc::SIG_IGN } else { libc::SIG_DFL };
            // SAFETY: neither disposition is a function of ours; signal(2) is safe after a fork.
            unsafe { libc::signal(signal, handler) };
        }
    }
}

/// Which of the signals that we are going to handle were ignored when we were started.
pub fn ignored_signals() -> Vec<i32> {
    HANDLED.into_iter().filter(|signal| is_ignored(*signal)).collect()
}
