//! The machine that a run was made on: what must be known to interpret its results.

use crate::Tax;
use serde::{Deserialize, Serialize};

/// Facts about the machine. Facts that could not be determined are null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default)]
pub struct Host {
    /// Host name.
    pub name: Option<String>,
    /// Operating system's name, e.g. `Linux`.
    pub system: Option<String>,
    /// Kernel release, e.g. `6.18.4`.
    pub kernel: Option<String>,
    /// Kernel build string.
    pub kernel_version: Option<String>,
    /// Machine architecture, e.g. `x86_64`.
    pub architecture: Option<String>,
    /// Distribution, e.g. `Debian GNU/Linux 12 (bookworm)`.
    pub distribution: Option<String>,
    /// CPU model name.
    pub cpu: Option<String>,
    /// CPU family, model, stepping and microcode revision.
    pub cpu_revision: Option<String>,
    /// Processors that are online.
    pub cpus: Option<u32>,
    /// Processors that this process may run on.
    pub cpus_allowed: Option<u32>,
    /// Memory in MiB.
    pub memory_mib: Option<u64>,
    /// The options of the kernel's command line that affect the cost of system calls.
    pub command_line: Option<String>,
    /// When the kernel itself is preempted: `none`, `voluntary`, `full`, `lazy` or `rt`; `dynamic` if that can be switched and the
    /// current mode is not readable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preemption: Option<String>,
    /// Ticks of the kernel's timer in a second (`CONFIG_HZ`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick_hz: Option<u32>,
    /// Mode of transparent huge pages: `always`, `madvise` or `never`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub huge_pages: Option<String>,
    /// CPUs without timer ticks while one thread runs, e.g. `1-3`; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nohz_full: Option<String>,
    /// CPUs that the scheduler leaves alone, e.g. `2-3`; absent if there are none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub isolated_cpus: Option<String>,
    /// The CPU time that the control group may use, in CPUs; absent without a limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_quota: Option<f64>,
    /// `vulnerability: mitigation` for each vulnerability that affects the CPU.
    pub mitigations: Vec<String>,
    /// Clock source, e.g. `tsc`, `kvm-clock`.
    pub clock_source: Option<String>,
    /// Median cost of reading CLOCK_MONOTONIC, in nanoseconds.
    pub clock_cost_ns: Option<f64>,
    /// Smallest non-zero difference between two readings, in nanoseconds.
    pub clock_step_ns: Option<f64>,
    /// Hypervisor, e.g. `kvm`; `none` on bare metal.
    pub hypervisor: Option<String>,
    /// Container or sandbox that was recognised, e.g. `docker`.
    pub container: Option<String>,
    /// Frequency governor of the measuring CPU.
    pub governor: Option<String>,
    /// Whether the CPU may exceed its nominal frequency.
    pub turbo: Option<bool>,
    /// Frequency of the measuring CPU in MHz.
    pub frequency_mhz: Option<f64>,
    /// Whether simultaneous multithreading is active.
    pub smt: Option<bool>,
    /// Whether sessions are scheduled as groups, which makes `nice` ineffective between them.
    pub autogroup: Option<bool>,
    /// The C library that the probe runs with, e.g. `glibc-2.36`.
    pub libc: Option<String>,
    /// Type of the file system that operations create their files on, e.g. `ext4`.
    pub file_system: Option<String>,
    /// Load average over the last minute, at the start.
    pub load_1min: Option<f64>,
    /// How many CPUs other programs kept busy on average over the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub busy_cpus: Option<f64>,
    /// How much more everything cost than in the machine's fastest known run, in percent, if the whole run was disturbed: the
    /// operations of the panel then have other proportions than there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed_percent: Option<f64>,
    /// Standard deviation in percent by which whole undisturbed runs were faster or slower than each other on this machine;
    /// null if there are too few earlier runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_scatter_percent: Option<f64>,
    /// The number of runs that it was learned from, this one included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run_scatter_runs: Option<u32>,
    /// Share of CPU time that the hypervisor took away, in percent, over the run.
    pub steal_percent: Option<f64>,
    /// The user that ran it: `root` or `user`.
    pub user: Option<String>,
    /// The CPU that workers are pinned to.
    pub measuring_cpu: Option<u32>,
    /// Why that CPU was chosen.
    pub measuring_cpu_reason: Option<String>,
    /// The CPUs that the driver runs on.
    pub driver_cpus: Vec<u32>,
    /// Resource limits that operations may hit: `name soft hard`.
    pub limits: Vec<String>,
    /// Taxes on every system call on this machine.
    pub taxes: Vec<Tax>,
}

impl Host {
    /// Whether tracers of other processes cannot be seen; root in a container sees only that container's processes.
    pub fn hides_tracers(&self) -> bool {
        self.user.as_deref() == Some("user") || self.container.is_some()
    }
}
