//! Finds the rows that a record may belong to without looking at all rows of its name. Called by `rows`.

use crate::model::Case;
use std::collections::{BTreeMap, HashMap};

/// Rows that a record whose parameters fit none exactly is held against. Each such record is held against each of them, so
/// without a bound the time would grow with the square of the rows.
pub const MOST_CANDIDATES: usize = 256;

type Name = (String, Option<String>, String);
type Params = BTreeMap<String, u64>;

/// Indices of rows by what they are known by.
#[derive(Default)]
pub struct Index {
    /// A number for each label, language and environment.
    names: HashMap<Name, usize>,
    exact: HashMap<(usize, Params), Bucket>,
    /// By one parameter and its value; all rows of a name at `None`.
    near: HashMap<(usize, Option<(String, u64)>), Bucket>,
}

/// Rows, of which those before `next` have a record in `column`.
#[derive(Default)]
struct Bucket {
    rows: Vec<usize>,
    column: usize,
    next: usize,
}

impl Bucket {
    /// The rows from the first on that `is_free` in `column`; such a row stays taken until the next column.
    fn from_free(&mut self, column: usize, is_free: impl Fn(usize) -> bool) -> &[usize] {
        if self.column != column {
            (self.column, self.next) = (column, 0);
        }
        while self.rows.get(self.next).is_some_and(|row| !is_free(*row)) {
            self.next += 1;
        }
        &self.rows[self.next..]
    }
}

impl Index {
    /// Notes the new row of `case`, whose parameters are `params`.
    pub fn add(&mut self, row: usize, case: &Case, params: &Params) {
        let count = self.names.len();
        let name = *self.names.entry(name(case)).or_insert(count);
        self.near.entry((name, None)).or_default().rows.push(row);
        self.put(row, name, params, params.iter());
    }

    /// Notes that the row of `case` has got parameters: now `params`, before `old`.
    pub fn extend(&mut self, row: usize, case: &Case, old: &Params, params: &Params) {
        if let Some(name) = self.names.get(&name(case)).copied().filter(|_| old.len() < params.len()) {
            self.put(row, name, params, params.iter().filter(|(param, _)| !old.contains_key(*param)));
        }
    }

    fn put<'a>(&mut self, row: usize, name: usize, all: &Params, new: impl Iterator<Item = (&'a String, &'a u64)>) {
        self.exact.entry((name, all.clone())).or_default().rows.push(row);
        for (param, value) in new {
            self.near.entry((name, Some((param.clone(), *value)))).or_default().rows.push(row);
        }
    }

    /// The first free row with these parameters.
    pub fn exact(
        &mut self,
        case: &Case,
        params: &Params,
        column: usize,
        is_free: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let name = *self.names.get(&name(case))?;
        self.exact.get_mut(&(name, params.clone()))?.from_free(column, is_free).first().copied()
    }

    /// Rows among which are all free ones that have what was asked for in `case`.
    ///
    /// # Errors
    /// When there are more than [`MOST_CANDIDATES`].
    pub fn near(&mut self, case: &Case, column: usize, is_free: impl Fn(usize) -> bool) -> Result<&[usize], TooMany> {
        let Some(name) = self.names.get(&name(case)).copied() else { return Ok(&[]) };
        let asked = case.params.iter().map(|(param, value)| (name, Some((param.clone(), *value))));
        let count = |key: &(usize, Option<(String, u64)>)| self.near.get(key).map_or(0, |bucket| bucket.rows.len());
        let rarest = asked.min_by_key(count).unwrap_or((name, None));
        let rows = self.near.get_mut(&rarest).map_or(&[][..], |bucket| bucket.from_free(column, is_free));
        if rows.len() > MOST_CANDIDATES { Err(TooMany) } else { Ok(rows) }
    }
}

/// More rows than are looked at.
pub struct TooMany;

fn name(case: &Case) -> Name {
    (case.label().to_string(), case.language.clone(), case.environment.clone())
}
