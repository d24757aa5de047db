//! Process file descriptors (pidfd_open(2), Linux 5.3): they refer to the same process even if its PID is reused, and
//! become readable when it has ended.

#![allow(unsafe_code)]

use nix::errno::Errno;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};

const NO_FLAGS: libc::c_uint = 0;

/// A descriptor of a process, which must not be a thread other than its first; `ESRCH` if there is none.
pub fn open(pid: i32) -> Result<OwnedFd, Errno> {
    // SAFETY: the call takes two numbers and accesses none of our memory.
    let fd = Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, NO_FLAGS) })?;
    // SAFETY: the kernel just created this descriptor, which nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}

/// # Errors
/// `ESRCH` if the process has been reaped.
pub fn send_signal(process: &impl AsFd, signal: i32) -> Result<(), Errno> {
    // Variadic: a bare 0 would be passed as an int, and the upper half of the pointer would be undefined.
    let info = std::ptr::null::<libc::siginfo_t>();
    let fd = process.as_fd().as_raw_fd();
    // SAFETY: without a siginfo the kernel reads no memory of ours; the descriptor is open while `process` is borrowed.
    Errno::result(unsafe { libc::syscall(libc::SYS_pidfd_send_signal, fd, signal, info, NO_FLAGS) })
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn a_signal_reaches_the_process_and_none_that_was_reaped() {
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let descriptor = open(child.id().cast_signed()).unwrap();
        send_signal(&descriptor, libc::SIGTERM).unwrap();
        assert_eq!(child.wait().unwrap().signal(), Some(libc::SIGTERM));
        assert_eq!(send_signal(&descriptor, libc::SIGTERM), Err(Errno::ESRCH));
        assert_eq!(open(-1).unwrap_err(), Errno::EINVAL);
    }
}
