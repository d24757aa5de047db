//! Threads that were in the same call all the time: since when, in which function, and for whom. A cycle among them is a deadlock.

use model::{Profile, Thread};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// Threads that have waited for the same since before tracing began.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Hung {
    pub threads: Vec<u32>,
    pub process: String,
    #[serde(rename = "name")]
    pub call: String,
    /// What the call was made on.
    pub on: Option<String>,
    pub lock: bool,
    pub function: Option<String>,
    /// Of a lock, the thread that holds it, the call that this is in, the function that made it.
    pub holder: Option<u32>,
    pub holder_in: Option<(String, Option<String>)>,
    /// Threads that wait for each other, the first of them last, too; empty if it is no deadlock.
    pub cycle: Vec<u32>,
}

/// Deadlocks first, then locks, then what most threads wait for.
pub fn hung(profile: &Profile) -> Vec<Hung> {
    let by_number: BTreeMap<u32, &Thread> = profile
        .threads
        .iter()
        .map(|thread| (thread.tid, thread))
        .collect();
    let mut found: BTreeMap<_, Hung> = BTreeMap::new();
    for thread in &profile.threads {
        let Some(open) = thread.open.as_ref().filter(|open| open.before) else {
            continue;
        };
        let key = (&thread.process, &open.call, &open.on, &open.function);
        let own = found.entry(key).or_insert_with(|| Hung {
            process: thread.process.clone(),
            call: open.call.clone(),
            on: open.on.clone(),
            lock: open.lock,
            function: open.function.clone(),
            holder: open.holder,
            holder_in: open
                .holder
                .and_then(|holder| by_number.get(&holder)?.open.as_ref())
                .map(|open| (open.call.clone(), open.function.clone())),
            ..Hung::default()
        });
        own.threads.push(thread.tid);
        if own.cycle.is_empty() {
            own.cycle = cycle(thread.tid, &by_number);
        }
    }
    let mut found: Vec<Hung> = found.into_values().collect();
    found.sort_by_key(|own| {
        let rank = (own.cycle.is_empty(), !own.lock);
        (rank, std::cmp::Reverse(own.threads.len()))
    });
    found
}

/// From a thread through those that hold what it waits for, back to it.
fn cycle(first: u32, threads: &BTreeMap<u32, &Thread>) -> Vec<u32> {
    let mut seen = BTreeSet::new();
    let mut found = vec![first];
    let mut at = first;
    while seen.insert(at) {
        let open = threads.get(&at).and_then(|thread| thread.open.as_ref());
        let Some(holder) = open.filter(|open| open.before).and_then(|open| open.holder) else {
            return Vec::new();
        };
        found.push(holder);
        at = holder;
    }
    if at == first { found } else { Vec::new() }
}
