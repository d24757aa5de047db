//! Starts a command and holds it just before its execve, so that a tracer can attach first, which `std::process::Command` cannot.
//!
//! The kernel counts the peak memory that a process had before its execve for the command as well, and a fork of this one has
//! megabytes of it. So a small program (probe/extra/launch.c) starts a process beside itself, our child, which waits and becomes the
//! command. It stays in our process group, on our terminal, with our descriptors: job control works as with time(1); unless it is
//! bound to us.

#![allow(unsafe_code)]

use super::embedded::Embedded;
use super::pidfd;
use super::process::{is_ignored, kill_group, signal_group};
use super::tracee::reap;
use assets::LAUNCHER;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::Signal;
use nix::unistd::{ForkResult, Pid, fork, pipe2, setpgid};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

#[derive(Clone, Default)]
pub struct Launch {
    /// The file to execute; without arguments, a number of null calls to make.
    pub program: CString,
    pub arguments: Vec<CString>,
    pub environment: Vec<CString>,
    pub user: Option<Identity>,
    /// Signals that were ignored when we started, as by `nohup` and a shell's `&`: the command inherits that.
    pub ignored: Vec<i32>,
    pub silent: bool,
    /// Whether the command leads a process group of its own, and is killed if this process is.
    pub bound: bool,
    pub directory: Option<CString>,
    /// Whether the program is our launcher of environments (probe/extra/confine.c), which waits once more after it has made one.
    pub enters: bool,
}

#[derive(Clone)]
pub struct Identity {
    pub name: String,
    pub uid: u32,
    pub gid: u32,
    pub groups: Vec<u32>,
}

pub const HANDLED: [i32; 4] = [libc::SIGINT, libc::SIGQUIT, libc::SIGTERM, libc::SIGHUP];

/// After SIGTERM.
const GRACE: Duration = Duration::from_millis(400);

#[derive(Clone, Copy)]
pub enum Step {
    Filter = b'F' as isize,
    User = b'U' as isize,
    Execute = b'X' as isize,
    Directory = b'D' as isize,
    Silence = b'N' as isize,
}

const NAME: &CStr = c"syscost-launch";

const GO: u8 = b'g';
const FILTER: u8 = b'f';
/// A launcher of environments reports this once it has made its environment.
const ENTERED: u8 = b'e';
const HELD: u8 = b'h';

/// If this is dropped before it is released, the child ends.
pub struct Held {
    pub pid: u32,
    child: Started,
}

pub struct Started {
    group: Option<u32>,
    descriptor: OwnedFd,
    go: File,
    failure: File,
}

impl Launch {
    /// Just before its execve.
    ///
    /// # Errors
    /// The launcher cannot be executed, from memory or from a file, or no process can be started.
    pub fn hold(&self) -> io::Result<Held> {
        static IN_MEMORY: OnceLock<Option<Embedded>> = OnceLock::new();
        let in_memory = IN_MEMORY.get_or_init(|| Embedded::in_memory(NAME, LAUNCHER).ok());
        if let Some(Ok(held)) = in_memory.as_ref().map(|launcher| self.hold_by(launcher)) {
            return Ok(held);
        }
        let in_file = Embedded::in_file(NAME, LAUNCHER, &std::env::temp_dir()).map_err(|error| {
            let next =
                "mount /proc, or set TMPDIR to a directory in which programs can be executed";
            io::Error::other(format!(
                "no program can be written to execute it: {error}; {next}"
            ))
        });
        Ok(self.hold_by(&in_file?)?)
    }

    fn hold_by(&self, launcher: &Embedded) -> Result<Held, Errno> {
        let (waiting, go) = pipe2(OFlag::O_CLOEXEC)?;
        let (failure, failing) = pipe2(OFlag::O_CLOEXEC)?;
        let ends = [waiting.as_raw_fd(), failing.as_raw_fd()];
        let path =
            CString::new(launcher.path().as_os_str().as_bytes()).map_err(|_| Errno::EINVAL)?;
        let words = self.words(ends)?;
        let (words, environment) = (pointers(&words), pointers(&self.environment));
        // SAFETY: the child makes only async-signal-safe calls and allocates nothing.
        let ForkResult::Parent { child } = (unsafe { fork() })? else {
            // SAFETY: both vectors end with a null pointer and point to strings that end with a zero byte.
            unsafe { self.become_launcher(ends, &path, &words, &environment) }
        };
        drop((waiting, failing));
        let mut failure = File::from(failure);
        let (letter, number) = report(&mut failure).unwrap_or((0, libc::EIO));
        // The launcher either waits itself or has started what waits, and ended.
        if (letter, number) != (HELD, child.as_raw()) {
            let _ = reap(child.as_raw());
        }
        if letter != HELD {
            return Err(Errno::from_raw(number));
        }
        let pid = number.unsigned_abs();
        let child = Started {
            group: (self.bound && setpgid(Pid::from_raw(number), Pid::from_raw(0)).is_ok())
                .then_some(pid),
            descriptor: pidfd::open(number)?,
            go: go.into(),
            failure,
        };
        Ok(Held { pid, child })
    }

    /// # Safety
    /// `words` and `environment` end with a null pointer, and point to strings that end with a zero byte.
    unsafe fn become_launcher(
        &self,
        ends: [i32; 2],
        path: &CStr,
        words: &[Text],
        environment: &[Text],
    ) -> ! {
        self.restore_signals();
        // SAFETY: all of them are async-signal-safe; the caller guarantees the strings, and the report is our own.
        unsafe {
            ends.iter()
                .for_each(|end| _ = libc::fcntl(*end, libc::F_SETFD, 0i64));
            libc::execve(path.as_ptr(), words.as_ptr(), environment.as_ptr());
            let errno = Errno::last_raw().to_ne_bytes();
            let report = [Step::Execute as u8, errno[0], errno[1], errno[2], errno[3]];
            libc::write(ends[1], report.as_ptr().cast(), report.len());
            libc::_exit(127)
        }
    }

    fn words(&self, [waiting, failing]: [i32; 2]) -> Result<Vec<CString>, Errno> {
        let options: String = [('b', self.bound), ('s', self.silent), ('e', self.enters)]
            .iter()
            .filter(|(_, wanted)| *wanted)
            .map(|(letter, _)| *letter)
            .collect();
        let mut words = [
            "syscost".to_string(),
            waiting.to_string(),
            failing.to_string(),
            options,
            self.user
                .as_ref()
                .map(|user| {
                    [user.uid, user.gid]
                        .iter()
                        .chain(&user.groups)
                        .map(u32::to_string)
                        .collect::<Vec<_>>()
                        .join(" ")
                })
                .unwrap_or_default(),
        ]
        .into_iter()
        .map(CString::new)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| Errno::EINVAL)?;
        words.push(self.directory.clone().unwrap_or_default());
        words.push(self.program.clone());
        words.extend_from_slice(&self.arguments);
        Ok(words)
    }

    /// Restores the dispositions that a command expects: Rust's start-up code ignores SIGPIPE.
    fn restore_signals(&self) {
        for signal in HANDLED.into_iter().chain([libc::SIGPIPE]) {
            let handler = if self.ignored.contains(&signal) {
                libc::SIG_IGN
            } else {
                libc::SIG_DFL
            };
            // SAFETY: neither disposition is a function of ours; signal(2) is async-signal-safe.
            unsafe { libc::signal(signal, handler) };
        }
    }
}

type Text = *const libc::c_char;

fn pointers(texts: &[CString]) -> Vec<Text> {
    texts
        .iter()
        .map(|text| text.as_ptr())
        .chain([std::ptr::null()])
        .collect()
}

/// Makes so many calls of getppid when it is released, and ends; for calibrating a tracer.
pub fn hold_null_calls(calls: u32) -> io::Result<Held> {
    let program = CString::new(calls.to_string())?;
    Launch {
        program,
        ..Launch::default()
    }
    .hold()
}

fn report(from: &mut File) -> Option<(u8, i32)> {
    let mut report = [0u8; 5];
    from.read_exact(&mut report).ok()?;
    Some((
        report[0],
        i32::from_ne_bytes([report[1], report[2], report[3], report[4]]),
    ))
}

impl Held {
    /// Lets the child execute the command. With `filter`, it first installs a seccomp filter that has every call traced.
    pub fn release(mut self, filter: bool) -> std::io::Result<Started> {
        self.child
            .go
            .write_all(&[if filter { FILTER } else { GO }])?;
        Ok(self.child)
    }
}

impl Started {
    /// Sends a signal to the child alone, and wakes it if it is stopped.
    pub fn ask(&self, signal: i32) {
        for signal in [signal, libc::SIGCONT] {
            let _ = pidfd::send_signal(&self.descriptor, signal);
        }
    }

    /// Ends the child, and its group if it leads one: by SIGTERM, and after 400 ms by SIGKILL.
    pub fn end(&self) {
        if self.has_ended() {
            return;
        }
        match self.group {
            Some(group) => [Signal::SIGTERM, Signal::SIGCONT]
                .into_iter()
                .for_each(|asks| signal_group(group, asks)),
            None => self.ask(libc::SIGTERM),
        }
        let asked = Instant::now();
        // A signal of ours interrupts the wait.
        while !self.has_ended() && asked.elapsed() < GRACE {
            self.ends_within(GRACE.saturating_sub(asked.elapsed()));
        }
        let _ = pidfd::send_signal(&self.descriptor, libc::SIGKILL);
        self.group.into_iter().for_each(kill_group);
    }

    /// Whether the child has ended; it need not have been reaped.
    pub fn has_ended(&self) -> bool {
        self.ends_within(Duration::ZERO)
    }

    /// False if making the environment failed, `None` if that is not known after `time`.
    pub fn has_entered_within(&mut self, time: Duration) -> Option<bool> {
        let mut report = [0u8];
        let is_known = super::process::wait_readable(&self.failure, time);
        if !is_known {
            return None;
        }
        Some(
            self.failure
                .read(&mut report)
                .is_ok_and(|read| read == 1 && report[0] == ENTERED),
        )
    }

    /// The launcher has made its environment, and executes the command.
    pub fn release(&mut self) -> std::io::Result<()> {
        self.go.write_all(&[GO])
    }

    /// False after `time` or a signal of ours.
    pub fn ends_within(&self, time: Duration) -> bool {
        super::process::wait_readable(&self.descriptor, time)
    }

    /// Before the command was executed; `None` if no step failed. Waits until that is known.
    pub fn failure(&mut self) -> Option<(Step, Errno)> {
        let (letter, errno) = report(&mut self.failure)?;
        let step = [Step::Filter, Step::User, Step::Directory, Step::Silence]
            .into_iter()
            .find(|step| *step as u8 == letter)
            .unwrap_or(Step::Execute);
        Some((step, Errno::from_raw(errno)))
    }
}

/// The signals of `HANDLED` that this process ignores; to be asked before handlers are installed.
pub fn ignored_signals() -> Vec<i32> {
    HANDLED
        .into_iter()
        .filter(|signal| is_ignored(*signal))
        .collect()
}
