//! Finds the rows that a record may belong to without looking at all rows with its name. Called by `matching`.

use crate::model::Case;
use std::collections::{BTreeMap, HashMap};

/// Maximum number of rows that a record without an exact match is compared with. Without a bound, the time would grow
/// with the square of the number of rows.
pub const MOST_CANDIDATES: usize = 256;

type Name = (String, Option<String>, String);
type Params = BTreeMap<String, u64>;

/// Row indices by the key of the row.
pub struct Index {
    rows: HashMap<Name, OfName>,
    /// Whether rows match in whatever environment.
    apart: bool,
}

/// The rows of one label, language and environment, which is empty if rows match in any.
#[derive(Default)]
struct OfName {
    all: Bucket,
    exact: HashMap<Params, Bucket>,
    /// By one parameter and its value.
    by_value: HashMap<String, HashMap<u64, Bucket>>,
}

/// Rows; those before `next` have a record in `column`.
#[derive(Default)]
struct Bucket {
    rows: Vec<usize>,
    column: usize,
    next: usize,
}

impl Bucket {
    /// The rows from the first free one on. Skipped rows are not looked at again for this column.
    fn rest(&mut self, column: usize, is_free: impl Fn(usize) -> bool) -> &[usize] {
        if self.column != column {
            (self.column, self.next) = (column, 0);
        }
        while self.rows.get(self.next).is_some_and(|row| !is_free(*row)) {
            self.next += 1;
        }
        &self.rows[self.next..]
    }
}

impl OfName {
    fn put<'a>(&mut self, row: usize, all: &Params, new: impl Iterator<Item = (&'a String, &'a u64)>) {
        self.exact.entry(all.clone()).or_default().rows.push(row);
        for (param, value) in new {
            self.by_value.entry(param.clone()).or_default().entry(*value).or_default().rows.push(row);
        }
    }

    /// The rows that have the rarest of the given parameters; all rows if none were given.
    fn rarest(&mut self, asked: &Params) -> Option<&mut Bucket> {
        let with = |(param, value): (&String, &u64)| self.by_value.get(param)?.get(value).map(|b| b.rows.len());
        match asked.iter().min_by_key(|own| with(*own).unwrap_or(0)) {
            None => Some(&mut self.all),
            Some((param, value)) => self.by_value.get_mut(param)?.get_mut(value),
        }
    }
}

impl Index {
    pub fn new(apart: bool) -> Index {
        Index { rows: HashMap::new(), apart }
    }

    fn name(&self, case: &Case) -> Name {
        let environment = if self.apart { String::new() } else { case.environment.clone() };
        (case.label().to_string(), case.language.clone(), environment)
    }

    /// Adds the new row of `case` with the parameters `params`.
    pub fn add(&mut self, row: usize, case: &Case, params: &Params) {
        let name = self.name(case);
        let own = self.rows.entry(name).or_default();
        own.all.rows.push(row);
        own.put(row, params, params.iter());
    }

    /// Updates the row of `case`, whose parameters changed from `old` to `params`.
    pub fn extend(&mut self, row: usize, case: &Case, old: &Params, params: &Params) {
        let new = params.iter().filter(|(param, _)| !old.contains_key(*param));
        let name = self.name(case);
        self.rows.entry(name).or_default().put(row, params, new);
    }

    /// The first free row of `case` with the same parameters, or else candidates, which include all free rows that have
    /// the given parameters. Errors: if there are more candidates than [`MOST_CANDIDATES`].
    pub fn find(
        &mut self,
        case: &Case,
        params: &Params,
        column: usize,
        is_free: impl Fn(usize) -> bool,
        is_it: impl Fn(usize) -> bool,
    ) -> Result<Found<'_>, TooMany> {
        let name = self.name(case);
        let Some(own) = self.rows.get_mut(&name) else { return Ok(Found::Candidates(&[])) };
        let exact = own.exact.get_mut(params).and_then(|bucket| bucket.rest(column, is_it).first().copied());
        if let Some(row) = exact {
            return Ok(Found::Exact(row));
        }
        let rows = own.rarest(&case.params).map_or(&[][..], |bucket| bucket.rest(column, is_free));
        if rows.len() > MOST_CANDIDATES { Err(TooMany) } else { Ok(Found::Candidates(rows)) }
    }
}

/// Where a record may belong.
pub enum Found<'a> {
    Exact(usize),
    Candidates(&'a [usize]),
}

/// There are more candidates than [`MOST_CANDIDATES`].
pub struct TooMany;

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// How often rows are looked at for two columns of `count` records each with the parameters `params(i)`.
    fn looks(count: usize, params: impl Fn(usize) -> Params) -> usize {
        let (mut index, mut filled, looks) =
            (Index::new(false), [vec![false; count], vec![false; count]], Cell::new(0));
        for (column, filled) in filled.iter_mut().enumerate() {
            for i in 0..count {
                let case = Case { params: params(i), ..Case::native("file.lstat") };
                let is_free = |row: usize| {
                    looks.set(looks.get() + 1);
                    !filled[row]
                };
                match index.find(&case, &case.params, column, is_free, is_free) {
                    Ok(Found::Exact(row)) => filled[row] = true,
                    Ok(Found::Candidates(_)) | Err(TooMany) => {
                        index.add(i, &case, &case.params);
                        filled[i] = true;
                    }
                }
            }
        }
        assert!(filled.iter().flatten().all(|filled| *filled));
        looks.get()
    }

    #[test]
    fn rows_are_looked_at_in_proportion_to_their_number() {
        const COUNT: usize = 5000;
        assert!(looks(COUNT, |_| Params::new()) < 10 * COUNT);
        assert!(looks(COUNT, |i| Params::from([("depth".to_string(), i as u64)])) < 10 * COUNT);
        let shared = |i: usize| Params::from([("depth".to_string(), i as u64), ("size".to_string(), 1)]);
        assert!(looks(COUNT, shared) < 10 * COUNT);
    }
}
