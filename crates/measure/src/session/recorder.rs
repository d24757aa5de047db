//! Observes the engine: passes progress on and keeps the result file up to date.

use super::cpu_monitor::CpuMonitor;
use super::open::Clocks;
use super::passes::{Passed, Passes};
use super::{Keep, Watch, noise_history};
use crate::engine::{Measured, Observer};
use crate::runner::Interrupt;
use model::{Case, Facts, Failure, Host, Outcome, Record, Run, Tax};
use std::collections::HashMap;
use std::time::Instant;
use store::StoreError;
use sys::Sources;

fn record(Passed { planned, passes }: &Passed, measured: Option<&Measured>) -> Record {
    let outcome = match (passes, measured) {
        (Err(failure), _) => Outcome::Failed(failure.clone()),
        (
            Ok(Passes {
                counted: Some(counted),
                ..
            }),
            _,
        ) => Outcome::Counted(counted.clone()),
        (Ok(_), Some(measured)) => measured.outcome.clone(),
        (Ok(_), None) => Outcome::Failed(Failure::interrupted()),
    };
    let passes = passes
        .clone()
        .unwrap_or_else(|_| Passes::none("the operation failed"));
    let proof = passes.proof;
    let warm_up = measured
        .and_then(|m| m.facts.number("warmed_ms"))
        .map(|ms| {
            format!(
                "managed runtime, warmed up for {:.1} s before measuring",
                ms / 1000.0
            )
        });
    let device = if planned.traits.machine {
        Some("depends on a device (disk, timer) more than on the kernel".to_string())
    } else {
        None
    };
    Record {
        case: planned.case.clone(),
        role: planned.role,
        outcome,
        user_mode: Some(planned.stays_in_user_mode(proof.entries.as_ref())),
        entries: proof.entries,
        entries_status: proof.status,
        entries_counted_unix_s: proof.counted_unix_s,
        entries_iterations: proof.iterations,
        mode_samples: passes.mode_samples,
        counters: passes.counters,
        latency: passes.latency,
        instructions: passes.instructions,
        warnings: proof
            .warning
            .into_iter()
            .chain(device)
            .chain(warm_up)
            .collect(),
    }
}

pub struct Recorder<'a> {
    pub passed: &'a mut [Passed],
    pub run: Run,
    pub out: &'a Keep,
    pub watch: &'a dyn Watch,
    pub interrupt: &'a Interrupt,
    pub clocks: Clocks,
    pub looked: bool,
    pub cpu_monitor: CpuMonitor,
    pub began: Instant,
    pub first: bool,
    pub last: bool,
}

impl Recorder<'_> {
    fn write(&self, run: &Run) -> Result<(), StoreError> {
        self.out.write(run).map_err(|error| {
            if self.looked {
                error.after_a_look()
            } else {
                error
            }
        })
    }

    fn run(&mut self, measured: &[Measured]) -> Run {
        self.cpu_monitor.look(&Sources::default());
        let mut run = self.run.clone();
        run.elapsed_s = self.began.elapsed().as_secs_f64();
        run.warnings.extend(self.cpu_monitor.warnings());
        let measured: HashMap<&Case, &Measured> = measured
            .iter()
            .map(|measured| (&measured.case, measured))
            .collect();
        run.records = self
            .passed
            .iter()
            .map(|passed| record(passed, measured.get(&passed.planned.case).copied()))
            .collect();
        run
    }

    /// The error is that of writing the run for the last time; it can still be shown.
    pub fn finish(mut self, measured: &[Measured]) -> (Run, Result<(), StoreError>) {
        let mut run = self.run(measured);
        // With repeats, a run is complete only after the last one.
        run.complete = self.last && !self.interrupt.is_set();
        let clocks = &self.clocks;
        run.host.steal_percent = clocks
            .steal
            .as_ref()
            .and_then(|steal| steal.percent_since(&Sources::default()));
        run.host.busy_cpus = clocks
            .busy
            .as_ref()
            .and_then(|busy| busy.cpus_since(&Sources::default()));
        add_facts(&mut run.host, measured.iter().map(|m| &m.facts));
        if !self.interrupt.is_set() {
            // Repeats scatter less than runs on different days, so only the first teaches. A run that was disturbed or traced says
            // nothing about quiet ones.
            let is_taxed = run.host.taxes.iter().any(Tax::is_passing);
            let teaches = self.first && !is_taxed && self.cpu_monitor.warnings().is_empty();
            noise_history::learn(&mut run, teaches);
        }
        let written = self.write(&run);
        (run, written)
    }
}

impl Observer for Recorder<'_> {
    fn progress(&mut self, share: f64, doing: &str) {
        self.watch.advance(share, doing);
    }

    fn results(&mut self, measured: &[Measured]) {
        let run = self.run(measured);
        // A failed write here is not reported: the last write decides.
        self.looked |= self.write(&run).is_ok();
    }

    fn interrupted(&self) -> bool {
        self.interrupt.is_set()
    }
}

/// A coarse clock with smaller steps is not moved by a tick, as in sandboxes with a kernel of their own.
const FINE_CLOCK_NS: f64 = 100_000.0;

/// Libc, the kernel's tick in Hz, and the clock's cost and step in nanoseconds (medians over all probes).
pub fn add_facts<'a>(host: &mut Host, facts: impl Iterator<Item = &'a Facts> + Clone) {
    [host.clock_cost_ns, host.clock_step_ns] = ["clock_cost_ns", "clock_step_ns"]
        .map(|name| stats::median(facts.clone().filter_map(|f| f.number(name)).collect()));
    host.tick_hz = facts
        .clone()
        .find_map(|f| f.number("tick_ns"))
        .filter(|ns| *ns > FINE_CLOCK_NS)
        .map(|ns| (1e9 / ns).round() as u32);
    host.libc = facts
        .clone()
        .find_map(|f| f.get("libc"))
        .map(str::to_string);
}
