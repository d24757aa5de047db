//! Directories that belong to this user alone, below directories that nobody else can write:
//! whoever can rename a parent directory can replace everything in it (as StrictModes of ssh).

use anyhow::{Context, Result, bail};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use sys::owner::{self, Trust};
use sys::private;

#[derive(Clone, Copy)]
pub struct Kind {
    variable: &'static str,
    in_home: &'static str,
}

pub const CACHE: Kind = Kind {
    variable: "XDG_CACHE_HOME",
    in_home: ".cache",
};
pub const STATE: Kind = Kind {
    variable: "XDG_STATE_HOME",
    in_home: ".local/state",
};

/// Created if need be. None if no candidate is safe and writable.
pub fn find(kind: Kind) -> Option<PathBuf> {
    candidates(kind).iter().find_map(|base| below(base).ok())
}

/// Under sudo, root often has the calling user's environment, so only the home from the user database is used.
fn candidates(kind: Kind) -> Vec<PathBuf> {
    fn variable(name: &str) -> Option<PathBuf> {
        std::env::var_os(name)
            .map(PathBuf::from)
            .filter(|path| path.is_absolute())
    }

    let database = owner::home().and_then(|home| kind.below_home(&home));
    if owner::is_elevated() {
        return database.into_iter().collect();
    }
    let environment = variable("HOME").and_then(|home| kind.below_home(&home));
    [variable(kind.variable), environment, database]
        .into_iter()
        .flatten()
        .collect()
}

impl Kind {
    /// `None` without a home: a system account's is not created.
    fn below_home(self, home: &Path) -> Option<PathBuf> {
        home.is_dir().then(|| home.join(self.in_home))
    }
}

fn below(base: &Path) -> Result<PathBuf> {
    let root = safe(base)?.join("syscost");
    private::make(&root)?;
    // Permissions do not tell: the file system may be full or mounted read-only.
    tempfile::tempfile_in(&root).with_context(|| format!("cannot write in {}", root.display()))?;
    Ok(root)
}

/// The directory's path without links, if nobody else can replace it. Otherwise nothing is created, in particular not by
/// root in a user's home.
fn safe(directory: &Path) -> Result<PathBuf> {
    let real = match directory.canonicalize() {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let (parent, name) = directory
                .parent()
                .zip(directory.file_name())
                .context("no name")?;
            let made = safe(parent)?.join(name);
            private::make(&made)?;
            made
        }
        real => real?,
    };
    match owner::doubt_place(&real, Trust::Root) {
        Some(doubt) => bail!(doubt),
        None => Ok(real),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn open(path: &Path) {
        fs::set_permissions(path, Permissions::from_mode(0o777)).unwrap();
    }

    #[test]
    fn directories_that_others_can_write_are_not_used() {
        let top = tempfile::tempdir().unwrap();
        let (opened, linked) = (top.path().join("opened"), top.path().join("linked"));
        fs::create_dir(&opened).unwrap();
        open(&opened);
        assert!(below(&opened.join("home/.cache")).is_err());
        assert_eq!(fs::read_dir(&opened).unwrap().count(), 0);
        symlink(&opened, &linked).unwrap();
        assert!(
            below(&linked).is_err(),
            "a link does not hide where it leads"
        );
        let base = top.path().join("base");
        fs::create_dir_all(base.join("syscost")).unwrap();
        open(&base.join("syscost"));
        assert!(below(&base).is_err(), "others may have filled it");
        fs::remove_dir(base.join("syscost")).unwrap();
        symlink(top.path(), base.join("syscost")).unwrap();
        assert!(below(&base).is_err(), "a link in its place");
    }
}
