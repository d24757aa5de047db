//! The kernel's accounting of a workload, and its time outside of calls.

use crate::ThreadTime;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The kernel's accounting of the whole tree, without the tracer's own overhead; null if it is not known.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Usage {
    /// From the start of the workload to its end, in nanoseconds.
    pub wall_ns: Option<u64>,
    /// CPU time in user mode, in nanoseconds.
    pub user_ns: Option<u64>,
    /// CPU time in the kernel, in nanoseconds.
    pub system_ns: Option<u64>,
    /// Largest resident set of any process of the tree, in KiB.
    pub peak_rss_kib: Option<u64>,
    /// Page faults that needed no device.
    pub minor_faults: Option<u64>,
    /// Page faults that waited for a device.
    pub major_faults: Option<u64>,
    /// Context switches because a thread had to wait.
    pub voluntary_switches: Option<u64>,
    /// Context switches because others got the CPU.
    pub involuntary_switches: Option<u64>,
    /// Processes that ran, including the first.
    pub processes: Option<u64>,
    /// Programs that these executed; searches for one that failed are not among them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<u64>,
    /// Threads that ran in addition to the first of each process.
    pub threads: Option<u64>,
    /// Maximum number of threads of the tree that were on a CPU or waiting for one at the same time, if the tracer
    /// knows.
    pub peak_concurrency: Option<u64>,
    /// Wall time by the state of the tree's threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub concurrency: Option<Concurrency>,
    /// The time of all threads, if the tracer saw each switch.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thread_time: Option<ThreadTime>,
    /// Time in which threads waited for a CPU, beyond the stops' time, if the tracer did not see each switch (ptrace).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub waiting_ns: Option<u64>,
    /// Processors that were online.
    pub cpus: Option<u64>,
    /// CPU time outside of calls, if the CPUs were sampled while calls were timed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outside: Option<Outside>,
    /// The CPU quota that throttled it most, if any did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Throttled>,
    /// Wall time in which every thread was in a call, in nanoseconds, in logs of strace with times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub in_calls_ns: Option<u64>,
    /// The longest time that a thread spent between two calls, in logs of strace with times.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest_gap: Option<Gap>,
}

/// A control group's CPU quota that ran out: all threads of the group then waited for the next period.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Throttled {
    /// The file that sets the quota: `cpu.max`, or `cpu.cfs_quota_us` in version 1.
    pub by: String,
    /// Periods in which the group had runnable threads (nr_periods).
    pub periods: u64,
    /// Periods in which the group was throttled (nr_throttled).
    pub throttled: u64,
    /// Throttled time in nanoseconds, summed over CPUs.
    pub throttled_ns: u64,
}

impl Throttled {
    /// `throttled by /sys/fs/cgroup/a/cpu.max in 19 of 20 periods`
    pub fn words(&self) -> String {
        let Throttled {
            by,
            periods,
            throttled,
            ..
        } = self;
        format!("throttled by {by} in {throttled} of {periods} periods")
    }

    /// The waits for a CPU of a throttled group: `throttled by ... (0.95 s, summed over CPUs), and other waits`
    pub fn waits(&self) -> String {
        let seconds = self.throttled_ns as f64 / 1e9;
        format!(
            "{} ({seconds:.2} s, summed over CPUs), and other waits",
            self.words()
        )
    }
}

/// Time between two calls of a thread. If a log has no durations, that of the first call is included.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Gap {
    /// How long.
    pub ns: u64,
    /// The call before it.
    pub after: String,
    /// The call after it.
    pub before: String,
    /// The line of the log that this one is in.
    pub line: u64,
}

impl Usage {
    /// False if not known.
    pub fn has_one_thread(&self) -> bool {
        (self.processes, self.threads) == (Some(1), Some(0))
    }

    /// This accounting; what is not known of it and the kernel accounts too is taken from `other`.
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
            throttled: self.throttled.or(other.throttled),
            ..self
        }
    }

    /// The change since `before` in CPU time, faults and switches; other fields are kept.
    pub fn since(self, before: &Usage) -> Usage {
        fn less(now: Option<u64>, then: Option<u64>) -> Option<u64> {
            Some(now?.saturating_sub(then?))
        }

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

/// Wall time by how many threads of the tree were on a CPU. The parts add up to the wall time of the tree.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Concurrency {
    /// Element k - 1: exactly k threads were on a CPU; the last element: that many or more.
    pub on_cpu_ns: Vec<u64>,
    /// No thread was on a CPU, but at least one could have run: the machine ran something else, or a CPU was just waking up.
    pub waiting_ns: u64,
    /// All threads were blocked.
    pub blocked_ns: u64,
}

/// CPU time outside of calls in nanoseconds: what is left of the CPU time without the calls and the tracer's known overhead,
/// divided as the samples of the same execution are. A page fault inside a call belongs to the call.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Outside {
    /// In user mode.
    pub user_ns: u64,
    /// In page faults.
    pub page_faults_ns: u64,
    /// In interrupts.
    pub interrupts_ns: u64,
    /// Elsewhere in the kernel: exceptions, work and scheduling on the way back to user mode.
    pub kernel_ns: u64,
    /// How many samples divided it: with few, the parts are uncertain.
    pub samples: u64,
    /// Functions in which user mode was sampled most often, at most five; empty if not known.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub functions: Vec<SampledFunction>,
}

/// A function of user mode that samples found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct SampledFunction {
    /// Its name.
    pub name: String,
    /// The file that it is in, without its directory.
    pub object: String,
    /// How many samples found it.
    pub samples: u64,
}
