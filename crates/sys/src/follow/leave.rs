//! Leaving a tree that has not ended: tracees are detached, or killed if they cannot run without the tracer, or are bound to it.

use super::{Follower, Stops};
use crate::tracee::{self, Report, Resume, Whose};
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// A tracee may be stuck in the kernel.
const LEAVING: Duration = Duration::from_secs(2);

impl Follower {
    /// Kills tracees that cannot go on alone, within 2 s. Returns how many there were.
    pub fn leave(&mut self) -> usize {
        let left = self.tracees.len();
        let kills = self.bound || self.stops == Stops::Filter;
        for tid in self
            .stopped
            .take()
            .into_iter()
            .chain(std::mem::take(&mut self.held))
        {
            if !kills {
                self.detach(tid, 0);
            }
        }
        for tid in self.tracees.keys().map(|tid| Pid::from_raw(*tid)) {
            // ptrace(2) detaches only stopped tracees, so that running ones are stopped first. One that has ended needs neither.
            let _ = if kills {
                kill(tid, Signal::SIGKILL)
            } else {
                ptrace::interrupt(tid)
            };
        }
        self.wait_for_tracees(kills);
        self.tracees.clear();
        left
    }

    fn wait_for_tracees(&mut self, kills: bool) {
        let deadline = Instant::now() + LEAVING;
        while !self.tracees.is_empty() && Instant::now() < deadline {
            match (tracee::wait(Whose::Any, libc::WNOHANG), kills) {
                (Ok(Some((tid, Report::Ended(_)))), _) => drop(self.tracees.remove(&tid)),
                (Ok(Some((tid, Report::Signal(signal)))), false) => self.detach(tid, signal),
                (Ok(Some((tid, _))), false) => self.detach(tid, 0),
                (Ok(Some((tid, _))), true) => {
                    let _ = tracee::resume(tid, Resume::ToEvent, libc::SIGKILL);
                }
                (Ok(None), _) => std::thread::sleep(Duration::from_millis(1)),
                (Err(Errno::EINTR), _) => {}
                (Err(_), _) => return,
            }
        }
    }

    fn detach(&mut self, tid: i32, signal: i32) {
        self.registers
            .extend(tracee::registers(tid).map(|registers| (tid, registers)));
        // It may have been killed meanwhile; then nothing holds it either.
        let _ = tracee::resume(tid, Resume::Detach, signal);
        self.tracees.remove(&tid);
    }
}
