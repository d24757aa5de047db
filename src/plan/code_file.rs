//! Files whose text becomes a program: studies, and snippets given as @FILE. What others may have written is read, shown
//! and checked like any other text; only the user decides that it runs.

use crate::kernel::owner;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Such a file.
pub struct CodeFile {
    pub text: String,
    /// Why it must not run unless the user says so.
    pub untrusted: Option<Untrusted>,
}

/// A file that another user may have written, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file}: {why}, and what it holds would run as you: read it, then make a copy of your own or add --trust-files"
)]
pub struct Untrusted {
    file: String,
    why: String,
}

impl CodeFile {
    /// Reads `path`. Owner and mode are those of the file that is read, whatever is renamed meanwhile.
    ///
    /// # Errors
    /// When it cannot be read as text.
    pub fn read(path: &str) -> io::Result<CodeFile> {
        let mut file = File::open(Path::new(path))?;
        let doubt = owner::doubt(&file.metadata()?);
        let mut text = String::new();
        file.read_to_string(&mut text)?;
        Ok(CodeFile { text, untrusted: doubt.map(|why| Untrusted { file: path.to_string(), why }) })
    }
}

/// Whether it may run: where the user trusts all files that are named, or it is the user's own.
///
/// # Errors
/// Why not.
pub fn check(untrusted: Option<&Untrusted>, trust_files: bool) -> Result<(), Untrusted> {
    match untrusted.filter(|_| !trust_files) {
        Some(untrusted) => Err(untrusted.clone()),
        None => Ok(()),
    }
}
