//! Intervals and p-values of simulated runs, whose truth is known.

use super::*;
use crate::tests::{normal, share};
use crate::{Calm, launches, median};
use model::{Block, Measurement};
use rand::rngs::ChaCha8Rng;

#[derive(Clone, Copy)]
struct Truth {
    machine: f64,
    session: f64,
    run: f64,
    launch: f64,
}

const QUIET: Truth = Truth {
    machine: 0.05,
    session: 0.0,
    run: 0.0,
    launch: 0.002,
};

/// The quiet machine, on which sessions and runs differ by this.
fn moved(session: f64, run: f64) -> Truth {
    Truth {
        session,
        run,
        ..QUIET
    }
}
/// Three launches each.
fn session(
    random: &mut ChaCha8Rng,
    cost: f64,
    truth: Truth,
    counts: (usize, usize),
) -> Vec<(Launches, f64)> {
    let (runs, earlier) = counts;

    let of_session = truth.session * normal(random);
    let earlier: Vec<f64> = (0..earlier)
        .map(|_| (truth.session * normal(random) + truth.run * normal(random)).exp())
        .collect();
    (0..runs)
        .map(|_| {
            let shift = truth.machine * normal(random);
            let level = cost * (shift + of_session + truth.run * normal(random)).exp();
            let medians: Vec<f64> = (0..3)
                .map(|_| level * (truth.launch * normal(random)).exp())
                .collect();
            (
                Launches {
                    earlier: earlier.clone(),
                    ..run_with_levels(&medians)
                },
                shift,
            )
        })
        .collect()
}

fn run_with_levels(levels_ns: &[f64]) -> Launches {
    let median_ns = median(levels_ns.to_vec()).unwrap_or(100.0);
    Launches {
        median_ns,
        level_ns: median_ns,
        levels_ns: levels_ns.to_vec(),
        ..Launches::default()
    }
}

fn case(medians_ns: &[f64]) -> Side {
    Side::from_case(&[(run_with_levels(medians_ns), 0.0)]).unwrap()
}

/// `truth` measured as `ratio` times as slow: relative to the machine if `by_machine`, else with what is learned of it.
fn compared(
    random: &mut ChaCha8Rng,
    ratio: f64,
    truth: Truth,
    runs: (usize, usize),
    by_machine: bool,
) -> BetweenRuns {
    let new = sides(random, 100.0 * ratio, truth, runs, by_machine);
    let old = sides(random, 100.0, truth, runs, by_machine);
    BetweenRuns::from_sides(&new, &old)
}

fn sides(
    random: &mut ChaCha8Rng,
    cost: f64,
    truth: Truth,
    runs: (usize, usize),
    by_machine: bool,
) -> Vec<Side> {
    let runs = session(random, cost, truth, runs);
    let shifts: Vec<f64> = runs.iter().map(|(_, shift)| *shift).collect();
    let case = Side::from_case(&runs).unwrap();
    if by_machine {
        return vec![case];
    }
    let learned = Deviation {
        sd: truth.machine,
        degrees: 19.0,
    };
    vec![case, Side::from_machine(&shifts, learned)]
}

fn coverage(seed: u64, truth: Truth, runs: (usize, usize), by_machine: bool) -> f64 {
    share(seed, 2000, |random| {
        let (low, high) = compared(random, 1.2, truth, runs, by_machine).low_high();
        low <= 1.2 && 1.2 <= high
    })
}

#[test]
fn intervals_hold_the_truth_as_often_as_they_say() {
    let table = [
        // Nothing but launches.
        ((1, 0), QUIET, true),
        // Sessions scatter as is assumed.
        ((1, 0), moved(0.006, 0.0), true),
        ((5, 0), moved(0.006, 0.01), true),
        // Earlier runs show what launches do not.
        ((1, 5), moved(0.0, 0.03), true),
        ((1, 19), moved(0.03, 0.0), true),
        ((3, 19), moved(0.02, 0.01), true),
        ((5, 10), moved(0.005, 0.02), true),
        // The machine as a whole with it.
        (
            (1, 0),
            Truth {
                machine: 0.015,
                ..QUIET
            },
            false,
        ),
        ((1, 19), moved(0.01, 0.0), false),
        (
            (5, 19),
            Truth {
                machine: 0.02,
                launch: 0.01,
                ..moved(0.0, 0.01)
            },
            false,
        ),
    ];
    for (i, (runs, truth, by_machine)) in table.into_iter().enumerate() {
        let share = coverage(i as u64, truth, runs, by_machine);
        assert!(share >= 0.93, "line {i}: {share}");
    }
}

/// No number of runs of one session shows what sessions differ by.
#[test]
fn sessions_that_differ_are_not_called_changed() {
    let truth = moved(0.01, 0.002);
    for runs in [(1, 19), (3, 19), (10, 19)] {
        let share = share(7, 1000, |random| {
            compared(random, 1.0, truth, runs, true).p_differs() < 0.05
        });
        assert!(share <= 0.07, "{runs:?}: {share}");
    }
}

#[test]
fn p_values_and_interval_agree() {
    for step in 0..60 {
        let new = 90.0 + f64::from(step) * 0.5;
        let ratio = BetweenRuns::from_sides(
            &[case(&[new - 0.4, new, new + 0.3])],
            &[case(&[99.8, 100.0, 100.1])],
        );
        let (low, high) = ratio.low_high();
        assert_eq!(ratio.p_differs() < 0.05, low > 1.0 || high < 1.0, "{new}");
        assert_eq!(
            ratio.p_same(0.08) < 0.025,
            low > 1.0 / 1.08 && high < 1.08,
            "{new}"
        );
    }
}

#[test]
fn one_launch_gives_a_wide_interval_and_none_gives_nothing() {
    fn width(medians_ns: &[f64]) -> f64 {
        let (low, high) =
            BetweenRuns::from_sides(&[case(medians_ns)], &[case(medians_ns)]).low_high();
        high / low
    }

    let (one, three) = (width(&[100.0]), width(&[100.0; 3]));
    assert!(one > 1.07 && three < 1.06, "{one} {three}");
    assert_eq!(Side::from_case(&[(run_with_levels(&[]), 0.0)]), None);
    assert_eq!(Side::from_case(&[(run_with_levels(&[0.0]), 0.0)]), None);
    assert_eq!(Side::from_case(&[]), None);
}

#[test]
fn runs_without_scatter_are_no_proof() {
    let runs = [(); 3].map(|()| {
        (
            Launches {
                earlier: vec![1.0; 3],
                ..run_with_levels(&[100.0])
            },
            0.0,
        )
    });
    let side = Side::from_case(&runs).unwrap();
    let same = BetweenRuns::from_sides(&[side], &[side]);
    let (low, high) = same.low_high();
    assert!(
        low < 1.0 && 1.0 < high && same.p_differs() > 0.99,
        "{same:?}"
    );
    // A clock whose steps are a tenth of a batch.
    fn percents(runs: &[(Launches, f64); 3], clock_step: f64) -> [f64; 2] {
        let runs = runs
            .clone()
            .map(|(run, slower)| (Launches { clock_step, ..run }, slower));
        [&runs[..], &runs[..1]].map(|runs| Side::from_case(runs).unwrap().next_run().percent())
    }

    let coarse = percents(&runs, 0.1);
    assert!(
        coarse.iter().all(|percent| *percent > 9.0) && percents(&runs, 0.0)[0] < 3.0,
        "{coarse:?}"
    );
}

#[test]
fn the_machine_as_a_whole_moves_as_it_did_before() {
    let learned = Deviation {
        sd: 0.01,
        degrees: 9.0,
    };
    let [new, old] = [0.03, 0.0].map(|ln| Side::from_machine(&[ln], learned));
    let ratio = BetweenRuns::from_sides(&[new], &[old]);
    assert!(
        (ratio.log_ratio - 0.03).abs() < 1e-12
            && (ratio.error.sd - 0.01 * 2f64.sqrt()).abs() < 1e-12
    );
    assert!((ratio.error.degrees - 18.0).abs() < 1e-9);
    // Runs of one session agree more than sessions do.
    let steady = Side::from_machine(&[0.03, 0.031, 0.029, 0.03, 0.03], learned);
    assert!(
        steady.error().sd > 0.009 && steady.error().sd < 0.01,
        "{steady:?}"
    );
}

/// By hand: t of 4 degrees is 2.776445 for 95%.
#[test]
fn the_next_run_is_where_the_launches_and_the_machine_let_it_be() {
    let launches = Launches {
        launch_scatter: 1e-9,
        ..run_with_levels(&[100.0; 3])
    };
    let quiet = Side::from_case(&[(launches, 0.0)]).unwrap();
    let half = 2.776445 * 2f64.sqrt() * EXPECTED.sd;
    let next = quiet.next_run().interval(100.0).unwrap();
    assert!((next.high - 100.0 * half.exp()).abs() < 1e-3, "{next:?}");
    assert!(case(&[97.0, 100.0, 103.0]).next_run().sd > quiet.next_run().sd);
    assert_eq!(quiet.next_run().interval(0.0), None);
}

/// From three earlier runs on, it is these that show how far the next one will be, whatever launches do.
#[test]
fn the_next_run_is_held_as_often_as_it_says_by_earlier_runs() {
    for (sd, of_launch, known) in [
        (0.006, 0.005, 0),
        (0.035, 0.05, 0),
        (0.035, 0.002, 5),
        (0.035, 0.002, 20),
        (0.001, 0.01, 10),
    ] {
        let share = share(6, 4000, |random| {
            let mut cost = || 100.0 * (sd * normal(random)).exp();
            let (this, earlier, next) = (cost(), (0..known).map(|_| cost()).collect(), cost());
            let medians_ns = [(); 3].map(|()| this * (of_launch * normal(random)).exp());
            let run = Launches {
                level_ns: this,
                launch_scatter: of_launch,
                earlier,
                ..run_with_levels(&medians_ns)
            };
            let interval = Side::from_case(&[(run, 0.0)])
                .unwrap()
                .next_run()
                .interval(this);
            interval.is_some_and(|interval| interval.low <= next && next <= interval.high)
        });
        assert!(
            share >= 0.93,
            "sd {sd}, launches {of_launch}, {known} earlier runs: {share}"
        );
    }
}

#[test]
fn launches_are_told_apart_by_their_number() {
    fn block(launch: u32, ns: u64) -> Block {
        Block {
            launch,
            slots: vec![vec![ns, ns], vec![]],
        }
    }

    let blocks = vec![
        block(0, 200),
        block(0, 220),
        block(1, 240),
        block(1, 240),
        block(2, 0),
    ];
    let m = Measurement {
        iterations: 2,
        blocks,
        ..Measurement::default()
    };
    let all = launches(&m, &Calm::default(), &[]).unwrap();
    assert_eq!((all.median_ns, all.rounds), (110.0, 4));
    assert_eq!(all.levels_ns, [105.0, 120.0]);
    let none = Measurement::default();
    assert_eq!(launches(&none, &Calm::default(), &[]), None);
}

#[test]
fn a_run_that_was_disturbed_all_the_time_claims_little() {
    let calm = run_with_levels(&[100.0; 3]);
    let disturbed = Launches {
        disturbed_ln: 1.4f64.ln(),
        ..run_with_levels(&[130.0; 3])
    };
    let [old, new] = [calm, disturbed].map(|run| Side::from_case(&[(run, 0.0)]).unwrap());
    let ratio = BetweenRuns::from_sides(&[new], &[old]);
    assert!(ratio.p_differs() > 0.05, "{ratio:?}");
    assert!(new.next_run().percent() > 30.0 && old.next_run().percent() < 6.0);
}
