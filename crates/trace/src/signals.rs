//! Handles signals while a command runs, as time(1) does: ^C and ^\ at the terminal reach the command, too, and are left to it; SIGTERM
//! and SIGHUP are forwarded. A SIGINT or SIGQUIT that was sent to us ends the tracing, and the command goes on, unless it cannot run
//! without the tracer: then it gets the signal. A command that does not end by a forwarded signal is left running, and so are
//! processes that it leaves when a signal has ended it. Without a command, each of them ends the tracing.

use super::Until;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGINT, SIGQUIT};
use signal_hook::iterator::exfiltrator::WithRawSiginfo;
use signal_hook::iterator::{Handle, SignalsInfo};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use sys::launch::{HANDLED, Started};
use sys::threads;

#[derive(Clone, Copy)]
pub struct Released<'a> {
    pub started: &'a Started,
    pub needs_tracer: bool,
    /// After this time, the tracing ends as by a SIGINT that is sent to us.
    pub time: Option<Duration>,
}

/// The time that a command has to end by a SIGINT to its group before that counts as sent to us alone; and that processes have which it
/// leaves.
const SHARED: Duration = Duration::from_millis(300);
/// The same for a signal that is passed on.
const PASSED_ON: Duration = Duration::from_millis(700);

/// Runs `work` while signals are handled, except those that were `ignored` from the start.
///
/// # Errors
/// Those of `work`, or no thread can be started.
pub fn scope<T>(
    ignored: &[i32],
    until: &Until,
    released: Option<Released>,
    work: impl FnOnce() -> Result<T>,
) -> Result<T> {
    let caught = HANDLED.iter().filter(|signal| !ignored.contains(signal));
    let mut signals = SignalsInfo::<WithRawSiginfo>::new(caught).context("cannot handle ^C")?;
    let handle = signals.handle();
    let done = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        // Dropped also if the work panics: the scope then waits for the thread.
        let _closed = Closed(handle);
        let handling = threads::start_in(scope, || {
            for info in signals.forever() {
                answer(info.si_signo, info.si_code <= 0, until, released, done);
            }
        });
        if let Some((time, command)) = released.and_then(|command| Some((command.time?, command))) {
            threads::start_in(scope, move || {
                if !waited(time, || done.load(Ordering::SeqCst)) {
                    answer(SIGINT, true, until, Some(command), done);
                }
            })?;
        }
        let worked = handling.map_err(Into::into).and_then(|()| work());
        done.store(true, Ordering::SeqCst);
        worked
    })
}

struct Closed(Handle);

impl Drop for Closed {
    fn drop(&mut self) {
        // Closing wakes the thread by a message, which may fail: without a second one, it could wait for ever.
        self.0.close();
        self.0.close();
    }
}

fn answer(signal: i32, sent: bool, until: &Until, released: Option<Released>, done: &AtomicBool) {
    if let Some(command) = released {
        let is_over = || done.load(Ordering::SeqCst) || command.started.has_ended();
        let interrupts = matches!(signal, SIGINT | SIGQUIT);
        let passes_on = !interrupts || (sent && command.needs_tracer);
        if passes_on && !is_over() {
            command.started.ask(signal);
        }
        let has_ended = waited(if passes_on { PASSED_ON } else { SHARED }, is_over);
        if interrupts && !sent && !has_ended {
            return;
        }
        if has_ended && waited(SHARED, || done.load(Ordering::SeqCst)) {
            return;
        }
    }
    until.stop.store(true, Ordering::SeqCst);
}

fn waited(time: Duration, came: impl Fn() -> bool) -> bool {
    const STEP: Duration = Duration::from_millis(10);
    let begun = Instant::now();
    while !came() {
        if begun.elapsed() >= time {
            return false;
        }
        std::thread::sleep(STEP);
    }
    true
}
