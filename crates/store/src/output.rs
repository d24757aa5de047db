//! Replaces a file atomically. The data is not synced to disk: it must survive a killed program, not a power failure.

use super::error::{Left, Problem};
use super::input::MAX_BYTES;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use sys::temporary::{self, Temporary, folder_of};

/// Before the umask.
const NEW: u32 = 0o666;

pub type Fill<'a> = &'a dyn Fn(&mut dyn Write) -> io::Result<()>;

fn earlier(error: io::Error) -> Problem {
    Problem::Write(error, Left::Earlier)
}

/// It keeps its mode and, if permitted, its owner. After an error the old content stays.
pub fn replace(path: &Path, fill: Fill) -> Result<(), Problem> {
    match fs::metadata(path) {
        Ok(facts) if facts.is_dir() => Err(Problem::Directory),
        // Renaming would replace /dev/null, or a pipe that another program reads.
        Ok(facts) if !facts.is_file() => File::options()
            .write(true)
            .open(path)
            .and_then(|file| filled(&file, fill))
            .map_err(|error| Problem::Write(error, Left::Part)),
        Ok(facts) => {
            // The target of a link is replaced, not the link.
            let path = path.canonicalize().map_err(earlier)?;
            // Removes temporary files of killed runs beside it: here they are this user's and local.
            temporary::sweep(folder_of(&path));
            renamed(&path, Some(&facts), fill)
        }
        Err(_) => {
            temporary::sweep(folder_of(path));
            renamed(path, None, fill)
        }
    }
}

/// Replaces a file in a folder that many hosts write into. Temporary files of killed programs are not removed: over a network, a lock
/// does not show whether another host is still writing.
pub fn replace_among_others(path: &Path, fill: Fill) -> Result<(), Problem> {
    let old = fs::metadata(path).ok();
    renamed(path, old.as_ref(), fill)
}

const MOST_NUMBERS: u32 = 10_000;

/// `STEM.json` or, if that exists, `STEM-2.json` and so on. Two hosts that do so at once get two files.
pub fn create(folder: &Path, stem: &str, fill: Fill) -> Result<PathBuf, Problem> {
    let mut temporary = whole(folder, NEW, fill)?;
    let numbered = (2..MOST_NUMBERS).map(|number| format!("{stem}-{number}.json"));
    for name in std::iter::once(format!("{stem}.json")).chain(numbered) {
        let path = folder.join(name);
        match temporary.become_new(&path) {
            Ok(()) => return Ok(path),
            // Linking fails if the name was taken meanwhile, by this or another host: try the next number.
            Err((error, again)) if error.kind() == ErrorKind::AlreadyExists => temporary = again,
            Err((error, _)) => return Err(earlier(error)),
        }
    }
    Err(earlier(ErrorKind::AlreadyExists.into()))
}

fn renamed(path: &Path, old: Option<&Metadata>, fill: Fill) -> Result<(), Problem> {
    if path.file_name().is_none() {
        return Err(earlier(io::Error::new(
            ErrorKind::InvalidInput,
            "it is not the name of a file",
        )));
    }
    let mode = old.map_or(NEW, |old| old.mode() & 0o777);
    let temporary = whole(folder_of(path), mode, fill)?;
    old.map_or(Ok(()), |old| keep(temporary.file(), old))
        .map_err(earlier)?;
    temporary.become_file(path, old.is_none()).map_err(earlier)
}

fn whole(folder: &Path, mode: u32, fill: Fill) -> Result<Temporary, Problem> {
    let temporary = Temporary::beside(folder, mode)
        .map_err(plain)
        .map_err(earlier)?;
    filled(temporary.file(), fill).map_err(earlier)?;
    // A file that could not be read again must not replace one that can.
    match temporary.file().metadata().map_err(earlier)?.len() {
        0..=MAX_BYTES => Ok(temporary),
        _ => Err(Problem::TooLarge(MAX_BYTES)),
    }
}

fn filled(file: &File, fill: Fill) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, file);
    fill(&mut out)?;
    out.flush()
}

/// As far as permitted. If the group cannot be kept, the new one gets no permissions.
fn keep(new: &File, old: &Metadata) -> io::Result<()> {
    let (uid, gid) = (Some(old.uid()), Some(old.gid()));
    // Root can keep both; others can keep the group if they belong to it.
    let _ = fchown(new, uid, gid).or_else(|_| fchown(new, None, gid));
    let group_is_kept = new.metadata()?.gid() == old.gid();
    let mode = old.mode() & if group_is_kept { 0o777 } else { 0o707 };
    new.set_permissions(Permissions::from_mode(mode))
}

/// Without the temporary name that tempfile adds.
fn plain(error: io::Error) -> io::Error {
    match error.kind() {
        ErrorKind::NotFound => io::Error::new(ErrorKind::NotFound, "its directory does not exist"),
        kind @ (ErrorKind::PermissionDenied
        | ErrorKind::StorageFull
        | ErrorKind::ReadOnlyFilesystem) => kind.into(),
        _ => error,
    }
}
