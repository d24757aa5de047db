//! Which rows a comparison shows, and in which order.

use super::row::{ComparedRow, area};
use model::pattern::Pattern;
use model::{Case, Run, StudyView};
use stats::Quantity;

/// Rows of the study, if there is one, that match one of the patterns, if there are any.
#[derive(Clone, Default)]
pub struct Selection {
    pub study: Option<StudyCases>,
    pub only: Vec<Pattern>,
}

#[derive(Clone, Default)]
pub struct StudyCases {
    pub view: StudyView,
    /// Without parameters and environments.
    pub cases: Vec<Case>,
    pub patterns: Vec<Pattern>,
}

/// The order of the rows.
#[derive(Clone, Copy, Default, PartialEq, clap::ValueEnum)]
pub enum Order {
    /// As in the study, or else as in the first file.
    #[default]
    Asked,
    /// The largest slowdown first; rows without a ratio last.
    Ratio,
    /// By name.
    Name,
    /// The fastest in the baseline first; failures last.
    Cost,
}

impl StudyCases {
    pub fn apply(&self, run: &mut Run) {
        let repeats = run.repeats.iter_mut().flat_map(|run| &mut run.records);
        for record in run.records.iter_mut().chain(repeats) {
            let case = &record.case;
            if self.place(case.label(), case.language.as_ref()).is_some() {
                continue;
            }
            if let Some(named) = self
                .cases
                .iter()
                .find(|known| known.operation == case.operation && known.language == case.language)
            {
                record.case.name = named.name.clone();
            }
        }
        run.study = Some(self.view.clone());
    }

    fn place(&self, label: &str, language: Option<&String>) -> Option<usize> {
        let case = self
            .cases
            .iter()
            .position(|case| case.label() == label && case.language.as_ref() == language);
        let area = label.split('.').next().unwrap_or_default();
        let in_patterns = || {
            let mut patterns = self.patterns.iter();
            let at =
                patterns.position(|pattern| pattern.matches_id(label) || pattern.text() == area)?;
            Some(self.cases.len() + at)
        };
        match case {
            None if language.is_none() => in_patterns(),
            case => case,
        }
    }
}

impl Selection {
    /// Whether a case is shown: by its name, its operation or its area.
    pub fn takes(&self, case: &Case) -> bool {
        let is_in_study = self
            .study
            .as_ref()
            .is_none_or(|study| study.place(case.label(), case.language.as_ref()).is_some());
        let names = [case.label(), case.operation.as_str(), area(case)];
        let is_named = |pattern: &Pattern| names.iter().any(|text| pattern.matches_id(text));
        is_in_study && (self.only.is_empty() || self.only.iter().any(is_named))
    }

    /// Whether a derived row is shown: by its name, or by the names of both rows that it is made of.
    pub fn takes_derived(&self, name: &str, parts: &[String; 2]) -> bool {
        let matches = |text: &str| self.only.iter().any(|pattern| pattern.matches_id(text));
        self.only.is_empty() || matches(name) || parts.iter().all(|part| matches(part))
    }

    /// `usize::MAX` without a study, and if the study lacks it.
    pub fn place(&self, label: &str, language: Option<&String>) -> usize {
        self.study
            .as_ref()
            .and_then(|study| study.place(label, language))
            .unwrap_or(usize::MAX)
    }
}

/// Equal rows stay in the order of the first file.
pub fn sort(rows: &mut [ComparedRow], order: Order, baseline: usize) {
    fn ratio(row: &ComparedRow) -> f64 {
        let ratios = row
            .verdicts
            .iter()
            .filter_map(|verdict| verdict.ranked_ratio());
        ratios.max_by(f64::total_cmp).unwrap_or(f64::NEG_INFINITY)
    }

    let cost = |row: &ComparedRow| row.cells.get(baseline)?.as_ref()?.quantity();
    match order {
        Order::Asked => {}
        Order::Ratio => rows.sort_by(|a, b| ratio(b).total_cmp(&ratio(a))),
        Order::Name => {
            rows.sort_by_cached_key(|row| (row.key.to_string(), row.key.environment.clone()))
        }
        Order::Cost => rows.sort_by(|a, b| Quantity::ascending(cost(a), cost(b))),
    }
}
