//! The engine's view of worker processes: the only place where engine and runner meet.

use crate::engine::{Launcher, Worker};
use crate::kernel::affinity;
use crate::model::{Case, Facts, Failure, Reply};
use crate::runner::{Child, Workers};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;

impl Launcher for Workers {
    fn launch(&mut self, case: &Case, padding: usize) -> Result<Box<dyn Worker>, Failure> {
        let (child, facts) = self.start_ready(case, padding)?;
        let pinned = !self.environment(&case.environment)?.unpinned;
        let watch = self.placement.measuring.filter(|_| pinned).map(|cpu| (cpu, self.strayed()));
        Ok(Box::new(Ready { child, facts, watch }))
    }
}

struct Ready {
    child: Child,
    facts: Facts,
    /// The CPU that it should stay on, and the flag to set if it did not.
    watch: Option<(u32, Rc<Cell<bool>>)>,
}

impl Drop for Ready {
    fn drop(&mut self) {
        if let Some((cpu, strayed)) = &self.watch
            && affinity::is_pinned(self.child.pid(), *cpu) == Some(false)
        {
            strayed.set(true);
        }
    }
}

impl Worker for Ready {
    fn request(&mut self, n: u64, k: u32, timeout: Duration) -> Result<Reply, Failure> {
        self.child.request(n, k, timeout)
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn is_pinned(&self) -> bool {
        self.watch.is_some()
    }
}
