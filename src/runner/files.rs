//! The programs made by the build, embedded so that the tool is a single file.

use anyhow::{Context, Result};
use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

pub const COMPILER: &str = env!("SYSCOST_COMPILER");

/// Name and contents of the files in a run's directory. An empty one could not be built when syscost was, or is
/// not needed.
pub const FILES: &[(&str, &[u8])] = &[
    ("probe", include_bytes!(concat!(env!("OUT_DIR"), "/probe"))),
    (
        DYNAMIC_PROBE,
        include_bytes!(concat!(env!("OUT_DIR"), "/probe-dynamic")),
    ),
    (
        "libsyscost_cross.so",
        include_bytes!(concat!(env!("OUT_DIR"), "/libsyscost_cross.so")),
    ),
    (
        "tiny-static",
        include_bytes!(concat!(env!("OUT_DIR"), "/tiny-static")),
    ),
    ("bare", include_bytes!(concat!(env!("OUT_DIR"), "/bare"))),
    (
        "tiny-dynamic",
        include_bytes!(concat!(env!("OUT_DIR"), "/tiny-dynamic")),
    ),
    (
        CONFINE,
        include_bytes!(concat!(env!("OUT_DIR"), "/confine")),
    ),
];

pub const DYNAMIC_PROBE: &str = "probe-dynamic";

pub const CONFINE: &str = "confine";

pub const JANITOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/janitor"));

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

/// Writes a new file that only this user can execute.
pub fn write_program(path: &Path, contents: &[u8]) -> Result<()> {
    let written = create_private(path, 0o700).and_then(|mut file| file.write_all(contents));
    written.with_context(|| format!("cannot write {}", path.display()))
}
