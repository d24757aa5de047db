//! Whether standard output can be written. Rust's start-up code opens /dev/null for a closed standard stream, so that
//! no file opened later gets its number; output is then lost without an error. So this checks before that code runs.

#![allow(unsafe_code)]

use nix::fcntl::{FcntlArg, OFlag, fcntl};
use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// The C library calls the functions in this section before `main`.
// SAFETY: the section holds pointers to functions with C's calling convention; this one needs nothing that `main` sets
// up.
#[unsafe(link_section = ".init_array")]
#[used]
static LOOK: extern "C" fn() = look;

extern "C" fn look() {
    // SAFETY: this request takes a number and accesses no memory.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    CLOSED.store(flags < 0, Ordering::Relaxed);
}

/// Fails with EBADF if standard output was closed when this program started, or is open for reading only.
pub fn check() -> io::Result<()> {
    let flags = OFlag::from_bits_truncate(fcntl(io::stdout().as_fd(), FcntlArg::F_GETFL)?);
    let read_only = flags & OFlag::O_ACCMODE == OFlag::O_RDONLY;
    if CLOSED.load(Ordering::Relaxed) || read_only {
        Err(nix::errno::Errno::EBADF.into())
    } else {
        Ok(())
    }
}
