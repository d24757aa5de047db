//! Handles signals while a command runs, as time(1) does: ^C and ^\ at the terminal reach the command, too, and are left
//! to it; SIGTERM and SIGHUP are forwarded to it. A SIGINT that somebody sent to us ends the tracing, and the command
//! goes on, unless it cannot run without the tracer: then it gets the signal. Once the command has ended, the processes
//! that it left running are waited for until a second ^C (the first may be the one that ended the command) or a SIGTERM.
//! Without a command, each of them ends the tracing. Used by `trace::run`.

use super::Until;
use crate::kernel::launch::{HANDLED, Started};
use crate::kernel::threads;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator::SignalsInfo;
use signal_hook::iterator::exfiltrator::WithRawSiginfo;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The command that we released.
#[derive(Clone, Copy)]
pub struct Released<'a> {
    pub started: &'a Started,
    /// Whether it cannot run without the tracer.
    pub needs_tracer: bool,
}

/// How long a command may take to end by a SIGINT that was sent to its group before it counts as sent to us alone.
const SHARED: Duration = Duration::from_millis(300);

/// Does `work` while a thread handles signals, except those that were `ignored` from the start.
///
/// # Errors
/// Those of `work`, or that signals cannot be caught.
pub fn scope<T>(
    ignored: &[i32],
    until: &Until,
    released: Option<Released>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let caught = HANDLED.iter().filter(|signal| !ignored.contains(signal));
    let mut signals = SignalsInfo::<WithRawSiginfo>::new(caught).context("cannot handle ^C")?;
    let handle = signals.handle();
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let handling = threads::start_in(scope, || {
            let mut again = false;
            for info in signals.forever() {
                let sent = info.si_code <= 0;
                answer(info.si_signo, sent, until, released, again, &done);
                again = again || matches!(info.si_signo, SIGINT | SIGQUIT);
            }
        });
        let worked = handling.map_err(Into::into).and_then(|()| work());
        done.store(true, Ordering::SeqCst);
        // It wakes the thread by a message, which may fail: once more, or it would wait for ever.
        handle.close();
        handle.close();
        worked
    })
}

/// `sent`: by a process, not by the terminal; `again`: not the first of its kind.
fn answer(signal: i32, sent: bool, until: &Until, released: Option<Released>, again: bool, done: &AtomicBool) {
    match (signal, released) {
        (SIGINT, Some(command)) if sent && !command.started.has_ended() => alone(command, until, done),
        (SIGINT | SIGQUIT, Some(command)) if !again || !command.started.has_ended() => {}
        (SIGTERM | SIGHUP, Some(command)) if !command.started.has_ended() => command.started.signal(signal),
        _ => until.stop.store(true, Ordering::SeqCst),
    }
}

/// A SIGINT that was sent to us, and perhaps to the command: then that usually ends now, and is followed to its end.
fn alone(command: Released, until: &Until, done: &AtomicBool) {
    if command.needs_tracer {
        return command.started.signal(SIGINT);
    }
    let mut left = SHARED;
    let step = Duration::from_millis(10);
    while !done.load(Ordering::SeqCst) && !command.started.has_ended() {
        if left.is_zero() {
            return until.stop.store(true, Ordering::SeqCst);
        }
        std::thread::sleep(step);
        left = left.saturating_sub(step);
    }
}
