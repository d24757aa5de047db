//! The flag that ends a run early.

use anyhow::{Context, Result};
use model::Failure;
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use sys::output::stop_by;

/// Set by signals, and checked by everything that waits.
#[derive(Clone, Default)]
pub struct Interrupt(pub Arc<AtomicBool>);

impl Interrupt {
    pub fn on_signals() -> Result<Interrupt> {
        let interrupt = Interrupt::default();
        stop_by(Arc::clone(&interrupt.0));
        for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP] {
            signal_hook::flag::register(signal, interrupt.0.clone())
                .context("cannot watch for ^C")?;
        }
        Ok(interrupt)
    }

    pub fn check(&self) -> Result<(), Failure> {
        match self.is_set() {
            true => Err(Failure::interrupted()),
            false => Ok(()),
        }
    }

    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
