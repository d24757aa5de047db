//! Which records of several runs are one row: the same label, language, environment and parameters.

use super::column::{Column, ColumnRow};
use super::index::{Found, Index, TooMany};
use super::select::Selection;
use super::verdict::{Mark, Verdict};
use crate::model::{Case, Entries, Failure, Size};
use crate::stats::Launches;
use crate::summary::Figure;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// What a row is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Key {
    /// The name that a study gives it, else the operation.
    pub label: String,
    /// The label as tables show it; that of an unnamed snippet has its language before it.
    pub title: String,
    pub language: Option<String>,
    pub environment: String,
    /// All parameters that any of its columns names, defaults included.
    pub params: BTreeMap<String, u64>,
    /// Those that were asked for; they stand beside the label.
    pub asked: BTreeMap<String, u64>,
    /// Those that some column has by default.
    pub(super) by_default: BTreeSet<String>,
}

/// One row over all columns.
#[derive(Clone, Debug, PartialEq)]
pub struct ComparedRow {
    pub key: Key,
    /// The operation of the first column that has the row; of a snippet its body.
    pub operation: String,
    /// The operation's area; of a snippet its language; `other` where no column tells.
    pub area: String,
    /// Whether the text of a snippet is another in some column, though it has the same name.
    pub other_code: bool,
    /// `None` where the run does not have the row. Boxed, so that what many runs do not have takes little.
    pub cells: Vec<Option<Box<Cell>>>,
    /// Each column against the baseline; none before they are judged.
    pub verdicts: Vec<Verdict>,
}

/// What one run says of a row.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    pub figure: Result<Figure, Failure>,
    /// `None` where they are not known.
    pub entries: Option<Entries>,
    pub(super) launches: Option<Launches>,
}

impl Cell {
    fn of(row: &ColumnRow) -> Box<Cell> {
        Box::new(Cell { figure: row.figure.clone(), entries: row.entries.clone(), launches: row.launches.clone() })
    }

    /// Nanoseconds per iteration; `None` for failures, and for figures that are no costs.
    pub fn cost_ns(&self) -> Option<f64> {
        Some(self.figure.as_ref().ok()?.median).filter(|ns| ns.is_cost()).map(|ns| ns.0)
    }
}

impl ComparedRow {
    pub fn cost_ns(&self, column: usize) -> Option<f64> {
        self.cells.get(column)?.as_ref()?.cost_ns()
    }

    /// Whether the row has something to show where only differences of more than `margin` are looked for.
    pub(super) fn standing(&self, margin: f64) -> Standing {
        let of_verdict = |verdict: &Verdict| match verdict {
            Verdict::DifferentWork(_) => Some(Standing::Shown),
            Verdict::OneFigure { ratio, .. } if ratio.ln().abs() > margin.ln_1p() => Some(Standing::Shown),
            Verdict::OneFigure { .. } => Some(Standing::Same),
            Verdict::Ratio(ratio) => Some(match ratio.mark {
                Mark::Faster | Mark::Slower => Standing::Shown,
                Mark::Same => Standing::Same,
                Mark::Unresolved => Standing::Unresolved,
            }),
            Verdict::Baseline | Verdict::Missing => None,
        };
        self.verdicts.iter().filter_map(of_verdict).max().unwrap_or(Standing::Shown)
    }
}

/// What a row is where only differences are looked for; of several columns the last in this order counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Standing {
    Same,
    Unresolved,
    Shown,
}

/// `file.lstat depth=4`, as a run's own table has it.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.title)?;
        self.asked.iter().try_for_each(|(name, value)| write!(f, " {name}={}", Size(*value)))
    }
}

/// The area of what has none, as the operations of articles.
const OTHER: &str = "other";

/// `file` of `file.lstat`; of a snippet its language.
pub fn area(case: &Case) -> &str {
    match (&case.language, case.operation.split_once('.')) {
        (Some(language), _) => language,
        (None, Some((area, rest))) if !area.is_empty() && !rest.contains(' ') && !area.contains(' ') => area,
        _ => OTHER,
    }
}

/// The rows of all columns.
pub struct Matched {
    pub rows: Vec<ComparedRow>,
    /// Records for which so many rows came into question that none was looked for; each is a row of its own.
    pub unsought: usize,
}

/// The rows of all columns, as selected: in the study's order where there is one, else in that of the first column, and
/// what it does not have behind.
pub fn matched(columns: &[Column], selection: &Selection) -> Matched {
    let mut rows = Rows { rows: Vec::new(), index: Index::default(), columns: columns.len(), unsought: 0 };
    for (index, column) in columns.iter().enumerate() {
        let asked = column.rows.iter().filter(|row| row.asked && selection.takes(&row.case));
        asked.for_each(|row| rows.add(index, row));
    }
    let unsought = rows.unsought;
    // What one run asked for, another may have measured as a baseline.
    for (index, column) in columns.iter().enumerate() {
        for row in column.rows.iter().filter(|row| !row.asked) {
            rows.fill(index, row);
        }
    }
    let mut rows = rows.rows;
    rows.sort_by_cached_key(|row| selection.place(&row.key.label, row.key.language.as_ref()));
    Matched { rows, unsought }
}

struct Rows {
    rows: Vec<ComparedRow>,
    index: Index,
    columns: usize,
    unsought: usize,
}

impl Rows {
    /// Puts the record into the row that it belongs to, or into a new one.
    fn add(&mut self, column: usize, row: &ColumnRow) {
        if self.fill(column, row) {
            return;
        }
        let key = key(&row.case);
        self.index.add(self.rows.len(), &row.case, &key.params);
        let mut cells = vec![None; self.columns];
        cells[column] = Some(Cell::of(row));
        self.rows.push(ComparedRow {
            key,
            operation: row.case.operation.clone(),
            area: area(&row.case).to_string(),
            other_code: false,
            cells,
            verdicts: Vec::new(),
        });
    }

    /// Whether there is a row for the record, and this column's place in it is free.
    fn fill(&mut self, column: usize, row: &ColumnRow) -> bool {
        let params = row.case.effective_params();
        let Some(found) = self.find(column, &row.case, &params) else { return false };
        let target = &mut self.rows[found];
        target.cells[column] = Some(Cell::of(row));
        if target.area == OTHER {
            target.area = area(&row.case).to_string();
        }
        target.other_code |= row.case.language.is_some() && row.case.operation != target.operation;
        target.key.asked.extend(row.case.params.clone());
        target.key.by_default.extend(row.case.defaults.keys().cloned());
        if params.keys().any(|param| !target.key.params.contains_key(param)) {
            let old = target.key.params.clone();
            target.key.params.extend(params);
            self.index.extend(found, &row.case, &old, &target.key.params);
        }
        true
    }

    /// The free row that has these parameters, or else the only one that does not contradict them.
    fn find(&mut self, column: usize, case: &Case, params: &BTreeMap<String, u64>) -> Option<usize> {
        let rows = &self.rows;
        let is_free = |i: usize| rows[i].cells[column].is_none();
        let is_it = |i: usize| is_free(i) && rows[i].key.params == *params;
        let candidates = match self.index.find(case, params, column, is_free, is_it) {
            Ok(Found::Exact(row)) => return Some(row),
            Ok(Found::Candidates(rows)) => rows,
            Err(TooMany) => {
                self.unsought += 1;
                return None;
            }
        };
        let mut near = candidates.iter().copied().filter(|i| is_free(*i) && agree(&rows[*i].key, case, params));
        near.next().filter(|_| near.next().is_none())
    }
}

fn key(case: &Case) -> Key {
    Key {
        label: case.label().to_string(),
        title: Case { params: BTreeMap::new(), ..case.clone() }.to_string(),
        language: case.language.clone(),
        environment: case.environment.clone(),
        params: case.effective_params(),
        asked: case.params.clone(),
        by_default: case.defaults.keys().cloned().collect(),
    }
}

/// Whether the parameters contradict each other nowhere: those that both name are equal, and those that one lacks are the
/// other's defaults. An article tells of none, and an older tool of fewer.
fn agree(key: &Key, case: &Case, theirs: &BTreeMap<String, u64>) -> bool {
    let equal = theirs.iter().all(|(name, value)| key.params.get(name).is_none_or(|own| own == value));
    let new_are_defaults = case.params.keys().all(|name| key.params.contains_key(name));
    let own_are_defaults = key.asked.keys().all(|name| theirs.contains_key(name) || key.by_default.contains(name));
    equal && new_are_defaults && own_are_defaults
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{column, named, record};
    use super::*;

    fn names(rows: &[ComparedRow]) -> Vec<String> {
        let there =
            |row: &ComparedRow| row.cells.iter().map(|c| if c.is_some() { 'x' } else { '-' }).collect::<String>();
        rows.iter().map(|row| format!("{} {}", row.key, there(row))).collect()
    }

    #[test]
    fn rows_meet_by_label_environment_and_parameters() {
        let with = |mut r: crate::model::Record, asked: &[(&str, u64)], defaults: &[(&str, u64)]| {
            r.case.params = asked.iter().map(|(n, v)| (n.to_string(), *v)).collect();
            r.case.defaults = defaults.iter().map(|(n, v)| (n.to_string(), *v)).collect();
            r
        };
        let mut m32 = record("file.lstat", 100);
        m32.case.environment = "m32".into();
        let a = column(
            "a",
            vec![
                with(record("file.lstat", 100), &[], &[("depth", 1)]),
                with(record("file.lstat", 100), &[("depth", 8)], &[]),
                record("id.umask", 90),
            ],
        );
        let b = column(
            "b",
            vec![
                m32,
                with(record("file.lstat", 100), &[("depth", 1)], &[]),
                with(record("file.lstat", 100), &[("depth", 4)], &[]),
            ],
        );
        let old = column("old", vec![record("file.lstat", 100)]);
        let rows = matched(&[a, b, old], &Selection::default()).rows;
        let expected = [
            "file.lstat depth=1 xxx",
            "file.lstat depth=8 x--",
            "id.umask x--",
            "file.lstat -x-",
            "file.lstat depth=4 -x-",
        ];
        assert_eq!(names(&rows), expected);
        assert_eq!(rows[3].key.environment, "m32");
    }

    #[test]
    fn a_baseline_of_one_run_meets_what_the_other_asked_for() {
        let mut baseline = record("id.getppid", 100);
        baseline.role = crate::model::Role::Baseline;
        let rows = matched(
            &[column("a", vec![baseline]), column("b", vec![record("id.getppid", 101)])],
            &Selection::default(),
        );
        assert_eq!(names(&rows.rows), ["id.getppid xx"]);
    }

    #[test]
    fn areas_are_those_of_operations_languages_and_articles() {
        let cases = [Case::native("file.lstat"), Case::snippet("perl", "time"), Case::native("two calls. of libc")];
        assert_eq!(cases.iter().map(area).collect::<Vec<_>>(), ["file", "perl", "other"]);
        let names: Vec<String> = [named("x", "a\nb", 1)].iter().map(|r| key(&r.case).to_string()).collect();
        assert_eq!(names, ["x"]);
    }
}
