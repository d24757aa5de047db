//! What another program prints. Not `Command::output`, which panics where it cannot read one of two pipes: here both are files.

use nix::sys::memfd::MFdFlags;
use nix::sys::memfd::memfd_create;
use std::fs::File;
use std::io::{Read, Result, Seek};
use std::process::{Command, Output};

/// Runs `command` to its end. Its standard input is what was set, or this program's.
///
/// # Errors
/// If it cannot be started, or what it printed not be kept.
pub fn output(command: &mut Command) -> Result<Output> {
    let (mut stdout, mut stderr) = (nameless()?, nameless()?);
    let mut child = command.stdout(stdout.try_clone()?).stderr(stderr.try_clone()?).spawn()?;
    let status = child.wait()?;
    Ok(Output { status, stdout: whole(&mut stdout)?, stderr: whole(&mut stderr)? })
}

/// A file in memory; on disk where the system has none such.
fn nameless() -> Result<File> {
    memfd_create(c"syscost-output", MFdFlags::MFD_CLOEXEC).map(File::from).or_else(|_| tempfile::tempfile())
}

fn whole(file: &mut File) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_and_the_status_are_kept() {
        // More than a pipe holds, on both.
        let script = "head -c 200000 /dev/zero >&2; head -c 300000 /dev/zero; exit 7";
        let output = output(Command::new("sh").args(["-c", script])).unwrap();
        assert_eq!((output.status.code(), output.stdout.len(), output.stderr.len()), (Some(7), 300_000, 200_000));
        assert!(super::output(&mut Command::new("/nowhere")).is_err());
    }
}
