//! The engine's view of worker processes: the only place where engine and runner meet.

use super::waits::Waits;
use crate::engine::{Launcher, Worker};
use crate::runner::{Child, Cpus, Workers};
use model::{Case, Facts, Failure, Reply};
use std::cell::Cell;
use std::rc::Rc;
use std::time::Duration;
use sys::affinity;

impl Launcher for Workers {
    fn launch(&mut self, case: &Case, padding: usize) -> Result<Box<dyn Worker>, Failure> {
        let (child, facts) = self.start_ready(case, padding)?;
        let on_measuring = self.environment(&case.environment)?.cpus == Cpus::Measuring;
        // Of a probe that said hello, only itself knows where it runs.
        let watched = self
            .placement
            .measuring
            .filter(|_| child.hello().is_none() && on_measuring);
        let watch = watched.map(|cpu| (cpu, self.strayed()));
        let pinned = child
            .hello()
            .map_or(watch.is_some(), |hello| hello.number("cpu").is_some());
        let waits = Waits::of(&facts);
        Ok(Box::new(Ready {
            child,
            facts,
            watch,
            pinned,
            waits,
        }))
    }
}

struct Ready {
    child: Child,
    facts: Facts,
    /// It should stay there; the flag says that it did not.
    watch: Option<(u32, Rc<Cell<bool>>)>,
    pinned: bool,
    waits: Option<Waits>,
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
        let before = self.waits.as_ref().and_then(Waits::read);
        let mut reply = self.child.request(n, k, timeout)?;
        if let (Some(waits), Some(before)) = (&self.waits, before)
            && waits.were_in(&reply, before)
        {
            reply
                .batches
                .iter_mut()
                .for_each(|batch| batch.switches = 1);
        }
        Ok(reply)
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }

    fn is_pinned(&self) -> bool {
        self.pinned
    }
}
