//! The flag that ends a run early.

use anyhow::{Context, Result};
use model::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use sys::output::stop_by;
use sys::threads::Lookout;

const STEP: Duration = Duration::from_millis(50);

/// Set by signals, and checked by everything that waits.
#[derive(Clone, Default)]
pub struct Interrupt(pub Arc<AtomicBool>);

impl Interrupt {
    /// SIGINT, SIGQUIT, SIGTERM and SIGHUP. It is the same each time: a signal between two parts of a command ends the second.
    ///
    /// # Errors
    /// The signals cannot be watched.
    pub fn on_signals() -> Result<Interrupt> {
        static ONLY: OnceLock<Interrupt> = OnceLock::new();
        if let Some(interrupt) = ONLY.get() {
            return Ok(interrupt.clone());
        }
        let interrupt = Interrupt::default();
        stop_by(Arc::clone(&interrupt.0));
        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] {
            // Only a flag: a handler may interrupt anything, and everything that waits looks at it.
            signal_hook::flag::register(signal, interrupt.0.clone())
                .context("cannot watch for ^C")?;
        }
        Ok(ONLY.get_or_init(|| interrupt).clone())
    }

    /// An interrupted failure if it is set, to leave a loop with `?`.
    pub fn check(&self) -> Result<(), Failure> {
        match self.is_set() {
            true => Err(Failure::interrupted()),
            false => Ok(()),
        }
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// An interrupt that is set with this one, and at `end` by itself.
    ///
    /// # Errors
    /// If no thread can be started.
    pub fn or_at(&self, end: Instant) -> Result<Deadline> {
        let (signals, interrupt) = (self.clone(), Interrupt::default());
        let late = interrupt.clone();
        let lookout = Lookout::start(STEP, move || {
            let is_over = signals.is_set() || Instant::now() >= end;
            late.0.fetch_or(is_over, Ordering::SeqCst);
            !is_over
        });
        Ok(Deadline {
            interrupt,
            _lookout: lookout?,
        })
    }
}

pub struct Deadline {
    pub interrupt: Interrupt,
    _lookout: Lookout,
}
