//! Cases from subjects, parameters and environments, plus the baselines of every run.

use super::{Setting, Subject};
use crate::runner::{Environment, Language, NATIVE};
use anyhow::{Result, bail};
use itertools::Itertools;
use model::{
    COLD, Case, EMPTY_CALL, EMPTY_LOOP, Expectation, Operation, PANEL, Planned, REFERENCE, Role,
    SHARED, SPIN, THREADS, Unit,
};
use std::collections::{BTreeMap, BTreeSet};

/// Operations that every run measures too, in each environment: the loop itself, an empty call, a system call (the unit of
/// costs besides nanoseconds), and user-mode work that no kernel affects.
pub const BASELINES: [&str; 4] = [EMPTY_LOOP, EMPTY_CALL, REFERENCE, SPIN];

#[derive(Clone, Copy, Default)]
pub struct Choices<'a> {
    pub settings: &'a [Setting],
    /// Empty for the native one, or for those of the study.
    pub environments: &'a [String],
    pub scope: EnvironmentScope,
}

/// The others are measured once.
#[derive(Clone, Copy, Default)]
pub enum EnvironmentScope {
    #[default]
    Built,
    Operations,
    Everything,
}

impl EnvironmentScope {
    fn covers(self, language: Option<&str>) -> bool {
        match self {
            EnvironmentScope::Built => language
                .and_then(|name| Language::find(name).ok())
                .is_none_or(|language| language.environments),
            EnvironmentScope::Operations => language.is_none(),
            EnvironmentScope::Everything => true,
        }
    }
}

/// Each case has its own process, all at the same time: more are taken for a mistake.
const MOST_CASES: u64 = 10_000;

/// Before any is created.
pub(super) fn check_count(counts: impl Iterator<Item = u128>) -> Result<()> {
    let cases = counts.fold(0, u128::saturating_add);
    if cases <= u128::from(MOST_CASES) {
        return Ok(());
    }
    let number = if cases == u128::MAX {
        "uncountable".to_string()
    } else {
        cases.to_string()
    };
    bail!("these are {number} cases, more than {MOST_CASES}: give fewer values");
}

/// How many cases a subject makes. In 128 bits, since a few long lists of values multiply beyond what memory could hold.
pub(super) fn case_count(subject: &Subject, choices: &Choices) -> u128 {
    let language = match subject {
        Subject::Snippet(case) => case.language.as_deref(),
        Subject::Operation(_) => None,
    };
    let environments = if choices.scope.covers(language) {
        choices.environments.len().max(1)
    } else {
        1
    };
    choices
        .settings
        .iter()
        .filter(|s| has(subject, &s.name))
        .map(|s| s.values.len() as u128)
        .fold(environments as u128, u128::saturating_mul)
}

/// One case for each combination of parameters and environments; then the baselines that are not
/// among them, and the empty loop of every language.
///
/// # Errors
/// A parameter that no subject has, or too many cases.
pub fn select(
    catalogue: &[Operation],
    subjects: &[Subject],
    choices: &Choices,
) -> Result<Vec<Planned>> {
    for setting in choices.settings {
        if !subjects.iter().any(|s| has(s, &setting.name)) {
            bail!("--param {}: {}", setting.name, known_parameters(subjects));
        }
    }
    // Counted before any is made: a mistyped range would use up the memory.
    check_count(subjects.iter().map(|subject| case_count(subject, choices)))?;
    let mut planned: Vec<Planned> = subjects
        .iter()
        .flat_map(|subject| cases(subject, choices))
        .collect();
    add_baselines(catalogue, &mut planned);
    Ok(planned)
}

pub(super) fn has(subject: &Subject, name: &str) -> bool {
    match subject {
        Subject::Operation(o) => {
            [THREADS, SHARED, COLD].contains(&name) || o.params.iter().any(|p| p.name == name)
        }
        Subject::Snippet(case) => case.code_contains(&format!("{{{name}}}")),
    }
}

pub(super) fn parameter_names<'a>(subjects: &'a [Subject]) -> BTreeSet<&'a str> {
    subjects
        .iter()
        .flat_map(|subject| match subject {
            Subject::Operation(operation) => operation.params.as_slice(),
            Subject::Snippet(_) => &[],
        })
        .map(|p| p.name.as_str())
        .collect()
}

fn known_parameters(subjects: &[Subject]) -> String {
    let names = parameter_names(subjects);
    if names.is_empty() {
        "none of the chosen cases has it".to_string()
    } else {
        format!(
            "the chosen operations have {} only",
            names.into_iter().join(", ")
        )
    }
}

pub(super) fn cases(subject: &Subject, choices: &Choices) -> Vec<Planned> {
    let mut combinations = vec![BTreeMap::new()];
    for setting in choices.settings.iter().filter(|s| has(subject, &s.name)) {
        combinations = combinations
            .iter()
            .cartesian_product(&setting.values)
            .map(|(params, value)| with_param(params, &setting.name, *value))
            .collect();
    }
    combinations
        .into_iter()
        .map(|params| plan(subject, params))
        .flat_map(|planned| in_environments(planned, choices))
        .collect()
}

fn with_param(params: &BTreeMap<String, u64>, name: &str, value: u64) -> BTreeMap<String, u64> {
    let mut params = params.clone();
    params.insert(name.to_string(), value);
    params
}

fn plan(subject: &Subject, params: BTreeMap<String, u64>) -> Planned {
    match subject {
        Subject::Operation(operation) => plan_operation(operation, params, Role::Asked),
        Subject::Snippet(case) => Planned::new(
            Case {
                params,
                ..case.clone()
            },
            Role::Asked,
        ),
    }
}

fn plan_operation(operation: &Operation, params: BTreeMap<String, u64>, role: Role) -> Planned {
    let defaults = operation
        .params
        .iter()
        .filter(|p| !params.contains_key(&p.name))
        .map(|p| (p.name.clone(), p.default))
        .collect();
    Planned {
        traits: operation.traits,
        limit: operation.limit,
        enters: Some(operation.enters.clone()),
        prepares: operation.prepares.clone(),
        ..Planned::new(
            Case {
                params,
                defaults,
                ..Case::native(&operation.id)
            },
            role,
        )
    }
}

fn baseline(operation: &Operation, environment: &str) -> Planned {
    plan_operation(operation, BTreeMap::new(), Role::Baseline).in_environment(environment)
}

fn in_environments(planned: Planned, choices: &Choices) -> Vec<Planned> {
    let environments = choices.environments;
    if environments.is_empty() || !choices.scope.covers(planned.case.language.as_deref()) {
        return vec![planned];
    }
    environments
        .iter()
        .map(|environment| planned.in_environment(environment))
        .collect()
}

pub(super) fn add_baselines(catalogue: &[Operation], planned: &mut Vec<Planned>) {
    let mut environments: BTreeSet<String> =
        planned.iter().map(|p| p.case.environment.clone()).collect();
    if environments.is_empty() {
        // A run of no cases still measures its baselines.
        environments.insert(NATIVE.to_string());
    }
    for environment in &environments {
        for operation in BASELINES
            .into_iter()
            .filter(|id| *id == EMPTY_LOOP || keeps_time(environment))
            .filter_map(|id| find(catalogue, id))
        {
            add(planned, baseline(operation, environment));
        }
    }
    add_panel(catalogue, &environments, planned);
    add_cold_loops(catalogue, planned);
    let loops: BTreeSet<(String, String)> = planned
        .iter()
        .filter_map(|p| Some((p.case.language.clone()?, p.case.environment.clone())))
        .collect();
    for (language, environment) in loops {
        let empty = Planned {
            enters: Some(Expectation::default()),
            ..Planned::new(Case::snippet(&language, ""), Role::Baseline)
        };
        add(planned, empty.in_environment(&environment));
    }
}

fn find<'a>(catalogue: &'a [Operation], id: &str) -> Option<&'a Operation> {
    catalogue.iter().find(|operation| operation.id == id)
}

/// An environment that counts instructions needs only the empty loop, as the part to subtract: the other baselines and the panel are
/// measures of time.
fn keeps_time(environment: &str) -> bool {
    !Environment::find(environment).is_ok_and(|place| place.unit == Unit::Instructions)
}

/// The panel that shows the machine's speed, in one environment that has a clock: the native one if it is among
/// them.
fn add_panel(catalogue: &[Operation], environments: &BTreeSet<String>, planned: &mut Vec<Planned>) {
    let native = environments
        .get(NATIVE)
        .or_else(|| environments.iter().find(|name| keeps_time(name)));
    let Some(environment) = native else { return };
    for operation in PANEL
        .iter()
        .filter_map(|id| find(catalogue, id))
        .filter(|o| o.available)
    {
        add(planned, baseline(operation, environment));
    }
}

/// One for each treatment of cold cases: it has the cost of timing single calls, which theirs include.
fn add_cold_loops(catalogue: &[Operation], planned: &mut Vec<Planned>) {
    let Some(empty) = find(catalogue, EMPTY_LOOP) else {
        return;
    };
    let treatments: BTreeSet<(String, u64)> = planned
        .iter()
        .filter_map(|p| Some((p.case.environment.clone(), p.case.cold()?)))
        .collect();
    for (environment, bytes) in treatments {
        let params = BTreeMap::from([(COLD.to_string(), bytes)]);
        let planned_loop = plan_operation(empty, params, Role::Baseline);
        add(planned, planned_loop.in_environment(&environment));
    }
}

fn add(planned: &mut Vec<Planned>, baseline: Planned) {
    if !planned.iter().any(|p| p.case.same_work(&baseline.case)) {
        planned.push(baseline);
    }
}

/// Adds to each case that was asked for one per size, in bytes: its calls are timed one by one
/// after as much memory was displaced. The empty loops to subtract are added too.
///
/// # Errors
/// A snippet among the cases, or too many cases.
pub fn add_cold_cases(
    catalogue: &[Operation],
    planned: Vec<Planned>,
    sizes: &[u64],
) -> Result<Vec<Planned>> {
    if let Some(snippet) = planned.iter().find(|p| p.case.language.is_some()) {
        bail!(
            "--cold: a snippet's loop belongs to its language and cannot evict caches; leave out {}",
            snippet.case
        );
    }
    let asked = planned.iter().filter(|p| p.role == Role::Asked).count() as u128;
    check_count(std::iter::once(asked * (1 + sizes.len() as u128)))?;
    let mut all: Vec<Planned> = planned
        .into_iter()
        .flat_map(|p| with_cold(p, sizes))
        .collect();
    add_baselines(catalogue, &mut all);
    Ok(all)
}

fn with_cold(planned: Planned, sizes: &[u64]) -> Vec<Planned> {
    let mut all = vec![planned.clone()];
    if planned.role == Role::Asked {
        all.extend(sizes.iter().map(|bytes| {
            planned.with_case(Case {
                params: with_param(&planned.case.params, COLD, *bytes),
                ..planned.case.clone()
            })
        }));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Parameter;

    fn operation(id: &str, params: &[&str]) -> Operation {
        Operation {
            id: id.into(),
            params: params
                .iter()
                .map(|name| Parameter {
                    name: name.to_string(),
                    default: 1,
                    what: String::new(),
                })
                .collect(),
            ..Operation::default()
        }
    }

    fn catalogue() -> Vec<Operation> {
        let mut all: Vec<Operation> = BASELINES.iter().map(|id| operation(id, &[])).collect();
        all.push(operation("file.lstat", &["depth", "entries"]));
        all
    }

    fn choices(settings: &[Setting]) -> Choices<'_> {
        Choices {
            settings,
            ..Choices::default()
        }
    }

    fn named(planned: &[Planned], role: Role) -> Vec<String> {
        planned
            .iter()
            .filter(|p| p.role == role)
            .map(|p| format!("{} {}", p.case, p.case.environment))
            .collect()
    }

    #[test]
    fn parameters_combine_and_baselines_follow() {
        let all = catalogue();
        let settings: Vec<Setting> = ["depth=1,8", "entries=0,100"]
            .iter()
            .map(|s| s.parse().unwrap())
            .collect();
        let subjects = [Subject::Operation(&all[4]), Subject::Operation(&all[2])];
        let planned = select(&all, &subjects, &choices(&settings)).unwrap();
        let each = [(1, 0), (1, 100), (8, 0), (8, 100)];
        let mut asked = each
            .map(|(depth, entries)| format!("file.lstat depth={depth} entries={entries} native"))
            .to_vec();
        asked.push("id.getppid native".to_string());
        assert_eq!(named(&planned, Role::Asked), asked);
        let baselines = [
            "call.empty_loop native",
            "call.direct native",
            "call.spin native",
        ];
        assert_eq!(named(&planned, Role::Baseline), baselines);
    }

    #[test]
    fn a_snippet_has_the_parameters_named_in_it() {
        let all = catalogue();
        let subjects = [Subject::Snippet(Case::snippet("perl", "f({size})"))];
        let planned = select(&all, &subjects, &choices(&["size=1,2".parse().unwrap()])).unwrap();
        assert_eq!(
            named(&planned, Role::Asked),
            [
                "perl:f({size}) size=1 native",
                "perl:f({size}) size=2 native"
            ]
        );
        assert!(select(&all, &subjects, &choices(&["depth=1".parse().unwrap()])).is_err());
    }

    fn wide(parameters: usize) -> (Operation, Vec<Setting>) {
        let names: Vec<String> = (0..parameters).map(|i| format!("p{i}")).collect();
        let operation = operation(
            "file.wide",
            &names.iter().map(String::as_str).collect::<Vec<_>>(),
        );
        let values = (0..200).collect::<Vec<u64>>();
        (
            operation,
            names
                .into_iter()
                .map(|name| Setting {
                    name,
                    values: values.clone(),
                })
                .collect(),
        )
    }

    #[test]
    fn cases_are_counted_over_subjects_and_environments() {
        let all = catalogue();
        let (operation, settings) = wide(1);
        let subjects = [
            Subject::Operation(&operation),
            Subject::Operation(&all[2]),
            Subject::Snippet(Case::snippet("perl", "1")),
        ];
        let environments = ["native".to_string(), "static".to_string()];
        let choices = Choices {
            settings: &settings,
            environments: &environments,
            ..Choices::default()
        };
        assert_eq!(
            subjects
                .each_ref()
                .map(|subject| case_count(subject, &choices)),
            [200 * 2, 2, 1]
        );
    }

    #[test]
    fn environments_reach_what_they_can_change() {
        let all = catalogue();
        let subjects = [
            Subject::Operation(&all[4]),
            Subject::Snippet(Case::snippet("perl", "1")),
        ];
        let environments = ["native".to_string(), "/b".to_string()];
        let [operations, built, everything] = [
            EnvironmentScope::Operations,
            EnvironmentScope::Built,
            EnvironmentScope::Everything,
        ]
        .map(|scope| {
            let choices = Choices {
                environments: &environments,
                scope,
                ..Choices::default()
            };
            select(&all, &subjects, &choices).unwrap()
        });
        for planned in [&operations, &built] {
            assert_eq!(
                named(planned, Role::Asked),
                ["file.lstat native", "file.lstat /b", "perl:1 native"]
            );
        }
        assert_eq!(named(&everything, Role::Asked).last().unwrap(), "perl:1 /b");
        assert_eq!(named(&built, Role::Baseline).len(), 2 * BASELINES.len() + 1);
    }

    #[test]
    fn where_instructions_are_counted_only_the_empty_loop_is_a_baseline() {
        let all = catalogue();
        let environments = ["linux-6.1".to_string()];
        let choices = Choices {
            environments: &environments,
            ..Choices::default()
        };
        let planned = select(&all, &[Subject::Operation(&all[4])], &choices).unwrap();
        assert_eq!(
            named(&planned, Role::Baseline),
            ["call.empty_loop linux-6.1"]
        );
    }

    #[test]
    fn an_unknown_parameter_is_named() {
        let all = catalogue();
        let subjects = [Subject::Operation(&all[4])];
        let error = select(&all, &subjects, &choices(&["size=1".parse().unwrap()])).unwrap_err();
        assert_eq!(
            error.to_string(),
            "--param size: the chosen operations have depth, entries only"
        );
    }
}
