//! The calls of all processes with one name, which the rules search, and their time.

use super::output::{Advice, Time};
use super::workload::{Program, Workload};
use crate::attribute::seconds::Seconds;
pub use crate::attribute::seconds::{added, s};
use indexmap::IndexMap;
use model::syscall_names::bare_name;
use model::{CallCount, DescriptorKind, ObjectCount, Profile};

pub const INPUTS: &str = "read readv recvfrom recvmsg recvmmsg recv accept accept4";
pub const POLLS: &str = "poll ppoll select pselect6 _newselect epoll_wait epoll_pwait epoll_pwait2";
pub const STATS: &str = "stat lstat stat64 lstat64 newfstatat fstatat64 statx";
pub const OPENS: &str = "open openat openat2 creat";
pub const UNLINKS: &str = "unlink unlinkat";
pub const RENAMES: &str = "rename renameat renameat2 link linkat";
pub const READS: &str = "read pread64 readv";
pub const WRITES: &str = "write pwrite64 writev pwritev pwritev2";
pub const SYNCS: &str = "fsync fdatasync sync_file_range msync syncfs sync";
pub const SEEKS: &str = "lseek _llseek";
pub const FORKS: &str = "fork vfork clone clone3";
pub const FUTEX: &str = "futex futex_time64";
pub const LISTS: &str = "getdents64 getdents";

pub struct Rule {
    pub name: &'static str,
    pub least: f64,
    /// `{calls}` is the number and names of the calls, other words in braces are fields of the advice.
    pub phrase: &'static str,
    pub change: &'static str,
    pub find: fn(&Caller) -> Vec<Advice>,
}

pub struct Caller<'a> {
    pub name: &'a str,
    pub counts: &'a [CallCount],
    pub paths: &'a [&'a ObjectCount],
    pub workload: &'a Workload<'a>,
    pub profile: &'a Profile,
    pub processes: u64,
    pub cpu_s: f64,
    null_call_ns: f64,
}

/// Calls that are so many times rarer than the most frequent one are not named.
const RARE: u64 = 20;

pub type Around = [(f64, f64); 2];
const INTERPRETERS: &str = "python perl ruby node php lua tclsh Rscript sh dash bash zsh";
// Bounds that hold for the programs of bench/faults/check.
/// A wrapper and a loop; an interpreter's line, or several.
const CALL_S: Around = [(0.0, 0.15e-6), (0.05e-6, 0.6e-6)];
/// A buffer, and what is read; objects and modules for it.
pub const FILE_S: Around = [(0.0, 5e-6), (2e-6, 30e-6)];

impl<'a> Caller<'a> {
    /// `null_call_ns` is 0 if entering the kernel was not timed.
    pub fn new(
        workload: &'a Workload<'a>,
        name: &'a str,
        program: &'a Program<'a>,
        null_call_ns: f64,
    ) -> Caller<'a> {
        Caller {
            name,
            counts: &program.counts,
            paths: &program.paths,
            workload,
            profile: workload.profile,
            processes: program.processes,
            cpu_s: program.cpu_s,
            null_call_ns,
        }
    }

    /// Whether times are known of calls alone, and not divided into CPU time and waiting.
    pub fn is_log(&self) -> bool {
        let calls = self.profile.all_calls();
        self.profile.usage.user_ns.is_none() && calls.elapsed_ns.is_some()
    }

    /// Whether the language's runtime makes these calls to schedule threads.
    pub fn is_scheduler(&self, names: &[String]) -> bool {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        self.workload.functions.are_schedulers(self.name, &names)
    }

    /// CPU time that tracing adds to so many calls, at least and most likely.
    pub fn traced_s(&self, calls: u64) -> (f64, f64) {
        let facts = &self.profile.tracer;
        let known = facts.added_per_call_ns.unwrap_or(0.0);
        let (least, middle) = facts
            .added_range_ns
            .map_or((known, known), |[low, high]| (low, (low + high) / 2.0));
        let all_s = |ns: f64| calls as f64 * ns.max(0.0) / 1e9;
        (all_s(least), all_s(middle))
    }

    /// CPU time outside of calls, in seconds, without what tracing adds to each call.
    pub fn outside_s(&self) -> f64 {
        let calls = self.sum(|_| true);
        (self.cpu_s - s(calls.on_cpu_ns.unwrap_or(0)) - self.traced_s(calls.calls).0).max(0.0)
    }

    /// The bounds in `each` for this program: those of compiled programs, or those of interpreters.
    pub fn within(&self, each: Around) -> (f64, f64) {
        let mut interpreters = INTERPRETERS.split(' ');
        each[usize::from(interpreters.any(|name| self.name.starts_with(name)))]
    }

    /// CPU time outside of calls that goes with `items` and their `calls`: at least, and at most.
    pub fn around_s(&self, items: u64, calls: u64, each: Around) -> (f64, f64) {
        let outside_s = self.outside_s() * share(calls, self.sum(|_| true).calls);
        let (low, high) = self.within(each);
        let [low_s, high_s] = [low, high].map(|each_s| items as f64 * each_s);
        // The tracer's overhead is not known to the nanosecond, so a third of a wrapper's time is allowed for it.
        let wrappers_s = calls as f64 * self.within(CALL_S).1 / 3.0;
        (low_s.min(outside_s), high_s.min(outside_s.max(wrappers_s)))
    }

    pub fn sum(&self, keep: impl Fn(&CallCount) -> bool) -> CallCount {
        self.counts.iter().filter(|count| keep(count)).sum()
    }

    /// `names` are separated by spaces.
    pub fn named(&self, names: &str) -> CallCount {
        self.sum(|count| is_one_of(count, names))
    }

    /// Calls with one of these names that did not fail.
    pub fn succeeded(&self, names: &str) -> u64 {
        done(&self.named(names))
    }

    /// The calls that take what another program or a person sends.
    pub fn received(&self) -> u64 {
        done(&self.sum(|count| {
            is_one_of(count, INPUTS) && count.class.descriptor != Some(DescriptorKind::File)
        }))
    }

    /// `share` of each class is from 0 to 1.
    pub fn part(&self, share: impl Fn(&CallCount) -> f64) -> Part<'_> {
        let mut part = Part::new(self);
        for count in self.counts {
            part.add(count, share(count));
        }
        part
    }

    /// So many of the calls that `keep` selects, each class in proportion.
    pub fn some(&self, calls: u64, keep: impl Fn(&CallCount) -> bool) -> Part<'_> {
        Part::new(self).and(calls, keep)
    }

    pub fn whole(&self, keep: impl Fn(&CallCount) -> bool) -> Part<'_> {
        self.part(|count| if keep(count) { 1.0 } else { 0.0 })
    }
}

pub fn errors(count: &CallCount, name: &str) -> u64 {
    count.errors.get(name).copied().unwrap_or(0)
}

/// Calls that did not fail.
pub fn done(count: &CallCount) -> u64 {
    count.calls.saturating_sub(count.failures())
}

/// `names` are separated by spaces.
pub fn is_one_of(count: &CallCount, names: &str) -> bool {
    let bare = bare_name(&count.call);
    names.split(' ').any(|name| name == bare)
}

/// Whether the class was counted by this operation, e.g. `wait` of futex.
pub fn does(count: &CallCount, operation: &str) -> bool {
    count.class.operation.as_deref() == Some(operation)
}

pub fn is_on(count: &CallCount, kind: DescriptorKind) -> bool {
    count.class.descriptor == Some(kind)
}

// Most calls that do not wait take less.
/// Stands in for the time on a CPU of a call if the tracer does not measure it (ptrace).
const USUAL_CALL_NS: u64 = 1000;

// Stops of strace lengthen a call by tens of microseconds.
/// A call of a log waited if it takes longer, because logs do not divide the time.
const LOGGED_WAIT_NS: u64 = 100_000;

/// Whether the calls spent more time blocked than on a CPU.
pub fn waited(count: &CallCount) -> bool {
    let times = |ns: u64| count.calls.saturating_mul(ns);
    match count.elapsed_ns {
        Some(elapsed_ns) => elapsed_ns > times(LOGGED_WAIT_NS),
        None => count.blocked_ns > Some(count.on_cpu_ns.unwrap_or(times(USUAL_CALL_NS))),
    }
}

/// Whether `count` is at least 95% of `other`: programs keep such counts in step, but one side may begin or end a little earlier.
pub fn keeps_up(count: u64, other: u64) -> bool {
    count.saturating_mul(20) >= other.saturating_mul(19)
}

/// `part` of `whole`, from 0 to 1.
pub fn share(part: u64, whole: u64) -> f64 {
    (part as f64 / whole.max(1) as f64).min(1.0)
}

#[derive(Clone)]
pub struct Part<'a> {
    pub caller: &'a Caller<'a>,
    names: IndexMap<&'a str, u64>,
    pub calls: u64,
    on_cpu_s: Option<f64>,
    elapsed_s: Option<f64>,
    /// The part of `elapsed_s` that is not divided into CPU time and waiting, as in logs.
    undivided_s: Option<f64>,
    untimed: u64,
}

impl<'a> Part<'a> {
    pub fn new(caller: &'a Caller<'a>) -> Part<'a> {
        Part {
            caller,
            names: IndexMap::new(),
            calls: 0,
            on_cpu_s: None,
            elapsed_s: None,
            undivided_s: None,
            untimed: 0,
        }
    }

    /// `share` is from 0 to 1.
    pub fn add(&mut self, count: &'a CallCount, share: f64) {
        let share = share.clamp(0.0, 1.0);
        let calls = (count.calls as f64 * share).round() as u64;
        if calls == 0 {
            return;
        }
        *self.names.entry(bare_name(&count.call)).or_default() += calls;
        self.calls = self.calls.saturating_add(calls);
        self.on_cpu_s = plus(self.on_cpu_s, count.on_cpu_ns, share);
        self.elapsed_s = plus(self.elapsed_s, count.elapsed_ns(), share);
        self.undivided_s = plus(self.undivided_s, count.elapsed_ns, share);
        self.untimed += if count.elapsed_ns().is_none() {
            calls
        } else {
            0
        };
    }

    pub fn join(&mut self, more: Part<'a>) {
        for (name, calls) in more.names {
            *self.names.entry(name).or_default() += calls;
        }
        self.calls = self.calls.saturating_add(more.calls);
        self.on_cpu_s = sum_known(self.on_cpu_s, more.on_cpu_s);
        self.elapsed_s = sum_known(self.elapsed_s, more.elapsed_s);
        self.undivided_s = sum_known(self.undivided_s, more.undivided_s);
        self.untimed = self.untimed.saturating_add(more.untimed);
    }

    pub fn keep(&mut self, share: f64) {
        for calls in self
            .names
            .values_mut()
            .chain([&mut self.calls, &mut self.untimed])
        {
            *calls = (*calls as f64 * share).round() as u64;
        }
        for seconds in [
            &mut self.on_cpu_s,
            &mut self.elapsed_s,
            &mut self.undivided_s,
        ] {
            *seconds = seconds.map(|seconds| seconds * share);
        }
    }

    /// Calls that are made once or more for each of `items`, if there are as many.
    pub fn with_each(self, items: u64, keep: impl Fn(&CallCount) -> bool) -> Part<'a> {
        let calls = self.caller.sum(&keep).calls;
        // Too few to be one for each item: they serve something else.
        if calls.saturating_mul(5) < items.saturating_mul(4) {
            return self;
        }
        // Rounded, as a few items may end without theirs.
        let each = calls.saturating_add(items / 2) / items.max(1);
        self.and(items.saturating_mul(each), keep)
    }

    pub fn with_each_named(self, items: u64, names: &[&str]) -> Part<'a> {
        names.iter().fold(self, |part, names| {
            part.with_each(items, |count| is_one_of(count, names))
        })
    }

    /// With so many more of the calls that `keep` selects.
    pub fn and(mut self, calls: u64, keep: impl Fn(&CallCount) -> bool) -> Part<'a> {
        let caller = self.caller;
        let share = share(calls, caller.sum(&keep).calls);
        for count in caller.counts.iter().filter(|count| keep(count)) {
            self.add(count, share);
        }
        self
    }

    /// Seconds of the crossings alone.
    pub fn crossings_s(&self) -> f64 {
        self.calls as f64 * self.caller.null_call_ns / 1e9
    }

    /// Seconds between entry and return, 0 if they were not measured.
    pub fn waited_s(&self) -> f64 {
        self.elapsed_s.unwrap_or(0.0)
    }

    /// Seconds in a log, without those of stops.
    fn logged_s(&self) -> Option<f64> {
        let stops_s = self.calls as f64 * self.caller.workload.stop_s;
        Some((self.undivided_s? - stops_s).max(0.0))
    }

    /// Seconds on a CPU, or elapsed if they are not divided; at least those of the crossings.
    pub fn takes_s(&self) -> f64 {
        let known_s = self.on_cpu_s.or(self.logged_s());
        known_s.unwrap_or(0.0).max(self.crossings_s())
    }

    /// Seconds that are saved if the calls are not made, with the user mode around each.
    pub fn left_out(&self) -> Seconds {
        self.with_around(self.calls, CALL_S)
    }

    /// Seconds of these calls and of the user mode around each of the `items` that they serve. A call whose time was not measured counts as
    /// one to ten crossings.
    pub fn with_around(&self, items: u64, each: Around) -> Seconds {
        let takes_s = self.takes_s();
        let (least, most) = self.caller.around_s(items, self.calls, each);
        let crossing_s = self.caller.null_call_ns / 1e9;
        let [least_times, most_times] = self.caller.workload.varies;
        // Without CPU times, only the crossings are certain.
        let measured = if self.on_cpu_s.is_some() {
            takes_s * least_times
        } else {
            self.crossings_s()
        };
        Seconds {
            value: takes_s + least + (most - least) / 4.0,
            low: measured + least,
            high: takes_s * most_times + most + self.untimed as f64 * crossing_s * 9.0,
        }
    }

    fn common_names(&self) -> Vec<&'a str> {
        let most = self.names.values().max().copied().unwrap_or(0);
        self.names
            .iter()
            .filter(|(_, calls)| **calls >= most / RARE)
            .map(|(name, _)| *name)
            .collect()
    }

    fn is_priced(&self) -> bool {
        self.untimed <= self.calls / 2 || self.caller.null_call_ns > 0.0
    }

    /// The saving is left out if most calls have neither a time nor a null call's price.
    pub fn advice(self, items: u64, saved: Seconds) -> Advice {
        let (caller, names) = (self.caller, self.common_names());
        // Logs have no time but that of calls.
        let logged_s = self.logged_s().filter(|_| !caller.profile.is_table());
        let saved = logged_s.map_or(saved, |logged_s| saved.at_most(logged_s, logged_s));
        Advice {
            process: caller.name.to_string(),
            function: caller.workload.functions.most(caller.name, &names),
            names: names.iter().map(ToString::to_string).collect(),
            calls: self.calls,
            items,
            measured_s: self.on_cpu_s.or(self.undivided_s),
            // Logs have one time for running and waiting.
            time: match (self.on_cpu_s, self.undivided_s) {
                (None, Some(_)) => Time::Elapsed,
                _ => Time::Cpu,
            },
            saved: if self.is_priced() { Some(saved) } else { None },
            ..Advice::default()
        }
    }

    /// The same with elapsed time, for calls that wait.
    pub fn advice_with_waiting(self, items: u64, saved: Seconds) -> Advice {
        Advice {
            time: Time::Elapsed,
            measured_s: self.elapsed_s,
            ..self.advice(items, saved)
        }
    }
}

fn plus(sum: Option<f64>, ns: Option<u64>, share: f64) -> Option<f64> {
    match ns {
        Some(ns) => Some(sum.unwrap_or(0.0) + s(ns) * share),
        None => sum,
    }
}

fn sum_known(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        _ => a.or(b),
    }
}
