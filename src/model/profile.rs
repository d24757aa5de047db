//! What a traced workload called, how often, and where its time went.

use super::{Class, Host, Source, Tool};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A traced workload: counts of system calls by process name, call and class, and the kernel's own accounting. `None`
/// means not known: the tracer only counts, or the log was imported.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Profile {
    pub tool: Option<Tool>,
    pub host: Host,
    /// When tracing began, in seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// The command with its arguments; empty if a running process was followed.
    pub command: Vec<String>,
    pub tracer: TracerFacts,
    /// Where the profile comes from, if this tool did not trace it.
    pub source: Option<Source>,
    /// False if tracing ended before the workload did, or if data was lost.
    pub complete: bool,
    pub ending: Option<Ending>,
    pub usage: Usage,
    /// One per process name (as the kernel stores it: 15 bytes, changed by exec).
    #[serde(skip)]
    pub groups: Vec<ProcessGroup>,
    /// Elapsed times of single calls over all processes, by name of the call.
    #[serde(skip)]
    pub latencies: BTreeMap<String, Histogram>,
    pub warnings: Vec<String>,
}

/// Which tracer made the profile, and what it added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TracerFacts {
    /// `bpf`, `ptrace`, `seccomp`, `perf`, or what was imported: `strace -c`, ...
    pub kind: String,
    /// Its setup, in one line.
    pub detail: String,
    /// Overhead per call in nanoseconds, calibrated on this machine just before tracing.
    pub added_per_call_ns: Option<f64>,
    /// Whether the overhead is system time of the workload: the tracer runs inside the calls, in the kernel. A tracer
    /// that stops the calls runs in a process of its own.
    pub adds_system_time: bool,
    /// By how many nanoseconds the traced time of a null call exceeds its untraced time. Already subtracted from each
    /// call's time on the CPU, not from the durations in `latencies`. Negative if the tracer sees only a part of the
    /// kernel entry.
    pub offset_per_call_ns: Option<f64>,
    /// Events that were seen but not counted. If there are any, the profile is incomplete.
    pub lost: u64,
}

impl Profile {
    /// The `share` quantile (0 to 1) of the elapsed time of `call` in nanoseconds, without the tracer's overhead;
    /// `None` if it is not known.
    pub fn duration_ns(&self, call: &str, share: f64) -> Option<f64> {
        let measured = self.latencies.get(call)?.quantile_ns(share)?;
        Some((measured - self.tracer.offset_per_call_ns.unwrap_or(0.0)).max(0.0))
    }
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    Exited(i32),
    Signalled(i32),
}

/// The kernel's accounting of the whole tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Usage {
    pub wall_ns: Option<u64>,
    pub user_ns: Option<u64>,
    pub system_ns: Option<u64>,
    /// Largest resident set of any process of the tree, in KiB.
    pub peak_rss_kib: Option<u64>,
    pub minor_faults: Option<u64>,
    pub major_faults: Option<u64>,
    pub voluntary_switches: Option<u64>,
    pub involuntary_switches: Option<u64>,
    /// Processes that ran, including the first.
    pub processes: Option<u64>,
    /// Threads that ran in addition to the first of each process.
    pub threads: Option<u64>,
    /// Maximum number of threads of the tree that were on a CPU inside a system call at the same time, if the tracer
    /// knows.
    pub peak_concurrency: Option<u64>,
    /// Processors that were online.
    pub cpus: Option<u64>,
}

impl Usage {
    /// This accounting; unknown values are taken from `other`.
    pub fn or(self, other: Usage) -> Usage {
        Usage {
            wall_ns: self.wall_ns.or(other.wall_ns),
            user_ns: self.user_ns.or(other.user_ns),
            system_ns: self.system_ns.or(other.system_ns),
            peak_rss_kib: self.peak_rss_kib.or(other.peak_rss_kib),
            minor_faults: self.minor_faults.or(other.minor_faults),
            major_faults: self.major_faults.or(other.major_faults),
            voluntary_switches: self.voluntary_switches.or(other.voluntary_switches),
            involuntary_switches: self.involuntary_switches.or(other.involuntary_switches),
            processes: self.processes.or(other.processes),
            threads: self.threads.or(other.threads),
            peak_concurrency: self.peak_concurrency.or(other.peak_concurrency),
            cpus: self.cpus.or(other.cpus),
        }
    }

    /// The change since `before` in CPU time, faults and switches; other fields are kept.
    pub fn since(self, before: &Usage) -> Usage {
        let less = |now: Option<u64>, then: Option<u64>| Some(now?.saturating_sub(then?));
        Usage {
            user_ns: less(self.user_ns, before.user_ns),
            system_ns: less(self.system_ns, before.system_ns),
            minor_faults: less(self.minor_faults, before.minor_faults),
            major_faults: less(self.major_faults, before.major_faults),
            voluntary_switches: less(self.voluntary_switches, before.voluntary_switches),
            involuntary_switches: less(self.involuntary_switches, before.involuntary_switches),
            ..self
        }
    }
}

/// What the processes of one name did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct ProcessGroup {
    pub name: String,
    /// CPU time by mode, if the tracer knows it by process name.
    pub user_ns: Option<u64>,
    pub system_ns: Option<u64>,
    #[serde(skip)]
    pub calls: Vec<CallCount>,
}

/// One system call of one class: its count and times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CallCount {
    /// The call's name, followed by the gate if it is another architecture's: `getpid(i386)`.
    #[serde(rename = "name", skip_serializing_if = "String::is_empty")]
    pub call: String,
    #[serde(flatten)]
    pub class: Class,
    /// Calls that were entered.
    pub calls: u64,
    /// How many of them never returned to user mode: exit, or the process was killed inside the call.
    pub unfinished: u64,
    /// Failures by errno name.
    pub errors: BTreeMap<String, u64>,
    /// Time on a CPU between entry and return, summed over all calls.
    pub on_cpu_ns: Option<u64>,
    /// Time off the CPU because the call waited for something.
    pub blocked_ns: Option<u64>,
    /// Time off the CPU because the scheduler ran something else: not the call's cost.
    pub preempted_ns: Option<u64>,
    /// Time between entry and return, only if its split into the three above is not known: imported logs.
    #[serde(skip)]
    pub elapsed_ns: Option<u64>,
    /// Bytes moved, for calls that return a byte count.
    pub bytes: Option<u64>,
}

/// Counts of durations by bucket, four buckets per power of two: bucket 4 k + q begins at 2^k (1 + q/4) ns. Below 4 ns
/// there is one bucket per power of two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(pub BTreeMap<u16, u64>);

impl Histogram {
    /// The bucket of a duration of `ns` nanoseconds: its leading bit and the two below.
    pub fn bucket(ns: u64) -> u16 {
        let Some(log) = ns.checked_ilog2() else { return 0 };
        let quarter = if log >= 2 { (ns >> (log - 2)) & 3 } else { 0 };
        (4 * log) as u16 + quarter as u16
    }

    /// The lower bound of a bucket in nanoseconds.
    pub fn lower_ns(bucket: u16) -> f64 {
        2f64.powi(i32::from(bucket / 4)) * (1.0 + f64::from(bucket % 4) / 4.0)
    }

    /// Adds `count` durations to `bucket`.
    pub fn add(&mut self, bucket: u16, count: u64) {
        *self.0.entry(bucket).or_insert(0) += count;
    }

    /// The number of durations in all buckets.
    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The `share` quantile (0 to 1) in nanoseconds: the middle of its bucket, so at most an eighth off; `None` if
    /// there are no durations.
    pub fn quantile_ns(&self, share: f64) -> Option<f64> {
        let wanted = (share.clamp(0.0, 1.0) * self.count() as f64).ceil().max(1.0);
        let mut seen = 0.0;
        let found = self.0.iter().find(|(_, count)| {
            seen += **count as f64;
            seen >= wanted
        });
        found.map(|(bucket, _)| (Self::lower_ns(*bucket) + Self::lower_ns(bucket + 1)) / 2.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_are_quarter_octaves() {
        for ns in [4u64, 5, 6, 7, 8, 100, 1000, 1_000_000, 1 << 40] {
            let bucket = Histogram::bucket(ns);
            let (low, high) = (Histogram::lower_ns(bucket), Histogram::lower_ns(bucket + 1));
            assert!(low <= ns as f64 && (ns as f64) < high, "{ns}: {low} to {high}");
            assert!(high / low <= 1.25 + 1e-9);
        }
        assert_eq!((Histogram::bucket(0), Histogram::bucket(1)), (0, 0));
    }

    #[test]
    fn quantiles_are_of_the_bucket_that_holds_them() {
        let mut histogram = Histogram::default();
        assert_eq!(histogram.quantile_ns(0.5), None);
        histogram.add(Histogram::bucket(100), 98);
        histogram.add(Histogram::bucket(100_000), 2);
        let p = |share| histogram.quantile_ns(share).unwrap();
        assert!((96.0..112.0).contains(&p(0.5)) && (p(0.98) - p(0.5)).abs() < 1e-9);
        assert!((90_000.0..115_000.0).contains(&p(0.99)));
    }
}
