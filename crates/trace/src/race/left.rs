//! Processes that commands leave running: they are named once, and left alone or ended. This process adopts them as children.

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::waitpid;
use nix::unistd::Pid;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::process;
use std::thread::sleep;
use std::time::{Duration, Instant};
use sys::process::{adopt_orphans, children, name_of};
use sys::tracee::reap_ended;

/// The time that a process which was seen once gets to end by itself.
const MOMENT: Duration = Duration::from_millis(20);

/// The pause between looks at what is about to end.
const PAUSE: Duration = Duration::from_millis(1);

/// The number of such moments that the remains of an environment get.
const SETTLES: u32 = 25;

pub struct Left {
    ends: bool,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Children that no command left, or that have been named.
    known: BTreeSet<i32>,
    /// Processes that were seen once and may be about to end, with the command's text.
    seen: BTreeMap<i32, String>,
    named: BTreeMap<String, BTreeSet<String>>,
    /// Of those that were reaped since the last command.
    reaped: RefCell<Vec<libc::rusage>>,
}

impl Left {
    /// Watches for processes that are left from now on; ends them if `ends`.
    pub fn new(ends: bool) -> Left {
        // Orphans then become our children, among which they are found.
        adopt_orphans();
        let left = Left {
            ends,
            state: RefCell::default(),
        };
        left.accept();
        left
    }

    /// Such as a server that a preparation has started.
    pub fn accept(&self) {
        let mut state = self.state.borrow_mut();
        let new = state.unknown();
        state.known.extend(new);
    }

    /// Waits up to half a second for processes that are left to end by themselves, as those that clean up behind a container do: they
    /// would be in the way of the next command.
    pub fn settle(&self) {
        for _ in 0..SETTLES {
            if self.state.borrow().unknown().is_empty() {
                return;
            }
            sleep(MOMENT);
        }
    }

    /// Before a command starts.
    pub fn begin(&self) {
        self.state.borrow().reaped.take();
    }

    /// The accounting of the command's processes that nobody else waited for, such as the program in a sandbox that does not. They get a
    /// moment to end.
    pub fn accounting(&self) -> Vec<libc::rusage> {
        let state = self.state.borrow();
        let begun = Instant::now();
        while !state.unseen().is_empty() && begun.elapsed() < MOMENT {
            sleep(PAUSE);
        }
        state.reaped.take()
    }

    /// After the command has ended; ends them if that was asked for.
    pub fn look(&self, command: &str) {
        let mut state = self.state.borrow_mut();
        for pid in state.unknown() {
            // Seen twice: a process that is just ending when its command has ended is not left running.
            if self.ends || state.seen.contains_key(&pid) {
                let command = state
                    .seen
                    .remove(&pid)
                    .unwrap_or_else(|| command.to_string());
                state.named.entry(command).or_default().insert(name_of(pid));
                state.known.extend((!self.ends).then_some(pid));
            } else {
                state.seen.insert(pid, command.to_string());
            }
        }
        if self.ends {
            state.end();
        }
    }

    /// The names of processes that commands left running, by command.
    pub fn named(&self) -> BTreeMap<String, BTreeSet<String>> {
        // Processes that are seen for the first time get a moment to end.
        self.look("");
        sleep(MOMENT);
        self.look("");
        self.state.borrow().named.clone()
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        if self.ends {
            self.state.borrow_mut().end();
        }
    }
}

impl State {
    /// Children that have not ended and were not accepted; those that have ended are reaped.
    fn unknown(&self) -> Vec<i32> {
        let all = children(process::id().cast_signed())
            .into_iter()
            .filter(|pid| !self.known.contains(pid));
        all.filter(|pid| match reap_ended(*pid) {
            Ok(None) => true,
            Ok(Some(usage)) => {
                self.reaped.borrow_mut().push(usage);
                false
            }
            Err(_) => false,
        })
        .collect()
    }

    /// Those that an earlier command has not left.
    fn unseen(&self) -> Vec<i32> {
        let mut all = self.unknown();
        all.retain(|pid| !self.seen.contains_key(pid));
        all
    }

    /// Kills all that are left, and those that they have started, which then become children of this process.
    fn end(&mut self) {
        loop {
            let left = self.unknown();
            if left.is_empty() {
                return;
            }
            for pid in left.into_iter().map(Pid::from_raw) {
                // A process that has gained privileges may not be killed: it would be left for ever.
                if kill(pid, Signal::SIGKILL).and_then(|()| waitpid(pid, None)) == Err(Errno::EPERM)
                {
                    self.known.insert(pid.as_raw());
                }
            }
        }
    }
}
