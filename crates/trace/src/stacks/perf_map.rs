//! The map that a compiler at run time has written for perf: `/tmp/perf-PID.map` in the process's root. Anybody may write such
//! a file, so it must be a regular one of the process's user, not reached through links, and within the budget.

use super::budget::Budget;
use super::functions::Functions;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::regular::{self, Links};
use sys::status::Status;

pub struct MapLocation {
    root: File,
    user: u32,
    pid: u32,
}

impl MapLocation {
    /// `None` if it has ended.
    pub fn for_process(pid: u32) -> Option<MapLocation> {
        // All files below this are of one process, even if its PID is reused meanwhile.
        let process = regular::place(Path::new(&format!("/proc/{pid}"))).ok()?;
        let [status, root] =
            ["status", "root"].map(|name| format!("/proc/self/fd/{}/{name}", process.as_raw_fd()));
        let status = Status::read(status)?;
        let user = status.numbers("Uid").nth(1)?;
        let pid = status.numbers("NSpid").next_back().unwrap_or(pid);
        Some(MapLocation {
            root: regular::place(Path::new(&root)).ok()?,
            user,
            pid,
        })
    }

    /// Empty if there is no map, or it is not to be trusted.
    pub fn read(&self, budget: &Budget) -> Functions {
        let path = format!("/tmp/perf-{}.map", self.pid);
        let file = regular::place_in(&self.root, Path::new(&path), Links::Refused).ok();
        let opened = file
            .and_then(|file| regular::open(&file, u64::MAX))
            .filter(|(_, facts)| facts.uid() == self.user && budget.take(facts.len()));
        let mut text = Vec::new();
        if let Some((file, facts)) = opened {
            // It may have grown since its size was charged.
            let _ = file.take(facts.len()).read_to_end(&mut text);
        }
        Functions::from_perf_map(text, budget)
    }
}
