//! The target of a trace: a command to start, running processes, a control group or the whole system.
//!
//! PATH is searched here, once, instead of trying one execve after another, so that the command has exactly one.

use super::cgroup::Hierarchies;
use super::container;
use anyhow::{Error, Result, anyhow, bail};
use nix::errno::Errno;
use nix::unistd::{Group, Uid, User, geteuid, getgrouplist};
use std::collections::BTreeSet;
use std::env;
use std::ffi::{CString, OsStr, OsString};
use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{self, Stdio};
use std::time::Duration;
use sys::launch::{Identity, Launch, Step, ignored_signals};
use sys::output::output_within;
use sys::owner;
use sys::process::is_executable;
use sys::status::Status;
use sys::tree::check_numbers;

#[derive(Clone)]
pub enum Target {
    Command(Command),
    Running(Running),
}

#[derive(Clone, PartialEq)]
pub enum Running {
    /// These processes with all their threads and later children.
    Processes(Vec<u32>),
    /// A control group and those below it: its directory in the cgroup2 file system.
    Cgroup(PathBuf),
    System,
}

impl Running {
    /// # Errors
    /// One is not there, has ended, or is a thread.
    pub fn processes(pids: &[u32]) -> Result<Running> {
        let pids: BTreeSet<u32> = pids.iter().copied().collect();
        pids.iter().try_for_each(|pid| check_process(*pid))?;
        Ok(Running::Processes(pids.into_iter().collect()))
    }

    /// A path in the file system or below the mount.
    pub fn cgroup(asked: &Path) -> Result<Running> {
        Hierarchies::here().find(asked).map(Running::Cgroup)
    }

    /// An ID, a beginning of one, or a name that a container manager knows.
    pub fn container(asked: &str) -> Result<Running> {
        container::find(&Hierarchies::here(), asked, &ask).map(Running::Cgroup)
    }
}

impl Target {
    /// The words for a target that was running already, such as `process 12 (nginx)`; `None` for a command.
    pub fn scope(&self) -> Option<String> {
        let Target::Running(what) = self else {
            return None;
        };
        Some(match what {
            Running::Processes(pids) => {
                let pids: Vec<String> = pids.iter().map(|pid| named(*pid)).collect();
                format!("process {}", pids.join(", "))
            }
            Running::Cgroup(path) => {
                format!("cgroup {}", Hierarchies::here().name(path))
            }
            Running::System => "the whole system".to_string(),
        })
    }
}

/// `12 (nginx)`
fn named(pid: u32) -> String {
    match Status::of_task(pid).field("Name") {
        Some(name) => format!("{pid} ({name})"),
        None => pid.to_string(),
    }
}

fn check_process(pid: u32) -> Result<()> {
    let Some(status) = Status::read(format!("/proc/{pid}/status")) else {
        check_numbers().map_err(Error::msg)?;
        bail!("-p {pid}: no such process; 'ps -e' lists those that run");
    };
    match (status.number::<u32>("Tgid"), status.field("State")) {
        (Some(process), _) if process != pid => {
            bail!(
                "-p {pid}: a thread of process {process}: trace all its threads with -p {process}"
            )
        }
        (_, Some(state)) if state.starts_with('Z') => {
            bail!("-p {pid}: the process has ended (it is a zombie)")
        }
        _ => Ok(()),
    }
}

const PATIENCE: Duration = Duration::from_secs(10);

/// The output of a container manager, or the last line of its complaint.
fn ask(program: &str, arguments: &[&str]) -> Result<String, String> {
    let mut command = process::Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    let output = output_within(&mut command, PATIENCE);
    let output = output.map_err(|error| match error.kind() {
        ErrorKind::NotFound => "not installed".to_string(),
        ErrorKind::TimedOut => format!("no answer within {} s", PATIENCE.as_secs()),
        _ => error.to_string(),
    })?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).into());
    }
    Err(
        match String::from_utf8_lossy(&output.stderr).lines().last() {
            Some(line) => line.trim().to_string(),
            None => format!("it failed ({})", output.status),
        },
    )
}

pub fn words(launch: &Launch) -> Vec<OsString> {
    launch
        .arguments
        .iter()
        .map(|word| OsStr::from_bytes(word.to_bytes()).to_owned())
        .collect()
}

#[derive(Clone, Default, PartialEq)]
pub struct Command {
    pub words: Vec<OsString>,
    /// The user to run it as; `None` for the user who called `sudo`, if any.
    pub user: Option<String>,
    pub silent: bool,
    /// The working directory; `None` for this process's.
    pub directory: Option<PathBuf>,
}

#[derive(Debug, thiserror::Error)]
#[error("cannot {what}: {} ({errno:?}){advice}", .errno.desc())]
pub struct LaunchError {
    what: String,
    errno: Errno,
    advice: &'static str,
}

impl LaunchError {
    fn running(program: &OsStr, errno: Errno) -> LaunchError {
        LaunchError {
            what: format!("run '{}'", program.display()),
            errno,
            advice: "",
        }
    }

    pub fn at_start(launch: &Launch, error: std::io::Error) -> anyhow::Error {
        match error.raw_os_error() {
            Some(number) => {
                LaunchError::at_step(launch, Step::Execute, Errno::from_raw(number)).into()
            }
            None => error.into(),
        }
    }

    /// Before its execve, or of the execve.
    pub fn at_step(launch: &Launch, step: Step, errno: Errno) -> LaunchError {
        let (what, advice) = match step {
            Step::Execute => {
                let name = words(launch).into_iter().next().unwrap_or_default();
                return LaunchError::running(&name, errno);
            }
            Step::User => ("become the user to run the command as", ""),
            Step::Filter => ("install the seccomp filter", "; try without --counts"),
            Step::Directory => ("change to the command's working directory", ""),
            Step::Silence => (
                "open /dev/null for the command",
                "; mount a /dev that has it",
            ),
        };
        LaunchError {
            what: what.to_string(),
            errno,
            advice,
        }
    }

    /// 127 if the command does not exist, else 126.
    pub fn status(&self) -> u8 {
        if self.errno == Errno::ENOENT {
            127
        } else {
            126
        }
    }
}

impl Command {
    /// Finds the program and the user.
    ///
    /// # Errors
    /// [`LaunchError`] if there is no such program; a plain error if there is no such user.
    pub fn prepare(&self) -> Result<Launch> {
        let user = self.identity()?;
        let name = self.words.first().ok_or_else(|| anyhow!("no command"))?;
        let program = find(name, env::var_os("PATH").as_deref())
            .map_err(|errno| LaunchError::running(name, errno))?;
        Ok(Launch {
            program: text(program.as_os_str())?,
            arguments: self
                .words
                .iter()
                .map(|it| text(it))
                .collect::<Result<_>>()?,
            environment: environment(user.as_ref())?,
            user,
            ignored: ignored_signals(),
            silent: self.silent,
            bound: false,
            directory: match &self.directory {
                Some(path) => Some(text(path.as_os_str())?),
                None => None,
            },
            enters: false,
        })
    }

    fn identity(&self) -> Result<Option<Identity>> {
        fn group() -> Option<u32> {
            env::var("SUDO_GID").ok()?.parse().ok()
        }

        if let Some(name) = &self.user {
            return named_user(name);
        }
        let caller = owner::caller().map_err(|why| {
            anyhow!("{why}: name the user to run the command as with --user, or unset the variable")
        })?;
        Ok(caller.map(|uid| match database_entry(uid) {
            Some(user) => identity_from(&user),
            None => unnamed_user(uid, group()),
        }))
    }
}

fn database_entry(uid: u32) -> Option<User> {
    User::from_uid(Uid::from_raw(uid)).ok().flatten()
}

fn named_user(name: &str) -> Result<Option<Identity>> {
    let Some(user) = User::from_name(name)? else {
        bail!("--user {name}: no such user")
    };
    if user.uid == geteuid() {
        return Ok(None);
    }
    if !geteuid().is_root() {
        bail!("--user {name}: only root can run a command as another user (try sudo)");
    }
    Ok(Some(identity_from(&user)))
}

fn identity_from(user: &User) -> Identity {
    let name = CString::new(user.name.as_bytes()).unwrap_or_default();
    let groups = getgrouplist(&name, user.gid).unwrap_or_else(|_| vec![user.gid]);
    let groups = groups.into_iter().map(nix::unistd::Gid::as_raw).collect();
    Identity {
        name: user.name.clone(),
        uid: user.uid.as_raw(),
        gid: user.gid.as_raw(),
        groups,
    }
}

/// A user who is in no user database, as in a container.
fn unnamed_user(uid: u32, gid: Option<u32>) -> Identity {
    let gid = gid
        .or_else(|| Some(Group::from_name("nogroup").ok()??.gid.as_raw()))
        .unwrap_or(uid);
    Identity {
        name: uid.to_string(),
        uid,
        gid,
        groups: vec![gid],
    }
}

/// The environment, with another user's HOME, USER and LOGNAME.
fn environment(user: Option<&Identity>) -> Result<Vec<CString>> {
    let mut variables: Vec<(OsString, OsString)> = env::vars_os().collect();
    if let Some(user) = user {
        let home = database_entry(user.uid).map(|user| user.dir.into_os_string());
        let of_user = [
            ("HOME", home),
            ("USER", Some(user.name.clone().into())),
            ("LOGNAME", Some(user.name.clone().into())),
        ];
        for (name, value) in of_user {
            // sudo leaves root's values, and a command would write into root's home.
            variables.retain(|(key, _)| key != name);
            variables.extend(value.map(|value| (name.into(), value)));
        }
    }
    variables
        .iter()
        .map(|(name, value)| text(&[name.as_os_str(), value].join(OsStr::new("="))))
        .collect()
}

/// A word for the kernel; fails if it has a zero byte.
pub fn text(text: &OsStr) -> Result<CString> {
    CString::new(text.as_bytes()).map_err(|_| anyhow!("'{}' has a zero byte", text.display()))
}

/// The file that execvp(3) would execute.
fn find(name: &OsStr, path: Option<&OsStr>) -> Result<PathBuf, Errno> {
    if name.as_bytes().contains(&b'/') {
        return Ok(PathBuf::from(name));
    }
    if name.is_empty() {
        return Err(Errno::ENOENT);
    }
    let mut errno = Errno::ENOENT;
    for directory in env::split_paths(path.unwrap_or(OsStr::new("/bin:/usr/bin"))) {
        let directory = if directory.as_os_str().is_empty() {
            Path::new(".")
        } else {
            directory.as_path()
        };
        let file = directory.join(name);
        if is_executable(&file) {
            return Ok(file);
        }
        if file.is_file() {
            // As execvp: a file that may not be executed is reported only if no later directory has one that may.
            errno = Errno::EACCES;
        }
    }
    Err(errno)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn programs_are_found_as_execvp_finds_them() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("tool");
        std::fs::write(&file, "").unwrap();
        let path = env::join_paths([Path::new("/nowhere"), directory.path()]).unwrap();
        for (mode, expected) in [(0o644, Err(Errno::EACCES)), (0o755, Ok(file.clone()))] {
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
            assert_eq!(find(OsStr::new("tool"), Some(&path)), expected);
        }
        assert_eq!(
            find(OsStr::new("no-such-tool"), Some(&path)),
            Err(Errno::ENOENT)
        );
        assert_eq!(find(OsStr::new(""), Some(&path)), Err(Errno::ENOENT));
        assert_eq!(find(OsStr::new("a/b"), None), Ok(PathBuf::from("a/b")));
    }
}
