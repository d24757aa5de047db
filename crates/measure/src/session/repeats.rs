//! Repeats the whole run, each time in a new directory with new processes and in a new order.
//! Entries, instructions and modes are those of the first run, since they do not scatter from run
//! to run as times do.

use super::cpu_monitor::CpuMonitor;
use super::open::{Clocks, start};
use super::passes::PassResults;
use super::{Job, Keep, Session, Stage, Watch};
use crate::runner::Fixture;
use anyhow::Result;
use model::{Host, Run};
use std::time::Instant;
use store::StoreError;
use sys::taxes::taxes;
use sys::{Sources, host};

impl Session {
    pub(super) fn measure_runs(
        &mut self,
        job: &Job,
        findings: &mut PassResults,
        cpu_monitor: CpuMonitor,
        watch: &dyn Watch,
        out: &Keep,
    ) -> (Run, Result<(), StoreError>) {
        let runs = job.runs;
        let first = Part {
            watch,
            run: 0,
            runs,
        };
        let (mut run, mut stored) = self.time(job, &mut *findings, 0, cpu_monitor, &first, out);
        for index in 1..runs {
            if self.interrupt.is_set() {
                break;
            }
            if let Err(error) = self.renew(run.plan.seed.wrapping_add(index.into()), &job.fixtures)
            {
                run.warnings.push(format!(
                    "cannot prepare run {} of {runs}: {error:#}",
                    index + 1
                ));
                stored = out.write(&run).map_err(StoreError::after_a_look);
                break;
            }
            let cpu_monitor = CpuMonitor::begin(&self.workers);
            // Not stored by itself: the first run's file gets it when it is whole.
            let (again, _) = self.time(
                job,
                &mut *findings,
                index,
                cpu_monitor,
                &Part {
                    watch,
                    run: index,
                    runs,
                },
                &Keep::default(),
            );
            if self.interrupt.is_set() {
                break;
            }
            run.repeats.push(Run {
                complete: true,
                study: None,
                ..again
            });
            run.complete = index + 1 == runs;
            stored = out.write(&run).map_err(StoreError::after_a_look);
        }
        (run, stored)
    }

    fn renew(&mut self, seed: u64, fixtures: &[Fixture]) -> Result<()> {
        self.opened = Instant::now();
        let sources = Sources::default();
        let directory = self.sides.directory()?;
        let alone = self.sides.is_all_elsewhere();
        if !alone {
            // This process has moved to the driver's CPUs since the first run began.
            self.host = Host {
                cpus_allowed: self.host.cpus_allowed,
                file_system: host::file_system(directory.path()),
                taxes: taxes(&sources),
                ..host::facts(&sources, None)
            };
        }
        let placement = self.workers.placement.clone();
        self.clocks = Clocks::start(&sources, placement.measuring, alone);
        (self.workers, _) = start(
            directory,
            placement,
            &self.interrupt,
            &self.options,
            &self.sides,
        )?;
        self.options.seed = Some(seed);
        self.make_fixtures(fixtures)
    }
}

struct Part<'a> {
    watch: &'a dyn Watch,
    run: u32,
    runs: u32,
}

impl Watch for Part<'_> {
    fn stage(&self, stage: Stage) {
        if self.run == 0 {
            self.watch.stage(stage);
        }
    }

    fn advance(&self, share: f64, doing: &str) {
        let share = (f64::from(self.run) + share) / f64::from(self.runs);
        match self.runs {
            0 | 1 => self.watch.advance(share, doing),
            runs => self
                .watch
                .advance(share, &format!("run {} of {runs}: {doing}", self.run + 1)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[derive(Default)]
    struct Seen(RefCell<Vec<(f64, String)>>);

    impl Watch for Seen {
        fn stage(&self, _: Stage) {
            self.0.borrow_mut().push((0.0, "stage".into()));
        }
        fn advance(&self, share: f64, doing: &str) {
            self.0.borrow_mut().push((share, doing.into()));
        }
    }

    #[test]
    fn the_bar_is_that_of_all_runs() {
        let seen = Seen::default();
        for run in 0..2 {
            let part = Part {
                watch: &seen,
                run,
                runs: 2,
            };
            part.stage(Stage::Measuring);
            part.advance(0.5, "measuring");
        }
        let seen: Vec<String> = seen
            .0
            .take()
            .iter()
            .map(|(share, doing)| format!("{share} {doing}"))
            .collect();
        assert_eq!(
            seen,
            [
                "0 stage",
                "0.25 run 1 of 2: measuring",
                "0.75 run 2 of 2: measuring"
            ]
        );
    }
}
