//! Plans the cases of a study, and the fixtures they need.

use super::definition::{At, Expected, Study, StudyCase, Work};
use super::error::StudyText;
use super::fixtures;
use crate::plan::select::{
    add_baselines, cases, check_count, count, has, in_environments, parameter_names,
};
use crate::plan::{Choices, Setting, Subject};
use crate::runner::Fixture;
use anyhow::{Error, Result, bail};
use model::pattern::matching;
use model::{Case, Expectation, Operation, Planned, Run};

#[derive(Clone, Debug)]
pub struct StudyPlan {
    pub planned: Vec<Planned>,
    pub fixtures: Vec<Fixture>,
    expected: Vec<(Case, Expectation)>,
}

impl StudyPlan {
    pub fn without_study(planned: Vec<Planned>) -> StudyPlan {
        StudyPlan {
            planned,
            fixtures: Vec::new(),
            expected: Vec::new(),
        }
    }

    /// The cases of `run` whose counted entries differ from what the study expects.
    pub fn unmet<'a>(&'a self, run: &'a Run) -> impl Iterator<Item = &'a Case> {
        let unlike = |case: &Case, expectation: &Expectation| {
            let record = run.records.iter().find(|record| record.case == *case);
            let counted = record.and_then(|record| record.entries.as_ref());
            counted.is_some_and(|counted| !expectation.matches(counted, &case.effective_params()))
        };
        self.expected
            .iter()
            .filter(move |(case, expectation)| unlike(case, expectation))
            .map(|(case, _)| case)
    }
}

impl Study {
    /// The user's parameters and environments, if any, replace the study's.
    pub fn plan(&self, catalogue: &[Operation], choices: &Choices) -> Result<StudyPlan> {
        let subjects = self.subjects(catalogue)?;
        self.check_parameters(&subjects)?;
        if let Some(setting) = choices
            .settings
            .iter()
            .find(|s| !subjects.iter().any(|(_, subject)| has(subject, &s.name)))
        {
            bail!("--param {}: no case of the study has it", setting.name);
        }
        let counted = |(case, subject): &(StudyCase, Subject)| {
            count(
                subject,
                &self.settings(case, choices),
                self.environments(case, choices),
                choices.scope,
            )
        };
        check_count(subjects.iter().map(counted))?;
        let mut planned = Vec::new();
        let mut expected = Vec::new();
        for (case, subject) in &subjects {
            for one in self.cases_of(case, subject, choices) {
                expected.extend(
                    case.expected
                        .for_case(&one.case)
                        .map(|e| (one.case.clone(), e.clone())),
                );
                planned.push(one);
            }
        }
        self.check_derived(&planned)?;
        add_baselines(catalogue, &mut planned);
        let fixtures = fixtures::needed(&self.fixtures, &planned);
        Ok(StudyPlan {
            planned,
            fixtures,
            expected,
        })
    }

    fn subjects<'a>(&self, catalogue: &'a [Operation]) -> Result<Vec<(StudyCase, Subject<'a>)>> {
        let mut subjects: Vec<(StudyCase, Subject)> = Vec::new();
        for pattern in &self.patterns {
            let found = matching(catalogue, std::slice::from_ref(&pattern.value));
            let found = found.map_err(|e| {
                self.source()
                    .error(pattern.line, format!("key 'patterns': {e:#}"))
            })?;
            let known = |o: &&Operation| {
                subjects
                    .iter()
                    .any(|(_, s)| matches!(s, Subject::Operation(k) if k.id == o.id))
            };
            let new: Vec<&Operation> = found.into_iter().filter(|o| !known(o)).collect();
            subjects.extend(new.into_iter().map(|o| {
                (
                    StudyCase::from_pattern(pattern.line, o),
                    Subject::Operation(o),
                )
            }));
        }
        for case in &self.cases {
            let subject = match &case.work {
                Work::Snippet(snippet) => Subject::Snippet(snippet.clone()),
                Work::Operation(id, _) => Subject::Operation(self.operation(catalogue, id)?),
            };
            subjects.push((case.clone(), subject));
        }
        Ok(subjects)
    }

    fn operation<'a>(&self, catalogue: &'a [Operation], id: &At<String>) -> Result<&'a Operation> {
        if let Some(operation) = catalogue.iter().find(|o| o.id == id.value) {
            return Ok(operation);
        }
        let wrong = matching(catalogue, std::slice::from_ref(&id.value)).err();
        let why = wrong.map_or(
            format!("'{}' is a pattern, not the id of one operation", id.value),
            |e| format!("{e:#}"),
        );
        Err(self
            .source()
            .error(id.line, format!("key 'operation': {why}")))
    }

    /// A parameter of the study must belong to some case; a parameter of a case, to that case.
    fn check_parameters(&self, subjects: &[(StudyCase, Subject)]) -> Result<()> {
        for (case, subject) in subjects {
            if let Some(setting) = case
                .parameters
                .iter()
                .find(|s| !has(subject, &s.value.name))
            {
                return Err(self.unknown_parameter(setting, std::slice::from_ref(subject)));
            }
        }
        let all = || {
            subjects
                .iter()
                .map(|(_, subject)| subject.clone())
                .collect::<Vec<_>>()
        };
        let orphan = self.parameters.iter().find(|s| {
            !subjects
                .iter()
                .any(|(_, subject)| has(subject, &s.value.name))
        });
        orphan.map_or(Ok(()), |setting| {
            Err(self.unknown_parameter(setting, &all()))
        })
    }

    fn unknown_parameter(&self, setting: &At<Setting>, subjects: &[Subject]) -> Error {
        let mut allowed: Vec<&str> = parameter_names(subjects).into_iter().collect();
        let snippets = subjects.iter().any(|s| matches!(s, Subject::Snippet(_)));
        allowed.extend(snippets.then_some("names in braces in the code"));
        let allowed = if allowed.is_empty() {
            "none".to_string()
        } else {
            allowed.join(", ")
        };
        let name = &setting.value.name;
        self.source().error(
            setting.line,
            format!("parameter '{name}' is in no case here; allowed: {allowed}"),
        )
    }

    fn check_derived(&self, planned: &[Planned]) -> Result<()> {
        let labels: Vec<&str> = planned.iter().map(|p| p.case.label()).collect();
        for (derived, line) in self.view.derived.iter().zip(&self.derived_lines) {
            if let Some(name) = derived
                .of
                .iter()
                .find(|name| !labels.contains(&name.as_str()))
            {
                let mut allowed = labels.clone();
                allowed.dedup();
                return Err(self.source().unknown(*line, "derived", name, &allowed));
            }
        }
        Ok(())
    }

    fn cases_of(&self, case: &StudyCase, subject: &Subject, choices: &Choices) -> Vec<Planned> {
        let settings = self.settings(case, choices);
        let named = |mut planned: Planned| {
            if let Work::Operation(id, name) = &case.work {
                planned.case.name = Some(name.clone()).filter(|name| *name != id.value);
            }
            planned
        };
        let environments = self.environments(case, choices);
        let each = cases(subject, &settings).into_iter().map(named);
        let each = each.flat_map(|planned| in_environments(&planned, environments, choices.scope));
        each.map(|planned| case.expecting(planned)).collect()
    }

    /// The user's, else the case's own, else the study's.
    fn environments<'a>(&'a self, case: &'a StudyCase, choices: &Choices<'a>) -> &'a [String] {
        match (
            choices.environments.is_empty(),
            case.environments.is_empty(),
        ) {
            (false, _) => choices.environments,
            (true, false) => &case.environments,
            (true, true) => &self.environments,
        }
    }

    /// The user's, else the case's own, else the study's.
    fn settings(&self, case: &StudyCase, choices: &Choices) -> Vec<Setting> {
        let mut settings: Vec<Setting> = choices.settings.to_vec();
        for own in case.parameters.iter().chain(&self.parameters) {
            if !settings.iter().any(|s| s.name == own.value.name) {
                settings.push(own.value.clone());
            }
        }
        settings
    }

    fn source(&self) -> StudyText<'_> {
        StudyText {
            file: &self.file,
            text: "",
        }
    }
}

impl StudyCase {
    fn from_pattern(line: usize, operation: &Operation) -> StudyCase {
        let work = Work::Operation(
            At {
                line,
                value: operation.id.clone(),
            },
            operation.id.clone(),
        );
        StudyCase {
            work,
            parameters: Vec::new(),
            environments: Vec::new(),
            expected: Expected::default(),
        }
    }

    fn expecting(&self, planned: Planned) -> Planned {
        let enters = self
            .expected
            .for_case(&planned.case)
            .cloned()
            .or(planned.enters.clone());
        Planned { enters, ..planned }
    }
}
