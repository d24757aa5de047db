//! Counts system calls of a process and all that it starts, by ptrace. Unprivileged; exact; slow (microseconds a call),
//! which does not matter because nothing is timed meanwhile.
//!
//! The process is followed from one reply to the next: a reply is a write to the pipe for it, and the count is cut
//! while the writer still stands at the end of that write. Called by `proof`.

use crate::syscall_names;
use indexmap::IndexMap;
use nix::errno::Errno;
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;
use std::collections::HashMap;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

/// Kernel entries by name, in the order in which they were first made.
pub type Counts = IndexMap<String, u64>;

/// Follows a process tree. All its calls must come from the thread that made it.
pub struct Tracer {
    leader: Pid,
    /// AUDIT_ARCH_* of the leader's executable: calls by another gate are named so.
    own_architecture: u32,
    /// Tracees, with whether each stands inside a write to standard output.
    replying: HashMap<Pid, bool>,
    /// The pipe that replies are written to, as /proc names it.
    reply_pipe: PathBuf,
    /// The tracee that waits at the end of a reply.
    standing: Option<Pid>,
    /// How the leader ended.
    end: Option<ExitStatus>,
    counts: Counts,
}

/// What happened at one stop, as far as counting goes.
enum Stop {
    GoOn,
    Replied,
}

const EVENT_STOP: i32 = libc::PTRACE_EVENT_STOP;

impl Tracer {
    /// Attaches to a running process whose replies go to `reply_pipe`; it and its children are let go on.
    ///
    /// # Errors
    /// The errno with which the kernel refuses, e.g. EPERM in a sandbox.
    pub fn attach(pid: u32, reply_pipe: PathBuf) -> Result<Tracer, Errno> {
        let leader = Pid::from_raw(i32::try_from(pid).map_err(|_| Errno::ESRCH)?);
        let options = Options::PTRACE_O_TRACESYSGOOD
            | Options::PTRACE_O_TRACEFORK
            | Options::PTRACE_O_TRACEVFORK
            | Options::PTRACE_O_TRACECLONE
            | Options::PTRACE_O_TRACEEXEC
            | Options::PTRACE_O_EXITKILL;
        ptrace::seize(leader, options)?;
        ptrace::interrupt(leader)?;
        let replying = HashMap::from([(leader, false)]);
        let own_architecture = executable_architecture(pid);
        Ok(Tracer { leader, own_architecture, replying, reply_pipe, standing: None, end: None, counts: Counts::new() })
    }

    /// Lets the tree run until it has written a reply; returns the kernel entries since the last one.
    ///
    /// # Errors
    /// `ESRCH` where the leader ended first, otherwise what the kernel refused.
    pub fn until_reply(&mut self) -> Result<Counts, Errno> {
        if let Some(pid) = self.standing.take() {
            resume(pid, None)?;
        }
        while matches!(self.next_stop(WaitPidFlag::empty())?, Some(Stop::GoOn)) {}
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
            if self.next_stop(WaitPidFlag::WNOHANG)?.is_none() {
                return Ok(());
            }
            while self.next_stop(WaitPidFlag::WNOHANG)?.is_some() {}
        }
    }

    /// Handles the next stop of any tracee; `None` where there is none and `flags` say not to wait.
    fn next_stop(&mut self, flags: WaitPidFlag) -> Result<Option<Stop>, Errno> {
        // Without the leader there may be nothing left to wait for but children of other parts of this process.
        if !self.replying.contains_key(&self.leader) {
            return Err(Errno::ESRCH);
        }
        let status = match waitpid(None, Some(WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD | flags)) {
            Err(Errno::EINTR) => return Ok(Some(Stop::GoOn)),
            other => other?,
        };
        let stop = match status {
            WaitStatus::StillAlive => return Ok(None),
            WaitStatus::PtraceSyscall(pid) => self.syscall_stop(pid),
            WaitStatus::PtraceEvent(pid, signal, EVENT_STOP) => self.event_stop(pid, signal),
            WaitStatus::PtraceEvent(pid, _, event) => {
                if event == libc::PTRACE_EVENT_EXEC && pid == self.leader {
                    self.own_architecture = executable_architecture(pid.as_raw().unsigned_abs());
                }
                self.go_on(pid, None)
            }
            WaitStatus::Stopped(pid, signal) => self.go_on(pid, Some(signal)),
            // As wait(2) lays the status out.
            WaitStatus::Exited(pid, code) => self.ended(pid, code << 8),
            WaitStatus::Signaled(pid, signal, _) => self.ended(pid, signal as i32),
            _ => Ok(Stop::GoOn),
        };
        match stop {
            // A tracee that was killed while it stood is reported as ended by the next wait.
            Err(Errno::ESRCH) if self.replying.contains_key(&self.leader) => Ok(Some(Stop::GoOn)),
            other => other.map(Some),
        }
    }

    /// A new tracee's first stop, or a group stop: the latter must last until SIGCONT.
    fn event_stop(&mut self, pid: Pid, signal: Signal) -> Result<Stop, Errno> {
        self.replying.entry(pid).or_insert(false);
        match signal {
            Signal::SIGSTOP | Signal::SIGTSTP | Signal::SIGTTIN | Signal::SIGTTOU => listen(pid)?,
            _ => resume(pid, None)?,
        }
        Ok(Stop::GoOn)
    }

    fn go_on(&mut self, pid: Pid, signal: Option<Signal>) -> Result<Stop, Errno> {
        resume(pid, signal)?;
        Ok(Stop::GoOn)
    }

    /// How the leader ended; `None` where it runs.
    pub fn end(&self) -> Option<ExitStatus> {
        self.end
    }

    fn ended(&mut self, pid: Pid, status: i32) -> Result<Stop, Errno> {
        self.replying.remove(&pid);
        if pid != self.leader {
            return Ok(Stop::GoOn);
        }
        self.end = Some(ExitStatus::from_raw(status));
        Err(Errno::ESRCH)
    }

    fn is_reply(&self, pid: Pid, descriptor: u64) -> bool {
        let link = std::fs::read_link(format!("/proc/{pid}/fd/{descriptor}"));
        link.is_ok_and(|link| link == self.reply_pipe)
    }

    fn syscall_stop(&mut self, pid: Pid) -> Result<Stop, Errno> {
        match entry_of(pid)? {
            Some(call) => {
                let name = syscall_names::name(call.architecture, call.number, self.own_architecture);
                let reply = name.starts_with("write") && self.is_reply(pid, call.first_argument);
                *self.counts.entry(name).or_insert(0) += 1;
                self.replying.insert(pid, reply);
                self.go_on(pid, None)
            }
            None if self.replying.insert(pid, false) == Some(true) => {
                self.standing = Some(pid);
                Ok(Stop::Replied)
            }
            None => self.go_on(pid, None),
        }
    }
}

/// A system call as it is entered.
struct Call {
    architecture: u32,
    number: u64,
    first_argument: u64,
}

/// The call that a tracee enters at this stop; `None` at the end of one.
#[allow(unsafe_code)]
fn entry_of(pid: Pid) -> Result<Option<Call>, Errno> {
    let info = ptrace::syscall_info(pid)?;
    if info.op != libc::PTRACE_SYSCALL_INFO_ENTRY {
        return Ok(None);
    }
    // SAFETY: `op` says that the kernel filled the `entry` member of the union (ptrace(2), PTRACE_GET_SYSCALL_INFO).
    let entry = unsafe { info.u.entry };
    Ok(Some(Call { architecture: info.arch, number: entry.nr, first_argument: entry.args[0] }))
}

fn resume(pid: Pid, signal: Option<Signal>) -> Result<(), Errno> {
    ptrace::syscall(pid, signal)
}

/// Lets a group-stopped tracee stay stopped but report what wakes it (ptrace(2), PTRACE_LISTEN).
#[allow(unsafe_code)]
fn listen(pid: Pid) -> Result<(), Errno> {
    // SAFETY: PTRACE_LISTEN takes no address and no data, and touches no memory of ours.
    let result = unsafe { libc::ptrace(libc::PTRACE_LISTEN, pid.as_raw(), 0, 0) };
    Errno::result(result).map(drop)
}

/// AUDIT_ARCH_* of the executable that `pid` runs, from its ELF header: class and machine (elf.h).
fn executable_architecture(pid: u32) -> u32 {
    let mut header = [0u8; 20];
    let read = std::fs::File::open(format!("/proc/{pid}/exe"));
    if read.and_then(|mut file| std::io::Read::read_exact(&mut file, &mut header)).is_err() {
        return 0;
    }
    let wide = if header[4] == 2 { 0x8000_0000 } else { 0 };
    let little = if header[5] == 1 { 0x4000_0000 } else { 0 };
    wide | little | u32::from(u16::from_le_bytes([header[18], header[19]]))
}
