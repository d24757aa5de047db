//! A case as the plan passes it to the engine.

use super::{Case, Count, Expectation, Role, Traits};

#[derive(Clone, Debug)]
pub struct Planned {
    pub case: Case,
    pub role: Role,
    pub traits: Traits,
    /// Per batch.
    pub limit: Option<u64>,
    /// `None` if none were declared.
    pub enters: Option<Expectation>,
    /// Made by untimed preparation.
    pub prepares: Expectation,
    /// Other processes take part in every call (a tracer, a server). Context switches are then part of a call, and CPU time of
    /// the worker says nothing of disturbances.
    pub adds_processes: bool,
}

impl Planned {
    /// As where a library fills a buffer: the median of single calls would then be that of the others.
    pub fn enters_rarely(&self) -> bool {
        let declared = self.enters.iter().flat_map(|enters| &enters.0);
        let mut counts = declared.map(|expected| &expected.count).peekable();
        counts.peek().is_some()
            && counts.all(|count| matches!(count, Count::Exactly(count) if *count < 1.0))
    }

    pub fn with_case(&self, case: Case) -> Planned {
        Planned {
            case,
            ..self.clone()
        }
    }

    pub fn in_environment(&self, environment: &str) -> Planned {
        self.with_case(self.case.in_environment(environment))
    }

    pub fn new(case: Case, role: Role) -> Planned {
        let (traits, prepares) = (Traits::default(), Expectation::default());
        Planned {
            case,
            role,
            traits,
            limit: None,
            enters: None,
            prepares,
            adds_processes: false,
        }
    }
}
