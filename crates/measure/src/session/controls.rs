//! The control of a run in several environments: native cases once more, in processes and directories of their own. What a case
//! differs by from itself is no effect of an environment.

use super::Session;
use crate::runner::NATIVE;
use model::{CONTROL, Case, Planned, REFERENCE, Role};
use std::collections::BTreeSet;

impl Session {
    /// With the control of each native case that is timed in another environment of this machine too.
    pub(super) fn with_controls(&self, mut planned: Vec<Planned>) -> Vec<Planned> {
        let names: BTreeSet<&str> = planned
            .iter()
            .map(|own| own.case.environment.as_str())
            .filter(|name| *name != NATIVE && self.is_timed_here(name))
            .collect();
        let elsewhere: BTreeSet<Case> = planned
            .iter()
            .filter(|own| names.contains(own.case.environment.as_str()))
            .map(|own| own.case.in_environment(NATIVE))
            .collect();
        let controls: Vec<Planned> = planned
            .iter()
            .filter(|own| own.role == Role::Asked || own.case.is_plain(REFERENCE))
            .filter(|own| elsewhere.contains(&own.case))
            .map(|own| Planned {
                role: Role::Baseline,
                ..own.with_case(own.case.in_environment(CONTROL))
            })
            .collect();
        planned.extend(controls);
        planned
    }

    fn is_timed_here(&self, name: &str) -> bool {
        let environment = self.workers.environment(name);
        environment.is_ok_and(|found| !found.is_guest && !found.is_elsewhere())
    }
}
