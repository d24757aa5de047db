//! Sums over a profile. The store rejects profiles whose counts add up to 2^64 or more; for a tracer's own profile, sums
//! saturate.

use super::{CallCount, Class, ObjectKind, ProcessGroup, Profile, ProfileRun};
use indexmap::IndexMap;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::iter::Sum;

/// The grouping of a profile's rows.
#[derive(Clone, Copy, Default, PartialEq, clap::ValueEnum)]
pub enum By {
    /// One row per system call.
    #[default]
    Call,
    /// One row per system call and class: size, kind of descriptor, depth of path.
    Class,
    /// One row per process name, or process, and system call.
    Process,
    /// One row per control group and system call.
    Cgroup,
    /// One row per name of threads and system call.
    Thread,
    /// One row per error and system call.
    Error,
    /// One row per path and system call, of the paths used most.
    Path,
    /// One row per descriptor and system call, of the descriptors used most.
    Descriptor,
    /// One row per section that the program marked, per iteration.
    Section,
}

pub struct Total {
    /// The process, control group, error, path or descriptor that the calls are grouped by; empty if grouped by call or class.
    pub group: String,
    /// Its class is empty unless grouped by class.
    pub count: CallCount,
}

impl CallCount {
    pub fn mean_ns(&self) -> Option<f64> {
        self.mean_of(self.elapsed_ns()?)
    }

    pub fn mean_on_cpu_ns(&self) -> Option<f64> {
        self.mean_of(self.on_cpu_ns?)
    }

    /// A call whose own time is not known takes `mean_ns`.
    pub fn ranked_ns(&self, mean_ns: f64) -> u64 {
        let untimed_ns = self.untimed as f64 * mean_ns;
        self.on_cpu_ns
            .unwrap_or(0)
            .saturating_add(untimed_ns as u64)
    }

    /// None of these calls has times.
    pub fn is_untimed(&self) -> bool {
        self.untimed > 0 && self.untimed == self.calls
    }

    fn mean_of(&self, ns: u64) -> Option<f64> {
        let timed = self.calls.saturating_sub(self.untimed);
        if timed > 0 {
            Some(ns as f64 / timed as f64)
        } else {
            None
        }
    }

    /// Whether its split is known or not.
    pub fn elapsed_ns(&self) -> Option<u64> {
        [
            self.on_cpu_ns,
            self.blocked_ns,
            self.runnable_ns,
            self.elapsed_ns,
        ]
        .into_iter()
        .reduce(|sum, more| combined(sum, more, u64::saturating_add))
        .flatten()
    }

    /// Whether blocked time lasts until the thread ran again: in profiles from versions that saw no wake-ups.
    pub fn is_blocked_until_it_ran(&self) -> bool {
        self.runnable_ns.is_some() && self.woken_ns.is_none() && self.blocked_ns > Some(0)
    }

    pub fn failures(&self) -> u64 {
        self.errors
            .values()
            .fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// Adds other calls. If only one of the two has a time, the sum is that time, a lower bound.
    pub fn add(&mut self, other: &CallCount) {
        self.combine(other, u64::saturating_add);
    }

    /// Leaves what was counted since `earlier`, an older count of the same calls.
    pub fn subtract(&mut self, earlier: &CallCount) {
        self.combine(earlier, u64::saturating_sub);
        self.errors.retain(|_, count| *count > 0);
    }

    fn combine(&mut self, other: &CallCount, change: fn(u64, u64) -> u64) {
        for (count, by) in [
            (&mut self.calls, other.calls),
            (&mut self.unfinished, other.unfinished),
            (&mut self.untimed, other.untimed),
        ] {
            *count = change(*count, by);
        }
        for (errno, by) in &other.errors {
            let count = self.errors.entry(errno.clone()).or_insert(0);
            *count = change(*count, *by);
        }
        for (sum, by) in [
            (&mut self.samples, other.samples),
            (&mut self.on_cpu_ns, other.on_cpu_ns),
            (&mut self.blocked_ns, other.blocked_ns),
            (&mut self.stalled_ns, other.stalled_ns),
            (&mut self.woken_ns, other.woken_ns),
            (&mut self.runnable_ns, other.runnable_ns),
            (&mut self.elapsed_ns, other.elapsed_ns),
            (&mut self.bytes, other.bytes),
        ] {
            *sum = combined(*sum, by, change);
        }
    }
}

impl<'a> Sum<&'a CallCount> for CallCount {
    fn sum<I: Iterator<Item = &'a CallCount>>(counts: I) -> CallCount {
        counts.fold(CallCount::default(), |mut sum, count| {
            sum.add(count);
            sum
        })
    }
}

fn combined(a: Option<u64>, b: Option<u64>, combine: fn(u64, u64) -> u64) -> Option<u64> {
    match (a, b) {
        (None, None) => None,
        _ => Some(combine(a.unwrap_or(0), b.unwrap_or(0))),
    }
}

impl ProcessGroup {
    /// Includes the process ID if the group is one process: `sh (123)`.
    pub fn label(&self) -> String {
        self.pid
            .map_or_else(|| self.name.clone(), |pid| format!("{} ({pid})", self.name))
    }
}

/// The process or whatever else, the call, its class.
type Key = (String, String, Class);

impl Profile {
    /// Whether it is a profile of something that ran before, or that answered requests.
    pub fn is_service(&self) -> bool {
        self.scope.is_some() || !self.requests.is_empty()
    }

    /// By time on the CPU (of an unknown one, the mean), elapsed time and calls, all descending, then by name. Errors have counts without times.
    pub fn totals(&self, by: By) -> Vec<Total> {
        let mut totals: IndexMap<Key, CallCount> = IndexMap::new();
        let mut add = |group: &str, count: &CallCount| add_total(&mut totals, by, group, count);
        match by {
            By::Path => self.each_object(ObjectKind::Path, &mut add),
            By::Descriptor => self.each_object(ObjectKind::Descriptor, &mut add),
            By::Error => self.each_call(|_, count| each_error(count, &mut add)),
            By::Call | By::Class | By::Section => self.each_call(|_, count| add("", count)),
            By::Process => self.each_call(|group, count| add(&group.label(), count)),
            By::Thread => self.each_call(|group, count| {
                if group.threads {
                    add(&group.name, count);
                }
            }),
            By::Cgroup => self
                .each_call(|group, count| add(group.cgroup.as_deref().unwrap_or("unknown"), count)),
        }
        let mut totals: Vec<Total> = totals
            .into_iter()
            .map(|((group, ..), count)| Total { group, count })
            .collect();
        // Calls that were not timed would otherwise rank below all timed ones.
        let mean_ns = self.all_calls().mean_on_cpu_ns().unwrap_or(0.0);
        totals.sort_by_cached_key(|total| (Reverse(total.rank(mean_ns)), total.name()));
        totals
    }

    fn each_call(&self, mut take: impl FnMut(&ProcessGroup, &CallCount)) {
        self.groups
            .iter()
            .for_each(|group| group.calls.iter().for_each(|count| take(group, count)));
    }

    fn each_object(&self, kind: ObjectKind, add: &mut impl FnMut(&str, &CallCount)) {
        self.objects
            .iter()
            .filter(|object| object.kind == kind)
            .for_each(|object| add(&object.name, &object.count));
    }

    /// The sums by call and class of each run, the first of which is this one.
    pub fn runs_by_class(&self) -> Vec<BTreeMap<(String, Class), CallCount>> {
        let repeats = self.repeats.iter().map(|run| by_class(&run.calls));
        [by_class(self.calls())]
            .into_iter()
            .chain(repeats)
            .collect()
    }

    /// The least and the most calls over the runs, by call; empty for a single run.
    pub fn ranges(&self) -> BTreeMap<String, (u64, u64)> {
        fn ends(counts: &[u64]) -> Option<(u64, u64)> {
            counts
                .iter()
                .min()
                .copied()
                .zip(counts.iter().max().copied())
        }

        let mut each: BTreeMap<String, Vec<u64>> = BTreeMap::new();
        let runs = self.runs_by_class();
        if runs.len() < 2 {
            return BTreeMap::new();
        }
        for (index, run) in runs.iter().enumerate() {
            for ((call, _), count) in run {
                let counts = each
                    .entry(call.clone())
                    .or_insert_with(|| vec![0; runs.len()]);
                counts[index] = counts[index].saturating_add(count.calls);
            }
        }
        each.iter()
            .filter_map(|(call, counts)| Some((call.clone(), ends(counts)?)))
            .collect()
    }

    pub fn as_run(&self) -> ProfileRun {
        ProfileRun {
            calls: summed(self.calls()),
            usage: self.usage.clone(),
            sections: self.sections.clone(),
        }
    }

    /// Whether it is a table of `strace -c`, whose times may be system time or elapsed time.
    pub fn is_table(&self) -> bool {
        self.tracer.kind == "strace -c"
    }

    /// Samples of CPUs; `None` if calls were counted instead.
    pub fn samples(&self) -> Option<u64> {
        self.tracer
            .sampled_hz
            .map(|_| self.all_calls().samples.unwrap_or(0))
    }

    pub fn calls(&self) -> impl Iterator<Item = &CallCount> + Clone {
        self.groups.iter().flat_map(|group| &group.calls)
    }

    /// The sum over all calls; its name is empty.
    pub fn all_calls(&self) -> CallCount {
        self.calls().sum()
    }
}

/// The sums by call and class, in the order of these.
pub fn summed<'a>(counts: impl IntoIterator<Item = &'a CallCount>) -> Vec<CallCount> {
    by_class(counts).into_values().collect()
}

fn by_class<'a>(
    counts: impl IntoIterator<Item = &'a CallCount>,
) -> BTreeMap<(String, Class), CallCount> {
    let mut sums: BTreeMap<(String, Class), CallCount> = BTreeMap::new();
    for count in counts {
        sums.entry((count.call.clone(), count.class.clone()))
            .or_insert_with(|| CallCount {
                call: count.call.clone(),
                class: count.class.clone(),
                ..CallCount::default()
            })
            .add(count);
    }
    sums
}

fn add_total(totals: &mut IndexMap<Key, CallCount>, by: By, group: &str, count: &CallCount) {
    let class = if by == By::Class {
        count.class.clone()
    } else {
        Class::default()
    };
    let empty = CallCount {
        call: count.call.clone(),
        class: class.clone(),
        ..CallCount::default()
    };
    totals
        .entry((group.to_string(), count.call.clone(), class))
        .or_insert(empty)
        .add(count);
}

// The times of failed calls are not known apart from those of the others.
fn each_error(count: &CallCount, add: &mut impl FnMut(&str, &CallCount)) {
    for (error, calls) in &count.errors {
        add(
            error,
            &CallCount {
                call: count.call.clone(),
                calls: *calls,
                errors: [(error.clone(), *calls)].into(),
                ..CallCount::default()
            },
        );
    }
}

impl Total {
    fn rank(&self, mean_ns: f64) -> (u64, u64, u64) {
        (
            self.count.ranked_ns(mean_ns),
            self.count.elapsed_ns().unwrap_or(0),
            self.count.calls,
        )
    }

    fn name(&self) -> (String, String, Class) {
        let Total { group, count } = self;
        (group.clone(), count.call.clone(), count.class.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_too_much_for_a_number_is_the_largest_one_and_not_0() {
        let half = CallCount {
            calls: 1 << 63,
            on_cpu_ns: Some(1 << 63),
            ..CallCount::default()
        };
        let mut all = CallCount {
            blocked_ns: Some(1 << 63),
            errors: [("EINTR".into(), u64::MAX)].into(),
            ..half.clone()
        };
        assert_eq!(all.elapsed_ns(), Some(u64::MAX));
        all.add(&CallCount {
            errors: [("EINTR".into(), 1), ("EIO".into(), 1)].into(),
            ..half
        });
        assert_eq!(
            (all.calls, all.on_cpu_ns, all.failures()),
            (u64::MAX, Some(u64::MAX), u64::MAX)
        );
    }
}
