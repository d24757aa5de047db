//! Which records of several runs form one row: those with the same label, language, parameters and, unless columns are `apart`,
//! environment.

use super::cell::Cell;
use super::column::Column;
use super::index::{Found, Index, TooMany};
use super::row::{ComparedRow, Key, OTHER, area};
use super::select::Selection;
use model::Case;
use std::collections::BTreeMap;

pub struct Matched {
    pub rows: Vec<ComparedRow>,
    /// Records with too many candidate rows to search; each got a row of its own.
    pub unsought: usize,
}

/// In the study's order if there is one, else in that of the first column, followed by the rows that it lacks.
pub fn matched(columns: &[Column], selection: &Selection, apart: bool) -> Matched {
    let mut rows = Rows {
        rows: Vec::new(),
        index: Index::new(apart),
        columns: columns.len(),
        unsought: 0,
    };
    for (index, column) in columns.iter().enumerate() {
        let asked = column
            .rows
            .iter()
            .filter(|row| row.asked && selection.takes(&row.case));
        asked.for_each(|row| rows.add(index, row));
    }
    let unsought = rows.unsought;
    // A case that was requested in one run may be a baseline of another.
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
    fn add(&mut self, column: usize, row: &Cell) {
        if self.fill(column, row) {
            return;
        }
        let key = Key::from_case(&row.case);
        self.index.add(self.rows.len(), &row.case, &key.params);
        let mut cells = vec![None; self.columns];
        cells[column] = Some(Box::new(row.clone()));
        self.rows.push(ComparedRow {
            key,
            operation: row.case.operation.clone(),
            area: area(&row.case).to_string(),
            other_code: false,
            cells,
            verdicts: Vec::new(),
            since: None,
        });
    }

    /// False if no row with a free cell in this column fits.
    fn fill(&mut self, column: usize, row: &Cell) -> bool {
        let params = row.case.effective_params();
        let Some(index) = self.find(column, &row.case, &params) else {
            return false;
        };
        let target = &mut self.rows[index];
        target.cells[column] = Some(Box::new(row.clone()));
        // An article's row takes the area of the operation that it turns out to be.
        if target.area == OTHER {
            target.area = area(&row.case).to_string();
        }
        target.other_code |= row.case.language.is_some() && row.case.operation != target.operation;
        target.key.asked.extend(row.case.params.clone());
        target
            .key
            .by_default
            .extend(row.case.defaults.keys().cloned());
        if params
            .keys()
            .any(|param| !target.key.params.contains_key(param))
        {
            let old = target.key.params.clone();
            target.key.params.extend(params);
            self.index
                .extend(index, &row.case, &old, &target.key.params);
        }
        true
    }

    /// The free row with these parameters, or else the only one that does not contradict them.
    fn find(
        &mut self,
        column: usize,
        case: &Case,
        params: &BTreeMap<String, u64>,
    ) -> Option<usize> {
        let rows = &self.rows;
        let is_free = |i: usize| rows[i].cells[column].is_none();
        let candidates = match self.index.find(case, params, column, is_free, |i| {
            is_free(i) && rows[i].key.params == *params
        }) {
            Ok(Found::Exact(row)) => return Some(row),
            Ok(Found::Candidates(rows)) => rows,
            Err(TooMany) => {
                self.unsought += 1;
                return None;
            }
        };
        let mut near = candidates
            .iter()
            .copied()
            .filter(|i| is_free(*i) && agree(&rows[*i].key, case, params));
        let nearest = near.next()?;
        // Two rows fit equally well: a row of its own is better than a guess.
        if near.next().is_some() {
            return None;
        }
        Some(nearest)
    }
}

/// Parameters that both have are equal, and those that one lacks are defaults of the other: articles give none, older
/// versions of the tool fewer.
fn agree(key: &Key, case: &Case, theirs: &BTreeMap<String, u64>) -> bool {
    let equal = theirs
        .iter()
        .all(|(name, value)| key.params.get(name).is_none_or(|ours| ours == value));
    let new_are_defaults = case.params.keys().all(|name| key.params.contains_key(name));
    let old_are_defaults = key
        .asked
        .keys()
        .all(|name| theirs.contains_key(name) || key.by_default.contains(name));
    equal && new_are_defaults && old_are_defaults
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::column;
    use super::*;
    use model::fixtures::{in_environment, named, pairs, record, with_params};

    fn names(rows: &[ComparedRow]) -> Vec<String> {
        fn there(row: &ComparedRow) -> String {
            row.cells
                .iter()
                .map(|c| if c.is_some() { 'x' } else { '-' })
                .collect()
        }

        rows.iter()
            .map(|row| format!("{} {}", row.key, there(row)))
            .collect()
    }

    #[test]
    fn rows_meet_by_label_environment_and_parameters() {
        fn lstat(params: &[(&str, u64)]) -> model::Record {
            with_params(params, record("file.lstat", 100))
        }

        let mut default = lstat(&[]);
        default.case.defaults = pairs(&[("depth", 1)]);
        let a = vec![default, lstat(&[("depth", 8)]), record("id.umask", 90)];
        let b = vec![
            in_environment("m32", lstat(&[])),
            lstat(&[("depth", 1)]),
            lstat(&[("depth", 4)]),
        ];
        let (a, b) = (column("a", a), column("b", b));
        let old = column("old", vec![record("file.lstat", 100)]);
        let rows = matched(&[a, b, old], &Selection::default(), false).rows;
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
        baseline.role = model::Role::Baseline;
        let b = column("b", vec![record("id.getppid", 101)]);
        let both = [column("a", vec![baseline]), b];
        let rows = matched(&both, &Selection::default(), false);
        assert_eq!(names(&rows.rows), ["id.getppid xx"]);
    }

    #[test]
    fn areas_are_those_of_operations_languages_and_articles() {
        let cases = [
            Case::native("file.lstat"),
            Case::snippet("perl", "time"),
            Case::native("two calls. of libc"),
        ];
        assert_eq!(
            cases.iter().map(area).collect::<Vec<_>>(),
            ["file", "perl", "other"]
        );
        let key = Key::from_case(&named("x", "a\nb", 1).case);
        assert_eq!(key.to_string(), "x");
    }
}
