//! The programs that the build made, embedded so that one file is the whole tool.

use anyhow::{Context, Result};
use std::fs::{OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// The compiler that built the probe, in its own words.
pub const COMPILER: &str = env!("SYSCOST_COMPILER");

/// Name and contents of what a run's directory needs. An empty one could not be built on the machine that built syscost.
pub const FILES: &[(&str, &[u8])] = &[
    ("probe", include_bytes!(concat!(env!("OUT_DIR"), "/probe"))),
    ("libsyscost_cross.so", include_bytes!(concat!(env!("OUT_DIR"), "/libsyscost_cross.so"))),
    ("tiny-static", include_bytes!(concat!(env!("OUT_DIR"), "/tiny-static"))),
    ("tiny-dynamic", include_bytes!(concat!(env!("OUT_DIR"), "/tiny-dynamic"))),
];

/// The program that makes and removes a run's directory.
pub const JANITOR: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/janitor"));

/// Writes a new file that can be executed, by nobody else and whatever the umask is.
///
/// # Errors
/// When there is one already or it cannot be written; the message names it.
pub fn write_program(path: &Path, contents: &[u8]) -> Result<()> {
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o700).open(path)?;
        file.set_permissions(Permissions::from_mode(0o700))?;
        file.write_all(contents)
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}
