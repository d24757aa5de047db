//! Linux measures the CPU time of a thread exactly and divides it into user and system time by what ticks found
//! (kernel/sched/cputime.c, cputime_adjust).

/// A usual tick (CONFIG_HZ=250); profiles do not record which the kernel has.
const TICK_S: f64 = 0.004;
// 50 ticks know a half to 7 percentage points.
/// With fewer ticks the division is left to chance.
const FEWEST_TICKS: f64 = 50.0;
/// A process that no tick hit counts as user time: with fewer ticks a process, their sum leans towards that.
const FEWEST_A_PROCESS: f64 = 4.0;

/// Whether `cpu_s` seconds of `processes` processes are divided into user and system time by enough ticks.
pub fn ticks_divide(cpu_s: f64, processes: u64) -> bool {
    cpu_s >= TICK_S * FEWEST_TICKS.max(FEWEST_A_PROCESS * processes.max(1) as f64)
}
