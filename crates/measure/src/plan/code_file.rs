//! Files whose text becomes a program: studies, and snippets given as @FILE. One that others may
//! have written is checked and shown, but only the user can decide to run it.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use sys::owner;

/// A file that another user may have written, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{file}: {why}, and its code would run as you: read it, then make a copy of your own or add --trust-files"
)]
pub struct Untrusted {
    file: String,
    why: String,
}

/// The text, and why it must not run unless the user trusts it. Owner and mode are those of the
/// open file, so renames in between do not matter.
pub fn read(path: &str) -> io::Result<(String, Option<Untrusted>)> {
    let mut file = File::open(Path::new(path))?;
    let doubt = owner::doubt(&file.metadata()?);
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    Ok((
        text,
        doubt.map(|why| Untrusted {
            file: path.to_string(),
            why,
        }),
    ))
}

pub fn check(untrusted: Option<&Untrusted>, trust_files: bool) -> Result<(), Untrusted> {
    match untrusted.filter(|_| !trust_files) {
        Some(untrusted) => Err(untrusted.clone()),
        None => Ok(()),
    }
}
