//! Replacing a file as a whole. Knows nothing of JSON; `store::write` calls it.
//!
//! The data is not forced to the disk: what must survive is an interrupted program, not a power cut.

use super::error::Problem;
use super::input::MAX_BYTES;
use std::fs::{File, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::{Builder, NamedTempFile};

/// Lets `fill` write the new content of `path`. On an error the old content stays and the temporary file is removed.
pub fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Problem> {
    match std::fs::metadata(path) {
        Ok(facts) if facts.is_dir() => Err(Problem::Directory),
        // Renaming would put a file in the place of /dev/null or of a pipe that somebody reads.
        Ok(facts) if !facts.is_file() => straight(path, fill).map_err(Problem::Write),
        Ok(_) => renamed(&path.canonicalize().map_err(Problem::Write)?, fill),
        Err(_) => renamed(path, fill),
    }
}

fn straight(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(File::options().write(true).open(path)?);
    fill(&mut out)?;
    out.flush()
}

fn renamed(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Problem> {
    if path.file_name().is_none() {
        return Err(Problem::Write(io::Error::new(ErrorKind::InvalidInput, "it is not the name of a file")));
    }
    let file = temporary(path).and_then(|file| filled(file, fill)).map_err(Problem::Write)?;
    if file.as_file().metadata().map_err(Problem::Write)?.len() > MAX_BYTES {
        return Err(Problem::TooLarge(MAX_BYTES));
    }
    file.persist(path).map(drop).map_err(|error| Problem::Write(error.error))
}

/// A file beside `path` with the permissions that the umask gives; private ones would keep others from the results.
fn temporary(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(".syscost-").suffix(".tmp").permissions(Permissions::from_mode(0o666));
    builder.tempfile_in(folder(path)).map_err(plain)
}

fn filled(mut file: NamedTempFile, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<NamedTempFile> {
    let mut out = BufWriter::with_capacity(1 << 16, file.as_file_mut());
    fill(&mut out)?;
    out.flush()?;
    drop(out);
    Ok(file)
}

fn folder(path: &Path) -> PathBuf {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder.to_path_buf(),
        _ => PathBuf::from("."),
    }
}

/// The system's own error. tempfile adds the temporary name, which nobody chose; a missing directory is said to be one.
fn plain(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::NotFound => io::Error::new(ErrorKind::NotFound, "its directory does not exist"),
        kind @ (ErrorKind::PermissionDenied | ErrorKind::StorageFull | ErrorKind::ReadOnlyFilesystem) => kind.into(),
        _ => error,
    }
}
