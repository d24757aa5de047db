//! Rules about names: those that do not exist, and those that are asked for again and again.

use super::caller::{Caller, is_one_of};
use super::rule::{Advice, MANY, PathUse, Rule, Time};
use crate::attribute::units::{STATS, bare_name};
use crate::model::{CallCount, ObjectCount, ObjectKind};
use indexmap::IndexMap;
use std::cmp::Reverse;

const LOOKUPS: &[&str] =
    &["open", "openat", "openat2", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "statx", "execve"];

/// Paths that are named.
const NAMED: usize = 3;

fn absent(count: &CallCount) -> u64 {
    count.errors.get("ENOENT").copied().unwrap_or(0)
}

fn looks(count: &CallCount) -> bool {
    is_one_of(count, STATS) || is_one_of(count, LOOKUPS)
}

fn stats(count: &CallCount) -> bool {
    // Of an empty path: a descriptor's.
    (is_one_of(count, STATS) || bare_name(&count.call) == "statx") && count.class.depth != Some(0)
}

/// Lookups that fail.
pub fn probing(caller: &Caller) -> Vec<Advice> {
    let all = caller.sum(looks);
    let misses = absent(&all);
    let part = caller.part(|count| if looks(count) { share_of_misses(caller, count) } else { 0.0 });
    let Some(saved) = part.takes(Time::Cpu).filter(|_| misses >= MANY) else { return Vec::new() };
    let paths = paths(caller, |count| looks(count) && absent(count) > 0, absent);
    let rule = Rule::Probing { found: all.calls.saturating_sub(all.failures()), paths: first(paths) };
    let basis = caller.costs.price_of("file.stat_absent").map(|price| price.basis);
    vec![Advice { calls: misses, ..part.advice(rule, Some(saved), basis) }]
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

/// All stats of a path but the first of each process name. Where paths are not known, nobody can tell which are repeated.
pub fn stat_storm(caller: &Caller) -> Vec<Advice> {
    let found = |count: &CallCount| 1.0 - absent(count) as f64 / count.calls.max(1) as f64;
    let part = caller.part(|count| if stats(count) { found(count) } else { 0.0 });
    if part.calls < 10 * MANY {
        return Vec::new();
    }
    let hits = |count: &CallCount| count.calls.saturating_sub(absent(count));
    let paths = paths(caller, stats, hits);
    if paths.is_empty() {
        return vec![part.advice(Rule::StatStorm { paths, distinct: 0 }, None, [])];
    }
    let repeated: u64 = paths.iter().map(|path| path.calls - 1).sum();
    let distinct = paths.len() as u64;
    let share = repeated as f64 / part.calls as f64;
    let part = caller.part(|count| if stats(count) { found(count) * share } else { 0.0 });
    let Some(saved) = part.takes(Time::Cpu).filter(|_| repeated >= MANY) else { return Vec::new() };
    vec![part.advice(Rule::StatStorm { paths: first(paths), distinct }, Some(saved), [])]
}

/// The paths of the caller's calls that `keep`, with their number by `number`, the most used first.
fn paths(caller: &Caller, keep: impl Fn(&CallCount) -> bool, number: impl Fn(&CallCount) -> u64) -> Vec<PathUse> {
    let mut calls: IndexMap<&str, u64> = IndexMap::new();
    let own = |object: &&ObjectCount| object.kind == ObjectKind::Path && object.process == caller.name;
    for object in caller.profile.objects.iter().filter(own).filter(|o| keep(&o.count) && !o.name.is_empty()) {
        *calls.entry(&object.name).or_insert(0) += number(&object.count);
    }
    let known = calls.into_iter().filter(|(_, calls)| *calls > 0);
    let mut paths: Vec<PathUse> = known.map(|(path, calls)| PathUse { path: path.to_string(), calls }).collect();
    paths.sort_by_key(|path| Reverse(path.calls));
    paths
}

fn first(mut paths: Vec<PathUse>) -> Vec<PathUse> {
    paths.truncate(NAMED);
    paths
}
