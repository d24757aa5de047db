//! Starts the worker of any case: the native probe in an environment, or a snippet's program. The engine's `Launcher`.

use super::builds::{Builds, Built};
use super::child::{Child, Interrupt};
use super::protocol::{Facts, Reply};
use super::{NATIVE, RunDirectory};
use crate::engine::{Launcher, Worker};
use crate::kernel::affinity::Placement;
use crate::model::{Case, Failure};
use std::cell::RefCell;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

/// How workers are started.
pub struct Workers {
    pub placement: Placement,
    pub interrupt: Interrupt,
    /// How long a worker may take for its set-up.
    pub patience: Duration,
    directory: Rc<RefCell<RunDirectory>>,
    builds: RefCell<Builds>,
}

impl Workers {
    pub fn new(directory: RunDirectory, placement: Placement, interrupt: Interrupt, patience: Duration) -> Workers {
        let builds = RefCell::new(Builds::new(directory.path()));
        Workers { placement, interrupt, patience, directory: Rc::new(RefCell::new(directory)), builds }
    }

    /// The path of the embedded probe.
    pub fn probe(&self) -> PathBuf {
        self.directory.borrow().probe()
    }

    /// The directory that snippets find their fixtures in.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn fixture_directory(&self) -> anyhow::Result<PathBuf> {
        self.directory.borrow().fixture_directory()
    }

    /// Builds what `case` needs, where that has not been done.
    ///
    /// # Errors
    /// What is missing, or what the compiler says of the user's text.
    pub fn prepare(&self, case: &Case) -> Result<(), Failure> {
        self.built(case).map(drop)
    }

    /// What was found in the cache of builds and should not have been there.
    pub fn warnings(&self) -> Vec<String> {
        self.builds.borrow().warnings()
    }

    /// Starts the process, which then waits for its first line.
    ///
    /// # Errors
    /// A failure of kind `Start`, or of the build.
    pub fn start(&self, case: &Case, padding: usize) -> Result<Child, Failure> {
        let built = self.built(case)?;
        let mut command = match &built {
            Some(built) => built.command(&self.probe()),
            None => Command::new(self.probe()),
        };
        // The size of the environment block moves the stack, and with it every alignment: METHOD.md, "Workers".
        command.env("SYSCOST_PADDING", "x".repeat(padding));
        let voice = built.and_then(Built::voice);
        self.placement.on_measuring_cpu(|| Child::start(command, &self.directory, &self.interrupt, voice))
    }

    /// The first line that the worker is told.
    pub fn greeting(case: &Case) -> String {
        if case.language.is_some() {
            return "go".to_string();
        }
        let params = case.params.iter().map(|(name, value)| format!(" {name}={value}"));
        format!("op {}{}", case.operation, params.collect::<String>())
    }

    /// What was built for a case; `None` for the probe that is embedded.
    fn built(&self, case: &Case) -> Result<Option<Built>, Failure> {
        if case.language.is_none() && case.environment == NATIVE {
            return Ok(None);
        }
        self.builds.borrow_mut().get(case).map(Some)
    }
}

impl Launcher for Workers {
    fn launch(&mut self, case: &Case, padding: usize) -> Result<Box<dyn Worker>, Failure> {
        let mut child = self.start(case, padding)?;
        child.send(&Workers::greeting(case))?;
        let mut facts = child.ready(self.patience)?;
        if let Some(built) = self.built(case)? {
            facts.add_defaults(built.clock());
        }
        Ok(Box::new(Ready { child, facts }))
    }
}

struct Ready {
    child: Child,
    facts: Facts,
}

impl Worker for Ready {
    fn request(&mut self, n: u64, k: u32, patience: Duration) -> Result<Reply, Failure> {
        self.child.request(n, k, patience)
    }

    fn facts(&self) -> &Facts {
        &self.facts
    }
}
