//! Counts system calls of a process and all that it starts, by ptrace. Unprivileged; exact; slow (microseconds a call),
//! which does not matter because nothing is timed meanwhile.
//!
//! The process is followed from one reply to the next: a reply is a write to the pipe for it, and the count is cut
//! while the writer still stands at the end of that write. Called by `proof`.
//!
//! Not `follow`, though both make the requests of `tracee`: that one reaps every tracee, whereas the leader here stays
//! for its starter to reap, as its process group is killed by that number.

use super::tracee::{self, Report, Resume, Standing, Whose, executable_architecture};
use crate::syscall_names;
use indexmap::IndexMap;
use nix::errno::Errno;
use nix::sys::ptrace::Options;
use std::collections::HashMap;
use std::path::PathBuf;
use std::time::Duration;

/// Kernel entries by name, in the order in which they were first made.
pub type Counts = IndexMap<String, u64>;

/// Follows a process tree. All its calls must come from the thread that made it.
pub struct Tracer {
    leader: i32,
    /// AUDIT_ARCH_* of the leader's executable: calls by another gate are named so.
    own_architecture: u32,
    /// Tracees, with whether each stands inside a write to standard output.
    replying: HashMap<i32, bool>,
    /// The pipe that replies are written to, as /proc names it.
    reply_pipe: PathBuf,
    /// The tracee that waits at the end of a reply.
    standing: Option<i32>,
    counts: Counts,
}

/// What happened at one stop, as far as counting goes.
enum Stop {
    GoOn,
    Replied,
}

impl Tracer {
    /// Attaches to a running process whose replies go to `reply_pipe`; it and its children are let go on.
    ///
    /// # Errors
    /// The errno with which the kernel refuses, e.g. EPERM in a sandbox.
    pub fn attach(pid: u32, reply_pipe: PathBuf) -> Result<Tracer, Errno> {
        let leader = i32::try_from(pid).map_err(|_| Errno::ESRCH)?;
        tracee::seize(leader, Options::PTRACE_O_EXITKILL)?;
        let replying = HashMap::from([(leader, false)]);
        let own_architecture = executable_architecture(leader);
        Ok(Tracer { leader, own_architecture, replying, reply_pipe, standing: None, counts: Counts::new() })
    }

    /// Lets the tree run until it has written a reply; returns the kernel entries since the last one.
    ///
    /// # Errors
    /// `ESRCH` where the leader ended first, otherwise what the kernel refused.
    pub fn until_reply(&mut self) -> Result<Counts, Errno> {
        if let Some(pid) = self.standing.take() {
            go_on(pid, 0)?;
        }
        while matches!(self.next_stop(0)?, Some(Stop::GoOn)) {}
        if self.replying.len() > 1 {
            self.settle()?;
        }
        Ok(std::mem::take(&mut self.counts))
    }

    /// Partners may still be on their way to where they wait for the next iteration: let them get there, so that the
    /// cut falls at the same place each time.
    fn settle(&mut self) -> Result<(), Errno> {
        loop {
            std::thread::sleep(Duration::from_millis(1));
            if self.next_stop(libc::WNOHANG)?.is_none() {
                return Ok(());
            }
            while self.next_stop(libc::WNOHANG)?.is_some() {}
        }
    }

    /// Handles the next stop of any tracee; `None` where there is none and `flags` say not to wait.
    fn next_stop(&mut self, flags: i32) -> Result<Option<Stop>, Errno> {
        // Without the leader there may be nothing left to wait for but children of other parts of this process.
        if !self.replying.contains_key(&self.leader) {
            return Err(Errno::ESRCH);
        }
        let (pid, event) = match tracee::wait(Whose::Any, flags | libc::WNOWAIT) {
            Err(Errno::EINTR) => return Ok(Some(Stop::GoOn)),
            Ok(None) => return Ok(None),
            other => other?.ok_or(Errno::ECHILD)?,
        };
        if !matches!(event, Report::Exited(_) | Report::Killed(_)) && tracee::take_stop(pid)?.is_none() {
            return Ok(Some(Stop::GoOn));
        }
        let stop = match event {
            Report::Call => self.syscall_stop(pid),
            Report::Ptrace { event: libc::PTRACE_EVENT_STOP, signal } => self.event_stop(pid, signal),
            Report::Ptrace { event, .. } => {
                if event == libc::PTRACE_EVENT_EXEC && pid == self.leader {
                    self.own_architecture = executable_architecture(pid);
                }
                go_on(pid, 0)
            }
            Report::Signal(signal) => go_on(pid, signal),
            Report::Exited(_) | Report::Killed(_) => self.ended(pid),
        };
        match stop {
            // A tracee that was killed while it stood is reported as ended by the next wait.
            Err(Errno::ESRCH) if self.replying.contains_key(&self.leader) => Ok(Some(Stop::GoOn)),
            other => other.map(Some),
        }
    }

    /// A new tracee's first stop, or a group stop: the latter must last until SIGCONT.
    fn event_stop(&mut self, pid: i32, signal: i32) -> Result<Stop, Errno> {
        self.replying.entry(pid).or_insert(false);
        if tracee::stops_group(signal) {
            return tracee::listen(pid).map(|()| Stop::GoOn);
        }
        go_on(pid, 0)
    }

    /// The leader is not reaped: whoever started it does that, when its process group has ended too.
    fn ended(&mut self, pid: i32) -> Result<Stop, Errno> {
        self.replying.remove(&pid);
        if pid == self.leader {
            return Err(Errno::ESRCH);
        }
        tracee::reap(pid).map(|_| Stop::GoOn)
    }

    fn is_reply(&self, pid: i32, descriptor: u64) -> bool {
        let link = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}"));
        link.is_ok_and(|link| link == self.reply_pipe)
    }

    fn syscall_stop(&mut self, pid: i32) -> Result<Stop, Errno> {
        match tracee::standing(pid)? {
            Standing::Entry(call) => {
                let name = syscall_names::name(call.architecture, call.number, self.own_architecture);
                let reply = name.starts_with("write") && self.is_reply(pid, call.arguments[0]);
                *self.counts.entry(name).or_insert(0) += 1;
                self.replying.insert(pid, reply);
                go_on(pid, 0)
            }
            _ if self.replying.insert(pid, false) == Some(true) => {
                self.standing = Some(pid);
                Ok(Stop::Replied)
            }
            _ => go_on(pid, 0),
        }
    }
}

fn go_on(pid: i32, signal: i32) -> Result<Stop, Errno> {
    tracee::resume(pid, Resume::ToCall, signal).map(|()| Stop::GoOn)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_leader_that_ended_is_left_to_be_reaped() {
        let mut child = Command::new("cat").stdin(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut tracer = match Tracer::attach(child.id(), PathBuf::new()) {
            Ok(tracer) => tracer,
            Err(errno) => {
                let _ = child.kill();
                let _ = child.wait();
                return println!("SKIPPED: ptrace was refused: {errno}");
            }
        };
        child.kill().unwrap();
        assert_eq!(tracer.until_reply(), Err(Errno::ESRCH));
        assert!(!child.wait().unwrap().success());
    }
}
