//! What a process that ended leaves behind: its status and its standard error.

use model::Failure;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;
use std::process::ChildStdout;
use std::time::{Duration, Instant};
use sys::process::wait_readable;

pub const MOST_OF_ERRORS: u64 = 64 << 10;

pub fn read_errors(path: &Path) -> std::io::Result<String> {
    let mut file = File::open(path)?;
    let length = file.metadata()?.len();
    let mut text = Vec::new();
    (&mut file).take(MOST_OF_ERRORS).read_to_end(&mut text)?;
    let rest = length.saturating_sub(MOST_OF_ERRORS).max(text.len() as u64);
    file.seek(SeekFrom::Start(rest))?;
    file.take(MOST_OF_ERRORS).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Before a greeting is answered, it is unknown whether there is a probe.
pub fn of_command(failure: Failure) -> Failure {
    Failure {
        message: failure
            .message
            .replacen(PROBE_ENDED, "the command ended", 1),
        ..failure
    }
}

pub const PROBE_ENDED: &str = "the probe ended";

/// Waits for the end of a process's output, which comes with the exit and needs no polling.
pub fn wait_for_exit(mut output: ChildStdout, timeout: Duration) {
    let deadline = Instant::now() + timeout;
    let mut buffer = [0; 4096];
    while Instant::now() < deadline {
        if !wait_readable(&output, deadline.saturating_duration_since(Instant::now())) {
            continue;
        }
        if !matches!(output.read(&mut buffer), Ok(length) if length > 0) {
            return;
        }
    }
}
