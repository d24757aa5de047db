//! Intervals and p-values of simulated runs, whose truth is known.

use super::*;
use crate::model::Block;
use crate::stats::tests::normal;
use crate::stats::{holm, median};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// A run of three launches: state of the run, layout of each launch, both with their standard deviations.
fn simulated(random: &mut ChaCha8Rng, cost: f64, of_run: f64, of_launch: f64) -> Launches {
    let run = of_run * normal(random);
    let medians_ns: Vec<f64> = (0..3).map(|_| cost * (run + of_launch * normal(random)).exp()).collect();
    of(&medians_ns)
}

/// A run with these launches, at the same speed throughout.
fn of(medians_ns: &[f64]) -> Launches {
    let median_ns = median(medians_ns.to_vec()).unwrap_or(100.0);
    Launches { median_ns, medians_ns: medians_ns.to_vec(), earlier: Vec::new() }
}

fn compared(new: &Launches, old: &Launches) -> Option<BetweenRuns> {
    between_runs((std::slice::from_ref(new), 0.015), (std::slice::from_ref(old), 0.015))
}

#[test]
fn the_interval_covers_the_truth_as_often_as_it_says() {
    let mut random = ChaCha8Rng::seed_from_u64(1);
    for (of_run, of_launch) in [(0.015, 0.001), (0.015, 0.01), (0.015, 0.03), (0.0, 0.01), (0.005, 0.1)] {
        let mut held = 0;
        for _ in 0..4000 {
            let old = simulated(&mut random, 100.0, of_run, of_launch);
            let new = simulated(&mut random, 120.0, of_run, of_launch);
            let (low, high) = compared(&new, &old).unwrap().low_high();
            held += i32::from(low <= 1.2 && 1.2 <= high);
        }
        let share = f64::from(held) / 4000.0;
        assert!(share >= 0.94, "run {of_run}, launch {of_launch}: {share}");
    }
}

/// Even where runs scatter a third more than is assumed, marks stay rare among 30 rows; and 10% is found.
#[test]
fn marks_are_rarely_wrong_and_ten_percent_is_found() {
    let mut random = ChaCha8Rng::seed_from_u64(2);
    let mut marks = |truth: f64, of_run: f64, rows: usize| {
        let pair = |_| {
            let old = simulated(&mut random, 100.0, of_run, 0.01);
            compared(&simulated(&mut random, 100.0 * truth, of_run, 0.01), &old).unwrap()
        };
        let p_values: Vec<f64> = (0..rows).map(pair).map(|found| found.p_differs(0.01)).collect();
        holm(&p_values, 0.05).into_iter().filter(|holds| *holds).count()
    };
    let wrong: usize = (0..100).map(|_| marks(1.0, 0.02, 30)).sum();
    assert!(wrong <= 30, "{wrong} of 3000 rows");
    let quiet: usize = (0..100).map(|_| marks(1.0, 0.015, 30)).sum();
    assert!(quiet <= 5, "{quiet} of 3000 rows");
    let found: usize = (0..200).map(|_| marks(1.10, 0.01, 2)).sum();
    assert!(found >= 380, "{found} of 400");
}

#[test]
fn p_values_and_interval_agree() {
    for step in 0..60 {
        let new = 90.0 + f64::from(step) * 0.5;
        let found = compared(&of(&[new - 0.4, new, new + 0.3]), &of(&[99.8, 100.0, 100.1])).unwrap();
        let (low, high) = found.low_high();
        assert_eq!(found.p_differs(0.01) < 0.05, low > 1.01 || high < 1.0 / 1.01, "{new}");
        assert_eq!(found.p_same(0.08) < 0.05, low > 1.0 / 1.08 && high < 1.08, "{new}");
    }
}

#[test]
fn one_launch_gives_a_wide_interval_and_none_gives_nothing() {
    let width = |side: &Launches| {
        let (low, high) = compared(side, side).unwrap().low_high();
        high / low
    };
    assert!(width(&of(&[100.0])) > 1.1 && width(&of(&[100.0, 100.0, 100.0])) < 1.09);
    assert_eq!(compared(&of(&[]), &of(&[100.0])), None);
    assert_eq!(compared(&of(&[0.0]), &of(&[100.0])), None);
    assert_eq!(between_runs((&[], 0.015), (&[of(&[100.0])], 0.015)), None);
}

/// Runs of one case whose speed scatters by 5%, compared with the speed known; what launches do not show is `own`.
fn relative(random: &mut ChaCha8Rng, truth: f64, own: f64, runs: usize) -> BetweenRuns {
    let mut side = |cost: f64| -> Vec<(Launches, f64)> {
        let run = |_| {
            let (shift, own) = (0.05 * normal(random), own * normal(random));
            (simulated(random, cost * f64::exp(shift + own), 0.0, 0.002), shift)
        };
        (0..runs).map(run).collect()
    };
    let (new, old) = (side(100.0 * truth), side(100.0));
    relative_to_machine(&new, &old).unwrap()
}

#[test]
fn ratios_of_groups_cover_the_truth_whatever_the_scatter_of_each() {
    let mut random = ChaCha8Rng::seed_from_u64(4);
    for (new, old, of_new, of_old) in [(5, 5, 0.01, 0.01), (3, 10, 0.03, 0.005), (2, 2, 0.01, 0.02)] {
        let mut held = 0;
        for _ in 0..4000 {
            let mut side = |runs: i32, cost: f64, scatter: f64| -> Vec<Launches> {
                (0..runs).map(|_| of(&[cost * (scatter * normal(&mut random)).exp()])).collect()
            };
            let (new, old) = (side(new, 120.0, of_new), side(old, 100.0, of_old));
            let (low, high) = between_runs((&new, 0.015), (&old, 0.015)).unwrap().low_high();
            held += i32::from(low <= 1.2 && 1.2 <= high);
        }
        let share = f64::from(held) / 4000.0;
        assert!(share >= 0.94, "{new} and {old} runs: {share}");
    }
}

#[test]
fn runs_without_scatter_are_no_proof() {
    let two = [of(&[100.0]), of(&[100.0])];
    let same = between_runs((&two, 0.015), (&two, 0.015)).unwrap();
    let (low, high) = same.low_high();
    assert!(low < 1.0 && 1.0 < high && same.p_differs(0.0) > 0.99, "{same:?}");
}

#[test]
fn with_the_speed_known_small_differences_show_and_intervals_hold() {
    let mut random = ChaCha8Rng::seed_from_u64(3);
    for (own, runs, least) in [(0.001, 1, 0.94), (0.001, 5, 0.94), (0.005, 5, 0.88), (0.02, 10, 0.88)] {
        let held = (0..2000).filter(|_| {
            let (low, high) = relative(&mut random, 1.02, own, runs).low_high();
            low <= 1.02 && 1.02 <= high
        });
        let share = held.count() as f64 / 2000.0;
        assert!(share >= least, "own {own}, {runs} runs a side: {share}");
    }
    let found = (0..200).filter(|_| relative(&mut random, 1.02, 0.002, 5).p_differs(0.005) < 0.05 / 40.0).count();
    assert!(found >= 180, "{found} of 200");
}

#[test]
fn the_machine_as_a_whole_has_the_scatter_of_runs() {
    let found = between_machines((&[0.03], 0.01), (&[0.0], 0.01)).unwrap();
    assert!((found.log_ratio - 0.03).abs() < 1e-12 && (found.standard_error - 0.01 * 2f64.sqrt()).abs() < 1e-12);
    let steady = between_machines((&[0.03, 0.031, 0.029, 0.03, 0.03], 0.01), (&[0.0; 5], 0.01)).unwrap();
    assert!(steady.standard_error < found.standard_error / 2.0 && steady.degrees == 12.0);
}

#[test]
fn the_scatter_of_runs_is_learned_little_by_little() {
    assert!((run_scatter(&[1.0]) - TYPICAL).abs() < 1e-12 && (run_scatter(&[]) - TYPICAL).abs() < 1e-12);
    let quiet = run_scatter(&[1.0; 20]);
    assert!(quiet > 0.002 && quiet < 0.004, "{quiet}");
    let wild: Vec<f64> = (0..20).map(|i| 0.1 * f64::from(i % 2)).collect();
    assert!((run_scatter(&wild) - 0.049).abs() < 0.002, "{}", run_scatter(&wild));
}

#[test]
fn the_next_run_is_where_the_launches_and_the_machine_let_it_be() {
    let own = |medians_ns: &[f64]| own_deviation(&of(medians_ns)).unwrap();
    let width = |parts: &[Deviation]| next_run(100.0, parts).map(|interval| interval.high - interval.low);
    let quiet = own(&[100.0, 100.0, 100.0]);
    assert_eq!((quiet.sd, quiet.degrees), (OWN, 2.0));
    let half = student::quantile(0.025, 2.0) * 2f64.sqrt() * OWN;
    assert!((next_run(100.0, &[quiet]).unwrap().high - 100.0 * half.exp()).abs() < 1e-9);
    assert!(width(&[own(&[97.0, 100.0, 103.0])]) > width(&[quiet, Deviation { sd: 0.01, degrees: 20.0 }]));
    assert_eq!(own_deviation(&of(&[])), None);
    assert_eq!(next_run(0.0, &[quiet]), None);
}

/// Whatever launches show: from three earlier runs on, it is these that say how far the next one will be.
#[test]
fn the_next_run_is_held_as_often_as_it_says_by_earlier_runs() {
    let mut random = ChaCha8Rng::seed_from_u64(6);
    for (sd, of_launch, known) in [(0.035, 0.035, 0), (0.035, 0.002, 5), (0.035, 0.002, 20), (0.001, 0.01, 10)] {
        let (mut held, tries) = (0, 4000);
        for _ in 0..tries {
            let mut cost = || 100.0 * (sd * normal(&mut random)).exp();
            let (this, earlier) = (cost(), (0..known).map(|_| cost()).collect());
            let next = cost();
            let medians_ns = (0..3).map(|_| this * (of_launch * normal(&mut random)).exp()).collect();
            let own = own_deviation(&Launches { median_ns: this, medians_ns, earlier }).unwrap();
            held += i32::from(next_run(this, &[own]).is_some_and(|i| i.low <= next && next <= i.high));
        }
        let share = f64::from(held) / f64::from(tries);
        assert!(share >= 0.93, "sd {sd}, launches {of_launch}, {known} earlier runs: {share}");
    }
}

#[test]
fn launches_are_told_apart_by_their_number() {
    let block = |launch, ns| Block { launch, slots: vec![vec![ns, ns], vec![]] };
    let blocks = vec![block(0, 200), block(0, 220), block(1, 240), block(1, 240), block(2, 0)];
    let m = Measurement { iterations: 2, blocks, ..Measurement::default() };
    let all = launches(&m, 0..usize::MAX, &Speed::default()).unwrap();
    assert_eq!((all.median_ns, all.medians_ns), (110.0, vec![105.0, 120.0]));
    assert_eq!(launches(&m, 2..4, &Speed::default()).unwrap().medians_ns, [120.0]);
    assert_eq!(launches(&m, 4..5, &Speed::default()), None);
    assert_eq!(launches(&m, 9..12, &Speed::default()), None);
}
