//! The programs made by the build, embedded so that the tool is a single file.

use anyhow::{Context, Result};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Creates a file with exactly this `mode`, whatever the umask.
pub fn create_private(path: &Path, mode: u32) -> io::Result<File> {
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(mode))?;
    Ok(file)
}

pub fn write_program(path: &Path, contents: &[u8]) -> Result<()> {
    let written = create_private(path, 0o700).and_then(|mut file| file.write_all(contents));
    written.with_context(|| format!("cannot write {}", path.display()))
}
