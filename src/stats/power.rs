//! How many runs a comparison needs: the sample size of a two-sided test of two means (Snedecor and Cochran, Statistical
//! Methods, section 6.14), with Student's quantiles at the degrees of freedom that so many runs have.

use super::between::{Deviation, Side};
use super::student;

/// What a comparison is to show.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// The change that is to be found, and the one that is small enough to ignore, both as shares.
    pub change: f64,
    pub margin: f64,
    /// How many rows are compared together: the level is divided by their number.
    pub rows: usize,
}

/// Chance of finding the change.
pub const POWER: f64 = 0.9;
const LEVEL: f64 = 0.05;
/// More runs are no plan.
pub const MOST_RUNS: u32 = 200;

/// How many runs a side find the change with a chance of `POWER`: that there is one, and that it is not within the margin. `None`
/// if `MOST_RUNS` do not.
pub fn runs_needed(row: &Side, wanted: Wanted) -> Option<u32> {
    let change = wanted.change.ln_1p();
    let enough = |runs: &u32| {
        let (certain, power) = distances(row, *runs, wanted.rows);
        change > certain + power && change - wanted.margin.ln_1p() > power
    };
    (1..=MOST_RUNS).find(enough)
}

/// How far a ratio must be from 1 to be no chance, and how much farther the change is that is found with a chance of `POWER`;
/// both on the log scale.
fn distances(row: &Side, runs: u32, rows: usize) -> (f64, f64) {
    let of_side = row.error_of(f64::from(runs));
    let error = Deviation::sum([of_side, of_side]);
    let degrees = error.degrees.max(2.0 * f64::from(runs - 1));
    let quantile = |tail| student::quantile(tail, degrees) * error.sd;
    (quantile(LEVEL / rows.max(1) as f64 / 2.0), quantile(1.0 - POWER))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::Launches;

    const TWO_PERCENT: Wanted = Wanted { change: 0.02, margin: 0.0, rows: 1 };

    /// A case whose earlier runs agree, and whose runs of today scatter by `deviation`.
    fn row(deviation: f64) -> Side {
        let run = |sign: f64| Launches {
            median_ns: 100.0 * (sign * deviation).exp(),
            medians_ns: vec![100.0, 101.0],
            earlier: vec![1.0; 3],
            ..Launches::default()
        };
        Side::of_case(&[-1.0, 0.0, 1.0].map(|sign| (run(sign), 0.0))).unwrap()
    }

    #[test]
    fn more_scatter_and_more_rows_need_more_runs() {
        let needed = |deviation, wanted| runs_needed(&row(deviation), wanted);
        assert_eq!(needed(0.0005, TWO_PERCENT), Some(1));
        let (some, more) = (needed(0.01, TWO_PERCENT).unwrap(), needed(0.02, TWO_PERCENT).unwrap());
        assert!(some < more && more < 40, "{some} {more}");
        assert!(needed(0.01, Wanted { rows: 40, ..TWO_PERCENT }) > Some(some));
        assert!(needed(0.01, Wanted { margin: 0.016, ..TWO_PERCENT }) > Some(some));
        assert_eq!(needed(0.5, TWO_PERCENT), None);
        assert_eq!(needed(0.001, Wanted { margin: 0.02, ..TWO_PERCENT }), None);
    }

    /// 17 runs a side for a difference of one standard deviation (level 5%, power 80%) is the textbook's; 90% needs 23.
    #[test]
    fn a_difference_of_one_standard_deviation_needs_what_the_textbook_says() {
        let wanted = Wanted { change: 0.01f64.exp_m1(), ..TWO_PERCENT };
        let runs = runs_needed(&row(0.01), wanted).unwrap();
        assert!((22..=24).contains(&runs), "{runs}");
    }

    /// What differs between sessions is in all runs of one: no number of them finds less.
    #[test]
    fn runs_of_one_session_do_not_average_what_differs_between_sessions() {
        let earlier = vec![0.97, 1.0, 1.03, 1.0, 0.98];
        let run = Launches { median_ns: 100.0, medians_ns: vec![100.0, 100.1, 99.9], earlier, ..Launches::default() };
        let row = Side::of_case(&[(run, 0.0)]).unwrap();
        assert_eq!(runs_needed(&row, TWO_PERCENT), None);
    }
}
