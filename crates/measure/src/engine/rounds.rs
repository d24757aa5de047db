//! The run itself: looks, launches, time blocks, and rounds of one slot per case in random order.

use super::lane::Lane;
use super::{
    BLOCKS, Clock, Config, EXTRA, LAUNCHES, LOOKS, Launcher, Measured, Observer, PADDING,
    SLOW_START,
};
use model::Planned;
use stats::Calm;

use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use std::time::Duration;

/// One result per case, in their order; a failure is one too. Ends when the budget is used up, when every interval is narrow enough, or
/// when the observer is interrupted.
pub fn measure(
    cases: &[Planned],
    launcher: &mut dyn Launcher,
    clock: &dyn Clock,
    config: &Config,
    observer: &mut dyn Observer,
) -> Vec<Measured> {
    let lanes = cases.iter().cloned().map(Lane::new).collect();
    let mut run = Rounds {
        lanes,
        launcher,
        clock,
        config,
        observer,
        random: ChaCha8Rng::seed_from_u64(config.seed),
        launches: 0,
        launching: Duration::ZERO,
        blocks: 0,
        began: clock.now(),
    };
    run.all_looks();
    run.measured()
}

struct Rounds<'a> {
    lanes: Vec<Lane>,
    launcher: &'a mut dyn Launcher,
    clock: &'a dyn Clock,
    config: &'a Config,
    observer: &'a mut dyn Observer,
    random: ChaCha8Rng,
    launches: u32,
    launching: Duration,
    blocks: usize,
    began: Duration,
}

/// Blocks per launch of a look at that share of the budget. They are equally long in all looks: the interval counts each of them
/// once, the median each of their batches.
fn blocks_of(share: f64) -> u32 {
    BLOCKS * (share / LOOKS[0]).round() as u32
}

impl Rounds<'_> {
    fn all_looks(&mut self) {
        self.launch("starting and calibrating");
        if !self.config.includes_start {
            self.began = self.clock.now();
        }
        let mut from = 0.0;
        for to in LOOKS {
            self.one_look(from, to, blocks_of(to - from));
            from = to;
            if self.observer.interrupted()
                || self.is_used_up()
                || (self.lanes.iter().all(Lane::precise) && !self.has_too_few_calm_rounds())
            {
                break;
            }
        }
        if self.has_too_few_calm_rounds() && !(self.config.includes_start && self.is_used_up()) {
            self.one_look(from, from + EXTRA, BLOCKS);
        }
        // Before the results are used: workers that go on may disturb later passes.
        self.lanes.iter_mut().for_each(Lane::rest);
    }

    fn end(&self) -> Duration {
        self.began + self.config.budget
    }

    fn is_used_up(&self) -> bool {
        self.clock.now() >= self.end()
    }

    /// Whether so many rounds were disturbed that few are left, or some case has samples of too few blocks.
    fn has_too_few_calm_rounds(&self) -> bool {
        let calm = self.calm();
        calm.share().is_some_and(|share| share < 1.0)
            && !self.observer.interrupted()
            && (calm.is_short() || self.lanes.iter().any(|lane| lane.wants_blocks(&calm)))
    }

    fn calm(&self) -> Calm {
        let panel = self
            .lanes
            .iter()
            .filter(|lane| lane.planned.case.is_in_panel());
        Calm::by_panel(&panel.map(Lane::measurement).collect::<Vec<_>>())
    }

    /// Shares of the budget, spent in equal launches of so many equal blocks.
    fn one_look(&mut self, from: f64, to: f64, blocks: u32) {
        let part = (to - from) / f64::from(LAUNCHES);
        for launch in 0..LAUNCHES {
            // The first look has as many blocks as an interval needs, whatever they take.
            if from > 0.0 && self.clock.now() + self.launching >= self.end() {
                break;
            }
            // The first launch was made before the time began.
            if self.launches > 1 || launch > 0 {
                self.launch("starting workers afresh");
            }
            let end = from + part * f64::from(launch + 1);
            for block in 0..blocks {
                self.one_block(end, block, blocks);
            }
        }
        let calm = self.calm();
        self.lanes
            .iter_mut()
            .for_each(|lane| lane.look(&calm, self.config.precision_percent));
        let measured = self.measured();
        self.observer.results(&measured);
    }

    fn launch(&mut self, doing: &str) {
        self.launches += 1;
        let began = self.clock.now();
        // A case's part of the time of one launch.
        let part = self
            .config
            .budget
            .mul_f64(LOOKS[0] / f64::from(LAUNCHES) / self.lanes.len().max(1) as f64);
        for i in 0..self.lanes.len() {
            if self.observer.interrupted() {
                return;
            }
            let lane = &mut self.lanes[i];
            if !lane.active() {
                lane.rest();
                continue;
            }
            // Drawn even for a worker that is kept, so that a slow start does not change the layout of the others.
            let padding = self.random.random_range(0..PADDING);
            if lane.keeps_worker(part.max(SLOW_START)) {
                continue;
            }
            let before = self.clock.now();
            lane.launch(self.launcher, padding);
            lane.launched = (self.launches - 1, self.clock.now().saturating_sub(before));
            lane.calibrate(self.config.slots);
            self.progress(doing);
        }
        self.launching = self.clock.now().saturating_sub(began);
    }

    /// Runs rounds until this block's part of the time to `end` (a share of the budget) is used up; at least one.
    fn one_block(&mut self, end: f64, block: u32, blocks: u32) {
        if self.observer.interrupted() {
            return;
        }
        let now = self.clock.now();
        let until = self.began + self.config.budget.mul_f64(end);
        // The time that is left is divided anew before each block, so that a slow block shortens the ones after it alike.
        let deadline = now + until.saturating_sub(now) / (blocks - block);
        let mut order: Vec<usize> = (0..self.lanes.len())
            .filter(|i| self.lanes[*i].takes_block(block))
            .collect();
        for i in &order {
            let lane = &mut self.lanes[*i];
            lane.begin_block(lane.launched.0, self.blocks);
        }
        self.blocks += 1;
        loop {
            // A fixed order would give each case the same predecessor, and with it the same cold caches.
            order.shuffle(&mut self.random);
            for i in &order {
                if self.observer.interrupted() {
                    return;
                }
                self.lanes[*i].slot();
            }
            // A lane that failed leaves its time to the others.
            order.retain(|i| self.lanes[*i].active());
            self.progress("measuring");
            if self.clock.now() >= deadline {
                return;
            }
        }
    }

    fn progress(&mut self, doing: &str) {
        let elapsed = self.clock.now().saturating_sub(self.began).as_secs_f64();
        let extra = if self.config.includes_start {
            0.0
        } else {
            EXTRA
        };
        let most = self.config.budget.as_secs_f64() * (1.0 + extra);
        self.observer.progress((elapsed / most).min(1.0), doing);
    }

    fn measured(&self) -> Vec<Measured> {
        self.lanes.iter().map(Lane::measured).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::lane::tests::Scripted;
    use super::*;
    use crate::engine::{Slots, Worker};
    use model::{Case, Failure, FailureKind, Measurement, Outcome, PANEL, REFERENCE, Role};
    use std::cell::Cell;
    use std::collections::BTreeSet;
    use std::rc::Rc;

    struct Ticking(Cell<u64>);

    impl Clock for Ticking {
        fn now(&self) -> Duration {
            self.0.set(self.0.get() + 1);
            Duration::from_millis(self.0.get())
        }
    }

    struct Script<F>(F);

    impl<F: Fn(&Case) -> Result<Scripted, Failure>> Launcher for Script<F> {
        fn launch(&mut self, case: &Case, _: usize) -> Result<Box<dyn Worker>, Failure> {
            Ok(Box::new((self.0)(case)?))
        }
    }

    #[derive(Default)]
    struct Watching {
        looks: usize,
        stop_after: Option<usize>,
        seen: Rc<Cell<usize>>,
    }

    impl Observer for Watching {
        fn progress(&mut self, share: f64, _: &str) {
            assert!((0.0..=1.0).contains(&share));
            self.seen.set(self.seen.get() + 1);
        }
        fn results(&mut self, _: &[Measured]) {
            self.looks += 1;
        }
        fn interrupted(&self) -> bool {
            self.stop_after.is_some_and(|most| self.seen.get() > most)
        }
    }

    fn planned(id: &str, role: Role) -> Planned {
        Planned::new(Case::native(id), role)
    }

    fn asked(id: &str) -> Planned {
        planned(id, Role::Asked)
    }

    fn config(milliseconds: u64) -> Config {
        Config {
            budget: Duration::from_millis(milliseconds),
            includes_start: false,
            precision_percent: 1.0,
            seed: 7,
            slots: Slots::SHORT,
        }
    }

    fn measurement(measured: &Measured) -> &Measurement {
        measured.outcome.measurement().unwrap()
    }

    fn measured(
        cases: &[Planned],
        milliseconds: u64,
        stop_after: Option<usize>,
        script: impl Fn(&Case) -> Result<Scripted, Failure>,
    ) -> (Vec<Measured>, usize) {
        let mut watching = Watching {
            stop_after,
            ..Watching::default()
        };
        let clock = Ticking(Cell::new(0));
        let config = config(milliseconds);
        let measured = measure(cases, &mut Script(script), &clock, &config, &mut watching);
        (measured, watching.looks)
    }

    fn launches(measured: &Measured) -> Vec<u32> {
        let blocks = measurement(measured).blocks.iter();
        blocks.map(|block| block.launch).collect()
    }

    #[test]
    fn steady_cases_end_at_the_first_look() {
        let cases = [asked("a.a"), planned("b.b", Role::Baseline)];
        let (measured, looks) = measured(&cases, 4000, None, |_| Ok(Scripted::steady(100.0)));
        assert_eq!(looks, 1);
        assert_eq!(launches(&measured[0]), [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]);
    }

    struct Slow(Rc<Ticking>);

    impl Launcher for Slow {
        fn launch(&mut self, case: &Case, _: usize) -> Result<Box<dyn Worker>, Failure> {
            let takes = if case.operation == "slow.b" { 400 } else { 50 };
            self.0.0.set(self.0.0.get() + takes);
            // Irregular, so that the time is used up.
            Ok(Box::new(Scripted::new(|request| {
                Ok(100.0 + (request / 7 * request % 3) as f64)
            })))
        }
    }

    #[test]
    fn no_launch_begins_that_would_end_after_the_promised_time() {
        let clock = Rc::new(Ticking(Cell::new(0)));
        let promised = Config {
            includes_start: true,
            precision_percent: 1e-9,
            ..config(1100)
        };
        let cases = ["a.a", "b.b", "c.c"].map(asked);
        let mut watching = Watching::default();
        measure(
            &cases,
            &mut Slow(Rc::clone(&clock)),
            &*clock,
            &promised,
            &mut watching,
        );
        // The first look has its blocks, whatever they take: six launches of 0.15 s.
        let end = clock.0.get();
        assert!(end < 1140, "{end}");
    }

    #[test]
    fn a_worker_whose_start_takes_longer_than_its_part_of_the_time_is_kept() {
        fn all_launches(milliseconds: u64) -> Vec<Vec<u32>> {
            let clock = Rc::new(Ticking(Cell::new(0)));
            let cases = ["a.a", "slow.b"].map(asked);
            let mut slow = Slow(Rc::clone(&clock));
            let measured = measure(
                &cases,
                &mut slow,
                &*clock,
                &config(milliseconds),
                &mut Watching::default(),
            );
            measured.iter().map(launches).collect()
        }

        let afresh = vec![0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5];
        assert_eq!(all_launches(4000), [afresh.clone(), vec![0; 12]]);
        assert_eq!(all_launches(24000), [afresh.clone(), afresh]);
    }

    #[test]
    fn all_cases_have_all_launches_and_imprecise_ones_more_blocks() {
        let cases = [
            asked("steady.a"),
            asked("wild.b"),
            planned("c.c", Role::Baseline),
        ];
        let (measured, looks) =
            measured(&cases, 2000, None, |case| match case.operation.as_str() {
                // Irregular enough for the medians of its stretches to differ.
                "wild.b" => Ok(Scripted::new(|request| {
                    Ok(100.0 + (request / 7 * request % 101) as f64)
                })),
                _ => Ok(Scripted::steady(100.0)),
            });
        assert_eq!(looks, 3);
        let actual: Vec<_> = measured
            .iter()
            .map(|measured: &Measured| -> (usize, usize) {
                let blocks = measurement(measured).blocks.iter();
                let filled = blocks.filter(|block| !block.slots.is_empty());
                let launches: BTreeSet<u32> = filled.clone().map(|block| block.launch).collect();
                (launches.len(), filled.count())
            })
            .collect();
        assert_eq!(actual, [(18, 12 + 6 + 6), (18, 48), (18, 48)]);
    }

    /// Looks, requests of the reference call, and the share of undisturbed rounds, if a neighbour slows the panel until request
    /// `until`.
    fn disturbed(until: u64) -> (usize, u64, f64) {
        let requests = Rc::new(Cell::new(0));
        let mut cases = PANEL.map(|id| planned(id, Role::Baseline)).to_vec();
        cases.push(asked("wild.b"));
        let (measured, looks) = measured(&cases, 1000, None, |case| {
            let (requests, counts) = (Rc::clone(&requests), case.is_plain(REFERENCE));
            let is_member = case.is_in_panel();
            Ok(Scripted::new(move |request| {
                if !is_member {
                    return Ok(100.0 + (request * 7919 % 100) as f64);
                }
                requests.set(requests.get() + u64::from(counts));
                Ok(if requests.get() < until { 150.0 } else { 100.0 })
            }))
        });
        let panel: Vec<&Measurement> = measured[..12].iter().map(measurement).collect();
        let share = Calm::by_panel(&panel).share().unwrap();
        (looks, requests.get(), share)
    }

    #[test]
    fn a_run_goes_on_if_nearly_all_of_it_was_disturbed() {
        let (looks, requests, share) = disturbed(0);
        assert_eq!((looks, share), (3, 1.0));
        let (looks, _, share) = disturbed(requests * 9 / 10);
        assert!(looks == 4 && share < 0.5, "{looks} looks, {share}");
    }

    #[test]
    fn a_case_that_fails_is_a_row_and_the_rest_goes_on() {
        fn hangs() -> Failure {
            Failure::timeout("no answer")
        }

        let cases = ["a.a", "late.b", "never.c"].map(asked);
        let (measured, _) = measured(&cases, 4000, None, |case| match case.operation.as_str() {
            "never.c" => Err(hangs()),
            "late.b" => Ok(Scripted::new(move |request| {
                if request > 20 { Err(hangs()) } else { Ok(50.0) }
            })),
            _ => Ok(Scripted::steady(100.0)),
        });
        assert!(measurement(&measured[0]).samples().all(|s| s.0 == 100.0));
        for failed in &measured[1..] {
            assert!(
                matches!(&failed.outcome, Outcome::Failed(f) if f.kind == FailureKind::Timeout)
            );
        }
    }

    #[test]
    fn an_interrupted_run_keeps_what_it_has() {
        let cases = ["a.a", "b.b"].map(asked);
        let (measured, _) = measured(&cases, 4000, Some(6), |_| Ok(Scripted::steady(100.0)));
        assert!(
            measured
                .iter()
                .all(|m| measurement(m).samples().count() > 0)
        );
        assert!(measurement(&measured[0]).blocks.len() < 12);
    }
}
