//! Locks that are released when the process that holds them ends, however it ends (flock(2)): without a lock, the
//! process that left something unfinished is dead.

use nix::fcntl::{Flock, FlockArg};
use std::fs::File;

/// fcntl(2)'s lock of a whole file for reading. Systems have further members, which are 0.
#[allow(unsafe_code)]
pub fn whole_file() -> libc::flock {
    // SAFETY: all members are numbers, for which zeros are valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_RDLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock
}

/// An open file that stays locked until this is dropped.
pub type Locked = Flock<File>;

/// Locks a file exclusively; `None` at once if that fails, also because the file system has no locks.
pub fn alone(file: File) -> Option<Locked> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// Locks a file together with others that share it; waits while it is locked exclusively.
pub fn shared(file: File) -> Option<Locked> {
    Flock::lock(file, FlockArg::LockShared).ok()
}
