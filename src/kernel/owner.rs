//! Checks who owns a file and who else may change it: what we execute must be the user's own.
//!
//! Called before reading text that becomes a program, and by the cache of built programs.

use nix::unistd::{Uid, User, geteuid};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The permission of the group and of all others to write.
const OTHERS_WRITE: u32 = 0o022;
/// In a directory with this bit, only a file's owner renames or removes it.
const STICKY: u32 = 0o1000;

/// Set by sudo, pkexec and doas: the environment is then that of the user who called them.
const ELEVATED_BY: [&str; 3] = ["SUDO_UID", "PKEXEC_UID", "DOAS_USER"];

/// The user that this process acts as.
pub fn effective_user() -> u32 {
    geteuid().as_raw()
}

/// Whether this is root on behalf of another user.
pub fn is_elevated() -> bool {
    geteuid().is_root() && ELEVATED_BY.iter().any(|name| std::env::var_os(name).is_some())
}

/// The user's home as the user database has it, whatever the environment says.
pub fn home() -> Option<PathBuf> {
    User::from_uid(Uid::effective()).ok().flatten().map(|user| user.dir).filter(|home| home.is_absolute())
}

/// Why another user may have written the content of an open file; `None` if only this user or root can have.
pub fn doubt(file: &Metadata) -> Option<String> {
    // What is written to a terminal or /dev/null cannot be read back.
    let writable = !is_device(file) && file.mode() & OTHERS_WRITE != 0;
    foreign(file).or_else(|| writable.then(|| format!("others may write it (mode {:04o})", file.mode() & 0o7777)))
}

/// Why another user may replace a directory; `None` if nobody can. `path` must be absolute and without links.
pub fn doubt_place(path: &Path) -> Option<String> {
    path.ancestors().find_map(|directory| {
        let facts = match fs::symlink_metadata(directory) {
            Ok(facts) => facts,
            Err(error) => return Some(format!("{}: {error}", directory.display())),
        };
        let open = facts.mode() & OTHERS_WRITE != 0 && facts.mode() & STICKY == 0;
        let why = foreign(&facts).or_else(|| open.then(|| "others may write in it".to_string()));
        why.map(|why| format!("{}: {why}", directory.display()))
    })
}

/// Says so if the file belongs to another user than root, who can do anything anyway.
fn foreign(file: &Metadata) -> Option<String> {
    let own = file.uid() == effective_user() || file.uid() == 0;
    (!own).then(|| {
        let name = User::from_uid(Uid::from_raw(file.uid())).ok().flatten().map(|user| user.name);
        format!("it belongs to {}", name.unwrap_or_else(|| format!("user {}", file.uid())))
    })
}

fn is_device(file: &Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt;
    file.file_type().is_char_device()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, chown};

    fn set(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_file_is_ours_while_nobody_else_may_write_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("f");
        fs::write(&path, "").unwrap();
        let said = |mode| {
            set(&path, mode);
            doubt(&fs::metadata(&path).unwrap())
        };
        assert_eq!((said(0o600), said(0o644), said(0o755)), (None, None, None));
        assert_eq!(said(0o664).unwrap(), "others may write it (mode 0664)");
        assert_eq!(said(0o602).unwrap(), "others may write it (mode 0602)");
        assert_eq!(doubt(&fs::metadata("/dev/null").unwrap()), None);
        if geteuid().is_root() {
            set(&path, 0o644);
            chown(&path, Some(65533), None).unwrap();
            assert!(doubt(&fs::metadata(&path).unwrap()).unwrap().starts_with("it belongs to "));
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
        assert_eq!(doubt_place(&below), None);
        set(&top.join("a"), 0o777);
        assert!(doubt_place(&below).unwrap().ends_with("/a: others may write in it"));
        set(&top.join("a"), 0o1777);
        assert_eq!(doubt_place(&below), None, "nobody else renames what is ours there");
        assert!(doubt_place(&top.join("missing")).is_some());
    }
}
