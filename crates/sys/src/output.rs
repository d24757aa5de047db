//! The output of another program. Not `Command::output`, which panics if it cannot read one of two pipes: here both are files. A
//! signal that ends this program ends the other.

use super::pidfd;
use super::process::{kill_group, wait_readable};
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::io::{ErrorKind, Read, Result, Seek};
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

static STOPS: Mutex<Vec<Arc<AtomicBool>>> = Mutex::new(Vec::new());

/// Ends all programs whose output is being read, within 200 ms of the flag's being set.
pub fn stop_by(stop: Arc<AtomicBool>) {
    STOPS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(stop);
}

/// Runs a program to its end, and returns its status and all that it printed. Its standard input is what was set, or this program's.
///
/// # Errors
/// It cannot be started, or was ended because of `stop_by` (`Interrupted`).
pub fn output(command: &mut Command) -> Result<Output> {
    output_within(command, Duration::MAX)
}

/// The program is killed after `most`, which is an error (`TimedOut`).
pub fn output_within(command: &mut Command, most: Duration) -> Result<Output> {
    let (mut stdout, mut stderr) = (nameless()?, nameless()?);
    let mut child = command
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .spawn()?;
    // A program that reads would wait for more as long as our end of its pipe is open.
    drop(child.stdin.take());
    let stops = STOPS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    wait(&mut child, &stops, most)?;
    let status = child.wait()?;
    Ok(Output {
        status,
        stdout: whole(&mut stdout)?,
        stderr: whole(&mut stderr)?,
    })
}

/// Killed if a flag is set or after `most`, with its process group if it has one of its own; other processes that it has started are left
/// to the janitor.
fn wait(child: &mut Child, stops: &[Arc<AtomicBool>], most: Duration) -> Result<()> {
    const LOOK: Duration = Duration::from_millis(200);
    let begun = Instant::now();
    let Ok(process) = pidfd::open(child.id().cast_signed()) else {
        return Ok(());
    };
    while !wait_readable(&process, LOOK) {
        let is_stopped = stops.iter().any(|stop| stop.load(Ordering::Relaxed));
        if is_stopped || begun.elapsed() > most {
            kill_group(child.id());
            child.kill()?;
            child.wait()?;
            let kind = if is_stopped {
                ErrorKind::Interrupted
            } else {
                ErrorKind::TimedOut
            };
            return Err(kind.into());
        }
    }
    Ok(())
}

/// A file without a name, in memory, or on disk if the system has none in memory.
fn nameless() -> Result<File> {
    memfd_create(c"syscost-output", MFdFlags::MFD_CLOEXEC)
        .map(File::from)
        .or_else(|_| tempfile::tempfile())
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
        assert_eq!(
            (
                output.status.code(),
                output.stdout.len(),
                output.stderr.len()
            ),
            (Some(7), 300_000, 200_000)
        );
        assert!(super::output(&mut Command::new("/nowhere")).is_err());
        let reader = super::output(Command::new("cat").stdin(std::process::Stdio::piped()));
        assert!(reader.unwrap().stdout.is_empty());
    }

    #[test]
    fn a_signal_ends_a_program() {
        let stop = Arc::<AtomicBool>::default();
        let setter = {
            let stop = Arc::clone(&stop);
            std::thread::spawn(move || {
                std::thread::sleep(Duration::from_millis(50));
                stop.store(true, Ordering::Relaxed);
            })
        };
        let ended = wait(
            &mut Command::new("sleep").arg("600").spawn().unwrap(),
            &[stop],
            Duration::MAX,
        );
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::Interrupted);
        setter.join().unwrap();
        let late = output_within(Command::new("sleep").arg("600"), Duration::ZERO);
        assert_eq!(late.unwrap_err().kind(), ErrorKind::TimedOut);
    }
}
