//! Starts the native probe for a case: the engine's `Launcher`.

use super::child::{Child, Interrupt};
use super::protocol::{Facts, Reply};
use super::{RunDirectory, files};
use crate::engine::{Launcher, Worker};
use crate::kernel::affinity::Placement;
use crate::model::{Case, Failure};
use std::cell::RefCell;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

/// How native workers are started.
pub struct Native {
    pub directory: Rc<RefCell<RunDirectory>>,
    pub placement: Placement,
    pub interrupt: Interrupt,
    /// How long a worker may take for its set-up.
    pub patience: Duration,
}

impl Native {
    /// Starts the process, which then waits for its first line.
    ///
    /// # Errors
    /// A failure of kind `Start`.
    pub fn start(&self, padding: usize) -> Result<Child, Failure> {
        let mut command = Command::new(self.directory.borrow().probe());
        // The size of the environment block moves the stack, and with it every alignment: METHOD.md, "Workers".
        command.env("SYSCOST_PADDING", "x".repeat(padding));
        self.placement.on_measuring_cpu(|| Child::start(command, &self.directory, &self.interrupt))
    }

    /// The first line that the probe is told.
    pub fn greeting(case: &Case) -> String {
        let mut line = format!("op {}", case.operation);
        for (name, value) in &case.params {
            line.push_str(&format!(" {name}={value}"));
        }
        line
    }

    /// Programs that this build could not make: the operations that need them fail.
    pub fn missing_files() -> Vec<&'static str> {
        files::FILES.iter().filter(|(_, contents)| contents.is_empty()).map(|(name, _)| *name).collect()
    }
}

impl Launcher for Native {
    fn launch(&mut self, case: &Case, padding: usize) -> Result<Box<dyn Worker>, Failure> {
        let mut child = self.start(padding)?;
        child.send(&Native::greeting(case))?;
        let facts = child.ready(self.patience)?;
        Ok(Box::new(NativeWorker { child, facts }))
    }
}

struct NativeWorker {
    child: Child,
    facts: Facts,
}

impl Worker for NativeWorker {
    fn request(&mut self, n: u64, k: u32, patience: Duration) -> Result<Reply, Failure> {
        self.child.request(n, k, patience)
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }
}
