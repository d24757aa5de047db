//! The programs that the build made, embedded so that one file is the whole tool.

use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
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

/// Writes a file that can be executed.
///
/// # Errors
/// When it cannot be written; the message names it.
pub fn write_program(path: &Path, contents: &[u8]) -> Result<()> {
    fs::write(path, contents).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
}
