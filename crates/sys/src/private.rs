//! Directories for this user alone, and the programs that help to build something in them. Everything that is built, unpacked
//! or executed lies in such a directory, and this is the only place that makes one (`tests/files/private_directories.rs`).
//! Below the temporary directory only the janitor makes them, and removes them however the run ends.

use super::lock::{self, Locked};
use super::{open, owner};
use anyhow::{Context, Result, ensure};
use std::ffi::OsStr;
use std::fs::{self, DirBuilder, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// Environment variable of all processes of a run: its number, by which the janitor finds them and which names the kernel
/// objects that they create (probe/objects.h).
pub const RUN_VARIABLE: &str = "SYSCOST_RUN";
/// The beginning of the name of a run's directory; its number follows (probe/extra/janitor.c).
pub const RUN_PREFIX: &str = "syscost-run-";

/// Takes an existing one, but refuses a directory in which others may have put something.
pub fn make(directory: &Path) -> Result<()> {
    let facts =
        create(directory).with_context(|| format!("cannot make {}", directory.display()))?;
    ensure!(
        facts.is_dir() && facts.uid() == owner::effective_user() && facts.mode() & 0o022 == 0,
        "{}: not a directory that only this user may write",
        directory.display()
    );
    fs::set_permissions(directory, Permissions::from_mode(0o700))
        .with_context(|| format!("cannot make {}", directory.display()))
}

/// The facts are those of a link itself: a link that another user put there is not followed.
fn create(directory: &Path) -> io::Result<Metadata> {
    match DirBuilder::new().mode(0o700).create(directory) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => fs::symlink_metadata(directory),
    }
}

/// A new directory for this user alone. It is removed when dropped, and left if this process is killed: `parent`, which nobody else can
/// write, is removed itself, or swept.
pub fn temporary(parent: &Path, prefix: &str) -> Result<TempDir> {
    let private = Permissions::from_mode(0o700);
    let made = tempfile::Builder::new()
        .prefix(prefix)
        .permissions(private)
        .tempdir_in(parent);
    let made = made.with_context(|| format!("cannot write in {}", parent.display()))?;
    make(made.path())?;
    Ok(made)
}

/// A new directory to fill, and the lock that marks it as in use. Until that is held, a shared lock of the whole `root` keeps
/// sweepers out.
pub fn begin(root: &Path, prefix: &str) -> Result<(TempDir, Option<Locked>)> {
    let _gate = open::directory(root).ok().and_then(lock::shared);
    let fresh = temporary(root, prefix)?;
    let lock = open::directory(fresh.path()).ok().and_then(lock::alone);
    Ok((fresh, lock))
}

/// Removes the directories that killed processes left: those of that prefix without a lock. Does nothing while another process begins
/// one or sweeps.
pub fn sweep(root: &Path, prefix: &str) {
    let Some(_gate) = open::directory(root).ok().and_then(lock::alone) else {
        return;
    };
    let Ok(entries) = fs::read_dir(root) else {
        return;
    };
    let unfinished = entries
        .flatten()
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(prefix));
    for path in unfinished.map(|entry| entry.path()) {
        if let Some(_lock) = open::directory(&path).ok().and_then(lock::alone) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

/// A command for a program that only prints something. It does not run in the user's directory, in which rustup, go and Python look
/// for code to execute.
pub fn asking(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    // A pipe, because a bare root has no /dev/null.
    command.current_dir("/").stdin(Stdio::piped());
    // Compilers keep caches and settings there, and run the programs that these name: root must not run those of the caller.
    if let Some(home) = owner::home()
        && owner::is_elevated()
    {
        command.env("HOME", home);
        command
            .env_remove("XDG_CACHE_HOME")
            .env_remove("XDG_CONFIG_HOME")
            .env_remove("XDG_DATA_HOME");
    }
    command
}

/// A command for a compiler or the like in a run's directory: its temporary files lie there, and the janitor ends it with the run.
pub fn helper(program: impl AsRef<OsStr>, run: &Path) -> Command {
    let mut command = asking(program);
    command.current_dir(run).env("TMPDIR", run);
    let name = run.file_name().unwrap_or_default().to_string_lossy();
    if let Some(number) = name.strip_prefix(RUN_PREFIX) {
        command.env(RUN_VARIABLE, number);
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_existing_directory_must_be_the_users_own() {
        fn mode(path: &Path) -> u32 {
            fs::symlink_metadata(path).unwrap().mode() & 0o7777
        }

        let top = tempfile::tempdir().unwrap();
        let open = top.path().join("open");
        make(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
        make(&open).unwrap();
        assert_eq!(mode(&open), 0o700);
        fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
        assert!(make(&open).is_err(), "others may have filled it");
        std::os::unix::fs::symlink(top.path(), top.path().join("link")).unwrap();
        assert!(make(&top.path().join("link")).is_err());
        assert_eq!(mode(temporary(top.path(), ".x-").unwrap().path()), 0o700);
    }
}
