//! Finds what a blocked call waited for, as far as /proc shows it for the stopped thread: the file, the peer of a socket, the process
//! at the other end of a pipe. Who woke a thread is not seen here.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;

/// The largest number of look-ups: each reads tables of the whole machine, or the descriptors of all traced processes.
const MOST_LOOK_UPS: usize = 256;

/// The other ends that are known, by the descriptor's link and whether the call writes.
#[derive(Default)]
pub struct Waited(HashMap<(String, bool), Other>);

#[derive(Clone, Default)]
pub struct Other {
    pub on: Option<String>,
    pub by: Option<i32>,
}

impl Waited {
    /// The object that a stopped thread's descriptor is of, and who is at its other end: one of `others`.
    pub fn other(
        &mut self,
        tid: i32,
        descriptor: i32,
        writes: bool,
        others: impl Iterator<Item = i32>,
    ) -> Other {
        let Some(link) = link(tid, descriptor) else {
            return Other::default();
        };
        let socket = socket(&link);
        if socket.is_none() && !link.starts_with("pipe:[") {
            return Other {
                on: Some(link),
                by: None,
            };
        }
        let key = (link.clone(), writes);
        if let Some(known) = self.0.get(&key) {
            return known.clone();
        }
        if self.0.len() >= MOST_LOOK_UPS {
            return Other::default();
        }
        let other = match socket {
            Some(inode) => Other {
                on: peer(tid, inode),
                by: None,
            },
            None => Other {
                on: Some(link.clone()),
                by: others.into_iter().find(|pid| holds(*pid, &link, !writes)),
            },
        };
        self.0.insert(key, other.clone());
        other
    }
}

fn link(tid: i32, descriptor: i32) -> Option<String> {
    let link = fs::read_link(format!("/proc/{tid}/fd/{descriptor}")).ok()?;
    Some(link.to_string_lossy().into_owned())
}

/// The inode of a socket by its link.
fn socket(link: &str) -> Option<&str> {
    link.strip_prefix("socket:[")?.strip_suffix(']')
}

/// The peer of a socket, `own ADDRESS` of one that listens; the link of other descriptors.
pub fn object(tid: i32, descriptor: i32) -> Option<String> {
    let link = link(tid, descriptor)?;
    match socket(&link) {
        Some(inode) => peer(tid, inode),
        None => Some(link),
    }
}

fn holds(pid: i32, link: &str, for_writing: bool) -> bool {
    // The permissions of the links are the ways in which the files are open.
    let way = if for_writing {
        libc::S_IWUSR
    } else {
        libc::S_IRUSR
    };
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .filter_map(Result::ok);
    let ends =
        entries.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == link));
    ends.filter_map(|entry| fs::symlink_metadata(entry.path()).ok())
        .any(|facts| facts.mode() & way != 0)
}

/// The peer of a socket in a thread's network namespace, or its own address if it has no peer.
fn peer(tid: i32, inode: &str) -> Option<String> {
    ["tcp", "tcp6", "udp", "udp6"]
        .into_iter()
        .find_map(|table| {
            // Columns: 1 is the local address, 2 the remote one, 9 the inode.
            let row = row(tid, table, 9, inode)?;
            let remote = address(&row[2])?;
            Some(if remote.port() > 0 {
                remote.to_string()
            } else {
                format!("own {}", address(&row[1])?)
            })
        })
        .or_else(|| row(tid, "unix", 6, inode)?.into_iter().nth(7))
}

/// `column` has the inodes of a table of /proc/net.
fn row(tid: i32, table: &str, column: usize, inode: &str) -> Option<Vec<String>> {
    let rows = fs::read_to_string(format!("/proc/{tid}/net/{table}")).ok()?;
    rows.lines()
        .map(|row| row.split_whitespace().map(str::to_string).collect())
        .find(|row: &Vec<String>| row.get(column).is_some_and(|number| number == inode))
}

/// An address of /proc/net/tcp: words of four bytes in the machine's order, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let mut bytes = Vec::new();
    for at in (0..host.len()).step_by(8) {
        let word = u32::from_str_radix(host.get(at..at + 8)?, 16).ok()?;
        // The tables show addresses as 32-bit words in the machine's order of bytes.
        bytes.extend(word.to_ne_bytes());
    }
    let ip = match <[u8; 4]>::try_from(&*bytes) {
        Ok(bytes) => IpAddr::from(bytes),
        Err(_) => IpAddr::from(<[u8; 16]>::try_from(bytes).ok()?).to_canonical(),
    };
    Some(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_words_of_the_machine() {
        fn word(bytes: [u8; 4]) -> String {
            format!("{:08X}", u32::from_ne_bytes(bytes))
        }

        let four = format!("{}:1F90", word([127, 0, 0, 1]));
        assert_eq!(address(&four), "127.0.0.1:8080".parse().ok());
        let six = format!("{0}{0}{0}{1}:0050", word([0; 4]), word([0, 0, 0, 1]));
        assert_eq!(address(&six), "[::1]:80".parse().ok());
        assert_eq!(
            [address("0100007F"), address("zz:1"), address("")],
            [None; 3]
        );
    }
}
