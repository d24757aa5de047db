//! Processes and descriptors: small safe wrappers.

#![allow(unsafe_code)]

use super::proc_stat;
use super::tree::numbers;
use model::Ending;
use nix::fcntl::{FcntlArg, FdFlag, fcntl};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::{AccessFlags, Pid, access};
use rustix::fs::getxattr;
use std::fs::{self, File};
use std::io::Read;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

/// We started it, and its leader has not been reaped: after that, the ID may be reused.
pub fn kill_group(group: u32) {
    signal_group(group, Signal::SIGKILL);
}

/// Sends a signal to a process group of which the same must hold as for `kill_group`.
pub fn signal_group(group: u32, signal: Signal) {
    if let Ok(group) = i32::try_from(group) {
        let _ = killpg(Pid::from_raw(group), signal);
    }
}

/// Processes below this one whose parent ends can then be found and waited for.
pub fn adopt_orphans() {
    let _ = nix::sys::prctl::set_child_subreaper(true);
}

/// `exit status 1`, or `killed by` and the signal.
pub fn ending_text(ending: Ending) -> String {
    match ending {
        Ending::Exited(code) => format!("exit status {code}"),
        Ending::Signalled(signal) => match Signal::try_from(signal) {
            Ok(signal) => format!("killed by {signal}"),
            Err(_) => format!("killed by signal {signal}"),
        },
    }
}

/// A process's arguments without its name, the first 4 KiB; `None` if it has ended or may not be read.
pub fn arguments(pid: u32) -> Option<String> {
    const MOST: u64 = 4096;
    let mut bytes = Vec::new();
    fs::File::open(format!("/proc/{pid}/cmdline"))
        .ok()?
        .take(MOST)
        .read_to_end(&mut bytes)
        .ok()?;
    let text = String::from_utf8_lossy(&bytes);
    let words = text.trim_end_matches('\0');
    // Some programs replace all of it by one line of text.
    let (_, rest) = words
        .split_once('\0')
        .or_else(|| words.split_once(' '))
        .unwrap_or_default();
    Some(rest.replace('\0', " "))
}

/// A process's or thread's name, up to 15 bytes; empty if it has ended.
pub fn name_of(pid: i32) -> String {
    proc_stat::read(format!("/proc/{pid}/comm"))
        .unwrap_or_default()
        .trim_end_matches('\n')
        .to_string()
}

/// Set-user-ID or set-group-ID, or with capabilities.
pub fn gains_privileges(pid: i32) -> bool {
    let program = format!("/proc/{pid}/exe");
    let is_set_id = fs::metadata(&program).is_ok_and(|facts| facts.mode() & 0o6000 != 0);
    // With no room, only the size is returned.
    is_set_id || getxattr(program, "security.capability", &mut [0; 0]).is_ok_and(|bytes| bytes > 0)
}

/// Makes a named pipe for this user alone.
pub fn make_fifo(path: &Path) -> std::io::Result<()> {
    Ok(nix::unistd::mkfifo(
        path,
        nix::sys::stat::Mode::S_IRUSR | nix::sys::stat::Mode::S_IWUSR,
    )?)
}

/// A user whose pipes have too much memory already is refused: the pipe stays as it is.
pub fn grow_pipe(pipe: &File, bytes: usize) {
    let bytes = i32::try_from(bytes).unwrap_or(i32::MAX);
    let _ = fcntl(pipe, FcntlArg::F_SETPIPE_SZ(bytes));
}

/// Waits until a descriptor is readable or closed at its other end; false after `timeout`, of at most 65 s, or a signal.
pub fn wait_readable(fd: &impl AsFd, timeout: Duration) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::POLLIN)];
    let milliseconds = u16::try_from(timeout.as_millis())
        .unwrap_or(u16::MAX)
        .max(1);
    poll(&mut fds, PollTimeout::from(milliseconds)).is_ok_and(|ready| ready > 0)
}

/// The other end of a pipe or terminal is closed.
pub fn is_hung_up(fd: &impl AsFd) -> bool {
    let mut fds = [PollFd::new(fd.as_fd(), PollFlags::empty())];
    poll(&mut fds, PollTimeout::ZERO).is_ok_and(|_| {
        fds[0]
            .revents()
            .is_some_and(|seen| seen.contains(PollFlags::POLLHUP))
    })
}

pub fn is_ignored(signal: i32) -> bool {
    // SAFETY: with no new action, sigaction(2) only fills `old`, for which all zeros is a valid value.
    unsafe {
        let mut old: libc::sigaction = std::mem::zeroed();
        libc::sigaction(signal, std::ptr::null(), &raw mut old) == 0
            && old.sa_sigaction == libc::SIG_IGN
    }
}

/// Writing beyond the file size limit then fails (EFBIG) instead of killing this process. By an empty handler: programs that we
/// start get the default again, whereas they would inherit an ignored signal (execve(2)).
pub fn handle_sigxfsz() {
    if !is_ignored(libc::SIGXFSZ) {
        // Without the handler, the process is killed as before: no reason to refuse to work.
        let _ = signal_hook::flag::register(libc::SIGXFSZ, Arc::default());
    }
}

/// Whether this user may execute a file.
pub fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, AccessFlags::X_OK).is_ok()
}

/// Whether this UID stands for users that are not mapped in our user namespace (user_namespaces(7)).
pub fn is_unknown_user(uid: u32) -> bool {
    fn text(path: &str) -> String {
        fs::read_to_string(path).unwrap_or_default()
    }

    let knows_all = text("/proc/self/uid_map")
        .split_whitespace()
        .eq(["0", "0", "4294967295"]);
    !knows_all && text("/proc/sys/kernel/overflowuid").trim() == uid.to_string()
}

/// The other threads of a process, and the threads of all processes below it, as /proc shows them now.
pub fn descendants(process: i32) -> Vec<i32> {
    let (mut threads, mut processes) = (Vec::new(), vec![process]);
    while let Some(process) = processes.pop() {
        threads.extend(threads_of(process));
        processes.extend(children(process));
    }
    threads.retain(|tid| *tid != process);
    threads
}

/// The process IDs of a process's children that have not been reaped, also adopted ones; empty if the kernel does not list them
/// (CONFIG_PROC_CHILDREN).
pub fn children(process: i32) -> Vec<i32> {
    let lists: Vec<String> = threads_of(process)
        .into_iter()
        .map(|tid| {
            fs::read_to_string(format!("/proc/{process}/task/{tid}/children")).unwrap_or_default()
        })
        .collect();
    lists
        .iter()
        .flat_map(|list| list.split_whitespace())
        .filter_map(|pid| pid.parse().ok())
        .collect()
}

/// Empty if it has ended.
pub fn threads_of(process: i32) -> Vec<i32> {
    numbers(&format!("/proc/{process}/task"))
}

/// Under the number that it has here.
pub fn inherit(command: &mut Command, file: File) {
    // SAFETY: between fork and exec it only calls fcntl, which is async-signal-safe.
    unsafe {
        command.pre_exec(move || {
            fcntl(&file, FcntlArg::F_SETFD(FdFlag::empty()))?;
            Ok(())
        })
    };
}
