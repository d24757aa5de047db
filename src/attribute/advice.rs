//! What could be saved, in numbers: rules over a profile. Pure; `attribute` calls it.
//!
//! A rule speaks only where the profile shows enough calls of its kind and a unit cost prices what would be saved. Measured
//! time on the CPU is scaled by the share that the unit costs say; where only counts are known, it is calls x difference.

use super::costs::{Cost, Costs};
use super::here::s;
use super::spread::{MODEL_SD, Seconds};
use super::units::{STATS, bare_name};
use crate::model::{By, CallCount, DescriptorKind, Profile};
use schemars::JsonSchema;
use serde::Serialize;

/// One piece of advice.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Advice {
    /// Name of the rule, for programs: `small-reads`.
    pub rule: &'static str,
    pub calls: u64,
    /// Their measured time on the CPU, where it is known.
    pub measured_s: Option<f64>,
    #[serde(rename = "saved_s")]
    pub saved: Seconds,
    /// What to do.
    pub what: String,
    /// The unit costs that it rests on.
    #[serde(rename = "unit")]
    pub from: String,
}

/// Fewer calls than this are nobody's problem.
const MANY: u64 = 1000;

/// The same, for calls that cost a thousand times as much.
const SOME: u64 = 10;

/// Bytes of a buffer as standard libraries have it.
const BUFFER: u64 = 4096;

type Rule = fn(&Case) -> Vec<Advice>;

/// The rules, in the order in which they are tried.
const RULES: &[Rule] = &[
    small_transfers,
    probing,
    stat_storm,
    real_clock_calls,
    identity_calls,
    fork_for_exec,
    sync_per_record,
    futex_traffic,
    large_poll_sets,
];

/// What rules look at.
struct Case<'a> {
    profile: &'a Profile,
    classes: &'a [CallCount],
    costs: &'a Costs,
}

/// All advice, the greatest saving first. What saves under a thousandth of the wall time is left out.
pub fn advice(profile: &Profile, costs: &Costs) -> Vec<Advice> {
    let classes: Vec<CallCount> = profile.totals(By::Class).into_iter().map(|total| total.count).collect();
    let case = Case { profile, classes: &classes, costs };
    let least = profile.usage.wall_ns.map_or(0.0, |ns| s(ns) / 1000.0);
    let mut found: Vec<Advice> = RULES.iter().flat_map(|rule| rule(&case)).collect();
    found.retain(|advice| advice.saved.value > 0.0 && advice.saved.value >= least);
    found.sort_by(|a, b| b.saved.value.total_cmp(&a.saved.value));
    found
}

impl<'a> Case<'a> {
    /// The sum of all classes that `keep`; `None` of none.
    fn sum(&self, keep: impl Fn(&CallCount) -> bool) -> Option<CallCount> {
        let mut sum = CallCount::default();
        self.classes.iter().filter(|count| keep(count)).for_each(|count| sum.add(count));
        (sum.calls > 0).then_some(sum)
    }

    fn named(&self, names: &[&str]) -> Option<CallCount> {
        self.sum(|count| names.contains(&bare_name(&count.call)))
    }

    fn cost(&self, operation: &str) -> Option<Cost> {
        self.costs.price_of(operation).map(|price| price.cost)
    }
}

/// The saving where each of `calls` goes from one unit cost to another.
fn saved(count: &CallCount, calls: u64, now: Cost, then_ns: f64) -> Seconds {
    let share = (1.0 - then_ns / now.ns).clamp(0.0, 1.0);
    let part = calls as f64 / count.calls.max(1) as f64;
    let whole = count.on_cpu_ns.map_or(calls as f64 * now.ns / 1e9, |ns| s(ns) * part);
    let saved = Seconds::within(whole * share, MODEL_SD.hypot(now.log_sd));
    // Nobody saves more than it took.
    Seconds { high: if count.on_cpu_ns.is_some() { saved.high.min(whole) } else { saved.high }, ..saved }
}

fn advise(rule: &'static str, count: &CallCount, calls: u64, saved: Seconds, words: (String, String)) -> Advice {
    let part = calls as f64 / count.calls.max(1) as f64;
    Advice { rule, calls, measured_s: count.on_cpu_ns.map(|ns| s(ns) * part), saved, what: words.0, from: words.1 }
}

/// Reads and writes of under 128 bytes, which a buffer would gather. Not of sockets and terminals, and no
/// reads of pipes: there small is meant.
fn small_transfers(case: &Case) -> Vec<Advice> {
    let buffered = [None, Some(DescriptorKind::File), Some(DescriptorKind::Device)];
    let find = |call: &'static str, whole: &str| {
        let small = |count: &CallCount| {
            let size = count.class.size.is_some_and(|size| (1..128).contains(&size));
            let pipe = call == "write" && count.class.descriptor == Some(DescriptorKind::Pipe);
            bare_name(&count.call) == call && size && (pipe || buffered.contains(&count.class.descriptor))
        };
        let sum = case.sum(small).filter(|sum| sum.calls >= MANY)?;
        let bytes = sum.bytes.unwrap_or_else(|| smallest_bytes(case, small));
        let fewer = bytes.div_ceil(BUFFER).max(1);
        let full = crate::model::Class { size: Some(BUFFER), ..case.classes.iter().find(|c| small(c))?.class.clone() };
        let (now, then) =
            (case.costs.price(call, &case.classes.iter().find(|c| small(c))?.class)?, case.costs.price(call, &full)?);
        let then_ns = then.cost.ns * fewer as f64 / sum.calls as f64;
        let what = format!("{call}s of under 128 bytes: a buffer of 4 KiB would {whole} by {fewer} calls");
        let from = format!("{} and {}", now.from, then.from);
        Some(advise("small-transfers", &sum, sum.calls, saved(&sum, sum.calls, now.cost, then_ns), (what, from)))
    };
    [("read", "read the same"), ("write", "write the same")].into_iter().filter_map(|(c, w)| find(c, w)).collect()
}

/// Bytes that calls moved at least, by their classes.
fn smallest_bytes(case: &Case, keep: impl Fn(&CallCount) -> bool) -> u64 {
    let own = case.classes.iter().filter(|count| keep(count));
    own.fold(0, |sum, count| sum.saturating_add(count.calls.saturating_mul(count.class.size.unwrap_or(0))))
}

const LOOKUPS: &[&str] =
    &["open", "openat", "openat2", "access", "faccessat", "faccessat2", "readlink", "readlinkat", "statx", "execve"];

/// Look-ups of names that are not there.
fn probing(case: &Case) -> Vec<Advice> {
    let looks =
        |count: &CallCount| STATS.contains(&bare_name(&count.call)) || LOOKUPS.contains(&bare_name(&count.call));
    let absent = |count: &CallCount| count.errors.get("ENOENT").copied().unwrap_or(0);
    let find = || {
        let failed = case.sum(|count| looks(count) && absent(count) > 0)?;
        let misses = absent(&failed);
        let price = case.costs.first_of(&["file.stat_absent", "file.stat"]).filter(|_| misses >= MANY)?;
        let seconds = Seconds::within(misses as f64 * price.cost.ns / 1e9, MODEL_SD.hypot(price.cost.log_sd));
        let what = "look-ups that end with ENOENT: a shorter search path, or remembering what is not there, saves them";
        Some(advise("probing", &failed, misses, seconds, (what.to_string(), price.from)))
    };
    find().into_iter().collect()
}

/// Many successful stats: what asks for the same file again could remember the answer.
fn stat_storm(case: &Case) -> Vec<Advice> {
    let stats = |count: &CallCount| STATS.contains(&bare_name(&count.call)) || bare_name(&count.call) == "statx";
    let find = || {
        let sum = case.sum(stats).filter(|sum| sum.calls >= 10 * MANY)?;
        let found = sum.calls.saturating_sub(sum.errors.get("ENOENT").copied().unwrap_or(0));
        let price = case.costs.first_of(&["file.stat", "file.lstat", "file.fstat"])?;
        let all = saved(&sum, found, price.cost, 0.0);
        let most = Seconds { low: 0.0, ..all };
        let what = "stats of files that are there: at most this is saved where one answer is asked for again";
        Some(advise("stat-storm", &sum, found, most, (what.to_string(), price.from)))
    };
    find().into_iter().collect()
}

/// Clock readings that entered the kernel although the vDSO could answer.
fn real_clock_calls(case: &Case) -> Vec<Advice> {
    let clocks = [
        ("clock_gettime", "time.clock_gettime_raw", "time.clock_gettime"),
        ("gettimeofday", "time.gettimeofday_raw", "time.gettimeofday"),
        ("time", "time.time_raw", "time.time"),
    ];
    let find = |(call, raw, vdso): (&'static str, &str, &str)| {
        let sum = case.named(&[call]).filter(|sum| sum.calls >= MANY)?;
        let (now, then) = (case.cost(raw)?, case.costs.user_mode(vdso)?);
        let seconds = saved(&sum, sum.calls, now, then.ns);
        let what = format!(
            "{call} by a real system call: the vDSO would answer in user mode, except for CPU-time clocks (lost by another \
             clock source, a static or 32-bit program, or a direct syscall())"
        );
        Some(advise("real-clock-calls", &sum, sum.calls, seconds, (what, format!("{raw} and {vdso}"))))
    };
    clocks.into_iter().filter_map(find).collect()
}

const IDENTITY: &[&str] = &[
    "getpid", "getppid", "gettid", "getuid", "geteuid", "getgid", "getegid", "getpgrp", "getpgid", "getsid", "uname",
    "umask",
];

/// Questions whose answer does not change.
fn identity_calls(case: &Case) -> Vec<Advice> {
    let find = |call: &&'static str| {
        let sum = case.named(&[*call]).filter(|sum| sum.calls >= MANY)?;
        let price = case.costs.null_call()?;
        let what = format!("{call} again and again: its answer can be kept");
        Some(advise("identity-calls", &sum, sum.calls, saved(&sum, sum.calls, price.cost, 0.0), (what, price.from)))
    };
    IDENTITY.iter().filter_map(find).collect()
}

/// Children that exec: they need no copy of the parent's address space.
fn fork_for_exec(case: &Case) -> Vec<Advice> {
    let find = || {
        let forks = case.named(&["fork", "clone", "clone3"])?;
        let execs = case.named(&["execve", "execveat"])?;
        let children = case.profile.usage.processes.map_or(u64::MAX, |processes| processes.saturating_sub(1));
        // The first execve is the workload's own.
        let calls = forks.calls.min(execs.calls.saturating_sub(execs.failures() + 1)).min(children);
        let (fork, vfork) = (case.cost("process.fork_wait")?, case.cost("process.vfork_wait")?);
        let each = (fork.ns - vfork.ns).max(0.0);
        let seconds = Seconds::within(calls as f64 * each / 1e9, MODEL_SD.hypot(fork.log_sd));
        let what =
            "children made by fork that exec: vfork or posix_spawn copies no page tables (more so in a large process)";
        let words = (what.to_string(), "process.fork_wait less process.vfork_wait".to_string());
        (calls >= SOME).then(|| advise("fork-for-exec", &forks, calls, seconds, words))
    };
    find().into_iter().collect()
}

/// Syncs after every few writes.
fn sync_per_record(case: &Case) -> Vec<Advice> {
    let find = || {
        let syncs = case.named(&["fsync", "fdatasync"]).filter(|sum| sum.calls >= SOME)?;
        let writes = case.named(&["write", "pwrite64", "writev", "pwritev"]).map_or(0, |sum| sum.calls);
        let price = case.costs.first_of(&["io.fsync", "io.fdatasync"]).filter(|_| writes < 10 * syncs.calls)?;
        let waited = syncs.elapsed_ns().map_or(syncs.calls as f64 * price.cost.ns / 1e9, s);
        let seconds = Seconds::within(waited * 0.9, MODEL_SD);
        let high = if syncs.elapsed_ns().is_some() { seconds.high.min(waited) } else { seconds.high };
        let what =
            format!("syncs for {writes} writes: one for ten records would save nine of ten waits (waiting included)");
        Some(advise("sync-per-record", &syncs, syncs.calls, Seconds { high, ..seconds }, (what, price.from)))
    };
    find().into_iter().collect()
}

/// Locks that sleep and wake.
fn futex_traffic(case: &Case) -> Vec<Advice> {
    let find = || {
        let sum = case.named(&["futex", "futex_time64"]).filter(|sum| sum.calls >= 10 * MANY)?;
        let price = case.costs.first_of(&["sync.futex_wake", "sync.futex_wait_fails"])?;
        let free = case.costs.user_mode("sync.mutex").map_or(0.0, |cost| cost.ns);
        let all = saved(&sum, sum.calls, price.cost, free);
        let what = "futex calls: each is a lock or condition that others held; at most this is saved where locks are free \
                    (time blocked in them comes on top)";
        Some(advise("futex-traffic", &sum, sum.calls, Seconds { low: 0.0, ..all }, (what.to_string(), price.from)))
    };
    find().into_iter().collect()
}

/// Polls of many descriptors, which the kernel visits one by one.
fn large_poll_sets(case: &Case) -> Vec<Advice> {
    let polls = ["poll", "ppoll", "select", "pselect6"];
    let large = |count: &CallCount| {
        polls.contains(&bare_name(&count.call)) && count.class.set.is_some_and(|descriptors| descriptors >= 64)
    };
    let find = || {
        let sum = case.sum(large).filter(|sum| sum.calls >= MANY)?;
        let class = &case.classes.iter().find(|count| large(count))?.class;
        let (now, then) = (case.costs.price("poll", class)?, case.costs.price("epoll_wait", class)?);
        let what = "polls of 64 descriptors or more: epoll keeps the set in the kernel";
        let from = format!("{} and {}", now.from, then.from);
        let seconds = saved(&sum, sum.calls, now.cost, then.cost.ns);
        Some(advise("large-poll-sets", &sum, sum.calls, seconds, (what.to_string(), from)))
    };
    find().into_iter().collect()
}
