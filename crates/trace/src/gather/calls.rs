//! The effects of calls on paths, directories and sockets, by their arguments.

use crate::stacks::image;
use std::ffi::OsStr;
use std::io::Read;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use sys::open;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Use {
    Asks,
    Executes,
    /// May create, write, replace or remove the file.
    Changes,
}

/// The positions of the directory that a path is relative to, if there is one, and of the path.
pub type Place = (Option<u8>, u8);

const FIRST: Place = (None, 0);
const AT: Place = (Some(0), 1);

const TABLE: &[(Use, Place, &str)] = &[
    (
        Use::Asks,
        FIRST,
        "stat lstat stat64 lstat64 access readlink chdir statfs statfs64 getxattr lgetxattr listxattr llistxattr",
    ),
    (
        Use::Asks,
        AT,
        "newfstatat fstatat64 statx faccessat faccessat2 readlinkat name_to_handle_at",
    ),
    (Use::Asks, (None, 1), "inotify_add_watch"),
    (Use::Executes, FIRST, "execve"),
    (Use::Executes, AT, "execveat"),
    (
        Use::Changes,
        FIRST,
        "creat mkdir rmdir unlink rename chmod chown lchown truncate truncate64 utime utimes mknod setxattr lsetxattr",
    ),
    (
        Use::Changes,
        AT,
        "mkdirat unlinkat renameat renameat2 fchmodat fchmodat2 fchownat utimensat futimesat mknodat",
    ),
    (Use::Changes, (None, 1), "rename link symlink"),
    (Use::Changes, (Some(2), 3), "renameat renameat2 linkat"),
    (Use::Changes, (Some(1), 2), "symlinkat"),
    (Use::Asks, FIRST, "link"),
    (Use::Asks, AT, "linkat"),
];

/// The paths that a call names, and what it does to them.
pub fn paths(name: &str, arguments: &[u64; 6]) -> Vec<(Use, Place)> {
    match name {
        "open" => vec![(opens(arguments[1]), FIRST)],
        "openat" => vec![(opens(arguments[2]), AT)],
        // Its flags are in memory. To take a file for changed does no harm: its copy is the same.
        "openat2" => vec![(Use::Changes, AT)],
        _ => TABLE
            .iter()
            .filter(|(_, _, names)| names.split_whitespace().any(|listed| listed == name))
            .map(|(use_, place, _)| (*use_, *place))
            .collect(),
    }
}

fn opens(flags: u64) -> Use {
    const CHANGES: i32 = libc::O_WRONLY | libc::O_RDWR | libc::O_CREAT | libc::O_TRUNC;
    if flags as i32 & CHANGES == 0 {
        Use::Asks
    } else {
        Use::Changes
    }
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Peer {
    Local(String),
    Loopback(SocketAddr),
    Network(SocketAddr),
}

/// The peer in a sockaddr; `None` for families other than local and IP ones.
pub fn peer(address: &[u8]) -> Option<Peer> {
    let family = u16::from_ne_bytes(address.get(..2)?.try_into().ok()?);
    let ip: IpAddr = match i32::from(family) {
        libc::AF_UNIX => {
            let name = address
                .get(2..)?
                .split(|byte| *byte == 0)
                .find(|name| !name.is_empty())?;
            return Some(Peer::Local(String::from_utf8_lossy(name).into_owned()));
        }
        libc::AF_INET => IpAddr::from(<[u8; 4]>::try_from(address.get(4..8)?).ok()?),
        libc::AF_INET6 => IpAddr::from(<[u8; 16]>::try_from(address.get(8..24)?).ok()?),
        _ => return None,
    };
    let port = u16::from_be_bytes(address.get(2..4)?.try_into().ok()?);
    let peer = SocketAddr::new(ip, port);
    Some(if ip.is_loopback() {
        Peer::Loopback(peer)
    } else {
        Peer::Network(peer)
    })
}

const COMMON_DEVICES: [&str; 8] = [
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/console",
];
const COMMON_PLACES: [&str; 5] = ["/dev/shm", "/dev/pts", "/dev/fd", "/dev/std", "/dev/mqueue"];

/// A guest may lack it.
pub fn is_rare_device(path: &Path) -> bool {
    let text = path.to_string_lossy();
    path.starts_with("/dev")
        && text != "/dev"
        && text != "/dev/"
        && !COMMON_DEVICES.contains(&&*text)
        && !COMMON_PLACES.iter().any(|place| text.starts_with(place))
}

/// The interpreter in the first line of a script, or the dynamic loader.
pub fn interpreter(path: &Path) -> Option<PathBuf> {
    const MOST: usize = 1 << 16;
    let mut bytes = Vec::new();
    open::regular(path)
        .ok()?
        .take(MOST as u64)
        .read_to_end(&mut bytes)
        .ok()?;
    let name = match bytes.strip_prefix(b"#!") {
        Some(rest) => {
            let line = rest.split(|byte| *byte == b'\n').next()?.trim_ascii();
            let name = line.split(|byte| byte.is_ascii_whitespace()).next()?;
            OsStr::from_bytes(name).into()
        }
        None => image::interpreter(&*bytes)?,
    };
    Some(name).filter(|name| name.is_absolute())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_name_their_paths_and_what_they_do_to_them() {
        fn of_call(name: &str, flags: i32) -> Vec<(Use, Place)> {
            paths(name, &[7, 0, flags as u64, 0, 0, 0])
        }

        let (asks, changes) = ((Use::Asks, AT), (Use::Changes, AT));
        assert_eq!(of_call("openat", libc::O_RDONLY), [asks]);
        assert_eq!(of_call("openat", libc::O_CREAT | libc::O_WRONLY), [changes]);
        let both = [changes, (Use::Changes, (Some(2), 3))];
        assert_eq!(of_call("renameat2", 0), both);
        let both = [(Use::Changes, (None, 1)), (Use::Asks, FIRST)];
        assert_eq!(of_call("link", 0), both);
        assert_eq!(of_call("read", 0), []);
    }

    #[test]
    fn peers_are_distinguished_by_their_addresses() {
        fn with_family(family: i32, rest: &[u8]) -> Option<Peer> {
            peer(&[&(family as u16).to_ne_bytes(), rest].concat())
        }

        fn local(name: &str) -> Option<Peer> {
            Some(Peer::Local(name.to_string()))
        }

        let x11 = with_family(libc::AF_UNIX, b"/tmp/.X11-unix/X0\0zz");
        assert_eq!(x11, local("/tmp/.X11-unix/X0"));
        assert_eq!(with_family(libc::AF_UNIX, b"\0dbus"), local("dbus"));
        let network = "192.0.2.1:443".parse().map(Peer::Network).ok();
        assert_eq!(
            with_family(libc::AF_INET, &[1, 187, 192, 0, 2, 1, 0, 0]),
            network
        );
        let ipv6 = [&[0, 80, 0, 0, 0, 0][..], &[0; 15], &[1]].concat();
        let loopback = "[::1]:80".parse().map(Peer::Loopback).ok();
        assert_eq!(with_family(libc::AF_INET6, &ipv6), loopback);
        assert!(
            with_family(libc::AF_INET, &[1])
                .or(with_family(libc::AF_NETLINK, &[0; 9]))
                .is_none()
        );
        assert_eq!(peer(&[]), None);
    }

    #[test]
    fn programs_name_their_interpreters() {
        let directory = tempfile::tempdir().unwrap();
        let script = directory.path().join("script");
        std::fs::write(&script, "#! /bin/sh -e\nexit 0\n").unwrap();
        assert_eq!(interpreter(&script), Some("/bin/sh".into()));
        for other in ["", "#!", "#!\n", "text", "\x7fELF"] {
            std::fs::write(&script, other).unwrap();
            assert_eq!(interpreter(&script), None, "{other:?}");
        }
        let loader = interpreter(Path::new("/bin/sh"));
        assert!(loader.is_none_or(|loader| loader.to_string_lossy().contains("/ld")));
    }

    #[test]
    fn ordinary_devices_are_in_each_system() {
        fn rare(path: &str) -> bool {
            is_rare_device(Path::new(path))
        }

        assert!(rare("/dev/dri/card0") && rare("/dev/sda"));
        assert!(!rare("/dev/null") && !rare("/dev/shm/x") && !rare("/dev") && !rare("/etc/passwd"));
    }
}
