//! What the processes of one name did, as rules look at it. The rules call it.

use super::rule::{Advice, Rule, Time};
use crate::attribute::calls::function;
use crate::attribute::seconds::Seconds;
pub use crate::attribute::seconds::s;
use crate::model::{CallCount, DescriptorKind, ObjectCount, ObjectKind, ProcessGroup, Profile};
use crate::syscall_names::bare_name;
use indexmap::IndexMap;
use std::borrow::Borrow;
use std::collections::BTreeSet;

/// Calls that take what has arrived.
pub const INPUTS: &[&str] = &["read", "readv", "recvfrom", "recvmsg", "recvmmsg", "recv", "accept", "accept4"];
/// Calls that wait for one of several descriptors.
pub const POLLS: &[&str] =
    &["poll", "ppoll", "select", "pselect6", "_newselect", "epoll_wait", "epoll_pwait", "epoll_pwait2"];
pub const OPENS: &[&str] = &["open", "openat", "openat2", "creat"];
pub const UNLINKS: &[&str] = &["unlink", "unlinkat"];
pub const WRITES: &[&str] = &["write", "pwrite64", "writev", "pwritev", "pwritev2"];
pub const SYNCS: &[&str] = &["fsync", "fdatasync", "sync_file_range", "msync", "syncfs", "sync"];
pub const FORKS: &[&str] = &["fork", "vfork", "clone", "clone3"];
pub const FUTEX: &[&str] = &["futex", "futex_time64"];

/// The processes of one name.
pub struct Caller<'a> {
    pub name: &'a str,
    /// By call and class, in the order of the profile.
    pub counts: Vec<CallCount>,
    /// Paths with the calls on each.
    pub paths: Vec<&'a ObjectCount>,
    pub profile: &'a Profile,
    /// How many processes had this name, at least one.
    pub processes: u64,
    /// CPU time, if it is known by process name.
    pub cpu_s: f64,
    null_call_ns: f64,
}

/// One for each process name of the profile.
pub fn callers(profile: &Profile, null_call_ns: Option<f64>) -> Vec<Caller<'_>> {
    let mut names: IndexMap<&str, Vec<&ProcessGroup>> = IndexMap::new();
    for group in &profile.groups {
        names.entry(&group.name).or_default().push(group);
    }
    let caller = |(name, groups): (_, Vec<&ProcessGroup>)| {
        let own = |object: &&ObjectCount| object.kind == ObjectKind::Path && object.process == name;
        let time = |of: fn(&ProcessGroup) -> Option<u64>| s(added(groups.iter().filter_map(|group| of(group))));
        let mut caller = Caller {
            name,
            counts: by_class(&groups),
            paths: profile.objects.iter().filter(own).filter(|object| object.is_one_object()).collect(),
            profile,
            processes: 1,
            cpu_s: time(|group| group.user_ns) + time(|group| group.system_ns),
            null_call_ns: null_call_ns.unwrap_or(0.0),
        };
        caller.processes = caller.count_processes();
        caller
    };
    names.into_iter().map(caller).collect()
}

fn by_class(groups: &[&ProcessGroup]) -> Vec<CallCount> {
    let mut counts = IndexMap::new();
    for count in groups.iter().flat_map(|group| &group.calls) {
        let empty = || CallCount { call: count.call.clone(), class: count.class.clone(), ..CallCount::default() };
        counts.entry((&count.call, &count.class)).or_insert_with(empty).add(count);
    }
    counts.into_values().collect()
}

impl<'a> Caller<'a> {
    /// By the tree of processes; else each ends with an exit, and those that were not forked begin with an exec.
    fn count_processes(&self) -> u64 {
        let own = self.profile.tree.iter().filter(|path| path.names.last().is_some_and(|name| name == self.name));
        let counted = self.named(&["exit_group"]).calls.max(self.succeeded(&["execve", "execveat"]));
        added(own.map(|path| path.processes)).max(counted).max(1)
    }

    /// CPU time outside of calls: in user mode, and in page faults.
    pub fn outside_s(&self) -> f64 {
        (self.cpu_s - s(total(&self.counts).on_cpu_ns.unwrap_or(0))).max(0.0)
    }

    /// The sum of all classes that `keep`.
    pub fn sum(&self, keep: impl Fn(&CallCount) -> bool) -> CallCount {
        total(self.counts.iter().filter(|count| keep(count)))
    }

    pub fn named(&self, names: &[&str]) -> CallCount {
        self.sum(|count| is_one_of(count, names))
    }

    /// The calls of these names that succeeded.
    pub fn succeeded(&self, names: &[&str]) -> u64 {
        done(&self.named(names))
    }

    /// The calls that take what another program or a person sends.
    pub fn received(&self) -> u64 {
        let sent = |count: &CallCount| is_one_of(count, INPUTS) && count.class.descriptor != Some(DescriptorKind::File);
        done(&self.sum(sent))
    }

    /// The calls of which each class has `share` (0 to 1) as many as were made.
    pub fn part(&self, share: impl Fn(&CallCount) -> f64) -> Part<'_> {
        let mut part = Part::new(self);
        for count in &self.counts {
            part.add(count, share(count));
        }
        part
    }

    pub fn whole(&self, keep: impl Fn(&CallCount) -> bool) -> Part<'_> {
        self.part(|count| if keep(count) { 1.0 } else { 0.0 })
    }
}

/// Files hold any numbers.
pub fn added(numbers: impl IntoIterator<Item = u64>) -> u64 {
    numbers.into_iter().fold(0, u64::saturating_add)
}

pub fn total<C: Borrow<CallCount>>(counts: impl IntoIterator<Item = C>) -> CallCount {
    counts.into_iter().fold(CallCount::default(), |mut sum, count| {
        sum.add(count.borrow());
        sum
    })
}

/// How often the calls failed with this error.
pub fn errors(count: &CallCount, name: &str) -> u64 {
    count.errors.get(name).copied().unwrap_or(0)
}

pub fn done(count: &CallCount) -> u64 {
    count.calls.saturating_sub(count.failures())
}

pub fn is_one_of(count: &CallCount, names: &[&str]) -> bool {
    names.contains(&bare_name(&count.call))
}

pub fn does(count: &CallCount, operation: &str) -> bool {
    count.class.operation.as_deref() == Some(operation)
}

pub fn share(part: u64, whole: u64) -> f64 {
    (part as f64 / whole.max(1) as f64).min(1.0)
}

/// Some of a process's calls, and what they took.
#[derive(Clone)]
pub struct Part<'a> {
    caller: &'a Caller<'a>,
    names: BTreeSet<&'a str>,
    pub calls: u64,
    on_cpu_s: Option<f64>,
    elapsed_s: Option<f64>,
    /// Calls that have no times.
    untimed: u64,
}

impl<'a> Part<'a> {
    pub fn new(caller: &'a Caller<'a>) -> Part<'a> {
        Part { caller, names: BTreeSet::new(), calls: 0, on_cpu_s: None, elapsed_s: None, untimed: 0 }
    }

    pub fn add(&mut self, count: &'a CallCount, share: f64) {
        let share = share.clamp(0.0, 1.0);
        let calls = (count.calls as f64 * share).round() as u64;
        if calls == 0 {
            return;
        }
        self.names.insert(bare_name(&count.call));
        self.calls = self.calls.saturating_add(calls);
        let plus = |sum: Option<f64>, ns: Option<u64>| match ns {
            Some(ns) => Some(sum.unwrap_or(0.0) + s(ns) * share),
            None => sum,
        };
        self.on_cpu_s = plus(self.on_cpu_s, count.on_cpu_ns);
        self.elapsed_s = plus(self.elapsed_s, count.elapsed_ns());
        self.untimed += if count.elapsed_ns().is_none() { calls } else { 0 };
    }

    /// Calls that are made once for each of `items`, if there are as many.
    pub fn with_each(mut self, items: u64, keep: impl Fn(&CallCount) -> bool) -> Part<'a> {
        let calls = self.caller.sum(&keep).calls;
        if calls.saturating_mul(5) >= items.saturating_mul(4) {
            let own = self.caller.counts.iter().filter(|count| keep(count));
            own.for_each(|count| self.add(count, share(items, calls)));
        }
        self
    }

    /// Time between entry and return.
    pub fn waited_s(&self) -> f64 {
        self.elapsed_s.unwrap_or(0.0)
    }

    /// What is saved if the calls are left out. At least a bare crossing each; at most what the program does around them too.
    /// What is not measured is said to be one crossing, to ten.
    pub fn left_out(&self) -> Seconds {
        let crossing_s = self.caller.null_call_ns / 1e9;
        let bare_s = self.calls as f64 * crossing_s;
        let value = self.on_cpu_s.or(self.elapsed_s).unwrap_or(0.0).max(bare_s);
        let low = if self.on_cpu_s.is_some() { value * 0.8 } else { bare_s };
        let around_s = self.caller.outside_s() * share(self.calls, total(&self.caller.counts).calls);
        let high = value * 1.2 + bare_s + around_s + self.untimed as f64 * crossing_s * 9.0;
        Seconds { value, low, high }
    }

    /// Advice about these calls.
    pub fn advice(self, rule: Rule, saved: Seconds) -> Advice {
        let time = if rule == Rule::SyncPerRecord { Time::Elapsed } else { Time::Cpu };
        Advice {
            rule,
            process: self.caller.name.to_string(),
            function: function(self.caller.profile, self.caller.name, &self.names),
            names: self.names.iter().map(ToString::to_string).collect(),
            calls: self.calls,
            items: 0,
            of: None,
            paths: Vec::new(),
            measured_s: if time == Time::Cpu { self.on_cpu_s } else { self.elapsed_s },
            time,
            saved,
        }
    }

    /// Advice that leaves these calls out.
    pub fn avoid(self, rule: Rule) -> Advice {
        let saved = self.left_out();
        self.advice(rule, saved)
    }
}
