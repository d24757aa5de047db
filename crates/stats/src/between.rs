//! The mean of a case over the runs of one side, the distance of other runs from it, and ratios between sides. Called by
//! `summary`, `compare` and `attribute`; within one run, `paired` is better.
//!
//! Three effects differ between runs, and no number of batches averages them out. The machine's speed (frequency, neighbours)
//! moves all cases of a run together; a panel of operations shows it (`speed`), and what is left after its removal repeats
//! several times more closely. The memory layout of each launch shifts a cost, so launches are the least unit of scatter. And
//! page placement and the kernel's own state move single cases from one session to the next, which only earlier runs show.
//!
//! All values are logarithms, and assumed to be normal.

use super::deviation::MOST_DEGREES;
use super::launches::{Launches, by_launches, logs_of};
use super::{Deviation, moments, student};

/// The scatter of whole runs if fewer than three runs of the machine are known: 1.5%. Repeated runs scattered
/// by 0.6 to 1.5% on one shared machine and by 1.2 to 6.5% on another (METHOD.md).
pub const BETWEEN_RUNS: Deviation = Deviation {
    sd: 0.015,
    degrees: 2.0,
};

// Kept runs: the middle row scatters by 0.7 to 1%, others by 1.8 to 11%. Twice as much would double `±` of rows with few known runs.
/// The expected scatter of a case between runs, relative to the machine, before its own runs show it: that of cases in runs that are
/// kept, whose scatters differ as much as those of four degrees of freedom would (METHOD.md).
const EXPECTED: Deviation = Deviation {
    sd: 0.008,
    degrees: 4.0,
};

/// The same of cases that take page faults or switch threads: where pages and threads are placed differs from run to run.
const EXPECTED_OF_PLACED: Deviation = Deviation {
    sd: 0.04,
    degrees: 4.0,
};

// Among 11 comparisons of such runs, 0.02 to 0.3 gave one false verdict and 0 gave two: the control shows the rest.
/// Extra error of costs with hardly any undisturbed rounds, beyond what the control shows: a standard deviation of logarithms.
const DISTURBED: f64 = 0.02;

/// Fewer runs do not show what they scatter by.
const FEWEST_SHOWN: f64 = 3.0;

/// The standard deviation of a time between two readings of a clock, in steps of that clock: 1 / sqrt(6), as each reading is off
/// by anything up to a step.
// Taken from the uniform distribution of the phase at which each reading falls within a step.
const OF_A_STEP: f64 = 0.408;

impl Launches {
    fn expected(&self) -> Deviation {
        if self.is_placed {
            EXPECTED_OF_PLACED
        } else {
            EXPECTED
        }
    }
}

/// Where something stands in the runs of one side, which were made in one session, and how far other runs may be from there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Side {
    pub mean: f64,
    runs: f64,
    within: Deviation,
    session: Deviation,
    next: NextRun,
    known: Option<Deviation>,
    disturbed: f64,
    is_placed: bool,
}

#[derive(Clone, Copy)]
enum Session {
    /// All that earlier runs show: what moves the runs of one session is part of it.
    Known(Deviation),
    /// No earlier run is known: this comes on top.
    Expected(Deviation),
}

/// The prediction for a run of another session: its distance from the mean, and its deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NextRun {
    from_mean: f64,
    deviation: Deviation,
}

impl Side {
    /// A case by its runs, each with how much slower the machine was. `None` without runs, or if one has no launch.
    pub fn from_case(runs: &[(Launches, f64)]) -> Option<Side> {
        let logs: Vec<f64> = runs
            .iter()
            .map(|(run, slower_ln)| run.level_ns.ln() - slower_ln)
            .collect();
        let launches: Vec<Deviation> = runs
            .iter()
            .map(|(run, _)| by_launches(run))
            .collect::<Option<_>>()?;
        // The earlier runs of the first one: later ones may already show the change that is looked for.
        let earlier = runs
            .iter()
            .map(|(run, _)| run)
            .min_by_key(|run| run.earlier.len())?;
        let (expected, earlier) = (earlier.expected(), logs_of(&earlier.earlier));
        // One typical run: the root mean square of the launch errors of all runs.
        let one =
            Deviation::sum(launches.iter().copied()).times(1.0 / (launches.len() as f64).sqrt());
        let session = if earlier.is_empty() {
            Session::Expected(expected)
        } else {
            Session::Known(expected.moderated(&earlier))
        };
        let mut side = Side::new(&logs, one, session);
        side.known = Deviation::known(&earlier);
        side.is_placed = runs.iter().any(|(run, _)| run.is_placed);
        side.disturb(
            runs.iter()
                .map(|(run, _)| run.disturbed_ln)
                .fold(0.0, f64::max),
        );
        if runs.iter().any(|(run, _)| run.is_disturbed) {
            side.disturbed = side.disturbed.max(DISTURBED);
        }
        let step = runs
            .iter()
            .map(|(run, _)| run.clock_step)
            .fold(0.0, f64::max);
        // With a coarse clock, equal runs may agree by rounding alone.
        side.within.sd = side.within.sd.max(OF_A_STEP * step);
        // Several runs have a mean of their own; a single one is only one more of the earlier runs.
        side.next = match runs {
            [(run, _)] => by_known_runs(run),
            _ => None,
        }
        .unwrap_or(side.next);
        side.next.deviation.sd = side.next.deviation.sd.max(OF_A_STEP * step);
        Some(side).filter(|side| side.mean.is_finite())
    }

    /// The machine as a whole, by how much slower it was in each run (none if that is unknown) and by what moves whole runs.
    pub fn from_machine(slower_ln: &[f64], learned: Deviation) -> Side {
        Side::new(slower_ln, Deviation::NONE, Session::Known(learned))
    }

    pub fn in_runs(&self, slower_ln: &[f64]) -> Side {
        Side::from_machine(slower_ln, self.one_run())
    }

    /// The mean of sides that were measured in one session, each with how much slower the machine was; 0 if that is unknown.
    pub fn together(sides: &[Side], slower_ln: &[f64]) -> Option<Side> {
        let means: Vec<f64> = sides
            .iter()
            .enumerate()
            .map(|(i, side)| side.mean - slower_ln.get(i).copied().unwrap_or(0.0))
            .collect();
        sides
            .first()
            .map(|first| Side::new(&means, first.within, Session::Known(first.one_run())))
    }

    /// `one` is the expected scatter of a run, which counts if the runs themselves do not show it.
    fn new(logs: &[f64], one: Deviation, session: Session) -> Side {
        let within = Deviation::known(logs).unwrap_or(one);
        let runs = logs.len().max(1) as f64;
        let (within, session) = match session {
            Session::Expected(session) => (within, session),
            Session::Known(known) => {
                // Earlier runs scatter by both parts, so the rest of their variance is that between sessions.
                let variance = known.sd.powi(2) - within.sd.powi(2);
                let session = Deviation {
                    sd: variance.max(0.0).sqrt(),
                    ..known
                };
                // The scatter between sessions bounds that within one, so its degrees of freedom count for both.
                let degrees = known.degrees.max(within.degrees);
                (Deviation { degrees, ..within }, session)
            }
        };
        // The next run differs by its own scatter and by the error of this mean, and its session by the scatter of two sessions.
        let parts = [
            within.times((1.0 + 1.0 / runs).sqrt()),
            session.times(std::f64::consts::SQRT_2),
        ];
        Side {
            mean: if logs.is_empty() {
                0.0
            } else {
                moments(logs).0
            },
            runs,
            within,
            session,
            next: NextRun {
                from_mean: 0.0,
                deviation: Deviation::sum(parts),
            },
            known: None,
            disturbed: 0.0,
            is_placed: false,
        }
    }

    /// Some rows are not slowed at all and others twice as much; 95% are within that.
    fn disturb(&mut self, slower_ln: f64) {
        let unevenly = Deviation {
            sd: slower_ln / 2.0,
            degrees: MOST_DEGREES,
        };
        self.disturbed = unevenly.sd;
        self.session = Deviation::sum([self.session, unevenly]);
        self.next.deviation = Deviation::sum([self.next.deviation, unevenly]);
    }

    /// Scatter within a session and between sessions.
    pub fn one_run(&self) -> Deviation {
        Deviation::sum([self.within, self.session])
    }

    /// The part of the mean's error that is not shared by what was measured in the same session.
    pub fn in_session(&self) -> Deviation {
        self.within.times(1.0 / self.runs.sqrt())
    }

    /// The standard error of the mean, on the log scale.
    pub fn error(&self) -> Deviation {
        Deviation::sum([self.in_session(), self.session])
    }

    pub(super) fn runs(&self) -> f64 {
        self.runs
    }

    pub(super) fn known(&self) -> Option<Deviation> {
        self.known
    }

    /// The variance of the mean if earlier runs scatter by `known`. The scatter that the runs of this side show is averaged; the rest of `known`
    /// differs between sessions, and they share it. One or two runs show no scatter.
    pub(super) fn variance_by(&self, known: Deviation) -> f64 {
        let all = known.sd.powi(2);
        if self.runs < FEWEST_SHOWN {
            return all;
        }
        let within = self.within.sd.powi(2);
        (all - within).max(0.0) + within / self.runs
    }

    pub(super) fn is_placed(&self) -> bool {
        self.is_placed
    }

    pub(super) fn disturbed(&self) -> f64 {
        self.disturbed
    }

    pub fn next_run(&self) -> Deviation {
        self.next.deviation
    }

    pub fn expected(&self, value: f64) -> f64 {
        value * self.next.from_mean.exp()
    }
}

/// From the mean of this run and the earlier ones; `None` if none is known.
fn by_known_runs(run: &Launches) -> Option<NextRun> {
    let this_ln = run.relative?.ln();
    let mut known = logs_of(&run.earlier);
    if known.is_empty() || !this_ln.is_finite() {
        return None;
    }
    known.push(this_ln);
    let one = run.expected().moderated(&known);
    Some(NextRun {
        from_mean: moments(&known).0 - this_ln,
        deviation: one.times((1.0 + 1.0 / known.len() as f64).sqrt()),
    })
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetweenRuns {
    pub log_ratio: f64,
    pub error: Deviation,
}

impl BetweenRuns {
    /// The errors of the sides are independent.
    pub fn from_sides(new: &[Side], old: &[Side]) -> BetweenRuns {
        fn mean(sides: &[Side]) -> f64 {
            sides.iter().map(|side| side.mean).sum()
        }

        let error = Deviation::sum(new.iter().chain(old).map(Side::error));
        BetweenRuns {
            log_ratio: mean(new) - mean(old),
            error,
        }
    }

    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

    /// The 95% interval.
    pub fn low_high(&self) -> (f64, f64) {
        let half = self.error.half_width();
        ((self.log_ratio - half).exp(), (self.log_ratio + half).exp())
    }

    /// The probability of a ratio this far from 1 if the truth is 1; two-sided, so that it is under 5% if the interval lies
    /// wholly on one side.
    pub fn p_differs(&self) -> f64 {
        self.two_sided(self.log_ratio.abs())
    }

    /// The probability of a ratio this far inside `1 / (1 + margin) .. 1 + margin` if the truth is at the border: two one-sided tests
    /// (Schuirmann 1987), so that it is under 5% if the 90% interval lies wholly inside.
    pub fn p_same(&self, margin: f64) -> f64 {
        self.two_sided(margin.ln_1p() - self.log_ratio.abs()) / 2.0
    }

    fn two_sided(&self, distance: f64) -> f64 {
        (2.0 * student::upper_tail(distance / self.error.sd, self.error.degrees)).min(1.0)
    }
}

#[cfg(test)]
mod tests;
