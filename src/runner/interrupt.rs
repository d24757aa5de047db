//! The flag that ends a run early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Set by ^C and SIGTERM; everything that waits looks at it.
#[derive(Clone, Debug, Default)]
pub struct Interrupt(pub Arc<AtomicBool>);

impl Interrupt {
    /// Whether the run is to end.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
