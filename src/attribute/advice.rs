//! What could be saved, in seconds: rules over a profile. Pure; `attribute` calls it.
//!
//! A rule applies only where the profile has many calls of its kind and a unit cost prices the saving. Measured CPU time is
//! scaled by the share that unit costs say; where only counts are known, the saving is calls x difference.

use super::breakdown::s;
use super::costs::{Basis, Costs, UnitCost};
use super::spread::{MODEL_SD, Seconds};
use super::units::{STATS, bare_name};
use crate::model::{By, CallCount, Class, DescriptorKind, Profile};
use schemars::JsonSchema;
use serde::Serialize;

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    #[serde(flatten)]
    pub rule: Rule,
    pub calls: u64,
    /// Their measured CPU time, where it is known.
    pub measured_s: Option<f64>,
    #[serde(rename = "saved_s")]
    pub saved: Seconds,
    /// The unit costs that it rests on.
    #[serde(rename = "unit")]
    pub basis: Vec<Basis>,
}

/// What was noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(tag = "rule", rename_all = "kebab-case")]
pub enum Rule {
    /// Reads or writes of under 128 bytes, which a 4 KiB buffer would turn into this many.
    SmallTransfers { call: &'static str, buffered: u64 },
    /// Lookups of names that do not exist.
    Probing,
    /// Many successful stats.
    StatStorm,
    /// Clock readings by system calls although the vDSO could answer.
    RealClockCalls { call: &'static str },
    /// Questions whose answer does not change.
    IdentityCalls { call: &'static str },
    /// Children that exec: they need no copy of the parent's address space.
    ForkForExec,
    /// A sync for every few of these writes.
    SyncPerRecord { writes: u64 },
    /// Locks that sleep and wake.
    FutexTraffic,
    /// Polls of many descriptors, which the kernel visits one by one.
    LargePollSets,
}

impl Rule {
    /// The rule's name, for programs.
    pub fn name(self) -> &'static str {
        match self {
            Rule::SmallTransfers { .. } => "small-transfers",
            Rule::Probing => "probing",
            Rule::StatStorm => "stat-storm",
            Rule::RealClockCalls { .. } => "real-clock-calls",
            Rule::IdentityCalls { .. } => "identity-calls",
            Rule::ForkForExec => "fork-for-exec",
            Rule::SyncPerRecord { .. } => "sync-per-record",
            Rule::FutexTraffic => "futex-traffic",
            Rule::LargePollSets => "large-poll-sets",
        }
    }
}

/// Fewer calls than this do not matter.
const MANY: u64 = 1000;

/// The same, for calls that cost a thousand times as much.
const SOME: u64 = 10;

/// Bytes of a standard library's usual buffer.
const BUFFER: u64 = 4096;

/// The rules.
const RULES: &[fn(&Context) -> Option<Advice>] = &[
    |context| small_transfers(context, "read"),
    |context| small_transfers(context, "write"),
    probing,
    stat_storm,
    |context| real_clock_calls(context, "clock_gettime", "time.clock_gettime_raw", "time.clock_gettime"),
    |context| real_clock_calls(context, "gettimeofday", "time.gettimeofday_raw", "time.gettimeofday"),
    |context| real_clock_calls(context, "time", "time.time_raw", "time.time"),
    fork_for_exec,
    sync_per_record,
    futex_traffic,
    large_poll_sets,
];

/// What rules look at.
struct Context<'a> {
    profile: &'a Profile,
    classes: &'a [CallCount],
    costs: &'a Costs,
}

/// All advice, the greatest saving first. Savings under a thousandth of the wall time are left out.
pub fn advice(profile: &Profile, costs: &Costs) -> Vec<Advice> {
    let classes: Vec<CallCount> = profile.totals(By::Class).into_iter().map(|total| total.count).collect();
    let context = Context { profile, classes: &classes, costs };
    let least = profile.usage.wall_ns.map_or(0.0, |ns| s(ns) / 1000.0);
    let of_identity = IDENTITY.iter().filter_map(|call| identity_calls(&context, call));
    let found = RULES.iter().filter_map(|rule| rule(&context)).chain(of_identity);
    let mut found: Vec<Advice> =
        found.filter(|advice| advice.saved.value > 0.0 && advice.saved.value >= least).collect();
    found.sort_by(|a, b| b.saved.value.total_cmp(&a.saved.value));
    found
}

impl<'a> Context<'a> {
    /// The sum of all classes that `keep`, and the class with most time; `None` if there are none.
    fn sum(&self, keep: impl Fn(&CallCount) -> bool) -> Option<(CallCount, &'a Class)> {
        let mut sum = CallCount::default();
        self.classes.iter().filter(|count| keep(count)).for_each(|count| sum.add(count));
        let first = self.classes.iter().find(|count| keep(count))?;
        (sum.calls > 0).then_some((sum, &first.class))
    }

    /// The sum of all calls of these names, if they are at least so many.
    fn named(&self, names: &[&str], least: u64) -> Option<CallCount> {
        self.sum(|count| names.contains(&bare_name(&count.call))).map(|(sum, _)| sum).filter(|sum| sum.calls >= least)
    }

    fn cost(&self, operation: &str) -> Option<UnitCost> {
        self.costs.price_of(operation).map(|price| price.cost)
    }
}

/// The saving where each of `calls` goes from one unit cost to another.
fn saved(count: &CallCount, calls: u64, now: UnitCost, then_ns: f64) -> Seconds {
    let share = (1.0 - then_ns / now.ns).clamp(0.0, 1.0);
    let whole = measured_s(count, calls);
    let saved = Seconds::within(whole.unwrap_or(calls as f64 * now.ns / 1e9) * share, MODEL_SD.hypot(now.log_sd));
    // Nobody saves more than it took.
    Seconds { high: saved.high.min(whole.unwrap_or(f64::INFINITY)), ..saved }
}

/// The measured CPU time of `calls` of these, in seconds.
fn measured_s(count: &CallCount, calls: u64) -> Option<f64> {
    let part = calls as f64 / count.calls.max(1) as f64;
    count.on_cpu_ns.map(|ns| s(ns) * part)
}

fn advise(rule: Rule, count: &CallCount, calls: u64, saved: Seconds, basis: Vec<Basis>) -> Advice {
    Advice { rule, calls, measured_s: measured_s(count, calls), saved, basis }
}

/// An operation at its default parameters.
fn default_of(operation: &str) -> Basis {
    Basis { operation: operation.to_string(), at: None, less: &[] }
}

/// Not for sockets and terminals, and no reads of pipes: there, small is meant.
fn small_transfers(context: &Context, call: &'static str) -> Option<Advice> {
    let buffered = [None, Some(DescriptorKind::File), Some(DescriptorKind::Device)];
    let small = |count: &CallCount| {
        let size = count.class.size.is_some_and(|size| (1..128).contains(&size));
        let pipe = call == "write" && count.class.descriptor == Some(DescriptorKind::Pipe);
        bare_name(&count.call) == call && size && (pipe || buffered.contains(&count.class.descriptor))
    };
    let (sum, class) = context.sum(small).filter(|(sum, _)| sum.calls >= MANY)?;
    let bytes = sum.bytes.unwrap_or_else(|| least_bytes(context, small));
    let buffered = bytes.div_ceil(BUFFER).max(1);
    let full = Class { size: Some(BUFFER), ..class.clone() };
    let (now, then) = (context.costs.price(call, class)?, context.costs.price(call, &full)?);
    let then_ns = then.cost.ns * buffered as f64 / sum.calls as f64;
    let saved = saved(&sum, sum.calls, now.cost, then_ns);
    Some(advise(Rule::SmallTransfers { call, buffered }, &sum, sum.calls, saved, vec![now.basis, then.basis]))
}

/// Bytes that calls moved at least, by their classes.
fn least_bytes(context: &Context, keep: impl Fn(&CallCount) -> bool) -> u64 {
    let own = context.classes.iter().filter(|count| keep(count));
    own.fold(0, |sum, count| sum.saturating_add(count.calls.saturating_mul(count.class.size.unwrap_or(0))))
}

const LOOKUPS: &[&str] =
    &["open", "openat", "openat2", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "statx", "execve"];

fn absent(count: &CallCount) -> u64 {
    count.errors.get("ENOENT").copied().unwrap_or(0)
}

fn probing(context: &Context) -> Option<Advice> {
    let looks = |name: &str| STATS.contains(&name) || LOOKUPS.contains(&name);
    let (failed, _) = context.sum(|count| looks(bare_name(&count.call)) && absent(count) > 0)?;
    let misses = absent(&failed);
    let price = context.costs.first_of(&["file.stat_absent", "file.stat"]).filter(|_| misses >= MANY)?;
    Some(advise(Rule::Probing, &failed, misses, price.cost.times(misses, MODEL_SD), vec![price.basis]))
}

/// At most this is saved: not every stat asks for the same file again.
fn stat_storm(context: &Context) -> Option<Advice> {
    let stats = |name: &str| STATS.contains(&name) || name == "statx";
    let (sum, _) = context.sum(|count| stats(bare_name(&count.call))).filter(|(sum, _)| sum.calls >= 10 * MANY)?;
    let found = sum.calls.saturating_sub(absent(&sum));
    let price = context.costs.first_of(&["file.stat", "file.lstat", "file.fstat"])?;
    let most = Seconds { low: 0.0, ..saved(&sum, found, price.cost, 0.0) };
    Some(advise(Rule::StatStorm, &sum, found, most, vec![price.basis]))
}

fn real_clock_calls(context: &Context, call: &'static str, raw: &str, vdso: &str) -> Option<Advice> {
    let sum = context.named(&[call], MANY)?;
    let (now, then) = (context.cost(raw)?, context.costs.user_mode(vdso)?);
    let saved = saved(&sum, sum.calls, now, then.ns);
    Some(advise(Rule::RealClockCalls { call }, &sum, sum.calls, saved, vec![default_of(raw), default_of(vdso)]))
}

const IDENTITY: &[&str] = &[
    "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getpgrp", "getpgid", "getsid", "uname",
    "umask",
];

fn identity_calls(context: &Context, call: &'static str) -> Option<Advice> {
    let sum = context.named(&[call], MANY)?;
    let price = context.costs.null_call()?;
    let saved = saved(&sum, sum.calls, price.cost, 0.0);
    Some(advise(Rule::IdentityCalls { call }, &sum, sum.calls, saved, vec![price.basis]))
}

fn fork_for_exec(context: &Context) -> Option<Advice> {
    let forks = context.named(&["fork", "clone", "clone3"], 0)?;
    let execs = context.named(&["execve", "execveat"], 0)?;
    let children = context.profile.usage.processes.map_or(u64::MAX, |processes| processes.saturating_sub(1));
    // The first execve is the workload's own.
    let calls = forks.calls.min(execs.calls.saturating_sub(execs.failures() + 1)).min(children);
    let (fork, vfork) = (context.cost("process.fork_wait")?, context.cost("process.vfork_wait")?);
    let each = UnitCost { ns: (fork.ns - vfork.ns).max(0.0), ..fork };
    let basis = Basis { less: &["process.vfork_wait"], ..default_of("process.fork_wait") };
    let saved = each.times(calls, MODEL_SD);
    (calls >= SOME).then(|| advise(Rule::ForkForExec, &forks, calls, saved, vec![basis]))
}

/// One sync for ten records would save nine of ten waits.
fn sync_per_record(context: &Context) -> Option<Advice> {
    let syncs = context.named(&["fsync", "fdatasync"], SOME)?;
    let writes = context.named(&["write", "pwrite64", "writev", "pwritev"], 0).map_or(0, |sum| sum.calls);
    let price = context.costs.first_of(&["io.fsync", "io.fdatasync"]).filter(|_| writes < 10 * syncs.calls)?;
    let waited = syncs.elapsed_ns().map(s);
    let each = waited.unwrap_or(syncs.calls as f64 * price.cost.ns / 1e9);
    let saved = Seconds::within(each * 0.9, MODEL_SD).at_most(waited.unwrap_or(f64::INFINITY));
    Some(advise(Rule::SyncPerRecord { writes }, &syncs, syncs.calls, saved, vec![price.basis]))
}

/// At most this is saved: some locks are held by others. Time blocked in them comes on top.
fn futex_traffic(context: &Context) -> Option<Advice> {
    let sum = context.named(&["futex", "futex_time64"], 10 * MANY)?;
    let price = context.costs.first_of(&["sync.futex_wake", "sync.futex_wait_fails"])?;
    let free = context.costs.user_mode("sync.mutex").map_or(0.0, |cost| cost.ns);
    let most = Seconds { low: 0.0, ..saved(&sum, sum.calls, price.cost, free) };
    Some(advise(Rule::FutexTraffic, &sum, sum.calls, most, vec![price.basis]))
}

fn large_poll_sets(context: &Context) -> Option<Advice> {
    let polls = ["poll", "ppoll", "select", "pselect6"];
    let large = |count: &CallCount| polls.contains(&bare_name(&count.call)) && count.class.set.is_some_and(|n| n >= 64);
    let (sum, class) = context.sum(large).filter(|(sum, _)| sum.calls >= MANY)?;
    let (now, then) = (context.costs.price("poll", class)?, context.costs.price("epoll_wait", class)?);
    let saved = saved(&sum, sum.calls, now.cost, then.cost.ns);
    Some(advise(Rule::LargePollSets, &sum, sum.calls, saved, vec![now.basis, then.basis]))
}
