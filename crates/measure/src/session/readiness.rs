//! Checks whether environments can be used here: each is built and started once, for a moment. One that the user
//! named and that cannot be used is refused before anything is measured; those that patterns and
//! studies name become rows with reasons.

use super::{Job, Session};
use crate::guest::images::Images;
use crate::guest::{self, Guest, Options};
use crate::runner::{Environment, NATIVE, Workers};
use anyhow::Result;
use itertools::Itertools;
use model::{Case, EMPTY_LOOP, Planned, Role};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeSet;

/// The outcome of an environment's start.
#[derive(Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Readiness {
    /// It was started, or its machine can be.
    Ready,
    /// Its programs are there, and its probe is built at its first use, which takes seconds.
    NotBuilt,
    /// A program, compiler or image that it needs is not there.
    Missing,
    /// It could not be started: something on this machine does not allow that.
    NotPermitted,
}

/// As [`readiness`], without building a probe, which takes seconds.
pub fn readiness_as_built(
    workers: &Workers,
    environment: &Environment,
) -> (Readiness, Option<String>) {
    let is_unbuilt = !environment.is_guest && workers.lacks_probe_of(&environment.name);
    if is_unbuilt && environment.check_needs().is_ok() {
        return (Readiness::NotBuilt, None);
    }
    readiness(workers, environment)
}

/// Whether the environment can be used, and a text: what to install, why it was refused, or the images for a machine that
/// boots any kernel. Such a machine is not booted.
pub fn readiness(workers: &Workers, environment: &Environment) -> (Readiness, Option<String>) {
    let case = Case::native(EMPTY_LOOP).in_environment(&environment.name);
    let built = if environment.is_guest {
        environment
            .check_needs()
            .map_err(|error| format!("{error:#}"))
    } else {
        workers.prepare(&case).map_err(|failure| failure.message)
    };
    if let Err(missing) = built {
        let reason = without_name(&missing, &environment.name).to_string();
        return (Readiness::Missing, Some(reason));
    }
    // Booting takes seconds for each image: having one is taken for being able to.
    if let Some(machine) = &environment.machine {
        return images(machine);
    }
    let started = if environment.is_guest {
        Guest::boot(workers, &environment.name, &Options::default()).map(drop)
    } else {
        workers.start_greeted(&case).map(drop)
    };
    match started {
        Ok(()) => (Readiness::Ready, None),
        Err(failure) => (Readiness::NotPermitted, Some(failure.message)),
    }
}

fn without_name<'a>(message: &'a str, name: &str) -> &'a str {
    let prefix = format!("environment {name}: ");
    message.strip_prefix(&prefix).unwrap_or(message)
}

fn images(machine: &str) -> (Readiness, Option<String>) {
    let releases = Images::open()
        .map(|images| images.all())
        .unwrap_or_default()
        .into_iter()
        .filter(|image| image.facts.architecture == machine)
        .map(|image| image.facts.release)
        .join(", ");
    if releases.is_empty() {
        (
            Readiness::Missing,
            Some("no kernel image; 'syscost kernel fetch VERSION' gets one".to_string()),
        )
    } else {
        (Readiness::Ready, Some(format!("kernel images: {releases}")))
    }
}

#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Refused(pub Vec<String>);

impl Session {
    pub(super) fn check_named(&self, job: &Job) -> Result<()> {
        let named: BTreeSet<&str> = job.named_environments.iter().map(String::as_str).collect();
        let mut lines = Vec::new();
        for name in named.into_iter().filter(|name| {
            job.planned
                .iter()
                .any(|planned| planned.case.environment == *name)
        }) {
            lines.extend(refusal(&self.workers, name).map(|why| {
                let why = without_name(&why, name);
                format!("environment {name}: {why}")
            }));
        }
        if lines.is_empty() && job.names_snippets {
            for Planned { case, .. } in job
                .planned
                .iter()
                .filter(|planned| planned.case.language.is_some() && planned.role == Role::Asked)
            {
                lines.extend(
                    self.workers
                        .prepare(case)
                        .err()
                        .map(|why| format!("{case}: {}", why.message)),
                );
            }
        }
        self.interrupt.check()?;
        // Several snippets may fail for the same missing compiler.
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
    if environment.machine.is_some() {
        // Booting it takes long, and usually only its image is missing.
        return guest::kernel(&environment)
            .err()
            .map(|error| format!("{error:#}"));
    }
    if name == NATIVE {
        return None;
    }
    let (readiness, why) = readiness(workers, &environment);
    if readiness == Readiness::Ready {
        return None;
    }
    why
}
