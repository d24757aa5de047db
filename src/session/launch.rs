//! The engine's view of worker processes: the only place where engine and runner meet.

use crate::engine::{Launcher, Worker};
use crate::model::{Case, Facts, Failure, Reply};
use crate::runner::{Child, Workers};
use std::time::Duration;

impl Launcher for Workers {
    fn launch(&mut self, case: &Case, padding: usize) -> Result<Box<dyn Worker>, Failure> {
        let (child, facts) = self.start_ready(case, padding)?;
        Ok(Box::new(Ready { child, facts }))
    }
}

struct Ready {
    child: Child,
    facts: Facts,
}

impl Worker for Ready {
    fn request(&mut self, n: u64, k: u32, timeout: Duration) -> Result<Reply, Failure> {
        self.child.request(n, k, timeout)
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }
}
