//! A profile as rules look at it: what concerns all its processes is found once, since there may be as many of them as calls.

use super::caller::{Caller, added, done, is_one_of, s};
use super::tree::Tree;
use super::{locks, paths, process_per_item, search};
use crate::attribute::calls::Functions;
use crate::attribute::stops::logged_s;
use indexmap::IndexMap;
use model::{CallCount, ObjectCount, ObjectKind, ProcessGroup, Profile, summed};
use std::collections::{BTreeMap, BTreeSet, HashMap};

pub struct Workload<'a> {
    pub profile: &'a Profile,
    pub programs: IndexMap<&'a str, Program<'a>>,
    pub tree: Tree<'a>,
    pub functions: Functions<'a>,
    pub changes: BTreeMap<&'a str, u64>,
    pub existing: BTreeSet<&'a str>,
    pub locks: u64,
    pub execs: u64,
    pub execs_s: f64,
    /// CPU times of another run may be shorter and longer by these factors.
    pub varies: [f64; 2],
    /// The part of each call's time in a log that is the tracer's.
    pub stop_s: f64,
}

// Chosen with six programs of bench/faults/check, alone and beside others.
/// Times vary by a sixth from one run to the next, and more where other programs empty the caches.
const VARIES: [f64; 2] = [0.85, 1.2];
const VARIES_UNDER_LOAD: [f64; 2] = [0.65, 1.5];
/// Waiting for a CPU, as a share of CPU time: the program ran beside others.
const UNDER_LOAD: f64 = 0.2;

/// A program's calls do not cost exactly what the operations that price them do.
const VARIES_PRICED: [f64; 2] = [0.5, 3.0];

fn varies(profile: &Profile) -> [f64; 2] {
    if !profile.tracer.priced_by.is_empty() {
        return VARIES_PRICED;
    }
    let usage = &profile.usage;
    let states = usage.concurrency.as_ref();
    let waited_s = states.map_or(0.0, |states| s(states.waiting_ns));
    let ran_s = s(added(
        [usage.user_ns, usage.system_ns].into_iter().flatten(),
    ));
    if waited_s > UNDER_LOAD * ran_s {
        VARIES_UNDER_LOAD
    } else {
        VARIES
    }
}

pub struct Program<'a> {
    pub counts: Vec<CallCount>,
    pub paths: Vec<&'a ObjectCount>,
    pub processes: u64,
    /// 0 if it is not known by process name.
    pub cpu_s: f64,
    /// In the calls that start a program and end it.
    pub starts_s: f64,
}

impl<'a> Workload<'a> {
    pub fn new(profile: &'a Profile) -> Workload<'a> {
        let (tree, mut paths) = (Tree::new(&profile.tree), paths_by_process(profile));
        let stop_s = logged_s(profile);
        let mut groups: IndexMap<&str, Vec<&ProcessGroup>> = IndexMap::new();
        for group in &profile.groups {
            groups.entry(&group.name).or_default().push(group);
        }
        let mut programs = IndexMap::new();
        for (name, groups) in groups {
            let program_paths = paths.remove(name).unwrap_or_default();
            programs.insert(
                name,
                Program::new(&groups, program_paths, tree.processes(name), stop_s),
            );
        }
        let execs: CallCount = profile
            .calls()
            .filter(|count| is_one_of(count, "execve execveat"))
            .sum();
        Workload {
            profile,
            programs,
            tree,
            functions: Functions::new(profile),
            changes: paths::changes(profile),
            existing: search::existing_stems(profile),
            locks: added(
                profile
                    .calls()
                    .filter(|count| locks::locks(count))
                    .map(|count| count.calls),
            ),
            execs: done(&execs),
            execs_s: s(execs.on_cpu_ns.unwrap_or(0)),
            varies: varies(profile),
            stop_s,
        }
    }

    /// One caller for each process name, in the order of the profile.
    pub fn callers(&'a self, null_call_ns: Option<f64>) -> impl Iterator<Item = Caller<'a>> {
        let null_call_ns = null_call_ns.unwrap_or(0.0);
        self.programs
            .iter()
            .map(move |(name, program)| Caller::new(self, name, program, null_call_ns))
    }
}

fn paths_by_process(profile: &Profile) -> HashMap<&str, Vec<&ObjectCount>> {
    let mut paths: HashMap<&str, Vec<&ObjectCount>> = HashMap::new();
    for object in profile
        .objects
        .iter()
        .filter(|object| object.kind == ObjectKind::Path && object.is_one_object())
    {
        paths.entry(&object.process).or_default().push(object);
    }
    paths
}

impl<'a> Program<'a> {
    /// Its processes are those of the tree; else each ends with an exit, and those that were not forked begin with an exec.
    fn new(
        groups: &[&ProcessGroup],
        paths: Vec<&'a ObjectCount>,
        in_tree: u64,
        stop_s: f64,
    ) -> Program<'a> {
        let counts = summed(groups.iter().flat_map(|group| &group.calls));
        let named = |names| counts.iter().filter(|count| is_one_of(count, names)).sum();
        let (exits, execs): (CallCount, CallCount) =
            (named("exit_group"), named("execve execveat"));
        let starts: CallCount = named(process_per_item::STARTING);
        let times = groups
            .iter()
            .flat_map(|group| [group.user_ns, group.system_ns]);
        Program {
            processes: in_tree.max(exits.calls).max(done(&execs)).max(1),
            cpu_s: s(added(times.flatten())),
            starts_s: match (starts.on_cpu_ns, starts.elapsed_ns()) {
                (Some(ns), _) => s(ns),
                (None, ns) => (ns.map_or(0.0, s) - starts.calls as f64 * stop_s).max(0.0),
            },
            counts,
            paths,
        }
    }
}
