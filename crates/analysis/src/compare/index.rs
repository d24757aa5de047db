//! Finds the rows that a record may belong to without looking at all rows with its name.

use model::Case;
use std::collections::{BTreeMap, HashMap};

// Chosen: the worst case takes time in proportion.
/// Without a bound, the time would grow with the square of the number of rows.
pub const MOST_CANDIDATES: usize = 256;

type Name = (String, Option<String>, String);
type Params = BTreeMap<String, u64>;

pub struct Index {
    names: HashMap<Name, usize>,
    buckets: HashMap<(usize, Part), Bucket>,
    apart: bool,
}

/// Besides label, language and environment.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Part {
    Name,
    Exact(Params),
    Value(String, u64),
}

fn values(params: &Params) -> impl Iterator<Item = Part> {
    params
        .iter()
        .map(|(name, value)| Part::Value(name.clone(), *value))
}

/// Rows; those before `next` have a record in `column`.
#[derive(Default)]
struct Bucket {
    rows: Vec<usize>,
    column: usize,
    next: usize,
}

impl Bucket {
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

impl Index {
    /// An empty index; `apart` if columns have different environments, which are then left out of the names.
    pub fn new(apart: bool) -> Index {
        Index {
            names: HashMap::new(),
            buckets: HashMap::new(),
            apart,
        }
    }

    fn name(&mut self, case: &Case) -> usize {
        let environment = if self.apart {
            String::new()
        } else {
            case.environment.clone()
        };
        let next = self.names.len();
        *self
            .names
            .entry((case.label().to_string(), case.language.clone(), environment))
            .or_insert(next)
    }

    fn put(&mut self, row: usize, name: usize, part: Part) {
        self.buckets.entry((name, part)).or_default().rows.push(row);
    }

    pub fn add(&mut self, row: usize, case: &Case, params: &Params) {
        let name = self.name(case);
        self.put(row, name, Part::Name);
        self.put(row, name, Part::Exact(params.clone()));
        values(params).for_each(|part| self.put(row, name, part));
    }

    pub fn extend(&mut self, row: usize, case: &Case, old: &Params, params: &Params) {
        let name = self.name(case);
        self.put(row, name, Part::Exact(params.clone()));
        let new: Params = params
            .clone()
            .into_iter()
            .filter(|(param, _)| !old.contains_key(param))
            .collect();
        values(&new).for_each(|part| self.put(row, name, part));
    }

    /// The first free row with the same parameters, or else candidates: all free rows with the rarest of the given parameters.
    pub fn find(
        &mut self,
        case: &Case,
        params: &Params,
        column: usize,
        is_free: impl Fn(usize) -> bool,
        is_it: impl Fn(usize) -> bool,
    ) -> Result<Found<'_>, TooMany> {
        let name = self.name(case);
        let exact = self.buckets.get_mut(&(name, Part::Exact(params.clone())));
        if let Some(row) = exact.and_then(|bucket| bucket.rest(column, is_it).first().copied()) {
            return Ok(Found::Exact(row));
        }
        // The rarest parameter leaves the fewest rows to compare.
        let rarest = values(&case.params)
            .min_by_key(|part| {
                self.buckets
                    .get(&(name, part.clone()))
                    .map_or(0, |bucket| bucket.rows.len())
            })
            .unwrap_or(Part::Name);
        let rows = self
            .buckets
            .get_mut(&(name, rarest))
            .map_or(&[][..], |bucket| bucket.rest(column, is_free));
        if rows.len() > MOST_CANDIDATES {
            Err(TooMany)
        } else {
            Ok(Found::Candidates(rows))
        }
    }
}

pub enum Found<'a> {
    Exact(usize),
    Candidates(&'a [usize]),
}

pub struct TooMany;
