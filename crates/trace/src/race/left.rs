//! Processes that commands leave running: they are named once, and left alone or ended. This process adopts them as children.

use nix::errno::Errno;
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::process;
use std::thread::sleep;
use std::time::Duration;
use sys::process::{adopt_orphans, children, name_of};

const MOMENT: Duration = Duration::from_millis(20);

const SETTLES: u32 = 25;

pub struct Left {
    ends: bool,
    state: RefCell<State>,
}

#[derive(Default)]
struct State {
    /// Children that no command left, or that have been named.
    known: BTreeSet<i32>,
    /// Seen once: they may be about to end. By the command's text.
    seen: BTreeMap<i32, String>,
    named: BTreeMap<String, BTreeSet<String>>,
}

impl Left {
    /// What is left from now on is ended if `ends`.
    pub fn new(ends: bool) -> Left {
        adopt_orphans();
        let left = Left {
            ends,
            state: RefCell::default(),
        };
        left.accept();
        left
    }

    /// Leaves alone what is there now, such as the server that a preparation has started.
    pub fn accept(&self) {
        let mut state = self.state.borrow_mut();
        let new = state.unknown();
        state.known.extend(new);
    }

    /// Waits for what is left to end by itself, as what cleans up behind a container does: it would be in the way of the next command.
    pub fn settle(&self) {
        for _ in 0..SETTLES {
            if self.state.borrow().unknown().is_empty() {
                return;
            }
            sleep(MOMENT);
        }
    }

    pub fn look(&self, command: &str) {
        let mut state = self.state.borrow_mut();
        for pid in state.unknown() {
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

    pub fn named(&self) -> BTreeMap<String, BTreeSet<String>> {
        // Those seen for the first time get a moment to end.
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
    /// Children that have not ended; those that have are reaped.
    fn unknown(&self) -> Vec<i32> {
        let all = children(process::id().cast_signed())
            .into_iter()
            .filter(|pid| !self.known.contains(pid));
        all.filter(|pid| {
            waitpid(Pid::from_raw(*pid), Some(WaitPidFlag::WNOHANG)) == Ok(WaitStatus::StillAlive)
        })
        .collect()
    }

    /// With what that has started, which then becomes children of this process.
    fn end(&mut self) {
        loop {
            let left = self.unknown();
            if left.is_empty() {
                return;
            }
            for pid in left.into_iter().map(Pid::from_raw) {
                // One that has gained privileges may not be killed.
                if kill(pid, Signal::SIGKILL).and_then(|()| waitpid(pid, None)) == Err(Errno::EPERM)
                {
                    self.known.insert(pid.as_raw());
                }
            }
        }
    }
}
