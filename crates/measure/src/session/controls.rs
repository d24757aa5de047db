//! The control of a run in several environments: native cases once more, in processes and directories of their own. A
//! difference between a case and itself is noise, so a smaller one between environments is not shown as an effect.

use super::Session;
use crate::runner::NATIVE;
use model::{CONTROL, Case, Planned, REFERENCE, Role};
use std::collections::BTreeSet;

impl Session {
    /// One for each native case that is timed in another environment of this machine too.
    pub(super) fn with_controls(&self, mut planned: Vec<Planned>) -> Vec<Planned> {
        let names: BTreeSet<&str> = planned
            .iter()
            .map(|timed| timed.case.environment.as_str())
            .filter(|name| {
                *name != NATIVE && !self.unusable.contains_key(*name) && self.is_timed_here(name)
            })
            .collect();
        let elsewhere: BTreeSet<Case> = planned
            .iter()
            .filter(|timed| names.contains(timed.case.environment.as_str()))
            .map(|timed| timed.case.in_environment(NATIVE))
            .collect();
        let controls: Vec<Planned> = planned
            .iter()
            // Only rows that somebody compares, and the unit of costs.
            .filter(|native| native.role == Role::Asked || native.case.is_plain(REFERENCE))
            .filter(|native| elsewhere.contains(&native.case))
            .map(|native| Planned {
                role: Role::Baseline,
                ..native.with_case(native.case.in_environment(CONTROL))
            })
            .collect();
        planned.extend(controls);
        planned
    }

    fn is_timed_here(&self, name: &str) -> bool {
        let environment = self.workers.environment(name);
        environment.is_ok_and(|environment| !environment.is_guest && !environment.is_elsewhere())
    }
}
