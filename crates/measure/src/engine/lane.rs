//! The state of one case during a run.

use super::batch_size::{Shape, calibrate};
use super::{Launcher, Measured, Slots, Worker};
use model::{
    Block, Facts, Failure, FailureKind, Measurement, Outcome, Planned, Reply, Role, Slot, Traits,
};
use stats::{Calm, Estimate};
use std::time::Duration;

pub struct Lane {
    pub planned: Planned,
    worker: Option<Box<dyn Worker>>,
    facts: Facts,
    shape: Option<Shape>,
    measurement: Measurement,
    failure: Option<Failure>,
    precise: bool,
    pub launched: (u32, Duration),
}

impl Lane {
    /// Whether its batches may switch processes is known from the plan.
    pub fn new(planned: Planned) -> Lane {
        let Traits {
            switches, history, ..
        } = planned.traits;
        let measurement = Measurement {
            switches: switches || planned.adds_processes,
            history,
            ..Measurement::default()
        };
        Lane {
            planned,
            worker: None,
            facts: Facts::default(),
            shape: None,
            measurement,
            failure: None,
            precise: false,
            launched: (0, Duration::ZERO),
        }
    }

    pub fn active(&self) -> bool {
        self.failure.is_none()
    }

    /// Precise lanes leave the later blocks of each launch to the others: launches show how far a cost scatters. Baselines take all blocks, even if
    /// they were asked for, because every other case is compared with them.
    pub fn takes_block(&self, of_launch: u32) -> bool {
        let takes_all = self.planned.role == Role::Baseline || self.planned.case.is_in_panel();
        self.active() && (of_launch == 0 || !self.precise || takes_all)
    }

    /// The samples so far, in nanoseconds per batch.
    pub fn measurement(&self) -> &Measurement {
        &self.measurement
    }

    /// The interval is narrow enough, or the case has failed: more samples would not help.
    pub fn precise(&self) -> bool {
        self.precise || self.failure.is_some()
    }

    /// The new worker's environment block is `padding` bytes longer. A failure ends the lane.
    pub fn launch(&mut self, launcher: &mut dyn Launcher, padding: usize) {
        // The old worker ends first: two at once would be more than descriptors and memory were planned for.
        self.worker = None;
        match launcher.launch(&self.planned.case, padding) {
            Ok(worker) => {
                self.facts = worker.facts().clone();
                self.measurement.clock_step_ns = self.facts.number("clock_step_ns");
                // File systems in memory have no free lists to search, so earlier files do not make later ones cost more.
                self.measurement.history &= self.facts.get("storage") != Some("memory");
                self.worker = Some(worker);
            }
            Err(failure) => self.fail(failure),
        }
    }

    /// A launch keeps it if it took longer than `most` to start.
    pub fn keeps_worker(&self, most: Duration) -> bool {
        self.worker.is_some() && self.launched.1 > most
    }

    pub fn rest(&mut self) {
        self.worker = None;
    }

    /// Chooses the batch size, once per run: blocks of different launches must have batches of one size. A failure ends the lane.
    pub fn calibrate(&mut self, slots: Slots) {
        let (None, Some(worker)) = (self.shape, &mut self.worker) else {
            return;
        };
        match calibrate(worker.as_mut(), self.planned.limit, slots) {
            Ok(shape) => {
                self.measurement.iterations = shape.n;
                self.shape = Some(shape);
            }
            Err(failure) => self.fail(failure),
        }
    }

    /// Blocks of one index are measured together in all lanes, so those in which this lane rested exist and are empty.
    pub fn begin_block(&mut self, launch: u32, index: usize) {
        // Blocks before it, in which this lane rested, get the launch of this one and no slots, so they count nowhere.
        self.measurement.blocks.resize(
            index + 1,
            Block {
                launch,
                slots: Vec::new(),
            },
        );
    }

    /// A failure ends the lane.
    pub fn slot(&mut self) {
        let (Some(shape), Some(worker)) = (self.shape, &mut self.worker) else {
            return;
        };
        match worker.request(shape.n, shape.k + u32::from(shape.cold)) {
            Ok(reply) => self.record(&reply, shape),
            Err(failure) => self.fail(failure),
        }
    }

    fn record(&mut self, reply: &Reply, shape: Shape) {
        let pinned = self
            .worker
            .as_ref()
            .is_some_and(|worker| worker.is_pinned());
        let measurement = &mut self.measurement;
        measurement.cpu.user_ns += reply.user_ns;
        measurement.cpu.system_ns += reply.system_ns;
        measurement.cpu.wall_ns += reply.batches.iter().map(|b| b.ns).sum::<u64>();
        measurement.minor_faults += reply.minor_faults;
        measurement.major_faults += reply.major_faults;
        let mut slot = Slot::new();
        for (i, batch) in reply
            .batches
            .iter()
            .enumerate()
            .skip(usize::from(shape.cold))
        {
            // If the operation itself switches, a switch is not a disturbance, but waiting for a CPU is.
            let preempted = if self.planned.adds_processes {
                false
            } else if measurement.switches {
                reply
                    .cpu_ns
                    .get(i)
                    .is_some_and(|cpu_ns| waited(*cpu_ns, batch.ns, pinned))
            } else {
                batch.switches > 0
            };
            if preempted {
                &mut measurement.preempted_ns
            } else {
                &mut slot
            }
            .push(batch.ns);
        }
        if let Some(block) = measurement.blocks.last_mut() {
            block.slots.push(slot);
        }
    }

    /// Precise: half the interval's width is at most `precision_percent` of the median.
    pub fn look(&mut self, calm: &Calm, precision_percent: f64) {
        let half_width = self.estimate(calm).and_then(|e| e.half_width_percent());
        self.precise = half_width.is_some_and(|percent| percent <= precision_percent);
    }

    /// Too few for an interval.
    pub fn wants_blocks(&self, calm: &Calm) -> bool {
        self.failure.is_none() && self.estimate(calm).is_none_or(|e| e.interval.is_none())
    }

    /// `None` without a sample of an undisturbed round.
    fn estimate(&self, calm: &Calm) -> Option<Estimate> {
        stats::estimate(&*calm.undisturbed(&self.measurement)?)
    }

    /// A failure ends the case, and its samples are not shown as its cost. An interrupt keeps the samples.
    fn fail(&mut self, failure: Failure) {
        self.worker = None;
        let interrupted = failure.kind == FailureKind::Interrupted;
        let sampled = self.measurement.samples().next().is_some();
        if !(interrupted && sampled) {
            self.failure = Some(failure);
        }
    }

    /// The lane's result so far: its failure if there is one, else a copy of its samples.
    pub fn measured(&self) -> Measured {
        let outcome = match &self.failure {
            Some(failure) => Outcome::Failed(failure.clone()),
            None if self.measurement.samples().next().is_none()
                && self.measurement.preempted_ns.is_empty() =>
            {
                Outcome::Failed(Failure::interrupted())
            }
            None => Outcome::Measured(self.measurement.clone()),
        };
        Measured {
            case: self.planned.case.clone(),
            outcome,
            facts: self.facts.clone(),
        }
    }
}

/// Least share of its time that a batch is on a CPU if all of its threads share one: there is always one that can run.
const ON_ONE_CPU: f64 = 0.8;
/// The same if they may use several, which are idle while one hands over to another.
const ON_SEVERAL: f64 = 0.4;

fn waited(cpu_ns: u64, wall_ns: u64, pinned: bool) -> bool {
    (cpu_ns as f64) < if pinned { ON_ONE_CPU } else { ON_SEVERAL } * wall_ns as f64
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use model::Batch;

    pub struct Scripted {
        ns_per_iteration: Box<dyn Fn(u64) -> Result<f64, Failure>>,
        requests: u64,
        facts: Facts,
    }

    impl Scripted {
        pub fn new(ns_per_iteration: impl Fn(u64) -> Result<f64, Failure> + 'static) -> Scripted {
            let facts =
                crate::runner::parse_ready("ready clock_cost_ns=22 clock_step_ns=20").unwrap();
            Scripted {
                ns_per_iteration: Box::new(ns_per_iteration),
                requests: 0,
                facts,
            }
        }

        pub fn steady(ns: f64) -> Scripted {
            Scripted::new(move |_| Ok(ns))
        }
    }

    impl Worker for Scripted {
        fn request(&mut self, n: u64, k: u32) -> Result<Reply, Failure> {
            self.requests += 1;
            let ns = ((self.ns_per_iteration)(self.requests)? * n as f64).round() as u64;
            Ok(Reply {
                batches: vec![Batch { ns, switches: 0 }; k as usize],
                ..Reply::default()
            })
        }

        fn facts(&self) -> &Facts {
            &self.facts
        }
    }

    fn lane() -> Lane {
        let case = model::Case::native("id.getppid");
        let mut lane = Lane::new(Planned::new(case, Role::Asked));
        lane.begin_block(0, 0);
        lane
    }

    const SHAPE: Shape = Shape {
        n: 1,
        k: 3,
        cold: false,
    };

    fn reply<const N: usize>(batches: [(u64, u64); N], cpu_ns: &[u64]) -> Reply {
        Reply {
            batches: batches
                .map(|(ns, switches)| Batch { ns, switches })
                .to_vec(),
            cpu_ns: cpu_ns.to_vec(),
            ..Reply::default()
        }
    }

    #[test]
    fn preempted_batches_are_kept_apart_and_the_cold_one_is_dropped() {
        let mut lane = lane();
        let shape = Shape {
            cold: true,
            ..SHAPE
        };
        lane.record(&reply([(900, 0), (100, 0), (500, 1), (110, 0)], &[]), shape);
        assert_eq!(lane.measurement.blocks[0].slots, [[100, 110]]);
        assert_eq!(lane.measurement.preempted_ns, [500]);
        assert_eq!(lane.measurement.cpu.wall_ns, 1610);
    }

    /// As measured for fork and wait with another busy process on each CPU: 48 us of CPU time in 3.3 ms.
    #[test]
    fn a_batch_that_switches_is_left_out_if_it_waited_for_a_cpu() {
        let mut lane = lane();
        lane.measurement.switches = true;
        let batches = [(50, 1), (3300, 2), (70, 1)];
        lane.record(&reply(batches, &[49, 48, 35]), SHAPE);
        assert_eq!(lane.measurement.preempted_ns, [3300]);
        assert_eq!([waited(35, 70, false), waited(35, 70, true)], [false, true]);
        // Nothing is known; then the rest may be the time of the other processes.
        lane.record(&reply(batches, &[]), SHAPE);
        lane.planned.adds_processes = true;
        lane.record(&reply(batches, &[49, 48, 35]), SHAPE);
        let all = vec![50, 3300, 70];
        assert_eq!(
            lane.measurement.blocks[0].slots,
            [vec![50, 70], all.clone(), all]
        );
    }

    #[test]
    fn nothing_in_memory_depends_on_history() {
        fn history(ready: &'static str) -> bool {
            let mut lane = lane();
            lane.measurement.history = true;
            lane.launch(&mut In(ready), 0);
            lane.measurement.history
        }

        struct In(&'static str);
        impl Launcher for In {
            fn launch(&mut self, _: &model::Case, _: usize) -> Result<Box<dyn Worker>, Failure> {
                let facts = crate::runner::parse_ready(self.0)?;
                Ok(Box::new(Scripted {
                    facts,
                    ..Scripted::steady(1.0)
                }))
            }
        }
        assert!(!history("ready pid=1 storage=memory") && history("ready pid=1"));
    }

    #[test]
    fn blocks_of_one_index_belong_together() {
        let mut lane = lane();
        lane.begin_block(2, 3);
        let launches: Vec<u32> = lane.measurement.blocks.iter().map(|b| b.launch).collect();
        assert_eq!(launches, [0, 2, 2, 2]);
        assert!(lane.wants_blocks(&Calm::default()));
    }

    #[test]
    fn a_failure_is_no_time() {
        let mut lane = lane();
        lane.record(&reply([(1, 0)], &[]), SHAPE);
        lane.fail(Failure::interrupted());
        assert!(matches!(lane.measured().outcome, Outcome::Measured(_)));
        lane.fail(Failure::timeout("hangs"));
        assert!(
            matches!(lane.measured().outcome, Outcome::Failed(f) if f.kind == FailureKind::Timeout)
        );
    }
}
