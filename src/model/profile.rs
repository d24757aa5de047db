//! What a traced workload called, how often, and where its time went.

use super::{Class, Host, Source, Tool};
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// A traced workload: counts of system calls by process name, call and class, with the kernel's own accounting beside
/// them. `None` means not known: a tracer that only counts, or an imported log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct Profile {
    pub tool: Option<Tool>,
    pub host: Host,
    /// When tracing began, in seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// The command with its arguments; empty where a running process was followed.
    pub command: Vec<String>,
    pub tracer: TracerFacts,
    /// Where the profile comes from, if this tool did not trace it.
    pub source: Option<Source>,
    /// False where tracing was ended before the workload, or data was lost.
    pub complete: bool,
    pub ending: Option<Ending>,
    pub usage: Usage,
    /// One a process name (as the kernel keeps it: 15 bytes, changed by exec).
    #[serde(skip)]
    pub groups: Vec<ProcessGroup>,
    /// Elapsed time per call, over all processes, by call.
    #[serde(skip)]
    pub latencies: BTreeMap<String, Histogram>,
    pub warnings: Vec<String>,
}

/// Which tracer made the profile, and what it added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct TracerFacts {
    /// `bpf`, `ptrace`, `seccomp`, `perf`, or what was imported: `strace -c`, ...
    pub kind: String,
    /// How it was set up, in one line.
    pub detail: String,
    /// What it adds to each call, calibrated on this machine just before; in nanoseconds.
    pub added_per_call_ns: Option<f64>,
    /// Whether what it adds is system time of the workload itself: it works within the calls, in the kernel. A tracer that
    /// stops the calls works in a process of its own.
    pub adds_system_time: bool,
    /// By how much the tracer took a null call for longer than it is untraced: already taken off each call's time on the
    /// CPU, not off the durations in `latencies`. Negative where it looks at less than the whole crossing.
    pub offset_per_call_ns: Option<f64>,
    /// Events that were seen and could not be counted. Not 0 makes the profile incomplete.
    pub lost: u64,
}

impl Profile {
    /// A quantile of the elapsed time of a call, without what the tracer adds; `None` where it is not known.
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
    /// Processes that ran, the first one included.
    pub processes: Option<u64>,
    /// Threads that ran beside the first of each process.
    pub threads: Option<u64>,
    /// Most threads of the tree that stood inside a system call on a CPU at once, if the tracer knows.
    pub peak_concurrency: Option<u64>,
    /// Processors that were online.
    pub cpus: Option<u64>,
}

impl Usage {
    /// This, with what it does not know from `other`.
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

    /// What of the accounting came to be since `before`. The resident set is a peak, which has no difference.
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
    /// CPU time by mode, as far as the tracer can tell it by name.
    pub user_ns: Option<u64>,
    pub system_ns: Option<u64>,
    #[serde(skip)]
    pub calls: Vec<CallCount>,
}

/// One system call of one class: how often, and what it took.
#[derive(Clone, Debug, Default, PartialEq, Serialize, JsonSchema)]
pub struct CallCount {
    /// The call's name; one made by another architecture's gate carries that behind it: `getpid(i386)`.
    #[serde(rename = "name", skip_serializing_if = "String::is_empty")]
    pub call: String,
    #[serde(flatten)]
    pub class: Class,
    /// Calls that were entered.
    pub calls: u64,
    /// Of those, how many never returned to user mode: exit, or the process was killed within.
    pub unfinished: u64,
    /// Failures by errno name.
    pub errors: BTreeMap<String, u64>,
    /// Time on a CPU between entry and return, all calls together.
    pub on_cpu_ns: Option<u64>,
    /// Time off the CPU because the call waited for something.
    pub blocked_ns: Option<u64>,
    /// Time off the CPU because something else was to run: not the call's cost.
    pub preempted_ns: Option<u64>,
    /// Time between entry and return, only where it is not known how it splits into the three above: imported logs.
    #[serde(skip)]
    pub elapsed_ns: Option<u64>,
    /// Bytes moved, of calls that return a byte count.
    pub bytes: Option<u64>,
}

/// Counts of durations in buckets of a quarter octave: bucket 4 k + q holds from 2^k (1 + q/4) ns up to the next; those
/// under 4 ns have no quarters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histogram(pub BTreeMap<u16, u64>);

impl Histogram {
    /// The bucket of a duration: two bits below the leading one.
    pub fn bucket(ns: u64) -> u16 {
        let Some(log) = ns.checked_ilog2() else { return 0 };
        let quarter = if log >= 2 { (ns >> (log - 2)) & 3 } else { 0 };
        (4 * log) as u16 + quarter as u16
    }

    /// Where a bucket begins, in nanoseconds.
    pub fn lower_ns(bucket: u16) -> f64 {
        2f64.powi(i32::from(bucket / 4)) * (1.0 + f64::from(bucket % 4) / 4.0)
    }

    pub fn add(&mut self, bucket: u16, count: u64) {
        *self.0.entry(bucket).or_insert(0) += count;
    }

    pub fn count(&self) -> u64 {
        self.0.values().sum()
    }

    /// The `share` quantile, in nanoseconds: the middle of the bucket that holds it, so within an eighth of the truth;
    /// `None` of no calls.
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
