//! What was asked for by name and cannot be had is refused before anything is measured. What
//! patterns and studies name becomes rows with reasons.

use super::job::Job;
use super::open::Session;
use super::readiness::{Readiness, readiness, without_name};
use crate::guest;
use crate::runner::{NATIVE, Workers};
use anyhow::Result;
use model::{Failure, Planned, Role};
use std::collections::BTreeSet;

#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Refused(pub Vec<String>);

impl Session {
    pub(super) fn check_named(&self, job: &Job) -> Result<()> {
        let named: BTreeSet<&str> = job.named_environments.iter().map(String::as_str).collect();
        let used = |name: &&str| {
            job.planned
                .iter()
                .any(|planned| planned.case.environment == *name)
        };
        let mut lines = Vec::new();
        for name in named.into_iter().filter(used) {
            lines.extend(refusal(&self.workers, name).map(|why| {
                let why = without_name(&why, name);
                format!("environment {name}: {why}")
            }));
        }
        let is_named =
            |planned: &&Planned| planned.case.language.is_some() && planned.role == Role::Asked;
        if lines.is_empty() && job.names_snippets {
            for Planned { case, .. } in job.planned.iter().filter(is_named) {
                lines.extend(
                    self.workers
                        .prepare(case)
                        .err()
                        .map(|why| format!("{case}: {}", why.message)),
                );
            }
        }
        if self.interrupt.is_set() {
            return Err(Failure::interrupted().into());
        }
        lines.dedup();
        if lines.is_empty() {
            Ok(())
        } else {
            Err(Refused(lines).into())
        }
    }
}

fn refusal(workers: &Workers, name: &str) -> Option<String> {
    let environment = match workers.environment(name) {
        Ok(environment) => environment,
        Err(failure) => return Some(failure.message),
    };
    if environment.is_guest {
        // Booting it takes long; its image is what is most often missing.
        return guest::kernel(&environment)
            .err()
            .map(|error| format!("{error:#}"));
    }
    if name == NATIVE {
        return None;
    }
    let (found, why) = readiness(workers, &environment);
    why.filter(|_| found != Readiness::Ready)
}
