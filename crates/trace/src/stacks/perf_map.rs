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

/// The function without marks of its compiler, types and columns: `saveAll (n.js:2)` of Node.js's `JS:^saveAll /srv/n.js:2:17`, and
/// `J.main` of Java's `void J.main(java.lang.String[])`.
pub fn short(name: &str) -> String {
    let script = ["JS:", "LazyCompile:", "Function:"]
        .iter()
        .find_map(|kind| name.strip_prefix(kind));
    if let Some(function) = script {
        let function = function.trim_start_matches(['~', '^', '+', '*']);
        let (function, place) = function.split_once(' ').unwrap_or((function, ""));
        let function = if function.is_empty() {
            "anonymous"
        } else {
            function
        };
        // Without the column.
        return match place.rsplit_once(':') {
            Some((line, _)) if line.starts_with("node:") => format!("{function} ({line})"),
            Some((line, _)) => format!("{function} ({})", line.rsplit('/').next().unwrap_or(line)),
            None => function.to_string(),
        };
    }
    match name.split_once('(') {
        Some((typed, parameters)) if parameters.ends_with(')') => {
            let typed = typed.trim_end();
            typed.rsplit(' ').next().unwrap_or(typed).to_string()
        }
        _ => name.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_compilers_are_shortened() {
        for (name, expected) in [
            ("JS:^saveAll /srv/n.js:2:17", "saveAll (n.js:2)"),
            (
                "JS:*renameSync node:fs:1029:20",
                "renameSync (node:fs:1029)",
            ),
            (
                "JS:* node:internal/fs/utils:693:42",
                "anonymous (node:internal/fs/utils:693)",
            ),
            ("LazyCompile:~f", "f"),
            ("void J.main(java.lang.String[])", "J.main"),
            ("boolean java.io.File.exists()", "java.io.File.exists"),
            ("Interpreter", "Interpreter"),
            ("py::f:/srv/app.py", "py::f:/srv/app.py"),
        ] {
            assert_eq!(short(name), expected);
        }
    }
}
