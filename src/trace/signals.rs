//! Handles signals while a command runs, as time(1) does: ^C and ^\ are left to the command, SIGTERM and SIGHUP are
//! forwarded to it. Once the command has ended, the processes that it left running are waited for until a second ^C
//! (the first may be the one that ended the command) or a SIGTERM. Without a command, each of them ends the tracing.
//! Used by `trace::run`.

use super::Until;
use crate::kernel::launch::{HANDLED, Started};
use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use signal_hook::iterator;
use std::sync::atomic::Ordering;

pub struct Signals;

impl Signals {
    /// Does `work` while a thread handles signals, except those that were `ignored` from the start.
    ///
    /// # Errors
    /// Those of `work`, or that signals cannot be caught.
    pub fn scope<T>(
        ignored: &[i32],
        until: &Until,
        started: Option<&Started>,
        work: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        let caught = HANDLED.iter().filter(|signal| !ignored.contains(signal));
        let mut signals = iterator::Signals::new(caught).context("trace: cannot handle ^C")?;
        let handle = signals.handle();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut again = false;
                for signal in signals.forever() {
                    answer(signal, until, started, again);
                    again = again || matches!(signal, SIGINT | SIGQUIT);
                }
            });
            let done = work();
            handle.close();
            done
        })
    }
}

fn answer(signal: i32, until: &Until, started: Option<&Started>, again: bool) {
    match (signal, started) {
        (SIGINT | SIGQUIT, Some(started)) if !again || !started.has_ended() => {}
        (SIGTERM | SIGHUP, Some(started)) if !started.has_ended() => started.signal(signal),
        _ => until.stop.store(true, Ordering::SeqCst),
    }
}
