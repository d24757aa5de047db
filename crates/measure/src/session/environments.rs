//! What a run says of the environments of its cases: those that are started by a command, mislead,
//! or have another unit than time. One that is missing is reported by its cases.

use crate::runner::{Environment, Workers};
use indexmap::IndexSet;
use model::{EnvironmentFacts, Planned, Unit};
use std::collections::BTreeMap;

/// `known` are facts that only a visit or a boot tells.
pub fn facts(
    workers: &Workers,
    planned: &[Planned],
    known: &BTreeMap<String, EnvironmentFacts>,
) -> Vec<EnvironmentFacts> {
    let names: IndexSet<&str> = planned
        .iter()
        .map(|planned| planned.case.environment.as_str())
        .collect();
    let found = |name: &str| {
        known
            .get(name)
            .cloned()
            .or_else(|| facts_of(name, workers.environment(name).ok()?))
    };
    names.into_iter().filter_map(found).collect()
}

fn facts_of(name: &str, environment: Environment) -> Option<EnvironmentFacts> {
    let started_with = if environment.has_starter() {
        environment.run
    } else {
        Vec::new()
    };
    let plain = started_with.is_empty()
        && environment.misleads.is_empty()
        && environment.unit == Unit::Nanoseconds;
    (!plain).then(|| EnvironmentFacts {
        name: name.to_string(),
        unit: environment.unit,
        started_with,
        notes: environment.misleads,
        ..EnvironmentFacts::default()
    })
}
