//! What the processes of one name did, as rules look at it. The rules call it.

use super::rule::{Advice, MANY, Rule, Time};
use crate::attribute::breakdown::s;
use crate::attribute::costs::{Basis, Costs, Price};
use crate::attribute::spread::{Seconds, less, measured, plus};
use crate::attribute::units::bare_name;
use crate::model::{CallCount, Class, DescriptorKind, ObjectCount, ObjectKind, Profile};
use indexmap::IndexMap;
use std::borrow::Borrow;
use std::collections::BTreeSet;

/// Calls that take what has arrived.
pub const INPUTS: &[&str] = &["read", "readv", "recvfrom", "recvmsg", "recvmmsg", "recv", "accept", "accept4"];

/// Calls that wait for one of several descriptors.
pub const POLLS: &[&str] =
    &["poll", "ppoll", "select", "pselect6", "_newselect", "epoll_wait", "epoll_pwait", "epoll_pwait2"];

/// The processes of one name.
pub struct Caller<'a> {
    pub name: &'a str,
    /// By call and class, in the order of the profile.
    pub counts: Vec<CallCount>,
    pub profile: &'a Profile,
    pub costs: &'a Costs,
}

/// One for each process name of the profile.
pub fn callers<'a>(profile: &'a Profile, costs: &'a Costs) -> Vec<Caller<'a>> {
    let mut names: IndexMap<&str, IndexMap<(&str, &Class), CallCount>> = IndexMap::new();
    for (group, count) in profile.groups.iter().flat_map(|group| group.calls.iter().map(move |count| (group, count))) {
        let empty = || CallCount { call: count.call.clone(), class: count.class.clone(), ..CallCount::default() };
        let own = names.entry(&group.name).or_default();
        own.entry((&count.call, &count.class)).or_insert_with(empty).add(count);
    }
    let caller = |(name, counts): (_, IndexMap<_, CallCount>)| {
        let counts = counts.into_values().collect();
        Caller { name, counts, profile, costs }
    };
    names.into_iter().map(caller).collect()
}

impl Caller<'_> {
    /// The sum of all classes that `keep`.
    pub fn sum(&self, keep: impl Fn(&CallCount) -> bool) -> CallCount {
        total(self.counts.iter().filter(|count| keep(count)))
    }

    /// The sum of all calls of these names.
    pub fn named(&self, names: &[&str]) -> CallCount {
        self.sum(|count| is_one_of(count, names))
    }

    /// The calls of these names that succeeded.
    pub fn succeeded(&self, names: &[&str]) -> u64 {
        let sum = self.named(names);
        sum.calls.saturating_sub(sum.failures())
    }

    /// How many processes had this name, at least one: each ends with an exit, and those that were not forked begin with an exec.
    pub fn processes(&self) -> u64 {
        self.named(&["exit_group"]).calls.max(self.succeeded(&["execve", "execveat"])).max(1)
    }

    /// Whether each of these processes made many of `calls` on average: what programs do as they start is not to blame.
    pub fn are_many(&self, calls: u64) -> bool {
        calls / self.processes() >= MANY
    }

    /// The calls that take what another program or a person sends.
    pub fn received(&self) -> u64 {
        let sent = |count: &CallCount| is_one_of(count, INPUTS) && count.class.descriptor != Some(DescriptorKind::File);
        let sum = self.sum(sent);
        sum.calls.saturating_sub(sum.failures())
    }

    /// What was called with each path: the objects of this process name that are one path each.
    pub fn paths(&self) -> impl Iterator<Item = &ObjectCount> {
        let own = |object: &&ObjectCount| object.kind == ObjectKind::Path && object.process == self.name;
        self.profile.objects.iter().filter(own).filter(|object| object.is_one_object())
    }

    /// The calls of which each class has `share` (0 to 1) as many as were made.
    pub fn part(&self, share: impl Fn(&CallCount) -> f64) -> Part {
        let mut part = Part { caller_name: self.name.to_string(), ..Part::default() };
        for count in &self.counts {
            let share = share(count).clamp(0.0, 1.0);
            if share > 0.0 && count.calls > 0 {
                part.add(count, share, self.costs);
            }
        }
        part
    }

    /// All calls that `keep`.
    pub fn whole(&self, keep: impl Fn(&CallCount) -> bool) -> Part {
        self.part(|count| if keep(count) { 1.0 } else { 0.0 })
    }
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

pub fn is_one_of(count: &CallCount, names: &[&str]) -> bool {
    names.contains(&bare_name(&count.call))
}

/// Some of a process's calls, and what they took.
#[derive(Clone, Debug, Default)]
pub struct Part {
    caller_name: String,
    names: BTreeSet<String>,
    pub calls: u64,
    /// Measured time on a CPU and between entry and return, in seconds; `None` where no class has it.
    on_cpu_s: Option<f64>,
    elapsed_s: Option<f64>,
    /// The time on a CPU, or of bare crossings where these take more.
    least_s: Option<f64>,
    /// Calls without measured time x their unit costs.
    priced: Vec<Seconds>,
    bases: Vec<Basis>,
}

impl Part {
    fn add(&mut self, count: &CallCount, share: f64, costs: &Costs) {
        let calls = (count.calls as f64 * share).round() as u64;
        self.names.insert(bare_name(&count.call).to_string());
        self.calls = self.calls.saturating_add(calls);
        let plus = |sum: Option<f64>, ns: Option<u64>| match ns {
            Some(ns) => Some(sum.unwrap_or(0.0) + s(ns) * share),
            None => sum,
        };
        // No call takes less than a bare crossing.
        let crossing_ns = costs.null_call().map_or(0.0, |null| null.cost.ns);
        let least_ns = (count.calls as f64 * crossing_ns) as u64;
        self.on_cpu_s = plus(self.on_cpu_s, count.on_cpu_ns);
        self.least_s = plus(self.least_s, count.on_cpu_ns.map(|ns| ns.max(least_ns)));
        self.elapsed_s = plus(self.elapsed_s, count.elapsed_ns());
        if count.on_cpu_ns.is_none()
            && let Some(price) = costs.price_of_calls(count)
        {
            self.priced.push(price.times(calls));
            self.bases.push(price.basis);
        }
    }

    /// What the calls take: measured, or by unit costs; `None` where neither is known.
    pub fn takes(&self, time: Time) -> Option<Seconds> {
        let known = match time {
            Time::Cpu => self.least_s,
            Time::Elapsed => self.elapsed_s,
        };
        let known = known.map(measured);
        known.into_iter().chain(self.priced.iter().copied()).reduce(plus)
    }

    pub fn measured_s(&self, time: Time) -> Option<f64> {
        match time {
            Time::Cpu => self.on_cpu_s,
            Time::Elapsed => self.elapsed_s,
        }
    }

    /// Advice about these calls, which saves CPU time.
    pub fn advice(self, rule: Rule, saved: Option<Seconds>, bases: impl IntoIterator<Item = Basis>) -> Advice {
        let measured_s = self.measured_s(Time::Cpu);
        let mut basis = Vec::new();
        for one in self.bases.into_iter().chain(bases) {
            if !basis.contains(&one) {
                basis.push(one);
            }
        }
        Advice {
            rule,
            process: self.caller_name,
            names: self.names.into_iter().collect(),
            calls: self.calls,
            measured_s,
            time: Time::Cpu,
            saved,
            basis,
        }
    }

    /// Advice that turns the calls into `calls` others of this price.
    pub fn replaced(self, rule: Rule, calls: u64, price: Price) -> Option<Advice> {
        let saved = less(self.takes(Time::Cpu)?, price.times(calls));
        Some(self.advice(rule, Some(saved), [price.basis]))
    }
}
