//! Opens files that somebody else chose: regular ones only, of a limited size, below a root that need not be ours.

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use std::fs::{File, Metadata, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opened without access to what is in it: nothing happens to a device, and a FIFO does not wait.
pub fn place(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open(path)
}

#[derive(Clone, Copy, PartialEq)]
pub enum Links {
    Refused,
    /// But none out of the root.
    Followed,
}

/// Below `root`, whatever links say.
pub fn place_in(root: &File, path: &Path, links: Links) -> std::io::Result<File> {
    let refused = if links == Links::Refused {
        ResolveFlag::RESOLVE_NO_SYMLINKS
    } else {
        ResolveFlag::empty()
    };
    let how = OpenHow::new()
        .flags(OFlag::O_PATH | OFlag::O_CLOEXEC)
        .resolve(ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS | refused);
    Ok(File::from(openat2(root, path, how)?))
}

/// `None` if it is no regular file, or has more than `most` bytes.
#[must_use]
pub fn open(place: &File, most: u64) -> Option<(File, Metadata)> {
    let facts = place
        .metadata()
        .ok()
        .filter(|facts| facts.is_file() && facts.len() <= most)?;
    let file = File::open(format!("/proc/self/fd/{}", place.as_raw_fd())).ok()?;
    Some((file, facts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::io::Read;

    #[test]
    fn only_small_regular_files_below_the_root_are_opened() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        fs::create_dir(path("in")).unwrap();
        fs::write(path("in/file"), "text").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", path("in/link")).unwrap();
        std::os::unix::fs::symlink("in", path("through")).unwrap();
        crate::process::make_fifo(&path("in/fifo")).unwrap();
        let root = place(directory.path()).unwrap();
        let read = |name: &str, most| {
            let (mut file, facts) = open(
                &place_in(&root, Path::new(name), Links::Refused).ok()?,
                most,
            )?;
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(facts.len(), text.len() as u64);
            Some(text)
        };
        assert_eq!(read("in/file", 4).as_deref(), Some("text"));
        // What leads out of the root leads to the root.
        assert_eq!(read("/../in/file", 4).as_deref(), Some("text"));
        assert_eq!(["in/file", "in"].map(|name| read(name, 3)), [None, None]);
        let followed =
            |name: &str| open(&place_in(&root, Path::new(name), Links::Followed).ok()?, 4);
        assert!(followed("through/file").is_some() && followed("in/link").is_none());
        assert_eq!(
            ["in/link", "in/fifo", "through/file", "in/none"].map(|name| read(name, 1 << 20)),
            [const { None }; 4]
        );
    }
}
