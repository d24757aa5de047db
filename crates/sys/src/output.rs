//! What another program prints. Not `Command::output`, which panics where it cannot read one of two pipes: here both are files. A
//! signal that ends this program ends the other.

use super::pidfd;
use super::process::wait_readable;
use nix::sys::memfd::{MFdFlags, memfd_create};
use std::fs::File;
use std::io::{ErrorKind, Read, Result, Seek};
use std::process::{Child, Command, Output};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

static STOPS: Mutex<Vec<Arc<AtomicBool>>> = Mutex::new(Vec::new());

pub fn stop_by(stop: Arc<AtomicBool>) {
    STOPS
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(stop);
}

/// Its standard input is what was set, or this program's.
pub fn output(command: &mut Command) -> Result<Output> {
    let (mut stdout, mut stderr) = (nameless()?, nameless()?);
    let mut child = command
        .stdout(stdout.try_clone()?)
        .stderr(stderr.try_clone()?)
        .spawn()?;
    // It would wait for more.
    drop(child.stdin.take());
    let stops = STOPS.lock().unwrap_or_else(PoisonError::into_inner).clone();
    wait(&mut child, &stops)?;
    let status = child.wait()?;
    Ok(Output {
        status,
        stdout: whole(&mut stdout)?,
        stderr: whole(&mut stderr)?,
    })
}

/// What a program that is killed has started is left to the janitor.
fn wait(child: &mut Child, stops: &[Arc<AtomicBool>]) -> Result<()> {
    const LOOK: Duration = Duration::from_millis(200);
    let Ok(process) = pidfd::open(child.id().cast_signed()) else {
        return Ok(());
    };
    while !wait_readable(&process, LOOK) {
        if stops.iter().any(|stop| stop.load(Ordering::Relaxed)) {
            child.kill()?;
            child.wait()?;
            return Err(ErrorKind::Interrupted.into());
        }
    }
    Ok(())
}

/// On disk where the system has none in memory.
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
        );
        assert_eq!(ended.unwrap_err().kind(), ErrorKind::Interrupted);
        setter.join().unwrap();
    }
}
