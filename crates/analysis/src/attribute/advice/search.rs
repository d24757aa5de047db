//! Names that are searched for in directories that lack them: lookups that fail, of names that are found elsewhere.

use super::caller::{Caller, Part, Rule, added, done, errors, share};
use super::output::{Advice, PathUse};
use super::paths::{about, is_lookup};
use super::workload::Workload;
use model::{ObjectCount, Profile};
use std::collections::{BTreeMap, BTreeSet};

pub static RULE: Rule = Rule {
    name: "search",
    least: 0.05,
    phrase: "{calls} for names that are in another directory, {items} of them found",
    change: "put the right directory first, shorten the search path, or cache where things are",
    find,
};

/// `x` of `/a/x.so.1`, as a search tries several extensions.
fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or_default();
    let end = name
        .get(1..)
        .and_then(|rest| rest.find('.'))
        .map_or(name.len(), |at| at + 1);
    &name[..end]
}

/// The stems of names that some look-up of the profile found.
pub fn existing_stems(profile: &Profile) -> BTreeSet<&str> {
    profile
        .objects
        .iter()
        .filter(|object| {
            object.is_one_object() && is_lookup(&object.count) && done(&object.count) > 0
        })
        .map(|object| stem(&object.name))
        .collect()
}

/// With the misses: the name is missing in two places at least, and found in another one. If it is missing in one place only, its
/// absence is the answer.
pub fn searched<'a>(caller: &Caller<'a>) -> BTreeMap<&'a str, u64> {
    let Workload {
        existing, changes, ..
    } = caller.workload;
    let missed = caller
        .paths
        .iter()
        .filter(|object| is_lookup(&object.count) && errors(&object.count, "ENOENT") > 0)
        .filter(|object| {
            existing.contains(stem(&object.name))
                && changes
                    .get(object.name.as_str())
                    .is_none_or(|times| *times == 0)
        });
    let mut places: BTreeMap<&str, BTreeMap<&str, u64>> = BTreeMap::new();
    for object in missed {
        let misses = places
            .entry(stem(&object.name))
            .or_default()
            .entry(&object.name)
            .or_default();
        *misses += errors(&object.count, "ENOENT");
    }
    places
        .into_values()
        .filter(|places| places.len() > 1)
        .flatten()
        .collect()
}

fn find(caller: &Caller) -> Vec<Advice> {
    let searched = searched(caller);
    let uses = searched.iter().map(|(path, calls)| {
        let used = PathUse {
            path: (*path).to_string(),
            calls: *calls,
            elapsed_ns: 0,
        };
        (*path, used)
    });
    let mut uses: BTreeMap<&str, PathUse> = uses.collect();
    let mut part = Part::new(caller);
    // Once through all look-ups: a search has tens of thousands of paths.
    for object in lookups(caller) {
        if let Some(used) = uses.get_mut(object.name.as_str()) {
            used.elapsed_ns += object.count.elapsed_ns().unwrap_or(0);
            part.add(
                &object.count,
                share(errors(&object.count, "ENOENT"), object.count.calls),
            );
        }
    }
    let stems: BTreeSet<&str> = searched.keys().map(|path| stem(path)).collect();
    let tried = lookups(caller).filter(|object| stems.contains(stem(&object.name)));
    let items = added(tried.map(|object| done(&object.count)));
    let saved = part.left_out();
    vec![Advice {
        items,
        ..about(part.advice(0, saved), uses.into_values().collect())
    }]
}

fn lookups<'a>(caller: &Caller<'a>) -> impl Iterator<Item = &'a ObjectCount> {
    let paths = caller.paths.iter().copied();
    paths.filter(|object| is_lookup(&object.count))
}
