//! Plans the cases of a study, and the fixtures they need.

use super::error::StudyText;
use super::{At, Expected, Study, StudyCase, Work, fixtures};
use crate::plan::select::{add_baselines, case_count, cases, check_count, has, parameter_names};
use crate::plan::{Choices, Setting, Subject};
use crate::runner::Fixture;
use anyhow::{Result, bail};
use model::pattern::matching;
use model::{Case, Expectation, Operation, Planned, Run};

#[derive(Debug)]
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

    pub fn is_met(&self, run: &Run) -> bool {
        self.expected.iter().all(|(case, expectation)| {
            let record = run.records.iter().find(|record| record.case == *case);
            let counted = record.and_then(|record| record.entries.as_ref());
            counted.is_none_or(|counted| expectation.matches(counted, &case.effective_params()))
        })
    }
}

impl Study {
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
        check_count(subjects.iter().map(|(case, subject)| {
            self.with_own(case, choices, |choices| case_count(subject, choices))
        }))?;
        let mut planned = Vec::new();
        let mut expected = Vec::new();
        for (case, subject) in &subjects {
            for mut one in self.with_own(case, choices, |choices| cases(subject, choices)) {
                if let Work::Operation(id, name) = &case.work {
                    one.case.name = Some(name.clone()).filter(|name| *name != id.value);
                }
                if let Some(expectation) = case.expected.for_case(&one.case) {
                    one.enters = Some(expectation.clone());
                    expected.push((one.case.clone(), expectation.clone()));
                }
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
            let operations = matching(catalogue, std::slice::from_ref(&pattern.value));
            let operations = operations.map_err(|e| {
                self.source()
                    .error(pattern.line, format!("key 'patterns': {e:#}"))
            })?;
            let known = |o: &&Operation| {
                subjects
                    .iter()
                    .any(|(_, s)| matches!(s, Subject::Operation(k) if k.id == o.id))
            };
            let new: Vec<&Operation> = operations.into_iter().filter(|o| !known(o)).collect();
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

    fn check_parameters(&self, subjects: &[(StudyCase, Subject)]) -> Result<()> {
        for (case, subject) in subjects {
            for own in [&case.parameters, &case.most] {
                self.check_known(own, std::slice::from_ref(subject))?;
            }
        }
        let all: Vec<Subject> = subjects
            .iter()
            .map(|(_, subject)| subject.clone())
            .collect();
        self.check_known(&self.parameters, &all)
    }

    fn check_known(&self, settings: &[At<Setting>], subjects: &[Subject]) -> Result<()> {
        let Some(setting) = settings
            .iter()
            .find(|s| !subjects.iter().any(|subject| has(subject, &s.value.name)))
        else {
            return Ok(());
        };
        let mut allowed: Vec<&str> = parameter_names(subjects).into_iter().collect();
        let snippets = subjects.iter().any(|s| matches!(s, Subject::Snippet(_)));
        allowed.extend(snippets.then_some("names in braces in the code"));
        if allowed.is_empty() {
            allowed.push("none");
        }
        let (name, allowed) = (&setting.value.name, allowed.join(", "));
        Err(self.source().error(
            setting.line,
            format!("parameter '{name}' is in no case here; allowed: {allowed}"),
        ))
    }

    fn check_derived(&self, planned: &[Planned]) -> Result<()> {
        let labels: Vec<&str> = planned.iter().map(|p| p.case.label()).collect();
        for (derived, line) in self.view.derived.iter().zip(&self.derived_lines) {
            if let Some(name) = derived
                .pair
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

    /// For each parameter and for environments, the user's choice goes before the case's own, and that before the study's. No
    /// value is larger than the case allows.
    fn with_own<T>(
        &self,
        case: &StudyCase,
        choices: &Choices,
        then: impl FnOnce(&Choices) -> T,
    ) -> T {
        let mut settings: Vec<Setting> = choices.settings.to_vec();
        for own in case.parameters.iter().chain(&self.parameters) {
            if !settings.iter().any(|s| s.name == own.value.name) {
                settings.push(own.value.clone());
            }
        }
        for setting in &mut settings {
            let own = case
                .most
                .iter()
                .filter(|own| own.value.name == setting.name);
            for most in own.flat_map(|own| &own.value.values) {
                setting.values.retain(|value| value <= most);
            }
        }
        then(&Choices {
            settings: &settings,
            environments: [choices.environments, &case.environments, &self.environments]
                .into_iter()
                .find(|names| !names.is_empty())
                .unwrap_or_default(),
            ..*choices
        })
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
        let id = At {
            line,
            value: operation.id.clone(),
        };
        StudyCase {
            work: Work::Operation(id, operation.id.clone()),
            parameters: Vec::new(),
            most: Vec::new(),
            environments: Vec::new(),
            expected: Expected::default(),
        }
    }
}
