//! Rules about names: those that are searched for, and those that are asked for again and again. Both need the paths of
//! `trace --paths`: whether a name is asked for again cannot be derived from counts.

use super::caller::{Caller, errors, is_one_of};
use super::rule::{Advice, MANY, PathUse, Rule, Time};
use crate::attribute::units::{STATS, bare_name};
use crate::model::{CallCount, ObjectCount};
use indexmap::IndexMap;
use std::cmp::Reverse;
use std::collections::BTreeSet;

const LOOKUPS: &[&str] =
    &["open", "openat", "openat2", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "statx", "execve"];

const NAMED: usize = 3;

/// A process that asks for a path no more often than this may want to see it change.
const AGAIN: u64 = 10;

fn absent(count: &CallCount) -> u64 {
    errors(count, "ENOENT")
}

fn looks(count: &CallCount) -> bool {
    is_one_of(count, STATS) || is_one_of(count, LOOKUPS)
}

fn stats(count: &CallCount) -> bool {
    // Of an empty path: a descriptor's.
    (is_one_of(count, STATS) || bare_name(&count.call) == "statx") && count.class.depth != Some(0)
}

/// Lookups that fail, of names that are searched for: missing in two directories at least and found in another one. A name that is
/// missing in one place, such as a journal, is not searched for; its absence is the answer.
pub fn probing(caller: &Caller) -> Vec<Advice> {
    let all = caller.sum(looks);
    let missed = again(caller, searched(caller), |object| absent(&object.count));
    let misses = missed.iter().fold(0, |sum: u64, path| sum.saturating_add(path.calls));
    if !caller.are_many(misses) {
        return Vec::new();
    }
    let share = misses as f64 / absent(&all).max(1) as f64;
    let part = caller.part(|count| if looks(count) { share * share_of_misses(caller, count) } else { 0.0 });
    let Some(saved) = part.takes(Time::Cpu) else { return Vec::new() };
    let rule = Rule::Probing { found: all.calls.saturating_sub(all.failures()), paths: first(missed) };
    let basis = caller.costs.price_of("file.stat_absent").map(|price| price.basis);
    vec![Advice { calls: misses, ..part.advice(rule, Some(saved), basis) }]
}

/// The lookups of names that are searched for.
fn searched<'a>(caller: &'a Caller) -> impl Iterator<Item = &'a ObjectCount> {
    let lookups = || caller.paths().filter(|object| looks(&object.count));
    let name = |object: &'a ObjectCount| object.name.rsplit('/').next().unwrap_or_default();
    // By name: the directories that lack it, and whether one has it.
    let mut places: IndexMap<&str, (BTreeSet<&str>, bool)> = IndexMap::new();
    for object in lookups() {
        let (missing, found) = places.entry(name(object)).or_default();
        let misses = absent(&object.count);
        missing.extend((misses > 0).then_some(object.name.as_str()));
        *found |= object.count.failures() < object.count.calls;
    }
    lookups().filter(move |object| places.get(name(object)).is_some_and(|(missing, found)| missing.len() > 1 && *found))
}

/// The share of a class's time that its misses took. A miss costs as much less than a hit as a stat of a name that does not
/// exist costs less than one of a file.
fn share_of_misses(caller: &Caller, count: &CallCount) -> f64 {
    let (misses, calls) = (absent(count) as f64, count.calls.max(1) as f64);
    let ns = |operation| caller.costs.price_of(operation).map(|price| price.cost.ns);
    let less = ns("file.stat").zip(ns("file.stat_absent")).map_or(0.0, |(stat, absent)| (stat - absent).max(0.0));
    let hit = caller.costs.price(&count.call, &count.class).map_or(1.0, |price| price.cost.ns);
    let miss = if less < hit { (hit - less) / hit } else { 1.0 };
    let share = misses * miss / (misses * miss + (calls - misses).max(0.0));
    if misses > 0.0 { share } else { 0.0 }
}

/// All stats of a path but the first of each process.
pub fn stat_storm(caller: &Caller) -> Vec<Advice> {
    let found = |count: &CallCount| 1.0 - absent(count) as f64 / count.calls.max(1) as f64;
    let part = caller.part(|count| if stats(count) { found(count) } else { 0.0 });
    let asked = caller.paths().filter(|object| stats(&object.count));
    let paths = again(caller, asked, |object| object.count.calls.saturating_sub(absent(&object.count)));
    let repeated = paths.iter().fold(0, |sum: u64, path| sum.saturating_add(path.calls - caller.processes()));
    if part.calls < 10 * MANY || !caller.are_many(repeated) {
        return Vec::new();
    }
    let share = repeated as f64 / part.calls as f64;
    let part = caller.part(|count| if stats(count) { found(count) * share } else { 0.0 });
    let Some(saved) = part.takes(Time::Cpu) else { return Vec::new() };
    let distinct = paths.len() as u64;
    vec![part.advice(Rule::StatStorm { paths: first(paths), distinct }, Some(saved), [])]
}

/// The paths that each process asks for again and again, with their calls by `number`, the most used first.
fn again<'a>(
    caller: &Caller,
    objects: impl Iterator<Item = &'a ObjectCount>,
    number: impl Fn(&ObjectCount) -> u64,
) -> Vec<PathUse> {
    let mut calls: IndexMap<&str, u64> = IndexMap::new();
    for object in objects {
        let sum = calls.entry(&object.name).or_default();
        *sum = sum.saturating_add(number(object));
    }
    let again = calls.into_iter().filter(|(_, calls)| *calls > caller.processes().saturating_mul(AGAIN));
    let mut paths: Vec<PathUse> = again.map(|(path, calls)| PathUse { path: path.to_string(), calls }).collect();
    paths.sort_by_key(|path| Reverse(path.calls));
    paths
}

fn first(mut paths: Vec<PathUse>) -> Vec<PathUse> {
    paths.truncate(NAMED);
    paths
}
