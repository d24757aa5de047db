//! Replaces a file atomically. Independent of JSON; `store::write` calls it.
//!
//! The data is not synced to disk: it must survive a killed program, not a power failure. `temporary` keeps a killed program
//! from leaving files behind.

mod temporary;

use super::error::{Left, Problem};
use super::input::MAX_BYTES;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::Path;
use temporary::Temporary;

/// Permissions of a new file before the umask: results are not private.
const NEW: u32 = 0o666;

/// Lets `fill` write the new content of `path`, which keeps its mode and, if permitted, its owner.
///
/// # Errors
/// If it cannot be written or is too large; the old content stays and the temporary file is removed.
pub fn replace(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Problem> {
    let earlier = |error| Problem::Write(error, Left::Earlier);
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => Err(Problem::Directory),
        // Renaming would replace /dev/null, or a pipe that another program reads.
        Ok(facts) if !facts.is_file() => straight(path, fill).map_err(|error| Problem::Write(error, Left::Part)),
        Ok(facts) => renamed(&path.canonicalize().map_err(earlier)?, Some(&facts), fill),
        Err(_) => renamed(path, None, fill),
    }
}

fn straight(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::new(File::options().write(true).open(path)?);
    fill(&mut out)?;
    out.flush()
}

fn renamed(
    path: &Path,
    old: Option<&Metadata>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Problem> {
    let earlier = |error| Problem::Write(error, Left::Earlier);
    if path.file_name().is_none() {
        return Err(earlier(io::Error::new(ErrorKind::InvalidInput, "it is not the name of a file")));
    }
    temporary::sweep(folder(path));
    let mode = old.map_or(NEW, |old| old.mode() & 0o777);
    let temporary = Temporary::beside(folder(path), mode).map_err(plain).map_err(earlier)?;
    let written = filled(temporary.file(), fill).and_then(|()| old.map_or(Ok(()), |old| keep(temporary.file(), old)));
    written.map_err(earlier)?;
    if temporary.file().metadata().map_err(earlier)?.len() > MAX_BYTES {
        return Err(Problem::TooLarge(MAX_BYTES));
    }
    temporary.become_file(path, old.is_none()).map_err(earlier)
}

fn filled(file: &File, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    out.flush()
}

/// Gives the new file the old one's owner, as far as permitted, and its mode. If the group cannot be kept, the new one gets no
/// permissions.
fn keep(new: &File, old: &Metadata) -> io::Result<()> {
    let (uid, gid) = (Some(old.uid()), Some(old.gid()));
    let _ = fchown(new, uid, gid).or_else(|_| fchown(new, None, gid));
    let group_is_kept = new.metadata()?.gid() == old.gid();
    let mode = old.mode() & if group_is_kept { 0o777 } else { 0o707 };
    new.set_permissions(Permissions::from_mode(mode))
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| *folder != Path::new("")).unwrap_or(Path::new("."))
}

/// The system's own error, without the temporary name that tempfile adds. A missing directory gets its own message.
fn plain(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::NotFound => io::Error::new(ErrorKind::NotFound, "its directory does not exist"),
        kind @ (ErrorKind::PermissionDenied | ErrorKind::StorageFull | ErrorKind::ReadOnlyFilesystem) => kind.into(),
        _ => error,
    }
}
