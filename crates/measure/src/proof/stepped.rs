//! Counts the instructions of one iteration of a compiled snippet, which shows whether the compiler removed its body. Times cannot
//! show that: the loop's place in memory costs as much as an instruction does.

use super::Watchdog;
use crate::runner::{Workers, has_runtime};
use anyhow::{Context, Result, anyhow, ensure};
use model::{Case, Planned};
use std::thread::sleep;
use std::time::{Duration, Instant};
use sys::proc_stat::{self, ProcStat};
use sys::process::kill_group;
use sys::step::{Bits, Stepper};

const FEW: u64 = 500;
const MANY: u64 = 2500;
/// A process may execute instructions more around the loop, never fewer: the least of so many is taken.
const TRIES: usize = 3;
const PATIENCE: Duration = Duration::from_secs(10);

/// A runtime would execute instructions of its own.
pub fn can_be_stepped(case: &Case) -> bool {
    case.language.is_some() && !has_runtime(case)
}

/// The difference of two requests, each to processes of their own, which are stepped to their end.
///
/// # Errors
/// The environment starts another program, ptrace is refused, or no try came to its end.
pub fn instructions(workers: &Workers, planned: &Planned) -> Result<f64> {
    let case = planned.case.alone();
    let environment = workers.environment(&case.environment)?;
    // Stepping would count the starter's instructions, too.
    ensure!(!environment.has_starter(), "another program is started");
    let many = least_steps(workers, &case, MANY)?;
    let few = least_steps(workers, &case, FEW)?;
    Ok((many as f64 - few as f64) / (MANY - FEW) as f64)
}

fn least_steps(workers: &Workers, case: &Case, n: u64) -> Result<u64> {
    let mut least = Err(anyhow!("no try"));
    for _ in 0..TRIES {
        let steps = workers
            .placement
            .on_measuring_cpu(|| until_end(workers, case, n));
        least = match (least, steps) {
            (Ok(least), Ok(steps)) => Ok(steps.min(least)),
            (Ok(least), Err(_)) => Ok(least),
            (Err(_), steps) => steps,
        };
    }
    least
}

fn until_end(workers: &Workers, case: &Case, n: u64) -> Result<u64> {
    let mut child = workers.start(case, 0)?;
    let _watchdog = Watchdog::start(child.pid(), workers.timeout, &workers.interrupt)?;
    child.send(&Workers::greeting(case))?;
    child.ready()?;
    wait_until_it_reads(child.pid())?;
    let stepper = Stepper::attach(child.pid(), Bits::default())?;
    child.send(&format!("{n} 1"))?;
    child.end_input();
    let steps = stepper.steps_to_end();
    if steps.is_err() {
        // It is stopped at an arbitrary instruction and must not continue.
        kill_group(child.pid());
    }
    steps.context("stepping through a snippet")
}

/// Otherwise the instructions between its answer and the next read would be counted in some launches and not in others.
fn wait_until_it_reads(pid: u32) -> Result<()> {
    let begun = Instant::now();
    while ProcStat::parse(&proc_stat::text(pid)).is_none_or(|stat| stat.state() != Some("S")) {
        ensure!(begun.elapsed() < PATIENCE, "it does not wait for a request");
        sleep(Duration::from_micros(100));
    }
    Ok(())
}
