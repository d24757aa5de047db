//! Which rows a comparison shows, and in which order.

use super::row::{ComparedRow, area};
use crate::model::pattern::Pattern;
use crate::model::{Case, Run, StudyView};

/// Which rows to show: those of the study (if any) that match one of the patterns (if any).
#[derive(Clone, Debug, Default)]
pub struct Selection {
    pub study: Option<StudyCases>,
    pub only: Vec<Pattern>,
}

/// The cases of a study, so that its table can be made from runs that were not made for it.
#[derive(Clone, Debug, Default)]
pub struct StudyCases {
    pub view: StudyView,
    /// Its cases before parameters and environments, in its order.
    pub cases: Vec<Case>,
    /// Patterns of further operations, in its order; they follow the cases.
    pub patterns: Vec<Pattern>,
}

/// The order of the rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
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
    /// Makes `run` a run of this study: records that do the work of one of its cases get that name, and the study's
    /// view replaces the run's.
    pub fn apply(&self, run: &mut Run) {
        let repeats = run.repeats.iter_mut().flat_map(|run| &mut run.records);
        for record in run.records.iter_mut().chain(repeats) {
            let case = &record.case;
            if self.place(case.label(), case.language.as_ref()).is_some() {
                continue;
            }
            let is_it = |own: &&Case| own.operation == case.operation && own.language == case.language;
            if let Some(own) = self.cases.iter().find(is_it) {
                record.case.name = own.name.clone();
            }
        }
        run.study = Some(self.view.clone());
    }

    fn place(&self, label: &str, language: Option<&String>) -> Option<usize> {
        let is_it = |case: &Case| case.label() == label && case.language.as_ref() == language;
        let case = self.cases.iter().position(is_it);
        let area = label.split('.').next().unwrap_or_default();
        let takes = |pattern: &Pattern| pattern.matches_id(label) || pattern.text() == area;
        let pattern = || self.patterns.iter().position(takes).filter(|_| language.is_none());
        case.or_else(|| Some(self.cases.len() + pattern()?))
    }
}

impl Selection {
    pub fn takes(&self, case: &Case) -> bool {
        let of_study =
            self.study.as_ref().is_none_or(|study| study.place(case.label(), case.language.as_ref()).is_some());
        let texts = || [case.label(), case.operation.as_str(), area(case)];
        let matches = |pattern: &Pattern| texts().iter().any(|text| pattern.matches_id(text));
        of_study && (self.only.is_empty() || self.only.iter().any(matches))
    }

    /// Whether a row derived from the two rows `of` is shown: because of its own name or of both of theirs.
    pub fn takes_derived(&self, name: &str, of: &[String; 2]) -> bool {
        let matches = |text: &str| self.only.iter().any(|pattern| pattern.matches_id(text));
        self.only.is_empty() || matches(name) || of.iter().all(|part| matches(part))
    }

    /// Sort key of a row; equal for rows that keep their order.
    pub fn place(&self, label: &str, language: Option<&String>) -> usize {
        self.study.as_ref().and_then(|study| study.place(label, language)).unwrap_or(usize::MAX)
    }
}

/// Sorts `rows` by a stable sort.
pub fn sort(rows: &mut [ComparedRow], order: Order, baseline: usize) {
    let ratio = |row: &ComparedRow| {
        let ratios = row.verdicts.iter().filter_map(|verdict| verdict.ranked_ratio());
        ratios.max_by(f64::total_cmp).unwrap_or(f64::NEG_INFINITY)
    };
    let instructions = |row: &ComparedRow| Some(row.cells.get(baseline)?.as_ref()?.instructions()?.per_operation);
    // Times first.
    let cost = |row: &ComparedRow| {
        let counted = instructions(row).map(|count| (1, count));
        row.cost_ns(baseline).map(|value| (0, value)).or(counted).unwrap_or((2, f64::INFINITY))
    };
    match order {
        Order::Asked => {}
        Order::Ratio => rows.sort_by(|a, b| ratio(b).total_cmp(&ratio(a))),
        Order::Name => rows.sort_by_cached_key(|row| (row.key.to_string(), row.key.environment.clone())),
        Order::Cost => rows.sort_by(|a, b| cost(a).0.cmp(&cost(b).0).then(cost(a).1.total_cmp(&cost(b).1))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::column;
    use super::super::{Options, compare};
    use super::*;
    use crate::model::fixtures::{record, run};

    fn labels(order: Order, selection: Selection) -> Vec<String> {
        let a = column("a", vec![record("id.umask", 300), record("file.lstat", 100), record("file.stat", 200)]);
        let b = column("b", vec![record("id.umask", 330), record("file.lstat", 300), record("file.stat", 100)]);
        let comparison = compare(&[a, b], &Options { order, selection, ..Options::default() });
        comparison.rows.iter().map(|row| row.key.label.clone()).collect()
    }

    #[test]
    fn rows_are_sorted_as_asked() {
        let of = |order| labels(order, Selection::default());
        assert_eq!(of(Order::Asked), ["id.umask", "file.lstat", "file.stat"]);
        assert_eq!(of(Order::Ratio), ["file.lstat", "id.umask", "file.stat"]);
        assert_eq!(of(Order::Name), ["file.lstat", "file.stat", "id.umask"]);
        assert_eq!(of(Order::Cost), ["file.lstat", "file.stat", "id.umask"]);
    }

    #[test]
    fn patterns_choose_areas_and_names() {
        let only = |text: &str| Selection { only: vec![Pattern::new(text).unwrap()], ..Selection::default() };
        assert_eq!(labels(Order::Asked, only("file")), ["file.lstat", "file.stat"]);
        assert_eq!(labels(Order::Asked, only("*stat")), ["file.lstat", "file.stat"]);
        assert_eq!(labels(Order::Asked, only("id.*")), ["id.umask"]);
    }

    #[test]
    fn a_study_names_and_orders_rows_of_other_runs() {
        let named = |name: &str, id: &str| Case { name: Some(name.into()), ..Case::native(id) };
        let cases = vec![named("lstat", "file.lstat"), named("umask", "id.umask")];
        let study = StudyCases { cases, ..StudyCases::default() };
        let mut run = run(vec![record("id.umask", 1), record("file.lstat", 2), record("file.stat", 3)]);
        study.apply(&mut run);
        let column = super::super::Column::new("a", &run);
        let selection = Selection { study: Some(study), only: vec![] };
        let comparison = compare(&[column], &Options { selection, ..Options::default() });
        let labels: Vec<&str> = comparison.rows.iter().map(|row| row.key.label.as_str()).collect();
        assert_eq!(labels, ["lstat", "umask"]);
    }
}
