//! Counts system calls of a process and everything that it starts, by ptrace: unprivileged, exact, and slow
//! (microseconds per call), which does not matter because nothing is timed meanwhile.
//!
//! Counts are cut from one reply to the next, while the writer is stopped at the end of its write to the reply pipe.

use super::follow::{Event, Follower, Notice, Stops};
use super::process;
use super::syscall_stop::Call;
use super::tracee::executable_architecture;
use indexmap::IndexMap;
use model::Returned;
use nix::errno::Errno;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

pub type Counts = IndexMap<String, u64>;

/// All calls must come from the thread that created it.
pub struct EntryCounter {
    follower: Follower,
    leader: i32,
    /// AUDIT_ARCH_* of the leader's executable: calls through another gate carry its name.
    native_architecture: u32,
    replying: HashSet<i32>,
    /// The pipe's name in /proc; `None` without /proc.
    reply_pipe: Option<PathBuf>,
    counts: IndexMap<(i32, String), u64>,
    /// The number of entries since the last reply.
    made: u64,
    inside: HashMap<i32, String>,
    /// The results of all calls so far, without those that wrote replies.
    pub returned: Returned,
}

impl EntryCounter {
    /// Attaches to a process and those that it has started; one that is being started meanwhile may be missed. Without a name of the
    /// pipe, all that the process itself writes to its standard output counts as a reply.
    pub fn attach(pid: u32, reply_pipe: Option<PathBuf>) -> Result<EntryCounter, Errno> {
        let leader = i32::try_from(pid).map_err(|_| Errno::ESRCH)?;
        let mut follower = Follower::new(Stops::Calls, Some(leader));
        follower.attach(leader)?;
        for tid in process::descendants(leader) {
            let _ = follower.attach(tid);
        }
        Ok(EntryCounter {
            follower,
            leader,
            native_architecture: executable_architecture(leader),
            replying: HashSet::new(),
            reply_pipe,
            counts: IndexMap::new(),
            made: 0,
            inside: HashMap::new(),
            returned: Returned::default(),
        })
    }

    /// Returns the kernel entries since the last reply, or only those of the thread that replies; `ESRCH` if the leader ended first,
    /// `E2BIG` once there are more than `most`.
    pub fn until_reply(&mut self, alone: bool, most: u64) -> Result<Counts, Errno> {
        self.made = 0;
        let replied = loop {
            if self.made > most {
                return Err(Errno::E2BIG);
            }
            let notice = match self.follower.next_notice() {
                Err(Errno::EINTR) => continue,
                notice => notice?.ok_or(Errno::ESRCH)?,
            };
            if self.is_reply(&notice) {
                break notice.tid;
            }
        };
        // Partners may still be on their way to waiting for the next iteration. They get there before the cut,
        // so that it falls at the same point every time.
        let others = if alone {
            Vec::new()
        } else {
            self.follower.settle()?
        };
        for notice in others {
            self.is_reply(&notice);
        }
        let mut counts = Counts::new();
        for ((_, name), count) in std::mem::take(&mut self.counts)
            .into_iter()
            .filter(|((tid, _), _)| !alone || *tid == replied)
        {
            *counts.entry(name).or_insert(0) += count;
        }
        Ok(counts)
    }

    fn is_reply(&mut self, notice: &Notice) -> bool {
        match &notice.what {
            Event::Entered(call) => self.enter(notice.tid, call),
            Event::Left { result, .. } => {
                let left = self.inside.remove(&notice.tid);
                // A reply is no call of the operation.
                let is_reply = self.replying.remove(&notice.tid);
                if let Some(name) = left
                    && !is_reply
                {
                    self.returned.insert(name, *result);
                }
                return is_reply;
            }
            Event::Executed { .. } if notice.tid == self.leader => {
                self.native_architecture = executable_architecture(self.leader);
            }
            _ => {}
        }
        false
    }

    fn enter(&mut self, tid: i32, call: &Call) {
        let name = call.name(&mut self.native_architecture);
        if name.starts_with("write") && self.goes_to_reply(tid, call.arguments[0]) {
            self.replying.insert(tid);
        }
        self.inside.insert(tid, name.clone());
        self.made += 1;
        *self.counts.entry((tid, name)).or_insert(0) += 1;
    }

    fn goes_to_reply(&self, tid: i32, descriptor: u64) -> bool {
        const STANDARD_OUTPUT: u64 = 1;
        let link = format!("/proc/{tid}/fd/{descriptor}");
        match (&self.reply_pipe, std::fs::read_link(link)) {
            (Some(pipe), Ok(file)) => *pipe == file,
            _ => tid == self.leader && descriptor == STANDARD_OUTPUT,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_leader_that_ended_is_left_to_be_reaped() {
        let mut child = Command::new("cat")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut counter = match EntryCounter::attach(child.id(), None) {
            Ok(counter) => counter,
            Err(errno) => {
                let _ = child.kill();
                let _ = child.wait();
                return println!("SKIPPED: ptrace was refused: {errno}");
            }
        };
        child.kill().unwrap();
        assert_eq!(counter.until_reply(false, u64::MAX), Err(Errno::ESRCH));
        assert!(!child.wait().unwrap().success());
    }
}
