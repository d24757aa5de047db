//! The map that a compiler at run time has written for perf: `/tmp/perf-PID.map` in the process's root. Anybody may write such
//! a file, so it must be a regular one of the process's user, not reached through links, and of a reasonable size.

use super::functions::Functions;
use std::fs::File;
use std::io::Read;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use sys::regular::{self, Links};
use sys::status::Status;

pub const LARGEST: u64 = 64 << 20;

/// Also after the end of the process.
#[derive(Debug)]
pub struct MapLocation {
    root: File,
    user: u32,
    /// In its own namespace.
    pid: u32,
}

impl MapLocation {
    pub fn for_process(pid: u32) -> Option<MapLocation> {
        // What is found through this is of one process, even if its PID is reused meanwhile.
        let process = regular::place(Path::new(&format!("/proc/{pid}"))).ok()?;
        let inside = |name: &str| format!("/proc/self/fd/{}/{name}", process.as_raw_fd());
        let status = Status::read(inside("status"))?;
        let user = status.numbers("Uid").nth(1)?;
        let pid = status.numbers("NSpid").next_back().unwrap_or(pid);
        Some(MapLocation {
            root: regular::place(Path::new(&inside("root"))).ok()?,
            user,
            pid,
        })
    }

    /// None if there is no such map, or it is not to be trusted.
    pub fn read(&self) -> Functions {
        let path = format!("/tmp/perf-{}.map", self.pid);
        let file = regular::place_in(&self.root, Path::new(&path), Links::Refused).ok();
        let opened = file
            .and_then(|file| regular::open(&file, LARGEST))
            .filter(|(_, facts)| facts.uid() == self.user);
        let mut text = Vec::new();
        if let Some((file, _)) = opened {
            // It may have grown.
            let _ = file.take(LARGEST).read_to_end(&mut text);
        }
        Functions::from_perf_map(&text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{chown, symlink};

    #[test]
    fn only_the_users_own_regular_map_counts() {
        let root = tempfile::tempdir().unwrap();
        let (directory, map) = (root.path().join("tmp"), root.path().join("tmp/perf-7.map"));
        fs::create_dir(&directory).unwrap();
        let user = nix::unistd::geteuid().as_raw();
        let place = |user| MapLocation {
            root: regular::place(root.path()).unwrap(),
            user,
            pid: 7,
        };
        let named = |user| place(user).read().at(0x1000, None);
        assert_eq!(named(user), None);
        fs::write(&map, "1000 10 planted\n").unwrap();
        assert_eq!(
            (named(user).as_deref(), named(user + 1)),
            (Some("planted"), None)
        );
        if user == 0 {
            chown(&map, Some(1), None).unwrap();
            assert_eq!((named(0), named(1).as_deref()), (None, Some("planted")));
            chown(&map, Some(0), None).unwrap();
        } else {
            eprintln!("SKIPPED: only root can give a file away");
        }
        let file = File::options().write(true).open(&map).unwrap();
        file.set_len(LARGEST + 1).unwrap();
        assert_eq!(named(user), None);
        fs::rename(&map, directory.join("real")).unwrap();
        file.set_len(16).unwrap();
        symlink("real", &map).unwrap();
        assert_eq!(named(user), None);
        fs::remove_file(&map).unwrap();
        nix::unistd::mkfifo(&map, nix::sys::stat::Mode::S_IRWXU).unwrap();
        assert_eq!(named(user), None);
    }

    #[test]
    fn the_place_of_a_process_is_its_own_root() {
        let own = std::process::id();
        let place = MapLocation::for_process(own).unwrap();
        assert_eq!(place.user, nix::unistd::geteuid().as_raw());
        assert_eq!(
            place.root.metadata().unwrap().ino(),
            fs::metadata("/").unwrap().ino()
        );
        assert!(MapLocation::for_process(u32::MAX).is_none());
    }
}
