//! The objects of calls that are open, by their arguments: the descriptors that poll, select and epoll wait for, and the path of an open.

use crate::waited;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use sys::proc_stat;

/// The most descriptors that are looked at.
const MOST: usize = 64;
/// `struct pollfd`: the descriptor, and the events.
const POLLED_BYTES: u64 = 8;
/// `fd_set`, of FD_SETSIZE bits.
const FD_SET_BYTES: usize = 128;
/// PATH_MAX.
const PATH_BYTES: usize = 4096;

/// The arguments of the call that a thread is in; `None` if it is in none, or not ours to read.
pub fn arguments(tid: u32) -> Option<[u64; 6]> {
    // `232 0x4 0x7ffd2 0x200 0xffffffff 0x0 0x0 0x7ffd1 0x7f3b`
    let text = proc_stat::read(format!("/proc/{tid}/syscall")).ok()?;
    let words = text.split_whitespace().skip(1).take(6);
    let words = words.filter_map(|word| u64::from_str_radix(word.strip_prefix("0x")?, 16).ok());
    words.collect::<Vec<_>>().try_into().ok()
}

/// The descriptors that a call waits for, the first by name: `127.0.0.1:5432 and 3 more`.
pub fn descriptors(call: &str, tid: u32) -> Option<String> {
    let arguments = arguments(tid)?;
    let watched = match call {
        "poll" | "ppoll" => polled(tid, arguments[0], arguments[1])?,
        "select" | "pselect6" => selected(tid, &arguments)?,
        _ if call.starts_with("epoll_") => {
            let descriptors =
                in_epoll_set(tid, arguments[0]).map(|(_, descriptor)| descriptor as i32);
            descriptors.take(MOST).collect()
        }
        _ => return None,
    };
    let mut names: Vec<String> = watched
        .into_iter()
        .filter_map(|descriptor| waited::object(tid.cast_signed(), descriptor))
        .filter(|name| !name.starts_with("anon_inode:"))
        .collect();
    // A peer says more than a listener, a pipe or a file.
    names.sort_by_key(|name| name.starts_with("own ") || !name.contains(':') || name.contains('['));
    let first = names.first()?;
    Some(match names.len() {
        1 => first.clone(),
        many => format!("{first} and {} more", many - 1),
    })
}

fn polled(tid: u32, at: u64, count: u64) -> Option<Vec<i32>> {
    let memory = memory(tid)?;
    let count = usize::try_from(count).ok()?.min(MOST);
    let mut bytes = vec![0; count * POLLED_BYTES as usize];
    memory.read_exact_at(&mut bytes, at).ok()?;
    let each = bytes.as_chunks::<8>().0.iter();
    Some(
        each.map(|[a, b, c, d, ..]| i32::from_ne_bytes([*a, *b, *c, *d]))
            .collect(),
    )
}

/// The sets for reading and for writing.
fn selected(tid: u32, arguments: &[u64; 6]) -> Option<Vec<i32>> {
    let memory = memory(tid)?;
    let [count, sets @ ..] = arguments;
    let mut watched = Vec::new();
    for set in sets.iter().take(2).filter(|set| **set > 0) {
        let mut bytes = [0; FD_SET_BYTES];
        let read = memory.read_at(&mut bytes, *set).ok()?;
        let bits = (0..*count as i32).take(read * 8);
        watched.extend(bits.filter(|bit| bytes[*bit as usize / 8] >> (bit % 8) & 1 > 0));
    }
    watched.truncate(MOST);
    Some(watched)
}

/// The data and the descriptors of an epoll set: one line of fdinfo for each.
pub fn in_epoll_set(tid: u32, set: u64) -> impl Iterator<Item = (u64, u64)> {
    let text = proc_stat::read(format!("/proc/{tid}/fdinfo/{set}")).unwrap_or_default();
    let watched: Vec<_> = text.lines().filter_map(watched_line).collect();
    watched.into_iter()
}

/// `tfd:        5 events:       19 data:         500000005  pos:0 ino:1 sdev:8`
fn watched_line(line: &str) -> Option<(u64, u64)> {
    let mut words = line.strip_prefix("tfd:")?.split_whitespace();
    let descriptor = words.next()?.parse().ok()?;
    let data = words.skip_while(|word| *word != "data:").nth(1)?;
    Some((u64::from_str_radix(data, 16).ok()?, descriptor))
}

/// The path that an open has as its argument, joined to its directory.
pub fn opened(call: &str, tid: u32) -> Option<String> {
    let arguments = arguments(tid)?;
    let (directory, at) = match call {
        "open" => ("cwd".to_string(), arguments[0]),
        _ => match arguments[0] as i32 {
            libc::AT_FDCWD => ("cwd".to_string(), arguments[1]),
            descriptor => (format!("fd/{descriptor}"), arguments[1]),
        },
    };
    let mut bytes = vec![0; PATH_BYTES];
    let read = memory(tid)?.read_at(&mut bytes, at).ok()?;
    let path = bytes[..read].split(|byte| *byte == 0).next()?;
    let directory = fs::read_link(format!("/proc/{tid}/{directory}")).ok()?;
    let path = directory.join(String::from_utf8_lossy(path).as_ref());
    Some(path.display().to_string())
}

fn memory(tid: u32) -> Option<File> {
    File::open(format!("/proc/{tid}/mem")).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;
    use std::time::Duration;

    /// What `look` returns of a thread of ours that sleeps in a call.
    fn of_thread(
        call: impl FnOnce() + Send + 'static,
        look: impl Fn(u32) -> Option<String>,
    ) -> Option<String> {
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            sender.send(nix::unistd::gettid()).unwrap();
            call();
        });
        let tid = receiver.recv().unwrap().as_raw().cast_unsigned();
        (0..1000).find_map(|_| {
            std::thread::sleep(Duration::from_millis(1));
            look(tid)
        })
    }

    #[test]
    fn a_line_of_an_epoll_set_has_data_and_descriptor() {
        let line = "tfd:        5 events:       19 data:         7f0000000005  pos:0 ino:1 sdev:8";
        assert_eq!(watched_line(line), Some((0x7f00_0000_0005, 5)));
        assert_eq!(watched_line("pos:\t0"), None);
    }

    #[test]
    fn a_poll_has_the_peer_of_its_socket() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let stream = TcpStream::connect(address).unwrap();
        let waits = move || {
            let mut both = [listener.as_fd(), stream.as_fd()]
                .map(|descriptor| PollFd::new(descriptor, PollFlags::POLLPRI));
            poll(&mut both, PollTimeout::NONE).unwrap();
        };
        let found = of_thread(waits, |tid| {
            descriptors("ppoll", tid).or_else(|| descriptors("poll", tid))
        });
        assert_eq!(found, Some(format!("{address} and 1 more")));
    }

    #[test]
    fn an_open_of_a_fifo_has_its_path() {
        let directory = std::env::temp_dir().canonicalize().unwrap();
        let path = directory.join(format!("syscost-fifo-{}", std::process::id()));
        nix::unistd::mkfifo(&path, nix::sys::stat::Mode::S_IRWXU).unwrap();
        let opens = path.clone();
        let found = of_thread(
            move || drop(File::open(opens)),
            |tid| opened("openat", tid).filter(|path| path.contains("syscost-fifo-")),
        );
        assert_eq!(found, Some(path.display().to_string()));
        // Lets the thread end.
        File::options().write(true).open(&path).unwrap();
        std::fs::remove_file(path).unwrap();
    }
}
