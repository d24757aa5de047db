//! A case as the plan passes it to the engine.

use super::{Case, Count, Entries, Expectation, Role, SELDOM, Traits};

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
    /// the worker does not show disturbances.
    pub adds_processes: bool,
}

impl Planned {
    /// Whether it enters the kernel less than once per call, as if a library fills a buffer: the median of single calls would then be that
    /// of the calls that do not.
    pub fn enters_rarely(&self) -> bool {
        let mut counts = self
            .enters
            .iter()
            .flat_map(|enters| &enters.0)
            .map(|expected| &expected.count)
            .peekable();
        counts.peek().is_some()
            && counts.all(|count| matches!(count, Count::Exactly(count) if *count < 1.0))
    }

    /// Whether it stays in user mode, by what was counted or, if nothing was, by what is declared.
    pub fn stays_in_user_mode(&self, counted: Option<&Entries>) -> bool {
        let enters_seldom = counted.map_or_else(
            || self.enters.as_ref().is_some_and(Expectation::may_be_none),
            |counted| counted.total() <= SELDOM,
        );
        enters_seldom && !self.traits.switches && !self.traits.faults
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

#[cfg(test)]
mod tests {
    use super::*;

    fn stays(enters: Option<&str>, faults: bool, counted: Option<f64>) -> bool {
        let mut planned = Planned::new(Case::native("file.stat"), Role::Asked);
        planned.enters = enters.map(|enters| enters.parse().unwrap());
        planned.traits.faults = faults;
        let counted = counted.map(|calls| Entries::from_iter([("read".to_string(), calls)]));
        planned.stays_in_user_mode(counted.as_ref())
    }

    #[test]
    fn the_mode_is_that_of_the_entries_counted_or_else_declared() {
        assert!(stays(Some(""), false, None) && stays(Some("futex/vdso x1"), false, None));
        assert!(stays(Some("read x1/4096"), false, None) && stays(None, false, Some(0.0)));
        assert!(!stays(Some("read x1"), false, None) && !stays(None, false, None));
        assert!(!stays(Some(""), true, Some(0.0)) && !stays(Some(""), false, Some(1.0)));
    }
}
