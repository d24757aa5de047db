//! What a call that was blocked waited for, as far as /proc shows it of the stopped thread: the file, the peer of a socket, the
//! process at the other end of a pipe. Who woke a thread is not seen here.

use std::collections::HashMap;
use std::fs;
use std::net::{IpAddr, SocketAddr};
use std::os::unix::fs::MetadataExt;

/// A look-up reads tables of the whole machine, or the descriptors of all traced processes.
const MOST_LOOK_UPS: usize = 256;

/// Keyed by the descriptor's link and whether the call writes.
#[derive(Default)]
pub struct Waited(HashMap<(String, bool), Other>);

#[derive(Clone, Default)]
pub struct Other {
    pub on: Option<String>,
    pub by: Option<i32>,
}

impl Waited {
    pub fn other(
        &mut self,
        tid: i32,
        descriptor: i32,
        writes: bool,
        others: impl Iterator<Item = i32>,
    ) -> Other {
        let Ok(link) = fs::read_link(format!("/proc/{tid}/fd/{descriptor}")) else {
            return Other::default();
        };
        let link = link.to_string_lossy().into_owned();
        let number = |kind: &str| {
            link.strip_prefix(kind)?
                .strip_suffix(']')
                .map(str::to_string)
        };
        let (socket, pipe) = (number("socket:["), number("pipe:["));
        if socket.is_none() && pipe.is_none() {
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
        let found = match socket {
            Some(inode) => Other {
                on: peer(tid, &inode),
                by: None,
            },
            None => Other {
                on: Some(link.clone()),
                by: others.into_iter().find(|pid| holds(*pid, &link, !writes)),
            },
        };
        self.0.insert(key, found.clone());
        found
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
    let own =
        entries.filter(|entry| fs::read_link(entry.path()).is_ok_and(|to| to.as_os_str() == link));
    own.filter_map(|entry| fs::symlink_metadata(entry.path()).ok())
        .any(|facts| facts.mode() & way != 0)
}

/// In the network of a thread; of a socket without a peer, its own address.
fn peer(tid: i32, inode: &str) -> Option<String> {
    let rows =
        |table: &str| fs::read_to_string(format!("/proc/{tid}/net/{table}")).unwrap_or_default();
    ["tcp", "tcp6", "udp", "udp6"]
        .into_iter()
        .find_map(|table| {
            let rows = rows(table);
            let row = rows
                .lines()
                .map(|row| row.split_whitespace().collect::<Vec<_>>());
            let [local, remote] = row
                .into_iter()
                .find(|row| row.get(9) == Some(&inode))
                .map(|row| [row[1], row[2]])?;
            let remote = address(remote)?;
            Some(if remote.port() > 0 {
                remote.to_string()
            } else {
                format!("own {}", address(local)?)
            })
        })
        .or_else(|| {
            let rows = rows("unix");
            let row = rows
                .lines()
                .map(|row| row.split_whitespace().collect::<Vec<_>>());
            row.into_iter()
                .find(|row| row.get(6) == Some(&inode))?
                .get(7)
                .map(|path| (*path).to_string())
        })
}

/// An address as /proc/net/tcp has it: words of four bytes in the machine's order, and the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| {
        Some(
            u32::from_str_radix(host.get(at..at + 8)?, 16)
                .ok()?
                .to_ne_bytes(),
        )
    };
    let ip = match host.len() {
        8 => IpAddr::from(word(0)?),
        32 => {
            let words = [word(0)?, word(8)?, word(16)?, word(24)?];
            IpAddr::from(std::array::from_fn::<u8, 16, _>(|byte| {
                words[byte / 4][byte % 4]
            }))
            .to_canonical()
        }
        _ => return None,
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
