//! A case on its way from the plan to the engine.

use super::{Case, Expectation, Role, Traits};

/// A case to be measured.
#[derive(Clone, Debug)]
pub struct Planned {
    pub case: Case,
    pub role: Role,
    pub traits: Traits,
    /// Most iterations a batch may have.
    pub limit: Option<u64>,
    /// Kernel entries per iteration that are expected; `None` where nothing was said.
    pub enters: Option<Expectation>,
    /// Entries per iteration that untimed preparation makes.
    pub prepares: Expectation,
}

impl Planned {
    /// The same in another environment.
    pub fn in_environment(&self, environment: &str) -> Planned {
        Planned { case: Case { environment: environment.to_string(), ..self.case.clone() }, ..self.clone() }
    }

    /// A case of which nothing is known.
    pub fn new(case: Case, role: Role) -> Planned {
        let (traits, prepares) = (Traits::default(), Expectation::default());
        Planned { case, role, traits, limit: None, enters: None, prepares }
    }
}
