//! Locks that end with the process that holds them (flock(2)), however it ends: who left something unfinished is gone
//! when its lock is.

use nix::fcntl::{Flock, FlockArg};
use std::fs::File;

/// An open file that is locked until this is dropped.
pub type Locked = Flock<File>;

/// Locks it for this holder alone, or gives up at once; also where the file system has no such locks.
pub fn alone(file: File) -> Option<Locked> {
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// Locks it together with others who share it, once nobody has it alone.
pub fn shared(file: File) -> Option<Locked> {
    Flock::lock(file, FlockArg::LockShared).ok()
}
