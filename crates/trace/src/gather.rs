//! The files that a command uses, by running it once under ptrace: all that it opens, executes, looks up and lists, as it was before
//! the command changed it.
//!
//! Rejected: the paths of a profile (`trace --paths`), which are the most used ones only, need eBPF, and come too late: a
//! compiler's output is there by then.

mod calls;
mod entries;

pub use entries::{Entries, Entry, Kind, check_size};

use super::run::{Bound, follow_command};
use super::target::Command;
use super::{Root, Tracer, Until};
use anyhow::{Result, bail};
pub use calls::Peer;
use calls::{Place, paths, peer};
use measure::runner::Interrupt;
use model::{Ending, Failure, Profile, syscall_names};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use sys::follow::{Event, Follower, Notice, Stops};
use sys::launch::Launch;
use sys::syscall_stop::Call;
use sys::tracee::{read_page, read_text};
use sys::wake::Waker;

pub struct Gathered {
    pub launch: Launch,
    pub directory: PathBuf,
    pub ending: Ending,
    pub calls: BTreeMap<String, u64>,
    pub entries: Entries,
    /// Other processes that it connected to: in a guest, nobody answers there.
    pub connected: BTreeSet<Peer>,
    pub devices: BTreeSet<PathBuf>,
}

/// Runs a command with nothing to read and its output dropped. Files that it changes are first copied to `keep`, up to `most` bytes.
/// Processes that it leaves running are ended.
///
/// # Errors
/// The command cannot be run or traced, a file could not be copied before it was changed, or an interrupt.
pub fn gather(
    words: &[std::ffi::OsString],
    keep: &Path,
    most: u64,
    interrupt: &Interrupt,
) -> Result<Gathered> {
    let command = Command {
        words: words.to_vec(),
        silent: true,
        ..Command::default()
    };
    let launch = Launch {
        bound: true,
        ..command.prepare()?
    };
    let directory = std::env::current_dir()?;
    let mut tracer = Gatherer::new(Entries::new(keep, most));
    tracer.entries.begins_in(&directory);
    tracer.use_program(&directory.join(OsStr::from_bytes(launch.program.to_bytes())));
    let bound = Bound {
        interrupt,
        run: None,
        alone: true,
    };
    let profile = follow_command(
        &mut tracer,
        &launch,
        Some(bound),
        None,
        &mut |_| {},
        &mut |tracer, until| tracer.follow(until),
    )?;
    tracer.entries.check()?;
    Ok(Gathered {
        launch,
        directory,
        ending: profile.ending.ok_or_else(Failure::interrupted)?,
        connected: tracer.others(),
        calls: tracer.calls,
        entries: tracer.entries,
        devices: tracer.devices,
    })
}

struct Gatherer {
    follower: Follower,
    root: i32,
    has_begun: bool,
    native_architecture: u32,
    ending: Option<Ending>,
    calls: BTreeMap<String, u64>,
    entries: Entries,
    connecting: HashMap<i32, Peer>,
    connected: BTreeSet<Peer>,
    bound: BTreeSet<Peer>,
    devices: BTreeSet<PathBuf>,
}

impl Gatherer {
    fn new(entries: Entries) -> Gatherer {
        Gatherer {
            follower: Follower::new(Stops::Calls, None).bound(),
            root: 0,
            has_begun: false,
            native_architecture: 0,
            ending: None,
            calls: BTreeMap::new(),
            entries,
            connecting: HashMap::new(),
            connected: BTreeSet::new(),
            bound: BTreeSet::new(),
            devices: BTreeSet::new(),
        }
    }

    /// Connections to other processes. The kernel may have chosen the port that a server of the command is bound to, so that any
    /// such server stands for all of the loopback.
    fn others(&self) -> BTreeSet<Peer> {
        let mut bound = self.bound.iter();
        let serves = bound.any(|bound| !matches!(bound, Peer::Local(_)));
        let connected = self.connected.iter();
        connected
            .filter(|peer| !self.bound.contains(peer))
            .filter(|peer| !serves || !matches!(peer, Peer::Loopback(_)))
            .cloned()
            .collect()
    }

    fn take(&mut self, notice: &Notice) {
        match &notice.what {
            Event::Entered(call) => self.enter(notice.tid, call),
            Event::Left { result, failed } => {
                // EINPROGRESS: the socket does not block, and the connection is made later.
                let made = !failed || *result == -i64::from(libc::EINPROGRESS);
                let connection = self.connecting.remove(&notice.tid);
                if made {
                    self.connected.extend(connection);
                }
            }
            Event::Ended(end) if notice.tid == self.root => self.ending = Some(end.ending),
            _ => {}
        }
    }

    fn enter(&mut self, tid: i32, call: &Call) {
        let name = call.name(&mut self.native_architecture);
        self.has_begun |= name.starts_with("execve");
        // Calls of our own child before its execve are not the command's.
        if !self.has_begun {
            return;
        }
        let arguments = &call.arguments;
        let peer = || peer(&memory(tid, arguments[1], arguments[2] as usize));
        match syscall_names::bare_name(&name) {
            "getdents" | "getdents64" => {
                if let Some(path) = directory(tid, Some(arguments[0] as i32)) {
                    self.entries.listed(&path);
                }
            }
            "connect" => self.connecting.extend(peer().map(|peer| (tid, peer))),
            "bind" => self.bound.extend(peer()),
            name => {
                for (use_, place) in paths(name, arguments) {
                    if let Some(path) = path(tid, call, place) {
                        self.note_path(&path, use_);
                    }
                }
            }
        }
        *self.calls.entry(name).or_insert(0) += 1;
    }

    fn note_path(&mut self, path: &Path, use_: calls::Use) {
        // These are made by the guest's own kernel; a device that it lacks is reported to the user.
        if self.entries.is_special(path) {
            if calls::is_rare_device(path) && path.exists() {
                self.devices.insert(path.to_path_buf());
            }
            return;
        }
        match use_ {
            calls::Use::Executes => self.use_program(path),
            calls::Use::Asks => self.entries.used(path),
            calls::Use::Changes => self.entries.changed(path),
        }
    }

    /// Notes a program and its interpreters, which the kernel opens without a call.
    fn use_program(&mut self, path: &Path) {
        const MOST_NESTED: usize = 5;
        let mut path = path.to_path_buf();
        for _ in 0..MOST_NESTED {
            self.entries.used(&path);
            match calls::interpreter(&path) {
                Some(interpreter) => path = interpreter,
                None => return,
            }
        }
    }
}

impl Tracer for Gatherer {
    fn introduction(&self) -> String {
        "ptrace".to_string()
    }

    fn attach(&mut self, root: Root) -> Result<()> {
        let Root::Held(pid) = root else {
            bail!("there is no command")
        };
        self.root = i32::try_from(pid)?;
        if let Err(errno) = self.follower.attach(self.root) {
            bail!("ptrace was refused ({errno}): the command's files cannot be gathered without it")
        }
        Ok(())
    }

    fn follow(&mut self, until: &Until) -> Result<()> {
        let _waker = Waker::start(until.stop.clone(), until.after)?;
        while let Some(notice) = until.next_notice(&mut self.follower)? {
            self.take(&notice);
            if self.ending.is_some() {
                break;
            }
        }
        // Processes that the command left running go on without the tracer.
        self.follower.leave();
        Ok(())
    }

    fn collect(&mut self) -> Result<Profile> {
        Ok(Profile {
            ending: self.ending,
            ..Profile::default()
        })
    }
}

fn path(tid: i32, call: &Call, (at, argument): Place) -> Option<PathBuf> {
    let bytes = read_text(tid, call.arguments[usize::from(argument)])?;
    let path = PathBuf::from(OsStr::from_bytes(&bytes));
    if path.as_os_str().is_empty() || path.is_absolute() {
        // An empty path stands for the descriptor itself, whose file was noted when it was opened.
        return Some(path).filter(|path| path.is_absolute());
    }
    let descriptor = at.map(|at| call.arguments[usize::from(at)] as i32);
    let descriptor = descriptor.filter(|fd| *fd != libc::AT_FDCWD);
    Some(directory(tid, descriptor)?.join(path))
}

fn directory(tid: i32, descriptor: Option<i32>) -> Option<PathBuf> {
    let link = match descriptor {
        Some(fd) => format!("/proc/{tid}/fd/{fd}"),
        None => format!("/proc/{tid}/cwd"),
    };
    let path = std::fs::read_link(link).ok();
    path.filter(|path| path.is_absolute())
}

fn memory(tid: i32, address: u64, length: usize) -> Vec<u8> {
    const MOST: usize = 4096;
    let mut bytes = vec![0; length.min(MOST)];
    let read = read_page(tid, address, &mut bytes).unwrap_or(0);
    bytes.truncate(read);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gathered(words: &[&str], keep: &Path) -> Option<Gathered> {
        let words: Vec<_> = words.iter().map(std::ffi::OsString::from).collect();
        match gather(&words, keep, 1 << 20, &Interrupt::default()) {
            Err(error) if format!("{error}").contains("ptrace was refused") => {
                println!("SKIPPED: {error}");
                None
            }
            gathered => Some(gathered.unwrap()),
        }
    }

    #[test]
    fn files_are_known_as_they_were_before_the_command() {
        let directory = tempfile::tempdir().unwrap();
        let here = directory.path().canonicalize().unwrap();
        let (keep, file, made) = (here.join("keep"), here.join("file"), here.join("made"));
        std::fs::create_dir(&keep).unwrap();
        std::fs::write(&file, "before").unwrap();
        std::os::unix::fs::symlink("file", here.join("link")).unwrap();
        let script = format!(
            "cat <{0}/link; echo after >{0}/file; echo x >{0}/made; exit 3",
            here.display()
        );
        let Some(gathered) = gathered(&["sh", "-c", &script], &keep) else {
            return;
        };
        assert_eq!(gathered.ending, Ending::Exited(3));
        let link = here.join("link");
        let [file, made, link, here] =
            [&file, &made, &link, &here].map(|path| gathered.entries.get(path).unwrap());
        let kept = file.kept.as_ref().unwrap();
        assert!(file.changed && std::fs::read(kept).unwrap() == b"before");
        assert!(made.changed && made.kind == Kind::Absent);
        assert_eq!(link.kind, Kind::Link("file".into()));
        assert_eq!(here.kind, Kind::Directory);
        // The shell, and a file that only the kernel opens: its dynamic loader.
        for part in ["/bin/", "/ld-"] {
            let mut paths = gathered.entries.iter();
            assert!(paths.any(|(path, _)| path.to_string_lossy().contains(part)));
        }
        assert!(gathered.calls["execve"] >= 2 && gathered.connected.is_empty());
    }

    #[test]
    fn neither_a_pipe_nor_a_process_that_is_left_makes_it_wait() {
        let directory = tempfile::tempdir().unwrap();
        let pipe = directory.path().join("pipe");
        sys::process::make_fifo(&pipe).unwrap();
        let code = format!(
            "{0}; exec 3<>{0}; echo x >{0}; setsid sleep 3600 & sleep 3600 & exit 4",
            pipe.display()
        );
        let Some(gathered) = gathered(&["sh", "-c", &code], directory.path()) else {
            return;
        };
        assert_eq!(gathered.ending, Ending::Exited(4));
    }
}
