//! Checks who owns a file and who else may change it: only the user's own files are executed. And on whose behalf root runs.

use super::process::is_unknown_user;
use nix::unistd::{Uid, User, geteuid};
use std::ffi::OsString;
use std::fs::{self, Metadata};
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

const OTHERS_WRITE: u32 = 0o022;
/// In a directory with this bit, only a file's owner renames or removes it.
const STICKY: u32 = 0o1000;

/// Set by sudo, pkexec and doas, to the number or the name of the user who called them. The environment is that user's.
const ELEVATED_BY: [&str; 4] = ["SUDO_UID", "PKEXEC_UID", "DOAS_UID", "DOAS_USER"];

/// The user ID that decides what this process may do.
pub fn effective_user() -> u32 {
    geteuid().as_raw()
}

/// Root on behalf of a user, by sudo or the like.
pub fn is_elevated() -> bool {
    geteuid().is_root() && callers().next().is_some()
}

fn callers() -> impl Iterator<Item = (&'static str, OsString)> {
    ELEVATED_BY
        .into_iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)))
}

/// The user on whose behalf root runs this, if that is another one.
///
/// # Errors
/// A variable that names no user.
pub fn caller() -> Result<Option<u32>, String> {
    if !geteuid().is_root() {
        return Ok(None);
    }
    for (name, value) in callers() {
        let user = value
            .to_str()
            .and_then(number_of)
            .ok_or_else(|| format!("{name}={}: no such user", value.display()))?;
        if user != 0 {
            return Ok(Some(user));
        }
    }
    Ok(None)
}

/// A user's number, also by name: doas sets that.
fn number_of(user: &str) -> Option<u32> {
    user.parse()
        .ok()
        .or_else(|| Some(User::from_name(user).ok()??.uid.as_raw()))
}

/// The home directory in the user database, whatever the environment says: sudo may keep the caller's $HOME.
pub fn home() -> Option<PathBuf> {
    User::from_uid(Uid::effective())
        .ok()
        .flatten()
        .map(|user| user.dir)
        .filter(|home| home.is_absolute())
}

/// Why another user may have written an open file.
pub fn doubt(file: &Metadata) -> Option<String> {
    // Data written to a terminal or /dev/null cannot be read back.
    let writable = !file.file_type().is_char_device() && file.mode() & OTHERS_WRITE != 0;
    foreign(file).or_else(|| {
        if writable {
            Some(format!(
                "others may write it (mode {:04o})",
                file.mode() & 0o7777
            ))
        } else {
            None
        }
    })
}

/// Who else may rename directories on the way to files that we execute.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Trust {
    /// Only root: for files that later runs execute.
    Root,
    /// Also a group that the owner lets write, and users that a user namespace does not know, of whom root outside is one: for files
    /// that are removed with the run.
    Group,
}

/// Why somebody else may replace files in a directory. `path` must be absolute and without links.
pub fn doubt_place(path: &Path, trust: Trust) -> Option<String> {
    path.ancestors()
        .find_map(|directory| match fs::symlink_metadata(directory) {
            Ok(facts) => exchange(&facts, trust)
                .map(|who| format!("{who} could replace files in {}", directory.display())),
            Err(error) => Some(format!("cannot look at {}: {error}", directory.display())),
        })
}

/// Who else may rename the entries of a directory. Its owner can, whether it is sticky or not.
fn exchange(about: &Metadata, trust: Trust) -> Option<String> {
    let (owner, mode) = (about.uid(), about.mode() & 0o7777);
    let writers = if trust == Trust::Root {
        OTHERS_WRITE
    } else {
        OTHERS_WRITE & 0o007
    };
    if mode & writers != 0 && mode & STICKY == 0 {
        let who = if mode & writers & 0o007 != 0 {
            "anybody"
        } else {
            "its group"
        };
        return Some(format!("{who} (mode {mode:o}, not sticky)"));
    }
    let trusted =
        owner == 0 || owner == effective_user() || trust == Trust::Group && is_unknown_user(owner);
    if trusted {
        return None;
    }
    Some(format!("its owner, user {owner},"))
}

fn foreign(file: &Metadata) -> Option<String> {
    if file.uid() == effective_user() || file.uid() == 0 {
        return None;
    }
    let name = User::from_uid(Uid::from_raw(file.uid()))
        .ok()
        .flatten()
        .map(|user| user.name);
    Some(format!(
        "it belongs to {}",
        name.unwrap_or_else(|| format!("user {}", file.uid()))
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown};

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    fn assert_both(place: &Path, start: &str) {
        for trust in [Trust::Root, Trust::Group] {
            let doubt = doubt_place(place, trust).unwrap_or_default();
            assert!(
                doubt.starts_with(start) && doubt.is_empty() == start.is_empty(),
                "{trust:?}: {doubt}"
            );
        }
    }

    #[test]
    fn a_file_is_ours_while_nobody_else_may_write_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, "").unwrap();
        let doubts = [0o600, 0o644, 0o755, 0o664, 0o602].map(|mode| {
            set(&path, mode);
            doubt(&fs::metadata(&path).unwrap())
        });
        let writable = |mode| Some(format!("others may write it (mode {mode})"));
        assert_eq!(
            doubts,
            [None, None, None, writable("0664"), writable("0602")]
        );
        assert_eq!(doubt(&fs::metadata("/dev/null").unwrap()), None);
        if geteuid().is_root() {
            set(&path, 0o644);
            chown(&path, Some(65533), None).unwrap();
            assert!(
                doubt(&fs::metadata(&path).unwrap())
                    .unwrap()
                    .starts_with("it belongs to ")
            );
        }
    }

    #[test]
    fn a_place_is_ours_while_nobody_else_may_write_above_it() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let below = top.join("a/b");
        fs::create_dir_all(&below).unwrap();
        set(&top.join("a"), 0o755);
        set(&below, 0o755);
        assert_both(&below, "");
        set(&top.join("a"), 0o777);
        assert_both(
            &below,
            "anybody (mode 777, not sticky) could replace files in ",
        );
        set(&top.join("a"), 0o1777);
        assert_both(&below, "");
        set(&top.join("a"), 0o775);
        assert!(
            doubt_place(&below, Trust::Root)
                .unwrap()
                .starts_with("its group (mode 775, not sticky) ")
        );
        assert_eq!(doubt_place(&below, Trust::Group), None);
        if geteuid().is_root() {
            set(&top.join("a"), 0o1777);
            chown(top.join("a"), Some(65533), None).unwrap();
            assert_both(&below, "its owner, user 65533, could replace files in ");
        }
        assert!(doubt_place(&top.join("missing"), Trust::Root).is_some());
    }
}
