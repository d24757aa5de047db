//! Files whose text becomes a program: studies, and snippets given as @FILE. One that others may
//! have written is checked and shown, but only the user can decide to run it.

use anyhow::{Result, bail};
use std::fs::File;
use std::io::{self, Read};
use sys::owner;

/// The text, and why it must not run unless the user trusts it. Owner and mode are those of the
/// open file, so renames in between do not matter.
pub fn read(path: &str) -> io::Result<(String, Option<String>)> {
    let mut file = File::open(path)?;
    let doubt = owner::doubt(&file.metadata()?);
    let mut text = String::new();
    file.read_to_string(&mut text)?;
    let untrusted = |why| {
        format!(
            "{path}: {why}, and its code would run as you: read it, then make a copy of your own or add --trust-files"
        )
    };
    Ok((text, doubt.map(untrusted)))
}

pub fn check(untrusted: Option<&String>, trust_files: bool) -> Result<()> {
    match untrusted {
        Some(why) if !trust_files => bail!("{why}"),
        _ => Ok(()),
    }
}
