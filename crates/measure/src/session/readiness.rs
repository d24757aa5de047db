//! Checks whether environments can be used here: each is built and started once, for a moment. Cases in one that cannot be
//! used become rows with the reason. If that is the first of a run, with which the others are compared, nothing is measured.

use super::{Job, Session};
use crate::guest::images::Images;
use crate::guest::{self, Guest, Options};
use crate::runner::{Environment, NATIVE, Workers};
use anyhow::{Result, ensure};
use indexmap::IndexSet;
use itertools::Itertools;
use model::{Case, EMPTY_LOOP, Failure, Role, parameter_value};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Begins the reason of an environment that is ready with these kernels.
pub const IMAGES: &str = "kernel images: ";

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

/// Whether the environment can be used, and a text: what to install, why it was refused, or the images for a machine that
/// boots any kernel. No probe is built and no such machine is booted: both take seconds.
pub fn readiness(workers: &Workers, environment: &Environment) -> (Readiness, Option<String>) {
    let images = environment.machine.as_deref().map(images);
    let needs = environment.check_needs().err();
    let compiler = if environment.is_built_natively() {
        None
    } else {
        environment.compiler().err()
    };
    let mut missing: Vec<String> = needs
        .into_iter()
        .chain(compiler)
        .map(|error| without_name(&format!("{error:#}"), &environment.name).to_string())
        .collect();
    if images.as_deref() == Some("") {
        missing.push("no kernel image; get one with 'syscost kernel fetch VERSION'".to_string());
    }
    if !missing.is_empty() {
        return (Readiness::Missing, Some(missing.join("; ")));
    }
    let images = images.map(|releases| format!("{IMAGES}{releases}"));
    if workers.lacks_probe_of(&environment.name) {
        return (Readiness::NotBuilt, images);
    }
    if images.is_some() {
        return (Readiness::Ready, images);
    }
    match start(workers, environment) {
        Ok(()) => (Readiness::Ready, None),
        Err(failure) => (Readiness::NotPermitted, Some(failure.message)),
    }
}

fn start(workers: &Workers, environment: &Environment) -> Result<(), Failure> {
    let case = Case::native(EMPTY_LOOP).in_environment(&environment.name);
    if environment.machine.is_some() {
        // Booting it takes long, and usually only its image is missing.
        guest::kernel(environment).map_err(|error| Failure::unsupported(format!("{error:#}")))?;
        return workers.prepare(&case);
    }
    workers.prepare(&case)?;
    if environment.is_guest {
        Guest::boot(workers, &environment.name, &Options::default()).map(drop)
    } else {
        workers.start_greeted(&case).map(drop)
    }
}

fn without_name<'a>(message: &'a str, name: &str) -> &'a str {
    let prefix = format!("environment {name}: ");
    message.strip_prefix(&prefix).unwrap_or(message)
}

fn images(machine: &str) -> String {
    let all = Images::open().map(|images| images.all());
    let fitting = all.unwrap_or_default().into_iter();
    fitting
        .filter(|image| image.facts.architecture == machine)
        .map(|image| image.facts.release)
        .join(", ")
}

#[derive(Debug, thiserror::Error)]
#[error("{}", .0.join("; "))]
pub struct Refused(pub Vec<String>);

impl Session {
    /// The environments that the user named and that cannot be used, each with the reason.
    pub(super) fn check_named(&self, job: &Job) -> Result<BTreeMap<String, Failure>> {
        let asked = job.planned.iter().filter(|one| one.role == Role::Asked);
        let names: IndexSet<&str> = asked
            .clone()
            .map(|planned| planned.case.environment.as_str())
            .collect();
        let named = names
            .iter()
            .filter(|name| job.named_environments.iter().any(|one| one == *name));
        let failed: BTreeMap<String, Failure> = named
            .filter_map(|name| Some((name.to_string(), refusal(&self.workers, name)?)))
            .collect();
        let mut lines = Vec::new();
        let base = names.first().and_then(|name| failed.get(*name));
        if base.is_some() || failed.values().any(is_misspelled) {
            lines.extend(
                failed
                    .iter()
                    .map(|(name, why)| format!("environment {name}: {why}")),
            );
        } else if job.names_snippets {
            lines.extend(self.unbuilt(asked.map(|planned| &planned.case), &failed));
        }
        self.interrupt.check()?;
        ensure!(lines.is_empty(), Refused(lines));
        Ok(failed)
    }

    /// Values that the only operation of a run does not take are refused before anything is measured; the least and the greatest are tried.
    /// Beside other operations they become rows with the reason.
    pub(super) fn check_parameters(&self, job: &Job) -> Result<()> {
        let asked = job.planned.iter().filter(|one| one.role == Role::Asked);
        let asked: Vec<&Case> = asked.map(|one| &one.case).collect();
        if !asked.iter().map(|case| &case.operation).all_equal() {
            return Ok(());
        }
        let given = asked.into_iter().filter(|case| {
            let is_single = **case == case.alone();
            is_single
                && case.language.is_none()
                && case.environment == NATIVE
                && !case.params.is_empty()
        });
        let ends = given.minmax_by_key(|case| &case.params).into_option();
        let ends: IndexSet<&Case> = ends.into_iter().flat_map(<[_; 2]>::from).collect();
        let refused = ends.into_iter().filter_map(|case| self.refused_value(case));
        let lines: Vec<String> = refused.collect();
        self.interrupt.check()?;
        ensure!(lines.is_empty(), Refused(lines));
        Ok(())
    }

    /// `--param size=1G: mem.fault_range: from 0 to 753M, half of this machine's memory`
    fn refused_value(&self, case: &Case) -> Option<String> {
        let failure = self.workers.start_greeted(case).err()?;
        let text = failure.message.strip_prefix("EINVAL: parameter ")?;
        let (name, range) = text
            .trim_end_matches(": Invalid argument")
            .split_once(": ")?;
        let value = parameter_value(name, *case.params.get(name)?);
        Some(format!(
            "--param {name}={value}: {}: {range}",
            case.operation
        ))
    }

    fn unbuilt<'a>(
        &self,
        cases: impl Iterator<Item = &'a Case>,
        failed: &BTreeMap<String, Failure>,
    ) -> Vec<String> {
        let mut lines: Vec<String> = cases
            .filter(|case| case.language.is_some() && !failed.contains_key(&case.environment))
            .filter_map(|case| {
                let why = self.workers.prepare(case).err()?;
                Some(format!("{case}: {why}"))
            })
            .collect();
        // Several snippets may fail for the same missing compiler.
        lines.dedup();
        lines
    }
}

/// The launcher puts its name in front of words that it does not know, and not of what this machine refuses.
fn is_misspelled(failure: &Failure) -> bool {
    failure.message.starts_with("confine: ")
}

fn refusal(workers: &Workers, name: &str) -> Option<Failure> {
    if name == NATIVE {
        return None;
    }
    let environment = workers.environment(name);
    let started = environment.and_then(|environment| start(workers, &environment));
    let failure = started.err()?;
    Some(Failure {
        message: without_name(&failure.message, name).to_string(),
        ..failure
    })
}
