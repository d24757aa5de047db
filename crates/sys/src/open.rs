//! Opens files in whose place something else may stand: a pipe there would block this program for ever, since open(2) waits for
//! its other end. State, caches, kernel images and files that other programs leave in shared directories are opened by this module
//! alone. Result files named on the command line are not: a pipe is meant there.

use super::owner;
use nix::errno::Errno;
use nix::unistd::{Whence, lseek};
use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

/// Through links, for reading.
pub fn regular(path: &Path) -> io::Result<File> {
    checked(OpenOptions::new().read(true), 0, path)
}

/// Whatever its size.
pub fn contents(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    regular(path)?.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A regular file of this user or of root that is not a link, for reading.
pub fn trusted(path: &Path) -> io::Result<File> {
    ours(checked(
        OpenOptions::new().read(true),
        libc::O_NOFOLLOW,
        path,
    )?)
}

/// The offset at which the next data of a file with holes begins, from `at` on; `None` after its last.
pub fn data_from(file: &File, at: u64) -> io::Result<Option<u64>> {
    match lseek(file, at.cast_signed(), Whence::SeekData) {
        Err(Errno::ENXIO) => Ok(None),
        start => Ok(Some(start?.cast_unsigned())),
    }
}

/// Opens such a file to append to it; makes it for this user alone if there is none.
pub fn to_append(path: &Path) -> io::Result<File> {
    ours(checked(
        OpenOptions::new().create(true).append(true).mode(0o600),
        libc::O_NOFOLLOW,
        path,
    )?)
}

/// Opens a directory that is not a link to one.
pub fn directory(path: &Path) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW)
        .open(path)
}

/// Everything in a `trusted` file; fails if it has more than `most` bytes.
pub fn bytes(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    trusted(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        Err(io::Error::new(
            ErrorKind::FileTooLarge,
            format!("it has more than {most} bytes"),
        ))
    } else {
        Ok(bytes)
    }
}

/// Neither a pipe nor a terminal makes the open wait; O_NONBLOCK means nothing to regular files.
fn checked(options: &mut OpenOptions, flags: i32, path: &Path) -> io::Result<File> {
    let file = options
        .custom_flags(flags | libc::O_NONBLOCK | libc::O_NOCTTY)
        .open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(
            ErrorKind::InvalidInput,
            "it is not a regular file",
        ))
    }
}

fn ours(file: File) -> io::Result<File> {
    let facts = file.metadata()?;
    if facts.uid() == 0 || facts.uid() == owner::effective_user() {
        Ok(file)
    } else {
        Err(io::Error::new(
            ErrorKind::PermissionDenied,
            format!("it belongs to user {}", facts.uid()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::unistd::geteuid;
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::{chown, symlink};

    #[test]
    fn only_regular_files_are_opened_and_nothing_waits() {
        let folder = tempfile::tempdir().unwrap();
        let [pipe, directory_path, file, link, missing] =
            ["pipe", "directory", "file", "link", "missing"].map(|name| folder.path().join(name));
        crate::process::make_fifo(&pipe).unwrap();
        fs::create_dir(&directory_path).unwrap();
        to_append(&file).unwrap().write_all(b"1234").unwrap();
        symlink(&file, &link).unwrap();
        let _other_end = File::options().read(true).write(true).open(&pipe).unwrap();
        for path in [&pipe, &directory_path, &missing] {
            assert!(
                regular(path).is_err() && contents(path).is_err() && trusted(path).is_err(),
                "{path:?}"
            );
        }
        assert!(
            to_append(&pipe).is_err() && directory(&pipe).is_err() && directory(&file).is_err()
        );
        assert!(regular(&link).is_ok() && trusted(&link).is_err() && to_append(&link).is_err());
        assert_eq!(bytes(&file, 4).unwrap(), b"1234");
        assert_eq!(bytes(&file, 3).unwrap_err().kind(), ErrorKind::FileTooLarge);
        assert!(directory(&directory_path).is_ok());
        if geteuid().is_root() {
            chown(&file, Some(65533), None).unwrap();
            assert_eq!(
                trusted(&file).unwrap_err().to_string(),
                "it belongs to user 65533"
            );
        }
    }
}
