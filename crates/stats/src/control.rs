//! How far the costs of two sides differ although nothing changed. The members of the panel show it: they are measured in the same rounds
//! as all rows, and they did not change.
//!
//! The launches or runs of a side give a standard error. The panel's members differ by more than theirs, and the same factor is applied to
//! every row. Constants come from runs of three machines (METHOD.md).

use super::deviation::SURPRISE;
use super::{BetweenRuns, Deviation, Side};

// More members would trust the panel less: intervals on disturbed machines would be too narrow.
/// The factor is 1 until the panel shows otherwise: this counts as so many members that differ by exactly their error.
const EXPECTED_MEMBERS: f64 = 4.0;
/// The least error: launches that agree to the last digit prove nothing.
const LEAST_ERROR: f64 = 0.001;
// The differences of equal runs on three machines are within Student's t of 3 degrees in 95% of cases.
/// Single rows move farther than most, as Student's t of so many degrees of freedom does; one more for each further run of a side.
const DEGREES: f64 = 3.0;
// Equal runs of `process.fork_wait` and `mem.fault_anonymous` differed by 9 to 30%. With 0.04, 2 of 12 comparisons were false; with 0.08,
// none.
/// The shift of a case from one run to the next by the placement of its pages and threads, which neither launches nor the panel show: 1 to
/// 15% between equal runs, and 30% once.
const OF_PLACED: f64 = 0.08;
/// From here on, a shift of the whole machine is not the same for all rows: half of it is an error of each.
const MUCH_MOVED: f64 = 0.05;

/// By member of the panel, the square of its difference in units of its error.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Control {
    squares: Vec<(usize, f64)>,
    moved_ln: f64,
}

impl Control {
    /// `members` by number: new and old, relative to the machine as a whole, which is `moved_ln` slower.
    pub fn new(members: impl IntoIterator<Item = (usize, Side, Side)>, moved_ln: f64) -> Control {
        fn square(new: &Side, old: &Side) -> f64 {
            (new.mean - old.mean).powi(2) / variance(new, old)
        }

        Control {
            squares: members
                .into_iter()
                .map(|(member, new, old)| (member, square(&new, &old)))
                .collect(),
            moved_ln,
        }
    }

    /// New over old, with the error that the control shows; `member` is the case's own number in the panel.
    pub fn compared(&self, new: &Side, old: &Side, member: Option<usize>) -> BetweenRuns {
        let mut variance = self.factor(member) * variance(new, old);
        let runs = new.runs().min(old.runs());
        let mut degrees = DEGREES + runs - 1.0;
        if new.is_placed() || old.is_placed() {
            variance += 2.0 * OF_PLACED.powi(2) / runs;
        }
        // Scatter far above the expected is believed alone: averaged with the expectation, it would be called a change too often.
        if let Some(known) = old.known() {
            let (observed, expected) = (old.variance_by(known), variance / 2.0);
            if observed > SURPRISE.powi(2) * expected {
                (variance, degrees) = (2.0 * observed, known.degrees);
            } else {
                let all = degrees + known.degrees;
                variance = 2.0 * (degrees * expected + known.degrees * observed) / all;
                degrees = all;
            }
        }
        let moved = if self.moved_ln.abs() > MUCH_MOVED {
            self.moved_ln / 2.0
        } else {
            0.0
        };
        variance += moved.powi(2) + new.disturbed().powi(2) + old.disturbed().powi(2);
        BetweenRuns {
            log_ratio: new.mean - old.mean,
            error: Deviation {
                sd: variance.sqrt(),
                degrees,
            },
        }
    }

    /// The factor for variances, by the panel's members other than `without`.
    fn factor(&self, without: Option<usize>) -> f64 {
        let others = self
            .squares
            .iter()
            .filter(|(member, _)| Some(*member) != without);
        let (mut sum, mut count) = (EXPECTED_MEMBERS, EXPECTED_MEMBERS);
        for (_, square) in others {
            sum += square;
            count += 1.0;
        }
        sum / count
    }
}

fn variance(new: &Side, old: &Side) -> f64 {
    new.in_session().sd.powi(2) + old.in_session().sd.powi(2) + LEAST_ERROR.powi(2)
}

#[cfg(test)]
mod tests {
    use super::super::Launches;
    use super::super::tests::{normal, share};
    use super::*;
    use rand::SeedableRng;
    use rand::rngs::ChaCha8Rng;

    const LAUNCHES: f64 = 0.004;

    /// One run with six launches, which something else moved by `moved`.
    fn side(random: &mut ChaCha8Rng, cost: f64, moved: f64) -> Side {
        let level = cost * (moved * normal(random)).exp();
        let levels_ns: Vec<f64> = (0..6)
            .map(|_| level * (LAUNCHES * normal(random)).exp())
            .collect();
        let logs: f64 = levels_ns.iter().map(|ns| ns.ln()).sum::<f64>() / 6.0;
        one_run(logs.exp(), levels_ns, false)
    }

    fn one_run(level_ns: f64, levels_ns: Vec<f64>, is_placed: bool) -> Side {
        let launch_scatter = if is_placed { 0.0 } else { LAUNCHES };
        let run = Launches {
            level_ns,
            levels_ns,
            launch_scatter,
            is_placed,
            ..Launches::default()
        };
        Side::from_case(&[(run, 0.0)]).unwrap()
    }

    fn compared(random: &mut ChaCha8Rng, ratio: f64, moved: f64) -> BetweenRuns {
        let members = [4, 5, 6, 7, 8, 9, 10, 11].map(|member| {
            let (new, old) = (side(random, 100.0, moved), side(random, 100.0, moved));
            (member, new, old)
        });
        let control = Control::new(members, 0.0);
        let (new, old) = (
            side(random, 100.0 * ratio, moved),
            side(random, 100.0, moved),
        );
        control.compared(&new, &old, None)
    }

    /// Launches alone would hold it in a third of the comparisons where something else moves each case by 1%.
    #[test]
    fn what_moves_the_panel_widens_the_interval_of_a_row() {
        for moved in [0.0, 0.003, 0.01] {
            let held = share(1, 1000, |random| {
                let (low, high) = compared(random, 1.05, moved).low_high();
                low <= 1.05 && 1.05 <= high
            });
            assert!(held >= 0.93, "{moved}: {held}");
        }
    }

    #[test]
    fn a_quiet_panel_lets_one_percent_be_seen_and_sameness_be_told() {
        let seen = share(2, 1000, |random| {
            compared(random, 1.01, 0.0).p_differs() < 0.05
        });
        let same = share(3, 1000, |random| {
            compared(random, 1.0, 0.0).p_same(0.01) < 0.05
        });
        let wrong = share(4, 1000, |random| {
            compared(random, 1.0, 0.01).p_differs() < 0.05
        });
        assert!(
            seen > 0.6 && same > 0.6 && wrong < 0.06,
            "{seen} {same} {wrong}"
        );
    }

    /// Where earlier runs scatter as the runs of a side do, these average it out.
    #[test]
    fn several_runs_of_a_side_know_better_than_one() {
        fn half_width(runs: usize) -> f64 {
            let mut random = ChaCha8Rng::seed_from_u64(7);
            let earlier: Vec<f64> = (0..20).map(|_| one_cost(&mut random)).collect();
            let [new, old] = [(); 2].map(|()| group(runs, &mut random, &earlier));
            Control::new([], 0.0)
                .compared(&new, &old, None)
                .error
                .half_width()
        }

        fn one_cost(random: &mut ChaCha8Rng) -> f64 {
            100.0 * (0.01 * normal(random)).exp()
        }

        fn group(runs: usize, random: &mut ChaCha8Rng, earlier: &[f64]) -> Side {
            let runs: Vec<(Launches, f64)> = (0..runs)
                .map(|_| {
                    let level_ns = one_cost(random);
                    let run = Launches {
                        level_ns,
                        levels_ns: vec![level_ns; 6],
                        launch_scatter: LAUNCHES,
                        earlier: earlier.to_vec(),
                        ..Launches::default()
                    };
                    (run, 0.0)
                })
                .collect();
            Side::from_case(&runs).unwrap()
        }

        assert!(
            half_width(9) < 0.6 * half_width(1),
            "{} {}",
            half_width(9),
            half_width(1)
        );
    }

    #[test]
    fn a_member_is_no_control_of_itself() {
        fn sure(ns: f64) -> Side {
            one_run(ns, vec![ns; 6], false)
        }

        let moved = (4, sure(110.0), sure(100.0));
        let control = Control::new([moved, (5, sure(100.0), sure(100.0))], 0.0);
        let [without_itself, with_all] = [Some(4), None].map(|member| {
            control
                .compared(&sure(100.0), &sure(100.0), member)
                .error
                .sd
        });
        assert!(without_itself < 0.7 * with_all);
    }

    #[test]
    fn where_pages_and_threads_are_placed_one_run_tells_little() {
        fn placed(ns: f64) -> Side {
            one_run(ns, vec![ns; 6], true)
        }

        let control = Control::new([], 0.0);
        let [near, far] = [115.0, 200.0].map(|ns| {
            control
                .compared(&placed(ns), &placed(100.0), None)
                .p_differs()
        });
        assert!(near > 0.05 && far < 0.05);
    }
}
