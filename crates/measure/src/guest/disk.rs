//! The disk of a guest: an image in the run's directory.

use anyhow::{Context, Result, ensure};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use sys::output::output;
use sys::private;

const SIZE: u64 = 64 << 20;

/// Makes the image in `directory` with the command `make`, to which its path is added.
pub fn make(make: &[String], directory: &Path) -> Result<PathBuf> {
    // Another guest of the run has a disk of its own. The run's directory is removed with everything in it.
    let path = private::temporary(directory, "disk-")?.keep().join("image");
    let made = File::create_new(&path).and_then(|file| file.set_len(SIZE));
    made.with_context(|| format!("cannot write {}", path.display()))?;
    let Some((program, arguments)) = make.split_first() else {
        return Ok(path);
    };
    let done = output(
        private::helper(program, directory)
            .args(arguments)
            .arg(&path)
            .stdin(Stdio::null()),
    );
    let done = done.with_context(|| format!("cannot start {program}"))?;
    let said = String::from_utf8_lossy(&done.stderr);
    ensure!(
        done.status.success(),
        "{program} made no file system: {}",
        said.lines().next_back().unwrap_or_default()
    );
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_what_its_command_makes_of_it() {
        let directory = tempfile::tempdir().unwrap();
        let run = |words: &[&str]| {
            make(
                &words
                    .iter()
                    .map(|word| word.to_string())
                    .collect::<Vec<_>>(),
                directory.path(),
            )
        };
        assert_eq!(run(&["true"]).unwrap().metadata().unwrap().len(), SIZE);
        let error = |words: &[&str]| format!("{:#}", run(words).unwrap_err());
        assert_eq!(
            error(&["sh", "-c", "echo no room >&2; false"]),
            "sh made no file system: no room"
        );
        assert!(error(&["no-such-mkfs"]).starts_with("cannot start no-such-mkfs: "));
    }
}
