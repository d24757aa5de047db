//! Checks a study's TOML; operations are checked when cases are planned.

use super::error::StudyText;
use super::file::{Body, CaseTable, DerivedTable, Entries, Parameters, ScaleTable, StudyFile};
use super::{At, Expected, Study, StudyCase, VIEWS, Work, fixtures};
use crate::plan::Setting;
use crate::runner::{Environment, Language, SANDBOXES};
use anyhow::Result;
use indexmap::IndexMap;
use model::{Case, Combination, Derived, Expectation, Scale, StudyView};
use toml::Spanned;

pub fn study(name: &str, file: &str, text: &str) -> Result<Study> {
    let source = StudyText { file, text };
    let toml: StudyFile = toml::from_str(text).map_err(|error| source.toml(&error))?;
    let mut reader = Reader {
        source: &source,
        cases: Vec::new(),
        derived: Vec::new(),
        scales: Vec::new(),
    };
    reader.scales.extend(
        toml.scale
            .map(|table| reader.scale(table, Vec::new()))
            .transpose()?,
    );
    for table in toml.cases {
        reader.case(source.line(table.span().start), table.into_inner())?;
    }
    for table in toml.derived {
        let line = source.line(table.span().start);
        let value = derived(&source, line, table.into_inner())?;
        reader.derived.push(At { line, value });
    }
    let study = Study {
        seconds: reader.seconds("seconds", toml.seconds.as_ref())?,
        cpu_seconds: reader.seconds("cpu_seconds", toml.cpu_seconds.as_ref())?,
        start_up: toml.start_up,
        file: file.to_string(),
        untrusted: None,
        patterns: toml.patterns.into_iter().map(|p| reader.at(p)).collect(),
        environments: reader.environments(&toml.environments, &[SANDBOXES])?,
        parameters: reader.parameters(&toml.parameters)?,
        fixtures: toml
            .fixtures
            .into_iter()
            .map(|t| fixtures::template(&source, source.line(t.span().start), t.into_inner()))
            .collect::<Result<_>>()?,
        derived_lines: reader.derived.iter().map(|d| d.line).collect(),
        view: StudyView {
            name: name.to_string(),
            title: toml.title,
            question: toml.question.trim().to_string(),
            answer: toml.answer.trim().to_string(),
            views: reader.views(&toml.views)?,
            derived: reader.derived.iter().map(|d| d.value.clone()).collect(),
            scales: reader.scales,
        },
        cases: reader.cases,
    };
    if study.patterns.is_empty() && study.cases.is_empty() {
        Err(source.error(1, "the study has no cases: it needs 'patterns' or [[case]]"))
    } else {
        Ok(study)
    }
}

struct Reader<'a> {
    source: &'a StudyText<'a>,
    cases: Vec<StudyCase>,
    derived: Vec<At<Derived>>,
    scales: Vec<Scale>,
}

impl Reader<'_> {
    fn line<T>(&self, value: &Spanned<T>) -> usize {
        self.source.line(value.span().start)
    }

    fn at<T>(&self, value: Spanned<T>) -> At<T> {
        At {
            line: self.line(&value),
            value: value.into_inner(),
        }
    }

    fn case(&mut self, line: usize, table: CaseTable) -> Result<()> {
        let before = self.cases.len();
        let frame = StudyCase {
            work: Work::Snippet(Case::native("")),
            parameters: self.parameters(&table.params)?,
            most: self.parameters(&table.most)?,
            environments: self.environments(&table.environments, &[])?,
            expected: table
                .entries
                .as_ref()
                .map(|entries| self.expected(entries))
                .transpose()?
                .unwrap_or_default(),
        };
        let name = self.name(&table.name)?;
        let against = table.against;
        match (
            table.operation,
            table.language,
            table.body,
            table.for_languages,
        ) {
            (Some(operation), None, None, None) => {
                self.cases.push(StudyCase {
                    work: Work::Operation(self.at(operation), name),
                    ..frame
                });
            }
            (None, Some(language), Some(body), None) => {
                let language = self.language(&language)?;
                let case = Case {
                    name: Some(name),
                    setup: table.setup,
                    prelude: table.prelude,
                    ..Case::snippet(&language, &body)
                };
                self.cases.push(StudyCase {
                    work: Work::Snippet(case),
                    ..frame
                });
            }
            (None, None, None, Some(bodies)) => {
                self.in_languages(&frame, &name, bodies, against)?
            }
            _ => return Err(self.source.error(line, WORK)),
        }
        if let Some(scale) = table.scale {
            let names = self.cases[before..]
                .iter()
                .map(|case| case.name().to_string())
                .collect();
            let scale = self.scale(scale, names)?;
            self.scales.push(scale);
        }
        Ok(())
    }

    /// One case per language, named `NAME LANGUAGE`, and the differences to the language in `against`.
    fn in_languages(
        &mut self,
        frame: &StudyCase,
        name: &str,
        bodies: IndexMap<Spanned<String>, Body>,
        against: Option<Spanned<String>>,
    ) -> Result<()> {
        let mut languages = Vec::new();
        for (key, body) in bodies {
            let (language, line, body) = (self.language(&key)?, self.line(&key), body.into_table());
            let mut expected = frame.expected.clone();
            if let Some(text) = &body.entries {
                expected = Expected {
                    all: Some(self.expectation(line, text)?),
                    ..Expected::default()
                };
            }
            let case = Case {
                name: Some(format!("{name} {language}")),
                setup: body.setup,
                prelude: body.prelude,
                ..Case::snippet(&language, &body.body)
            };
            self.cases.push(StudyCase {
                work: Work::Snippet(case),
                expected,
                ..frame.clone()
            });
            languages.push(language);
        }
        let Some(against) = against else {
            return Ok(());
        };
        let (line, against) = (
            self.line(&against),
            self.known("against", &against, &languages)?,
        );
        for language in languages.iter().filter(|language| **language != against) {
            let of = [language, &against].map(|language| format!("{name} {language}"));
            self.derived.push(At {
                line,
                value: Derived {
                    name: of.join(" - "),
                    combination: Combination::Difference,
                    pair: of,
                },
            });
        }
        Ok(())
    }

    fn name(&self, name: &Spanned<String>) -> Result<String> {
        let text = name.get_ref();
        let wrong = if text.is_empty() {
            "is empty".to_string()
        } else if self.cases.iter().any(|case| case.name() == text) {
            format!("'{text}' is taken")
        } else {
            return Ok(text.clone());
        };
        Err(self
            .source
            .error(self.line(name), format!("key 'name': {wrong}")))
    }

    fn language(&self, name: &Spanned<String>) -> Result<String> {
        let all = Language::all()?;
        self.known(
            "language",
            name,
            &all.iter().map(|l| l.name.as_str()).collect::<Vec<_>>(),
        )
    }

    fn environments(
        &self,
        names: &[Spanned<String>],
        groups: &[&'static str],
    ) -> Result<Vec<String>> {
        let allowed = [&Environment::names()[..], groups].concat();
        names
            .iter()
            .map(|name| match Environment::find(name.get_ref()) {
                Ok(environment) => Ok(environment.name),
                Err(_) => self.known("environments", name, &allowed),
            })
            .collect()
    }

    fn views(&self, names: &[Spanned<String>]) -> Result<Vec<String>> {
        let views = self.among("views", names, &VIEWS)?;
        Ok(if views.is_empty() {
            vec![VIEWS[0].to_string()]
        } else {
            views
        })
    }

    fn among<S: AsRef<str>>(
        &self,
        key: &str,
        names: &[Spanned<String>],
        allowed: &[S],
    ) -> Result<Vec<String>> {
        names
            .iter()
            .map(|name| self.known(key, name, allowed))
            .collect()
    }

    fn known<S: AsRef<str>>(
        &self,
        key: &str,
        name: &Spanned<String>,
        allowed: &[S],
    ) -> Result<String> {
        if allowed.iter().any(|a| a.as_ref() == name.get_ref()) {
            Ok(name.get_ref().clone())
        } else {
            Err(self
                .source
                .unknown(self.line(name), key, name.get_ref(), allowed))
        }
    }

    fn parameters(&self, parameters: &Parameters) -> Result<Vec<At<Setting>>> {
        parameters
            .iter()
            .map(|(name, values)| {
                let line = self.line(name);
                let parsed = format!("{}={}", name.get_ref(), values.get_ref()).parse();
                Ok(At {
                    line,
                    value: parsed.map_err(|e| {
                        self.source
                            .error(line, format!("key '{}': {e:#}", name.get_ref()))
                    })?,
                })
            })
            .collect()
    }

    fn expected(&self, entries: &Spanned<Entries>) -> Result<Expected> {
        let line = self.line(entries);
        let mut expected = Expected::default();
        match entries.get_ref() {
            Entries::All(text) => expected.all = Some(self.expectation(line, text)?),
            Entries::By(texts) => {
                let languages = Language::all()?;
                let mut allowed: Vec<&str> = Environment::names();
                allowed.extend(languages.iter().map(|language| language.name.as_str()));
                for (name, text) in texts {
                    if !allowed.contains(&name.as_str()) {
                        return Err(self.source.unknown(line, "entries", name, &allowed));
                    }
                    expected
                        .by
                        .insert(name.clone(), self.expectation(line, text)?);
                }
            }
        }
        Ok(expected)
    }

    fn expectation(&self, line: usize, text: &str) -> Result<Expectation> {
        text.parse()
            .map_err(|e| self.source.error(line, format!("key 'entries': {e}")))
    }

    fn scale(&self, table: ScaleTable, cases: Vec<String>) -> Result<Scale> {
        let unit = self.known("unit", &table.unit, &Scale::units())?;
        match *table.calls.get_ref() {
            0 => Err(self.source.error(
                self.line(&table.calls),
                "key 'calls' is 0 and must be at least 1",
            )),
            calls => Ok(Scale { calls, unit, cases }),
        }
    }

    fn seconds(&self, key: &str, seconds: Option<&Spanned<f64>>) -> Result<Option<f64>> {
        match seconds.map(|seconds| (self.line(seconds), *seconds.get_ref())) {
            Some((line, value)) if value <= 0.0 || value >= 1e7 || value.is_nan() => {
                Err(self.source.error(
                    line,
                    format!("key '{key}': {value} is not a positive number"),
                ))
            }
            seconds => Ok(seconds.map(|(_, value)| value)),
        }
    }
}

const WORK: &str = "a case has exactly one of: 'operation'; 'language' and 'body' (optionally 'setup' and 'prelude'); 'for_languages'";

fn derived(source: &StudyText, line: usize, table: DerivedTable) -> Result<Derived> {
    let (combination, of, sign) = match (table.difference, table.ratio) {
        (Some(of), None) => (Combination::Difference, of, " - "),
        (None, Some(of)) => (Combination::Ratio, of, " / "),
        _ => {
            return Err(source.error(
                line,
                "a derived row has either 'difference' or 'ratio', each with two cases",
            ));
        }
    };
    Ok(Derived {
        name: table.name.unwrap_or_else(|| of.join(sign)),
        combination,
        pair: of,
    })
}

impl StudyCase {
    fn name(&self) -> &str {
        match &self.work {
            Work::Operation(_, name) => name,
            Work::Snippet(case) => case.label(),
        }
    }
}
