//! A temporary file that becomes the final one. It has no name while it is filled (O_TMPFILE, open(2)), so that nothing is left
//! if the program is killed; it needs one only to replace an existing file, between two system calls. Where the file system has
//! no O_TMPFILE, a named file is locked by its writer: the next write into that directory removes one without a lock, which a
//! killed program left.

use super::{lock, owner};
use nix::fcntl::{AT_FDCWD, AtFlags};
use nix::unistd::linkat;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile, TempPath};

/// Writes a file with `mode`, whatever the umask, and all at once: after an error, an earlier file stays. A device or a pipe is
/// written into.
pub fn put(path: &Path, mode: u32, contents: &[u8]) -> io::Result<()> {
    let earlier = fs::metadata(path).ok();
    if earlier.as_ref().is_some_and(|facts| !facts.is_file()) {
        return File::options().write(true).open(path)?.write_all(contents);
    }
    let folder = folder_of(path);
    sweep(folder);
    let temporary = Temporary::beside(folder, mode)?;
    temporary.file().write_all(contents)?;
    temporary
        .file()
        .set_permissions(Permissions::from_mode(mode))?;
    temporary.become_file(path, earlier.is_none())
}

/// `.` if the path has only one name.
pub fn folder_of(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."))
}

const PREFIX: &str = ".syscost-";
const SUFFIX: &str = ".tmp";

/// Removed when dropped, unless it was given its final name.
pub struct Temporary {
    file: File,
    name: Option<TempPath>,
    folder: PathBuf,
    _lock: Option<lock::Locked>,
}

impl Temporary {
    /// A file in `folder`, which must be on the file system of the final one; it has `mode`, less the umask.
    pub fn beside(folder: &Path, mode: u32) -> io::Result<Temporary> {
        if let Some(file) = nameless(folder, mode) {
            return Temporary::locked(file, None, folder);
        }
        loop {
            let (file, name) = named(folder, mode)?.into_parts();
            let temporary = Temporary::locked(file, Some(name), folder)?;
            // Another process may have swept it before it was locked: then try a new name.
            if temporary.file.metadata()?.nlink() > 0 {
                return Ok(temporary);
            }
        }
    }

    fn locked(file: File, name: Option<TempPath>, folder: &Path) -> io::Result<Temporary> {
        let _lock = lock::alone(file.try_clone()?);
        Ok(Temporary {
            file,
            name,
            folder: folder.to_path_buf(),
            _lock,
        })
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its final name and replaces any file there; `is_new` if there seems to be none, which saves a temporary name.
    pub fn become_file(mut self, path: &Path, is_new: bool) -> io::Result<()> {
        let name = match self.name.take() {
            Some(name) => name,
            None if is_new && self.link(path).is_ok() => return Ok(()),
            None => names()
                .make_in(&self.folder, |path| self.link(path))?
                .into_temp_path(),
        };
        name.persist(path).map_err(|error| error.error)
    }

    /// Gives the file its final name; fails if a file is there, or is made meanwhile. An error comes with the file itself, to try again.
    pub fn become_new(mut self, path: &Path) -> Result<(), (io::Error, Temporary)> {
        let Some(name) = self.name.take() else {
            return self.link(path).map_err(|error| (error, self));
        };
        name.persist_noclobber(path).map_err(|error| {
            self.name = Some(error.path);
            (error.error, self)
        })
    }

    fn link(&self, path: &Path) -> io::Result<()> {
        let this = format!("/proc/self/fd/{}", self.file.as_raw_fd());
        Ok(linkat(
            AT_FDCWD,
            this.as_str(),
            AT_FDCWD,
            path,
            AtFlags::AT_SYMLINK_FOLLOW,
        )?)
    }
}

/// If the file system supports it and /proc can give it a name later.
fn nameless(folder: &Path, mode: u32) -> Option<File> {
    let mut options = File::options();
    options
        .read(true)
        .write(true)
        .mode(mode)
        .custom_flags(libc::O_TMPFILE);
    let file = options.open(folder).ok()?;
    fs::exists(format!("/proc/self/fd/{}", file.as_raw_fd()))
        .is_ok_and(|there| there)
        .then_some(file)
}

fn named(folder: &Path, mode: u32) -> io::Result<NamedTempFile> {
    names()
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder)
}

fn names() -> Builder<'static, 'static> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    builder
}

/// Removes temporary files that killed programs left: those of this user without a lock.
pub fn sweep(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    let left = entries.flatten().filter(|entry| {
        entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX) && name.ends_with(SUFFIX))
    });
    for path in left.map(|entry| entry.path()) {
        if abandoned(&path).is_some() {
            let _ = fs::remove_file(&path);
        }
    }
}

fn abandoned(path: &Path) -> Option<lock::Locked> {
    let facts = fs::symlink_metadata(path).ok()?;
    if !facts.is_file() || facts.uid() != owner::effective_user() {
        return None;
    }
    let mut options = File::options();
    let file = options
        .read(true)
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .ok()?;
    lock::alone(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }

    fn with_name(folder: &Path) -> Temporary {
        let (file, name) = named(folder, 0o600).unwrap().into_parts();
        Temporary::locked(file, Some(name), folder).unwrap()
    }

    #[test]
    fn both_kinds_replace_a_file_or_vanish() {
        let makers: [fn(&Path) -> Temporary; 2] = [
            |folder| Temporary::beside(folder, 0o600).unwrap(),
            with_name,
        ];
        for make in makers {
            let folder = tempfile::tempdir().unwrap();
            let target = folder.path().join("target");
            for (text, is_new) in [("1", true), ("2", true), ("3", false)] {
                let temporary = make(folder.path());
                temporary.file().write_all(text.as_bytes()).unwrap();
                temporary.become_file(&target, is_new).unwrap();
                assert_eq!(fs::read_to_string(&target).unwrap(), text);
                drop(make(folder.path()));
                assert_eq!(names_in(folder.path()), ["target"]);
            }
        }
    }

    #[test]
    fn a_pipe_is_written_into_and_stays_one() {
        use std::io::Read;
        use std::os::unix::fs::FileTypeExt;
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        crate::process::make_fifo(&pipe).unwrap();
        let mut reader = File::options().read(true).write(true).open(&pipe).unwrap();
        put(&pipe, 0o755, b"12").unwrap();
        let mut read = [0; 2];
        reader.read_exact(&mut read).unwrap();
        assert_eq!(
            (&read, fs::metadata(&pipe).unwrap().file_type().is_fifo()),
            (b"12", true)
        );
        let file = folder.path().join("file");
        for text in [b"3", b"4"] {
            put(&file, 0o755, text).unwrap();
            assert_eq!(fs::read(&file).unwrap(), text);
        }
        assert_eq!(fs::metadata(&file).unwrap().mode() & 0o7777, 0o755);
        assert_eq!(names_in(folder.path()), ["file", "pipe"]);
    }

    #[test]
    fn only_files_without_a_writer_are_swept() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        for name in [".syscost-dead.tmp", ".syscost-foreign.tmp", "other.tmp"] {
            fs::write(folder.join(name), "").unwrap();
        }
        fs::create_dir(folder.join(".syscost-directory.tmp")).unwrap();
        let link = folder.join(".syscost-link.tmp");
        std::os::unix::fs::symlink(folder.join("other.tmp"), link).unwrap();
        let foreign = folder.join(".syscost-foreign.tmp");
        let foreign_is_swept = std::os::unix::fs::chown(foreign, Some(65533), None).is_err();
        let living = with_name(folder);
        sweep(folder);
        let mut left = vec![".syscost-directory.tmp", ".syscost-link.tmp", "other.tmp"];
        left.extend((!foreign_is_swept).then_some(".syscost-foreign.tmp"));
        let name = living.name.as_ref().unwrap().file_name().unwrap();
        left.push(name.to_str().unwrap());
        left.sort();
        assert_eq!(names_in(folder), left);
    }
}
