//! What a guest needs to run a command, and why it cannot run there.

use anyhow::{Result, bail, ensure};
use measure::guest::{CommandFile, CommandFiles, Contents, FIRST_USER, FileFacts};
use nix::unistd::{getgid, getuid};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use sys::Sources;
use trace::gather::{Entry, Gathered, Kind, Peer, check_size};

/// Limit for all files: they are in the guest's memory twice while it boots.
pub const MOST_BYTES: u64 = 768 << 20;
/// In MiB, for the kernel and a small command; and the most.
const LEAST_MEMORY: u64 = 256;
const MOST_MEMORY: u64 = 4096;

const OPTIONAL: [&str; 5] = [
    "/var/run/nscd/socket",
    "/run/nscd/socket",
    "/dev/log",
    "/run/systemd/journal",
    "/run/systemd/userdb",
];
const DISPLAYS: [&str; 2] = [".X11-unix", "wayland"];

pub fn check(gathered: &Gathered) -> Result<()> {
    gathered.connected.iter().try_for_each(peer_check)?;
    check_size(&gathered.entries, MOST_BYTES)
}

fn peer_check(peer: &Peer) -> Result<()> {
    match peer {
        Peer::Network(address) => {
            bail!(
                "the command connects to {address}: the emulated machine has no network; try it with other arguments"
            )
        }
        Peer::Loopback(address) => bail!(
            "the command connects to {address}, a server that it did not start: start that within the command, as in \
             'sh -c \"server & client\"'"
        ),
        Peer::Local(name) if DISPLAYS.iter().any(|display| name.contains(display)) => {
            bail!(
                "the command connects to the display server at {name}: the emulated machine has no display"
            )
        }
        Peer::Local(name) if OPTIONAL.iter().any(|optional| name.starts_with(optional)) => Ok(()),
        Peer::Local(name) => {
            bail!(
                "the command connects to the socket {name}: its server is not in the emulated machine; start it within the command"
            )
        }
    }
}

pub fn notes(gathered: &Gathered) -> Vec<String> {
    gathered
        .devices
        .iter()
        .map(|device| format!("it uses {}, which the guest may not have", device.display()))
        .collect()
}

/// For files of so many bytes.
pub fn memory_mib(bytes: u64) -> Result<u32> {
    let files = (2 * bytes) >> 20;
    let memory = LEAST_MEMORY + files;
    ensure!(
        memory <= MOST_MEMORY,
        "the command needs a guest of {memory} MiB (files {files}), and {MOST_MEMORY} MiB are the most"
    );
    Ok(u32::try_from(memory)?)
}

/// The files that a run on this system needed, for a guest.
pub fn command_files(gathered: &Gathered) -> CommandFiles {
    let launch = &gathered.launch;
    let (user, group) = launch
        .user
        .as_ref()
        .map_or((getuid().as_raw(), getgid().as_raw()), |user| {
            (user.uid, user.gid)
        });
    let files = gathered
        .entries
        .iter()
        .filter(|(path, _)| *path != Path::new("/"));
    CommandFiles {
        first_user: FIRST_USER,
        user,
        group,
        umask: umask(),
        directory: gathered.directory.clone(),
        program: gathered
            .directory
            .join(OsStr::from_bytes(launch.program.to_bytes())),
        arguments: launch.arguments.clone(),
        environment: launch.environment.clone(),
        files: files
            .filter_map(|(path, entry)| file(path, entry))
            .collect(),
    }
}

/// Not of paths that were asked for in vain, pipes and sockets.
fn file(path: &Path, entry: &Entry) -> Option<CommandFile> {
    let contents = match &entry.kind {
        Kind::Absent if !entry.changed => return None,
        Kind::Other => return None,
        Kind::Absent => Contents::Absent,
        Kind::Directory => Contents::Directory,
        Kind::Link(target) => Contents::Link(target.into()),
        Kind::File if entry.only_listed => Contents::Empty,
        Kind::File => Contents::File(entry.kept.clone().unwrap_or_else(|| PathBuf::from(path))),
    };
    let modified_s = if entry.only_passed {
        0
    } else {
        entry.modified_s.max(0)
    };
    Some(CommandFile {
        path: path.to_path_buf(),
        facts: FileFacts {
            mode: entry.mode,
            owner: entry.owner,
            modified_s: u32::try_from(modified_s).unwrap_or(u32::MAX),
        },
        contents,
        changed: entry.changed,
    })
}

fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    Sources::default()
        .status("Umask")
        .and_then(|mask| u32::from_str_radix(&mask, 8).ok())
        .unwrap_or(USUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whom_a_guest_lacks_is_named() {
        fn local(name: &str) -> Peer {
            Peer::Local(name.into())
        }

        let network = Peer::Network("192.0.2.1:443".parse().unwrap());
        let server = Peer::Loopback("127.0.0.1:5432".parse().unwrap());
        for (peer, words) in [
            (
                network,
                "192.0.2.1:443: the emulated machine has no network",
            ),
            (server, "127.0.0.1:5432"),
            (local("/tmp/.X11-unix/X0"), "no display"),
            (local("/run/docker.sock"), "/run/docker.sock"),
        ] {
            let error = peer_check(&peer).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        assert!(peer_check(&local("/dev/log")).is_ok());
    }

    #[test]
    fn memory_grows_with_files_up_to_a_limit() {
        assert_eq!(memory_mib(0).unwrap(), 256);
        assert_eq!(memory_mib(100 << 20).unwrap(), 256 + 200);
        let error = memory_mib(3 << 30).unwrap_err().to_string();
        assert!(error.contains("files 6144"), "{error}");
    }
}
