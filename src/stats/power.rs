//! How many runs a comparison needs: the sample size of a two-sided test of two means (Snedecor and Cochran, Statistical
//! Methods, section 6.14), with Student's quantiles at the degrees of freedom that so many runs have.

use super::between::{Launches, relative_degrees, relative_variance};
use super::student;

/// How a row scatters from run to run, relative to the machine as a whole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunDeviation {
    /// Standard deviation of a single run, on the log scale.
    pub deviation: f64,
    pub degrees: f64,
}

/// The scatter of a case over `runs`, each with how much slower the machine was, on the log scale; from one run, what its
/// launches and earlier experience let expect. `None` without runs.
pub fn run_deviation(runs: &[(Launches, f64)]) -> Option<RunDeviation> {
    let (variance, degrees) = relative_variance(&[runs])?;
    Some(RunDeviation { deviation: variance.sqrt(), degrees })
}

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

/// How many runs a side find the change with a chance of `POWER`; `None` if `MOST_RUNS` do not, or it is within the margin.
pub fn runs_needed(row: RunDeviation, wanted: Wanted) -> Option<u32> {
    let distance = wanted.change.ln_1p() - wanted.margin.ln_1p();
    let enough = |runs: &u32| {
        let degrees = relative_degrees(row.degrees, *runs);
        let needed = student::quantile(LEVEL / wanted.rows.max(1) as f64 / 2.0, degrees)
            + student::quantile(1.0 - POWER, degrees);
        distance > needed * row.deviation * (2.0 / f64::from(*runs)).sqrt()
    };
    (1..=MOST_RUNS).find(enough)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TWO_PERCENT: Wanted = Wanted { change: 0.02, margin: 0.0, rows: 1 };

    fn row(deviation: f64) -> RunDeviation {
        RunDeviation { deviation, degrees: 4.0 }
    }

    #[test]
    fn more_scatter_and_more_rows_need_more_runs() {
        let needed = |deviation, wanted| runs_needed(row(deviation), wanted);
        assert_eq!(needed(0.0005, TWO_PERCENT), Some(1));
        let (some, more) = (needed(0.01, TWO_PERCENT).unwrap(), needed(0.02, TWO_PERCENT).unwrap());
        assert!(some < more && more < 40, "{some} {more}");
        assert!(needed(0.01, Wanted { rows: 40, ..TWO_PERCENT }) > Some(some));
        assert!(needed(0.01, Wanted { margin: 0.01, ..TWO_PERCENT }) > Some(some));
        assert_eq!(needed(0.5, TWO_PERCENT), None);
        assert_eq!(needed(0.001, Wanted { margin: 0.02, ..TWO_PERCENT }), None);
    }

    /// 17 runs a side for a difference of one standard deviation (level 5%, power 80%) is the textbook's; 90% needs 23.
    #[test]
    fn a_difference_of_one_standard_deviation_needs_what_the_textbook_says() {
        let wanted = Wanted { change: 0.01f64.exp_m1(), ..TWO_PERCENT };
        let runs = runs_needed(RunDeviation { deviation: 0.01, degrees: 0.0 }, wanted).unwrap();
        assert!((22..=24).contains(&runs), "{runs}");
    }
}
