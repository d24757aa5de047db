//! Opens files that somebody else chose: regular ones only, of a limited size, below a root that need not be ours.

use nix::fcntl::{OFlag, OpenHow, ResolveFlag, openat2};
use std::fs::{File, Metadata, OpenOptions};
use std::os::fd::AsRawFd;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a path without access to what is in it: nothing happens to a device, and a FIFO does not wait.
pub fn place(path: &Path) -> std::io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_PATH)
        .open(path)
}

#[derive(Clone, Copy, PartialEq)]
pub enum Links {
    Refused,
    /// Links inside the root are followed, and none out of it.
    Followed,
}

/// A path below `root`, which no link can leave.
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

/// `None` if it is not a regular file, or has more than `most` bytes.
#[must_use]
pub fn open(place: &File, most: u64) -> Option<(File, Metadata)> {
    let facts = place
        .metadata()
        .ok()
        .filter(|facts| facts.is_file() && facts.len() <= most)?;
    // Opened by its descriptor: by its path, another file could have taken its place since the check.
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
        let top = directory.path();
        fs::create_dir(top.join("in")).unwrap();
        fs::write(top.join("in/file"), "text").unwrap();
        std::os::unix::fs::symlink("/etc/passwd", top.join("in/link")).unwrap();
        std::os::unix::fs::symlink("in", top.join("through")).unwrap();
        crate::process::make_fifo(&top.join("in/fifo")).unwrap();
        let root = place(top).unwrap();
        // A path that leads out of the root leads to the root.
        for (name, links, most, text) in [
            ("in/file", Links::Refused, 4, Some("text")),
            ("/../in/file", Links::Refused, 4, Some("text")),
            ("in/file", Links::Refused, 3, None),
            ("in", Links::Refused, 3, None),
            ("in/link", Links::Refused, 1 << 20, None),
            ("in/fifo", Links::Refused, 1 << 20, None),
            ("through/file", Links::Refused, 1 << 20, None),
            ("in/none", Links::Refused, 1 << 20, None),
            ("through/file", Links::Followed, 4, Some("text")),
            ("in/link", Links::Followed, 4, None),
        ] {
            let read = place_in(&root, Path::new(name), links)
                .ok()
                .and_then(|place| open(&place, most))
                .map(|(mut file, facts)| {
                    let mut text = String::new();
                    file.read_to_string(&mut text).unwrap();
                    assert_eq!(facts.len(), text.len() as u64);
                    text
                });
            assert_eq!(read.as_deref(), text, "{name}");
        }
    }
}
