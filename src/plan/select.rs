//! Cases from subjects, parameters and environments, and the baselines that every run holds.

use super::{Setting, Subject};
use crate::model::{
    Case, EMPTY_CALL, EMPTY_LOOP, Expectation, Operation, Planned, REFERENCE, Role, SHARED, SPIN, THREADS,
};
use crate::runner::{Language, NATIVE};
use anyhow::{Result, bail};
use std::collections::{BTreeMap, BTreeSet};

/// What every run measures beside what was asked, in each environment: the loop itself, an empty call (the table's
/// yardstick), a reference system call, and user-mode work that no kernel changes.
pub const BASELINES: [&str; 4] = [EMPTY_LOOP, EMPTY_CALL, REFERENCE, SPIN];

/// One case for each combination of the parameters that a subject has and each environment that applies to it; then the
/// baselines: those above that are not among them, and the empty loop of every language.
///
/// # Errors
/// When a parameter is known to none of the subjects.
pub fn select(
    catalogue: &[Operation],
    subjects: &[Subject],
    settings: &[Setting],
    environments: &[String],
) -> Result<Vec<Planned>> {
    for setting in settings {
        if !subjects.iter().any(|s| has(s, &setting.name)) {
            bail!("--param {}: {}", setting.name, known_parameters(subjects));
        }
    }
    let each = subjects.iter().flat_map(|s| cases(s, settings));
    let mut planned: Vec<Planned> = each.flat_map(|p| in_environments(&p, environments)).collect();
    add_baselines(catalogue, &mut planned);
    Ok(planned)
}

pub(super) fn has(subject: &Subject, name: &str) -> bool {
    match subject {
        Subject::Operation(o) => name == THREADS || name == SHARED || o.params.iter().any(|p| p.name == name),
        Subject::Snippet(case) => {
            let hole = format!("{{{name}}}");
            [&case.operation, &case.setup, &case.prelude].iter().any(|text| text.contains(&hole))
        }
    }
}

fn known_parameters(subjects: &[Subject]) -> String {
    let operations = subjects.iter().filter_map(|s| if let Subject::Operation(o) = s { Some(o) } else { None });
    let names: BTreeSet<&str> = operations.flat_map(|o| &o.params).map(|p| p.name.as_str()).collect();
    match names.is_empty() {
        true => "none of the chosen cases has it".to_string(),
        false => format!("the chosen operations have {} only", names.into_iter().collect::<Vec<_>>().join(", ")),
    }
}

/// One case for each combination of the settings that the subject has.
pub(super) fn cases(subject: &Subject, settings: &[Setting]) -> Vec<Planned> {
    let mut combinations = vec![BTreeMap::new()];
    for setting in settings.iter().filter(|s| has(subject, &s.name)) {
        let with = |params: &BTreeMap<String, u64>, value: &u64| {
            let mut params = params.clone();
            params.insert(setting.name.clone(), *value);
            params
        };
        combinations = combinations.iter().flat_map(|p| setting.values.iter().map(move |v| with(p, v))).collect();
    }
    combinations.into_iter().map(|params| plan(subject, params)).collect()
}

fn plan(subject: &Subject, params: BTreeMap<String, u64>) -> Planned {
    match subject {
        Subject::Operation(operation) => plan_operation(operation, params, Role::Asked),
        Subject::Snippet(case) => Planned::new(Case { params, ..case.clone() }, Role::Asked),
    }
}

fn plan_operation(operation: &Operation, params: BTreeMap<String, u64>, role: Role) -> Planned {
    let left = operation.params.iter().filter(|p| !params.contains_key(&p.name));
    let defaults = left.map(|p| (p.name.clone(), p.default)).collect();
    let case = Case { params, defaults, ..Case::native(&operation.id) };
    Planned {
        case,
        role,
        traits: operation.traits,
        limit: operation.limit,
        enters: Some(operation.enters.clone()),
        prepares: operation.prepares.clone(),
    }
}

/// A case in each environment; languages that are not built by the C compiler know one only.
pub(super) fn in_environments(planned: &Planned, environments: &[String]) -> Vec<Planned> {
    let language = planned.case.language.as_deref().and_then(|name| Language::find(name).ok());
    if environments.is_empty() || language.is_some_and(|l| !l.environments) {
        return vec![planned.clone()];
    }
    environments.iter().map(|environment| planned.in_environment(environment)).collect()
}

/// Adds what every run measures in each environment and language of `planned`.
pub(super) fn add_baselines(catalogue: &[Operation], planned: &mut Vec<Planned>) {
    let mut environments: BTreeSet<String> = planned.iter().map(|p| p.case.environment.clone()).collect();
    if environments.is_empty() {
        environments.insert(NATIVE.to_string());
    }
    for environment in &environments {
        for operation in BASELINES.iter().filter_map(|id| catalogue.iter().find(|o| o.id == *id)) {
            add(planned, plan_operation(operation, BTreeMap::new(), Role::Baseline).in_environment(environment));
        }
    }
    let loops: BTreeSet<(String, String)> =
        planned.iter().filter_map(|p| Some((p.case.language.clone()?, p.case.environment.clone()))).collect();
    for (language, environment) in loops {
        let empty = Planned {
            enters: Some(Expectation::default()),
            ..Planned::new(Case::snippet(&language, ""), Role::Baseline)
        };
        add(planned, empty.in_environment(&environment));
    }
}

/// A baseline that was asked for anyway is not measured twice.
fn add(planned: &mut Vec<Planned>, baseline: Planned) {
    if !planned.iter().any(|p| p.case.same_work(&baseline.case)) {
        planned.push(baseline);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Parameter, Traits};

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

    fn named(planned: &[Planned], role: Role) -> Vec<String> {
        let name = |p: &Planned| format!("{} {}", p.case, p.case.environment);
        planned.iter().filter(|p| p.role == role).map(name).collect()
    }

    #[test]
    fn parameters_combine_and_baselines_follow() {
        let all = catalogue();
        let settings: Vec<Setting> = ["depth=1,8", "entries=0,100"].iter().map(|s| s.parse().unwrap()).collect();
        let subjects = [Subject::Operation(&all[4]), Subject::Operation(&all[2])];
        let planned = select(&all, &subjects, &settings, &[]).unwrap();
        assert_eq!(
            named(&planned, Role::Asked),
            [
                "file.lstat depth=1 entries=0 native",
                "file.lstat depth=1 entries=100 native",
                "file.lstat depth=8 entries=0 native",
                "file.lstat depth=8 entries=100 native",
                "id.getppid native"
            ]
        );
        let baselines = ["call.empty_loop native", "call.direct native", "call.spin native"];
        assert_eq!(named(&planned, Role::Baseline), baselines);
    }

    #[test]
    fn environments_multiply_operations_and_baselines() {
        let all = catalogue();
        let environments = ["native".to_string(), "static".to_string()];
        let planned = select(&all, &[Subject::Operation(&all[4])], &[], &environments).unwrap();
        assert_eq!(named(&planned, Role::Asked), ["file.lstat native", "file.lstat static"]);
        assert_eq!(named(&planned, Role::Baseline).len(), 8);
    }

    #[test]
    fn a_snippet_has_the_parameters_that_stand_in_it() {
        let all = catalogue();
        let subjects = [Subject::Snippet(Case::snippet("perl", "f({size})"))];
        let planned = select(&all, &subjects, &["size=1,2".parse().unwrap()], &[]).unwrap();
        assert_eq!(named(&planned, Role::Asked), ["perl:f({size}) size=1 native", "perl:f({size}) size=2 native"]);
        assert!(select(&all, &subjects, &["depth=1".parse().unwrap()], &[]).is_err());
    }

    #[test]
    fn an_unknown_parameter_is_named() {
        let all = catalogue();
        let subjects = [Subject::Operation(&all[4])];
        let error = select(&all, &subjects, &["size=1".parse().unwrap()], &[]).unwrap_err();
        assert_eq!(error.to_string(), "--param size: the chosen operations have depth, entries only");
    }
}
