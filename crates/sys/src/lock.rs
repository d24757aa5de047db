//! Locks that are released when the process that holds them ends, however it ends (flock(2)): without a lock, the
//! process that left something unfinished is dead.

#![allow(unsafe_code)]

use rustix::fs::{FlockOperation, flock};
use std::fs::File;

/// A shared lock of a whole file, for fcntl(2). Systems have further members, which are 0.
pub fn whole_file() -> libc::flock {
    // SAFETY: all members are numbers, for which zeros are valid.
    let mut lock: libc::flock = unsafe { std::mem::zeroed() };
    lock.l_type = libc::F_RDLCK as libc::c_short;
    lock.l_whence = libc::SEEK_SET as libc::c_short;
    lock
}

/// An open file that stays locked until this is dropped. Not `nix::fcntl::Flock`, which panics if unlocking fails: the lock ends with
/// the file's last descriptor in any case.
pub struct Locked(File);

impl Drop for Locked {
    fn drop(&mut self) {
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

/// Exclusively; `None` at once if it is locked or the file system has no locks.
pub fn alone(file: File) -> Option<Locked> {
    lock(file, FlockOperation::NonBlockingLockExclusive)
}

/// Waits while it is locked exclusively. `None` if the file system has no locks.
pub fn shared(file: File) -> Option<Locked> {
    lock(file, FlockOperation::LockShared)
}

fn lock(file: File, how: FlockOperation) -> Option<Locked> {
    flock(&file, how).is_ok().then_some(Locked(file))
}
