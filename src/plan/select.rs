//! Cases from chosen operations and parameters, and the baselines that every run holds.

use super::Setting;
use crate::engine::Planned;
use crate::model::{Case, Operation, Role};
use anyhow::{Result, bail};
use std::collections::BTreeMap;

/// What every run measures beside what was asked: the loop itself, an empty call (the table's yardstick), a reference
/// system call, and user-mode work that no kernel changes.
pub const BASELINES: [&str; 4] = ["call.empty_loop", "call.direct", "id.getppid", "call.spin"];

/// One case for each combination of the parameters that an operation has; then the baselines not among them.
///
/// # Errors
/// When a parameter is known to none of the chosen operations.
pub fn select(catalogue: &[Operation], chosen: &[&Operation], settings: &[Setting]) -> Result<Vec<Planned>> {
    for setting in settings {
        if !chosen.iter().any(|o| has(o, &setting.name)) {
            bail!("--param {}: {}", setting.name, known_parameters(chosen));
        }
    }
    let mut planned: Vec<Planned> = chosen.iter().flat_map(|o| cases(o, settings)).collect();
    for id in BASELINES {
        let asked = planned.iter().any(|p| p.case.operation == id && p.case.params.is_empty());
        if let (false, Some(operation)) = (asked, catalogue.iter().find(|o| o.id == id)) {
            planned.push(plan(operation, BTreeMap::new(), Role::Baseline));
        }
    }
    Ok(planned)
}

fn has(operation: &Operation, name: &str) -> bool {
    operation.params.iter().any(|p| p.name == name)
}

fn known_parameters(chosen: &[&Operation]) -> String {
    let mut names: Vec<&str> = chosen.iter().flat_map(|o| &o.params).map(|p| p.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    match names.is_empty() {
        true => "none of the chosen operations has a parameter".to_string(),
        false => format!("the chosen operations have {} only", names.join(", ")),
    }
}

fn cases(operation: &Operation, settings: &[Setting]) -> Vec<Planned> {
    let mut combinations = vec![BTreeMap::new()];
    for setting in settings.iter().filter(|s| has(operation, &s.name)) {
        let with = |params: &BTreeMap<String, u64>, value: &u64| {
            let mut params = params.clone();
            params.insert(setting.name.clone(), *value);
            params
        };
        combinations = combinations.iter().flat_map(|p| setting.values.iter().map(move |v| with(p, v))).collect();
    }
    combinations.into_iter().map(|params| plan(operation, params, Role::Asked)).collect()
}

fn plan(operation: &Operation, params: BTreeMap<String, u64>, role: Role) -> Planned {
    let left = operation.params.iter().filter(|p| !params.contains_key(&p.name));
    let defaults = left.map(|p| (p.name.clone(), p.default)).collect();
    let case = Case { params, defaults, ..Case::native(&operation.id) };
    Planned { case, role, traits: operation.traits, limit: operation.limit }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Expectation, Parameter, Traits};

    fn operation(id: &str, params: &[&str]) -> Operation {
        let parameter = |name: &&str| Parameter { name: name.to_string(), default: 1, what: String::new() };
        Operation {
            id: id.into(),
            what: String::new(),
            enters: Expectation::default(),
            prepares: Expectation::default(),
            params: params.iter().map(parameter).collect(),
            systems: "posix".into(),
            family: None,
            traits: Traits::default(),
            limit: None,
            available: true,
        }
    }

    fn catalogue() -> Vec<Operation> {
        let mut all: Vec<Operation> = BASELINES.iter().map(|id| operation(id, &[])).collect();
        all.push(operation("file.lstat", &["depth", "entries"]));
        all
    }

    #[test]
    fn parameters_combine_and_baselines_follow() {
        let all = catalogue();
        let settings: Vec<Setting> = ["depth=1,8", "entries=0,100"].iter().map(|s| s.parse().unwrap()).collect();
        let planned = select(&all, &[&all[4], &all[2]], &settings).unwrap();
        let asked = planned.iter().filter(|p| p.role == Role::Asked).map(|p| p.case.to_string());
        assert_eq!(
            asked.collect::<Vec<_>>(),
            [
                "file.lstat depth=1 entries=0",
                "file.lstat depth=1 entries=100",
                "file.lstat depth=8 entries=0",
                "file.lstat depth=8 entries=100",
                "id.getppid"
            ]
        );
        let baselines: Vec<_> =
            planned.iter().filter(|p| p.role == Role::Baseline).map(|p| &p.case.operation).collect();
        assert_eq!(baselines, ["call.empty_loop", "call.direct", "call.spin"]);
    }

    #[test]
    fn an_unknown_parameter_is_named() {
        let all = catalogue();
        let error = select(&all, &[&all[4]], &["size=1".parse().unwrap()]).unwrap_err();
        assert_eq!(error.to_string(), "--param size: the chosen operations have depth, entries only");
    }
}
