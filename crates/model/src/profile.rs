//! The calls of a traced workload, how often it made them, and where its time went.

mod usage;

pub use usage::{Concurrency, Gap, Outside, SampledFunction, Throttled, Usage};

use super::{Class, Histogram, Host, Requests, RingCount, Source, Thread, Tool, WaitCount};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Which system calls a workload made, and where its time went. Null means not known: the tracer only counts, or it is a log of strace.
/// A profile may be written by hand: it needs only `schema`, and of each of its `calls` the fields `call` and `calls`.
///
/// In files of version 1, `call` is `name`, `blocked_ns` holds `woken_ns`, and `preempted_ns` is `runnable_ns` without `woken_ns`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, tag = "schema", rename = "syscost.profile/2")]
pub struct Profile {
    /// The program that wrote the file; absent if it was written by hand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool: Option<Tool>,
    /// The origin of the profile, if this tool did not trace it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The machine that the workload ran on. Facts that could not be determined are null.
    pub host: Host,
    /// When tracing began, in seconds since 1970-01-01 UTC; 0 if unknown.
    pub started_unix_s: u64,
    /// The command with its arguments; empty if something that was already running was followed.
    pub command: Vec<String>,
    /// The processes that were followed instead of a command: `process 12 (nginx), 13 (sh)`, `cgroup /user.slice`, `the whole system`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    pub tracer: TracerFacts,
    /// False if tracing ended before the workload did, or if data was lost.
    #[serde(default = "yes")]
    pub complete: bool,
    /// How the command ended; null if that is not known.
    pub ending: Option<Ending>,
    pub usage: Usage,
    /// One per process name (as the kernel stores it: 15 bytes, changed by exec).
    #[serde(rename = "processes")]
    pub groups: Vec<ProcessGroup>,
    /// Who started whom, by names; absent if unknown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tree: Vec<ProcessPath>,
    /// The sections that the program marked, in the order in which they began; absent if it marked none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
    /// Elapsed times of single calls over all processes, by name of the call, with 32 buckets per power of
    /// two.
    #[serde(rename = "durations", skip_serializing_if = "BTreeMap::is_empty")]
    pub latencies: BTreeMap<String, Histogram>,
    /// Paths and descriptors that calls were made on, if the tracer was asked for them: those with the most calls first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub objects: Vec<ObjectCount>,
    /// Calls not attributed to an object because the table was full; absent if objects were not counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objects_dropped: Option<u64>,
    /// Waits of blocked calls by what they waited for, if the tracer was asked for it: the longest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitCount>,
    /// Threads, if the tracer recorded waits; where very many exited, some of these are missing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub threads: Vec<Thread>,
    /// Requests answered, if the tracer recorded waits; absent if there were none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<Requests>,
    /// Contended kernel locks, if the tracer recorded waits, the longest wait first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockCount>,
    /// TLB shoot-downs, if the tracer recorded waits, the most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shoot_downs: Vec<ShootDowns>,
    /// Requests of io_uring, if the tracer recorded waits, the most first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub rings: Vec<RingCount>,
    /// Calls by user stack, if the tracer was asked for them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<StackCount>,
    /// Calls whose stacks were recorded, if that was a sample of them: the others are divided as these are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stacks_sampled: Option<u64>,
    /// The slowest calls by elapsed time, if the tracer was asked for them, slowest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub slowest: Vec<SlowCall>,
    /// Further runs of the same command, if it was run several times: everything else is of the first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repeats: Vec<ProfileRun>,
    /// The time of a null call, which does nothing but enter the kernel and leave it, on the same machine, untraced, in nanoseconds;
    /// absent if it was not measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub null_call_ns: Option<f64>,
    /// Warnings about the profile as a whole, one line each.
    pub warnings: Vec<String>,
}

fn yes() -> bool {
    true
}

/// Processes of one name that were started the same way.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessPath {
    /// Names, the last one that of these processes: each was started, or executed, by the one before it.
    pub names: Vec<String>,
    /// Processes that ran under this name; one that executes another program counts under both.
    pub processes: u64,
    /// Calls that these made.
    pub calls: u64,
}

/// The calls of a program between asking for the path `/.syscost/begin/NAME` and asking for `/.syscost/end/NAME`, over all times that it
/// did: in the thread that asked, and in the threads and processes that it started in between. The calls that ask are not counted.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Section {
    /// As it was marked; sections with a longer name than 511 bytes are not counted.
    #[schemars(length(min = 1))]
    pub name: String,
    /// The sum over all end marks, `/.syscost/end/NAME/ITERATIONS`; a mark without a number counts as 1.
    pub iterations: u64,
    /// Processes that were started.
    pub processes: u64,
    /// Programs that were executed; searches for one that failed are not among them.
    pub programs: u64,
    /// Page faults that needed no device; null if they are not known.
    pub minor_faults: Option<u64>,
    /// Page faults that waited for a device.
    pub major_faults: Option<u64>,
    /// Nanoseconds from begin to end marks, summed over threads, with what tracing added; absent if they were not measured, or a mark is
    /// missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub elapsed_ns: Option<u64>,
    /// By call and class, over all processes.
    pub calls: Vec<CallCount>,
}

/// The calls of one more run of a command.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProfileRun {
    /// By call and class, over all processes.
    pub calls: Vec<CallCount>,
    #[serde(default)]
    pub usage: Usage,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sections: Vec<Section>,
}

/// Which tracer made the profile, and what it added.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct TracerFacts {
    /// `bpf`, `ptrace`, `seccomp`, `strace` or `strace -c`; empty if nothing was traced.
    pub kind: String,
    /// Its setup, in one line.
    pub detail: String,
    /// Overhead per call in nanoseconds, calibrated on this machine just before tracing; `None` if that was not possible,
    /// such as on a busy machine.
    #[schemars(range(min = 0))]
    pub added_per_call_ns: Option<f64>,
    /// The 95% interval of the overhead per call, whether it is narrow enough to give the overhead or not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_range_ns: Option<[f64; 2]>,
    /// Overhead of all calls together in nanoseconds, each priced as its kind of call; `None` if only
    /// `added_per_call_ns` is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_total_ns: Option<u64>,
    /// CPU time that the stops of one call add to its thread, in nanoseconds (ptrace).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub added_cpu_per_call_ns: Option<f64>,
    /// Operations that priced the calls, where stops hide their times (ptrace): `on_cpu_ns` is calls x the operations' costs, measured on the
    /// same machine after tracing, and the CPU times of `usage` and `processes` are without the stops. Absent if the times are the program's own.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub priced_by: Vec<String>,
    /// Whether the overhead is system time of the workload: the tracer runs inside the calls, in the kernel. A tracer
    /// that stops the calls runs in a process of its own. If a file does not state it, the kind decides: only the overhead of `bpf` is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adds_system_time: Option<bool>,
    /// How often each CPU was sampled a second, if that was done instead of counting calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sampled_hz: Option<u64>,
    /// By how many nanoseconds the traced time of a null call exceeds its untraced time. Already subtracted from each
    /// call's time on the CPU, not from `durations`; null if it is not known
    /// and nothing was subtracted. Old profiles have negative ones, whose durations are taken as they are.
    pub offset_per_call_ns: Option<f64>,
    /// Its 95% interval; if there is one but no `offset_per_call_ns`, nothing was subtracted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset_range_ns: Option<[f64; 2]>,
    /// Events that were seen but not counted, at most. If there are any, the profile is incomplete.
    pub lost: u64,
}

impl TracerFacts {
    /// The nanoseconds to subtract from an elapsed time: never less than 0.
    pub fn within_call_ns(&self) -> f64 {
        self.offset_per_call_ns.unwrap_or(0.0).max(0.0)
    }
}

/// How the command ended.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ending {
    /// With this status.
    Exited(i32),
    /// By the signal with this number.
    Signalled(i32),
}

impl Ending {
    /// 128 + N for signal N.
    pub fn status(self) -> i32 {
        match self {
            Ending::Exited(status) => status,
            Ending::Signalled(signal) => 128 + signal,
        }
    }
}

/// The processes of one name.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ProcessGroup {
    /// As the kernel keeps it.
    pub name: String,
    /// Its process, if processes of the same name are distinguished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Its control group, if control groups are distinguished: its path below the root of the hierarchy.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cgroup: Option<String>,
    /// Whether its name is that of threads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub threads: bool,
    /// CPU time in user mode, if the tracer knows it by process name.
    pub user_ns: Option<u64>,
    /// The same in the kernel.
    pub system_ns: Option<u64>,
    /// CPU time of its ended processes with that of their stops, if user mode and the kernel are not distinguished (ptrace).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ns: Option<u64>,
    /// In files and documents they are in a list of their own.
    #[serde(skip)]
    pub calls: Vec<CallCount>,
}

/// One system call of one class: its count and times.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CallCount {
    /// The call's name, followed by the gate if it is another architecture's: `getpid(i386)`.
    #[serde(alias = "name", skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1))]
    pub call: String,
    /// The arguments that drive its cost.
    #[serde(default, skip_serializing_if = "Class::is_unknown")]
    pub class: Class,
    /// Calls that were entered.
    pub calls: u64,
    /// Samples that found a CPU there, if CPUs were sampled instead of calls counted: `calls` is then 0, `on_cpu_ns` their share of the CPU
    /// time, and `call` may be `[user mode]`, `[page fault]`, `[interrupt]`, `[kernel thread]`, `[return from a call]` or `[kernel]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub samples: Option<u64>,
    /// How many of them never returned to user mode: exit, or the process was killed inside the call.
    #[serde(default)]
    pub unfinished: u64,
    /// Failures by errno name; `unknown` if it is not known.
    #[serde(default)]
    pub errors: BTreeMap<String, u64>,
    /// How many of them have no part in the times, which are not known: a seccomp filter or a debugger answered them where the
    /// tracer does not see the entry.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub untimed: u64,
    /// Time on a CPU between entry and return, summed over all calls.
    pub on_cpu_ns: Option<u64>,
    /// Time off the CPU because the call waited, until its thread was woken; if a tracer of switches saw no wake-ups
    /// (`woken_ns` is not known), until it ran again.
    pub blocked_ns: Option<u64>,
    /// The part of `blocked_ns` during which all threads of the tree were blocked, and which the end of this call's wait
    /// ended: wall time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stalled_ns: Option<u64>,
    /// Time that it was runnable and waited for a CPU: from a wake-up or a preemption until on a CPU. Not the call's cost.
    #[serde(alias = "preempted_ns")]
    pub runnable_ns: Option<u64>,
    /// The part of `runnable_ns` after wake-ups; not known in older files and under ptrace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub woken_ns: Option<u64>,
    /// Time between entry and return, only if its split into `on_cpu_ns`, `blocked_ns` and `runnable_ns` is not known: logs of strace.
    pub elapsed_ns: Option<u64>,
    /// Bytes moved, for calls that return a byte count.
    pub bytes: Option<u64>,
}

pub(crate) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// The place of a sampled CPU outside of calls, instead of a call's name.
pub const USER_MODE: &str = "[user mode]";
pub const PAGE_FAULT: &str = "[page fault]";
pub const INTERRUPT: &str = "[interrupt]";
/// In the kernel for something else, or it is not known for what.
pub const ENTERED_KERNEL: &str = "[kernel]";
pub const KERNEL_THREAD: &str = "[kernel thread]";
/// On the way back from a call that is not known.
pub const CALL_RETURN: &str = "[return from a call]";

/// The kind of object that a call was made on.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum ObjectKind {
    /// A path; one that the program passed relative to a directory is joined to that directory's name.
    Path,
    /// The object of a descriptor: a path, or `socket:[12]`, `pipe:[12]`, `anon_inode:[eventfd]` as in /proc/PID/fd.
    Descriptor,
}

/// Calls of one kind on one object.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ObjectCount {
    pub kind: ObjectKind,
    /// Its path, or what the descriptor refers to.
    pub name: String,
    /// Name of the processes; empty if unknown.
    #[serde(default)]
    pub process: String,
    /// The directory that a relative path was relative to. Absent for absolute paths and descriptors, and for
    /// relative paths that were counted by their text alone, in whatever directories.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Its class is empty.
    #[serde(flatten)]
    pub count: CallCount,
}

impl ObjectCount {
    /// Those with the most calls first.
    pub fn sorted(objects: impl Iterator<Item = ObjectCount>) -> Vec<ObjectCount> {
        let mut objects: Vec<ObjectCount> = objects.collect();
        objects.sort_by(|a, b| (b.count.calls, &a.name).cmp(&(a.count.calls, &b.name)));
        objects
    }

    /// False for paths whose directory is not known (the same text relative to two directories means two files), for an empty path and
    /// for anonymous inodes, which have no names of their own.
    pub fn is_one_object(&self) -> bool {
        match self.kind {
            ObjectKind::Path => self.name.starts_with('/') || self.directory.is_some(),
            ObjectKind::Descriptor => !self.name.starts_with("anon_inode:"),
        }
    }
}

/// Time that threads waited for one lock of the kernel, within a call or a page fault. Short waits are sampled.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LockCount {
    /// Name of the processes; empty if unknown.
    pub process: String,
    /// The system call's name, or `[page fault]`.
    pub call: String,
    /// `mmap_lock` of the own address space, `i_rwsem` of a file or directory, a variable of the kernel, or the kind of lock: `a mutex`.
    pub lock: String,
    /// The kernel function that took the lock; null if unknown.
    pub function: Option<String>,
    /// Number of waits.
    pub waits: u64,
    /// Nanoseconds waited, summed over threads.
    pub waited_ns: u64,
}

/// Interrupts that had CPUs forget addresses of their memory, because a thread of the process was on them: after a call that unmapped or
/// protected pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ShootDowns {
    /// Name of the processes; empty if unknown.
    pub process: String,
    /// The system call's name, or `[page fault]`.
    pub call: String,
    /// How often; each interrupts one or more CPUs.
    pub count: u64,
}

/// Calls of one kind from one place in a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StackCount {
    /// Name of the processes; empty if unknown.
    #[serde(default)]
    pub process: String,
    /// The system call's name.
    #[schemars(length(min = 1))]
    pub call: String,
    /// Functions, the outermost first: a name; `git:0x1e7690`, the address of a function without a symbol; `lib.so+0x80c4`, an offset in a
    /// file that could not be read; or `[unknown]`.
    pub frames: Vec<String>,
    /// The innermost of them that is neither of the C library nor of a runtime, with the line of its call if that is known:
    /// `load (app.c:12)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub function: Option<String>,
    /// How many calls.
    pub calls: u64,
    /// Time on a CPU.
    pub on_cpu_ns: Option<u64>,
    /// Time blocked until the wake-up.
    pub blocked_ns: Option<u64>,
    /// Time from the wake-up until on a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub woken_ns: Option<u64>,
}

/// One call that took long.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct SlowCall {
    /// Name of the process; empty if unknown.
    #[serde(default)]
    pub process: String,
    /// Number of the process.
    pub pid: Option<u32>,
    /// The system call's name.
    #[schemars(length(min = 1))]
    pub call: String,
    /// The arguments that drive its cost.
    #[serde(default)]
    pub class: Class,
    /// When it was entered, in nanoseconds since tracing began.
    #[serde(default)]
    pub at_ns: u64,
    /// Time between entry and return.
    pub elapsed_ns: u64,
    /// Time blocked until the wake-up.
    pub blocked_ns: Option<u64>,
    /// Time from the wake-up until on a CPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub woken_ns: Option<u64>,
    /// The user stack as in `stacks`; empty if stacks were not recorded.
    #[serde(default)]
    pub frames: Vec<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_path_is_one_object_only_with_its_directory() {
        fn is_one(kind: ObjectKind, name: &str, directory: Option<&str>) -> bool {
            let (name, directory) = (name.to_string(), directory.map(str::to_string));
            ObjectCount {
                kind,
                name,
                process: String::new(),
                directory,
                count: CallCount::default(),
            }
            .is_one_object()
        }

        use ObjectKind::{Descriptor, Path};
        assert!(is_one(Path, "/usr/x", None) && is_one(Path, "/usr/x", Some("/usr")));
        assert!(is_one(Path, ".../usr/x", Some(".../usr")));
        assert!(!is_one(Path, "x", None) && !is_one(Path, "\"\"", None) && !is_one(Path, "", None));
        assert!(
            is_one(Descriptor, "pipe:[1]", None)
                && !is_one(Descriptor, "anon_inode:[eventfd]", None)
        );
    }
}
