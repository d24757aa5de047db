//! What reaches us while a command runs, as `time` has it: ^C and ^\ are the command's, SIGTERM and SIGHUP are passed on
//! to it. A ^C after the command has ended stops the waiting for what it left running. Without a command, each of them
//! ends the tracing. Used by `trace::run`.

use super::Until;
use crate::kernel::launch::{HANDLED, Started};
use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator;
use std::sync::atomic::Ordering;

pub struct Signals;

impl Signals {
    /// Does `work` while a thread answers signals, other than those that were `ignored` from the start.
    ///
    /// # Errors
    /// Those of `work`; or that signals cannot be caught.
    pub fn scope<T>(
        ignored: &[i32],
        until: &Until,
        started: Option<&Started>,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let caught = HANDLED.iter().filter(|signal| !ignored.contains(signal));
        let mut signals = iterator::Signals::new(caught).context("trace: cannot watch for ^C")?;
        let handle = signals.handle();
        std::thread::scope(|scope| {
            scope.spawn(move || signals.forever().for_each(|signal| answer(signal, until, started)));
            let done = work();
            handle.close();
            done
        })
    }
}

fn answer(signal: i32, until: &Until, started: Option<&Started>) {
    match (signal, started) {
        (SIGINT | SIGQUIT, Some(started)) if !started.has_ended() => {}
        (SIGTERM | SIGHUP, Some(started)) if !started.has_ended() => started.signal(signal),
        _ => until.stop.store(true, Ordering::SeqCst),
    }
}
