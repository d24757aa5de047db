//! Attaches the ptrace tracer to its root, or says why it cannot.

use super::PtraceTracer;
use crate::trace::{Root, threads};
use anyhow::{Result, anyhow};
use nix::errno::Errno;

impl PtraceTracer {
    /// Attaches to a held command or to running processes.
    ///
    /// # Errors
    /// Why the kernel refuses, and what to do.
    pub(super) fn attach_root(&mut self, root: &Root) -> Result<()> {
        self.held = matches!(root, Root::Held(_));
        for pid in root.processes() {
            let pid = i32::try_from(*pid).map_err(|_| anyhow!("no process {pid}"))?;
            if !self.held {
                self.attach_threads(pid)?;
                self.counting = true;
                continue;
            }
            self.root = pid;
            self.follower.attach(pid).map_err(|errno| refused(pid, errno))?;
            self.tree.started(pid, None);
        }
        Ok(())
    }

    /// Attaches to all threads of a process; repeats until there is no new one, as they may start more meanwhile.
    fn attach_threads(&mut self, pid: i32) -> Result<()> {
        self.tree.started(pid, None);
        loop {
            let threads = threads(pid.unsigned_abs())?.into_iter().map(u32::cast_signed);
            let new: Vec<i32> = threads.filter(|tid| !self.follower.has(*tid)).collect();
            if new.is_empty() {
                return Ok(());
            }
            for tid in new {
                match self.follower.attach(tid) {
                    // It may have ended meanwhile.
                    Err(Errno::ESRCH) if tid != pid => {}
                    Err(errno) => return Err(refused(pid, errno)),
                    Ok(()) if tid != pid => self.tree.started(tid, Some(pid)),
                    Ok(()) => {}
                }
            }
        }
    }
}

/// Why a process cannot be traced, and what to do.
fn refused(pid: i32, errno: Errno) -> anyhow::Error {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let tracer = status.lines().find_map(|line| line.strip_prefix("TracerPid:")).map_or("0", str::trim);
    match errno {
        Errno::ESRCH => anyhow!("no process {pid}"),
        Errno::EPERM if tracer != "0" => {
            let name = std::fs::read_to_string(format!("/proc/{tracer}/comm")).unwrap_or_default();
            anyhow!("process {pid} is traced already, by process {tracer} ({}): end that first", name.trim())
        }
        Errno::EPERM => anyhow!(
            "process {pid} may not be traced (ptrace: EPERM): it belongs to another user or is protected; try as \
             root, or see kernel.yama.ptrace_scope"
        ),
        _ => anyhow!("ptrace(PTRACE_SEIZE) of process {pid}: {} ({errno:?})", errno.desc()),
    }
}
