//! The end of following before the tree has ended: tracees are let go, or ended where they cannot go on alone.

use super::{Follower, Stops};
use crate::kernel::tracee::{self, Report, Resume, Whose};
use nix::errno::Errno;
use nix::sys::ptrace;
use nix::unistd::Pid;
use std::time::{Duration, Instant};

/// How long leaving may take; a tracee may be stuck in the kernel.
const LEAVING: Duration = Duration::from_secs(2);

impl Follower {
    /// Lets all tracees go on by themselves, and returns how many there were. Those with a filter cannot: they are ended.
    pub fn leave(&mut self) -> usize {
        let left = self.tracees.len();
        match self.stops {
            Stops::Calls => self.detach(),
            Stops::Filter => self.kill(),
        }
        self.tracees.clear();
        left
    }

    fn detach(&mut self) {
        let deadline = Instant::now() + LEAVING;
        if let Some((tid, signal)) = self.standing.take() {
            self.let_go(tid, signal);
        }
        for tid in self.tracees.keys() {
            // One that has ended meanwhile needs no detaching.
            let _ = ptrace::interrupt(Pid::from_raw(*tid));
        }
        while !self.tracees.is_empty() && Instant::now() < deadline {
            match tracee::wait(Whose::Any, libc::WNOHANG) {
                Ok(Some((tid, Report::Signal(signal)))) => self.let_go(tid, signal),
                Ok(Some((tid, Report::Exited(_) | Report::Killed(_)))) => drop(self.tracees.remove(&tid)),
                Ok(Some((tid, _))) => self.let_go(tid, 0),
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(Errno::EINTR) => {}
                Err(_) => return,
            }
        }
    }

    fn let_go(&mut self, tid: i32, signal: i32) {
        // It may have been killed meanwhile; then nothing holds it either.
        let _ = tracee::resume(tid, Resume::Detach, signal);
        self.tracees.remove(&tid);
    }

    fn kill(&mut self) {
        for tid in self.tracees.keys() {
            let _ = nix::sys::signal::kill(Pid::from_raw(*tid), nix::sys::signal::Signal::SIGKILL);
        }
        let deadline = Instant::now() + LEAVING;
        while !self.tracees.is_empty() && Instant::now() < deadline {
            match tracee::wait(Whose::Any, libc::WNOHANG) {
                Ok(Some((tid, Report::Exited(_) | Report::Killed(_)))) => drop(self.tracees.remove(&tid)),
                Ok(Some((tid, _))) => drop(tracee::resume(tid, Resume::ToEvent, libc::SIGKILL)),
                Ok(None) => std::thread::sleep(Duration::from_millis(1)),
                Err(Errno::EINTR) => {}
                Err(_) => return,
            }
        }
    }
}
