//! Where a case stands in the runs of one side, how far other runs may be from there, and ratios between sides. Called by
//! `summary`, `compare` and `attribute`; within one run, `paired` is better.
//!
//! Three effects differ between runs, and no number of batches averages them out. The machine's speed (frequency, neighbours)
//! moves all cases of a run together; a panel of operations shows it (`speed`), and what is left after its removal repeats
//! several times more closely. The memory layout of each launch shifts a cost, so launches are the least unit of scatter. And
//! page placement and the kernel's own state move single cases from one session to the next, which only earlier runs show.
//!
//! All values are logarithms, and assumed to be normal.

use super::interval::Interval;
use super::{Calm, median, moments, student};
use model::{Measurement, Nanos};

/// What moves all cases of a run together where fewer than three runs of the machine are known: 1.5%. Repeated runs scattered
/// by 0.6 to 1.5% on one shared machine and by 1.2 to 6.5% on another (METHOD.md).
pub const BETWEEN_RUNS: Deviation = Deviation {
    sd: 0.015,
    degrees: 2.0,
};

/// What a case is expected to scatter by between runs, relative to the machine, before its own runs show it: as cases did in runs that are
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

/// Where neither the panel nor other launches show what launches scatter by.
const ONE_LAUNCH: Deviation = Deviation {
    sd: 0.02,
    degrees: 2.0,
};

/// The scatter of a case's launches is expected to be that of the panel's, known as well as by these degrees of freedom.
const EXPECTED_OF_LAUNCHES: f64 = 4.0;

/// So many times as much where pages and threads are placed.
const PLACED_LAUNCHES: f64 = 3.0;

/// So many members must show it.
const FEWEST_SCATTERS: usize = 3;

/// Fewer undisturbed rounds of a launch show nothing.
const FEWEST_ROUNDS: usize = 3;

/// Degrees of freedom from which on values show their scatter.
const FEWEST_KNOWN: f64 = 2.0;

/// Rounds of the median polish; it converges after a few.
const POLISHES: usize = 20;

/// From here on, Student's t is normal.
const MOST_DEGREES: f64 = 1e6;

/// Variance of the median of several launches over that of their mean: at most this, for normal launches
/// (Kendall and Stuart, The Advanced Theory of Statistics, 14.12).
pub(super) const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

/// What costs from hardly an undisturbed round may be off by, as a standard deviation.
const DISTURBED: f64 = 0.3;

/// Level of the interval for the next run's median.
pub const NEXT_RUN: f64 = 0.95;

/// The smallest error where no clock's step is known: values that are all equal are no proof.
pub(super) const LEAST_ERROR: f64 = 1e-6;

/// The standard deviation of a time between two readings of a clock, in steps of that clock: 1 / sqrt(6), as each reading is off
/// by anything up to a step.
const OF_A_STEP: f64 = 0.408;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launches {
    /// Median over all batches, in nanoseconds per iteration.
    pub median_ns: f64,
    /// The same with the batches of each round divided by how much slower the panel was in it.
    pub level_ns: f64,
    /// The same of each launch.
    pub levels_ns: Vec<f64>,
    /// The number of undisturbed rounds that these are from; 0 if there was none.
    pub rounds: usize,
    /// ln of what launches of the panel scatter by, as a standard deviation; 0 if that is unknown.
    pub of_launches: f64,
    /// The cost relative to the machine, in units of its panel.
    pub relative: Option<f64>,
    /// The same in earlier runs.
    pub earlier: Vec<f64>,
    /// Whether it is relative to the machine in user mode alone.
    pub in_user_mode: bool,
    /// Whether it takes page faults or switches threads.
    pub is_placed: bool,
    /// ln of how much slower everything was in a run that was disturbed all the time; else 0.
    pub disturbed_ln: f64,
    /// Whether hardly a round was undisturbed.
    pub is_disturbed: bool,
    /// The step of the clock, as a share of a batch; 0 if it is unknown.
    pub clock_step: f64,
}

impl Launches {
    fn expected(&self) -> Deviation {
        if self.is_placed {
            EXPECTED_OF_PLACED
        } else {
            EXPECTED
        }
    }
}

/// A standard deviation on the log scale, and the degrees of freedom that it is known by.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Deviation {
    pub sd: f64,
    pub degrees: f64,
}

impl Deviation {
    const NONE: Deviation = Deviation {
        sd: 0.0,
        degrees: f64::INFINITY,
    };

    /// That of these values, as far as they are finite; `None` for fewer than three.
    pub fn known(values: &[f64]) -> Option<Deviation> {
        Deviation::of(values, FEWEST_KNOWN)
    }

    /// The same with another least number of degrees of freedom.
    pub(super) fn of(values: &[f64], fewest: f64) -> Option<Deviation> {
        let known: Vec<f64> = values
            .iter()
            .copied()
            .filter(|value| value.is_finite())
            .collect();
        let degrees = known.len() as f64 - 1.0;
        let sd = || (moments(&known).1 / degrees).sqrt().max(LEAST_ERROR);
        (degrees >= fewest).then(|| Deviation { sd: sd(), degrees })
    }

    /// This, which was expected, and what `values` (one or more) show, by their degrees of freedom (Smyth, Linear models and empirical
    /// Bayes methods, 2004); of values that scatter far more than was expected, what they show.
    fn moderated(self, values: &[f64]) -> Deviation {
        let own = Deviation::known(values).filter(|own| own.sd > SURPRISE * self.sd);
        own.unwrap_or_else(|| {
            let degrees = self.degrees + values.len() as f64 - 1.0;
            let variance = (self.degrees * self.sd.powi(2) + moments(values).1) / degrees;
            Deviation {
                sd: variance.sqrt(),
                degrees,
            }
        })
    }

    pub(super) fn of_mean(values: &[f64]) -> Option<Deviation> {
        let one = Deviation::known(values)?;
        Some(one.times(1.0 / (one.degrees + 1.0).sqrt()))
    }

    /// That of the sum of independent values, with the degrees of freedom of Welch and Satterthwaite.
    pub fn sum(parts: impl IntoIterator<Item = Deviation>) -> Deviation {
        let (mut variance, mut doubt) = (0.0, 0.0);
        for part in parts {
            variance += part.sd.powi(2);
            doubt += part.sd.powi(4) / part.degrees;
        }
        let degrees = if doubt > 0.0 {
            (variance * variance / doubt).clamp(1.0, MOST_DEGREES)
        } else {
            MOST_DEGREES
        };
        Deviation {
            sd: variance.sqrt(),
            degrees,
        }
    }

    fn times(self, factor: f64) -> Deviation {
        Deviation {
            sd: self.sd * factor,
            ..self
        }
    }

    pub(super) fn half_width(self) -> f64 {
        student::quantile((1.0 - NEXT_RUN) / 2.0, self.degrees) * self.sd
    }

    /// Half the width of the 95% interval around 1, in percent.
    pub fn percent(self) -> f64 {
        self.interval(1.0)
            .and_then(|interval| interval.half_width_percent(Nanos(1.0)))
            .unwrap_or(0.0)
    }

    pub fn interval(self, middle: f64) -> Option<Interval> {
        let factor = self.half_width().exp();
        Nanos(middle).is_cost().then(|| Interval {
            low: middle / factor,
            high: middle * factor,
            level: NEXT_RUN,
        })
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
    /// What earlier runs scattered by.
    known: Option<Deviation>,
    /// What may have moved a run that was disturbed all the time.
    disturbed: f64,
    is_placed: bool,
}

/// What moves a side from one session to the next.
#[derive(Clone, Copy)]
enum Session {
    /// All that earlier runs show: what moves the runs of one session is part of it.
    Known(Deviation),
    /// No earlier run is known: this comes on top.
    Expected(Deviation),
}

/// Where a run of another session will be: how far from the mean, and with which deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
struct NextRun {
    from_mean: f64,
    deviation: Deviation,
}

impl Side {
    /// A case by its runs, each with how much slower the machine was. `None` without runs, or if one has no launch.
    pub fn of_case(runs: &[(Launches, f64)]) -> Option<Side> {
        let logs: Vec<f64> = runs
            .iter()
            .map(|(run, slower_ln)| run.level_ns.ln() - slower_ln)
            .collect();
        let launches: Vec<Deviation> = runs
            .iter()
            .map(|(run, _)| by_launches(run))
            .collect::<Option<_>>()?;
        // Those of the first: later ones may already show what the side is compared for.
        let earlier = runs
            .iter()
            .map(|(run, _)| run)
            .min_by_key(|run| run.earlier.len())?;
        let (expected, earlier) = (earlier.expected(), logs_of(&earlier.earlier));
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
        side.within.sd = side.within.sd.max(OF_A_STEP * step);
        side.next = match runs {
            [(run, _)] => by_known_runs(run),
            _ => None,
        }
        .unwrap_or(side.next);
        side.next.deviation.sd = side.next.deviation.sd.max(OF_A_STEP * step);
        Some(side).filter(|side| side.mean.is_finite())
    }

    /// The machine as a whole, by how much slower it was in each run (none if that is unknown) and by what moves whole runs.
    pub fn of_machine(slower_ln: &[f64], learned: Deviation) -> Side {
        Side::new(slower_ln, Deviation::NONE, Session::Known(learned))
    }

    /// The machine with how much slower it was in each of these runs.
    pub fn in_runs(&self, slower_ln: &[f64]) -> Side {
        Side::of_machine(slower_ln, self.one_run())
    }

    /// Of sides that were measured in one session, each with how much slower the machine was; 0 where that is unknown.
    pub fn together(sides: &[Side], slower_ln: &[f64]) -> Option<Side> {
        let slower = |i: usize| slower_ln.get(i).copied().unwrap_or(0.0);
        let means: Vec<f64> = sides
            .iter()
            .enumerate()
            .map(|(i, side)| side.mean - slower(i))
            .collect();
        sides
            .first()
            .map(|first| Side::new(&means, first.within, Session::Known(first.one_run())))
    }

    /// `one` is what is expected to move a run, where the runs themselves do not show it.
    fn new(logs: &[f64], one: Deviation, session: Session) -> Side {
        let within = Deviation::known(logs).unwrap_or(one);
        let runs = logs.len().max(1) as f64;
        let (within, session) = match session {
            Session::Expected(session) => (within, session),
            Session::Known(known) => {
                let variance = known.sd.powi(2) - within.sd.powi(2);
                let session = Deviation {
                    sd: variance.max(0.0).sqrt(),
                    ..known
                };
                // What is known of several sessions holds of the runs in one as well.
                let degrees = known.degrees.max(within.degrees);
                (Deviation { degrees, ..within }, session)
            }
        };
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

    /// What disturbs a run all the time slows some rows not at all and others twice as much: 95% are within that.
    fn disturb(&mut self, slower_ln: f64) {
        let unevenly = Deviation {
            sd: slower_ln / 2.0,
            degrees: MOST_DEGREES,
        };
        self.disturbed = unevenly.sd;
        self.session = Deviation::sum([self.session, unevenly]);
        self.next.deviation = Deviation::sum([self.next.deviation, unevenly]);
    }

    pub fn one_run(&self) -> Deviation {
        Deviation::sum([self.within, self.session])
    }

    /// The part of the mean's error that is not shared by what was measured in the same session.
    pub fn in_session(&self) -> Deviation {
        self.within.times(1.0 / self.runs.sqrt())
    }

    pub fn error(&self) -> Deviation {
        Deviation::sum([self.in_session(), self.session])
    }

    pub(super) fn runs(&self) -> f64 {
        self.runs
    }

    pub(super) fn known(&self) -> Option<Deviation> {
        self.known
    }

    pub(super) fn is_placed(&self) -> bool {
        self.is_placed
    }

    pub(super) fn disturbed(&self) -> f64 {
        self.disturbed
    }

    /// How far a run of another session may be from where it is expected.
    pub fn next_run(&self) -> Deviation {
        self.next.deviation
    }

    /// Where a run of another session is expected, if this side stands at `value`.
    pub fn expected(&self, value: f64) -> f64 {
        value * self.next.from_mean.exp()
    }
}

/// From the mean of this run and the earlier ones; `None` if none is known.
fn by_known_runs(run: &Launches) -> Option<NextRun> {
    let own = run.relative?.ln();
    let mut known = logs_of(&run.earlier);
    if known.is_empty() || !own.is_finite() {
        return None;
    }
    known.push(own);
    let one = run.expected().moderated(&known);
    Some(NextRun {
        from_mean: moments(&known).0 - own,
        deviation: one.times((1.0 + 1.0 / known.len() as f64).sqrt()),
    })
}

/// Those that are finite.
fn logs_of(costs: &[f64]) -> Vec<f64> {
    costs
        .iter()
        .map(|cost| cost.ln())
        .filter(|log| log.is_finite())
        .collect()
}

/// What launches show of how far the level of a run moves; `None` without any.
fn by_launches(run: &Launches) -> Option<Deviation> {
    let logs = logs_of(&run.levels_ns);
    if logs.is_empty() {
        return None;
    }
    let one = if run.of_launches > 0.0 {
        let times = if run.is_placed { PLACED_LAUNCHES } else { 1.0 };
        let expected = Deviation {
            sd: times * run.of_launches,
            degrees: EXPECTED_OF_LAUNCHES,
        };
        expected.moderated(&logs)
    } else {
        let own = Deviation::of(&logs, 1.0).unwrap_or(ONE_LAUNCH);
        own.times(OF_MEDIAN.sqrt())
    };
    Some(one.times(1.0 / (logs.len() as f64).sqrt()))
}

/// Times as much scatter as expected, from which on a case is of another kind.
const SURPRISE: f64 = 2.0;

/// Page faults per iteration from which on they are the operation's own.
const FAULTS: f64 = 0.5;

/// The launches of a measurement in undisturbed rounds, or in all if none was; `None` without a sample above 0. `yardsticks` are the
/// members of the panel that tell how much slower a round was.
pub fn launches(m: &Measurement, calm: &Calm, yardsticks: &[usize]) -> Option<Launches> {
    let undisturbed = calm.undisturbed(m);
    let kept = undisturbed.as_deref().unwrap_or(m);
    let rounds = levels(kept, calm, yardsticks);
    let median_ns = positive(median(kept.samples().map(|ns| ns.0).collect()))?;
    let clock_step = m.clock_step_ns.unwrap_or(0.0) / (median_ns * m.iterations as f64);
    let by_launch: Vec<Vec<f64>> = rounds
        .chunk_by(|a, b| a.0 == b.0)
        .map(|rounds| rounds.iter().map(|(_, ns)| *ns).collect())
        .collect();
    let most = by_launch.iter().map(Vec::len).max()?;
    let levels_ns = by_launch
        .into_iter()
        .filter(|rounds| rounds.len() >= FEWEST_ROUNDS.min(most))
        .filter_map(median)
        .collect();
    Some(Launches {
        median_ns,
        level_ns: median(rounds.iter().map(|(_, ns)| *ns).collect())?,
        levels_ns,
        rounds: if undisturbed.is_some() {
            rounds.len()
        } else {
            0
        },
        earlier: m.earlier.clone(),
        is_placed: is_placed(m),
        clock_step,
        ..Launches::default()
    })
}

/// Whether it takes page faults or switches threads.
pub fn is_placed(m: &Measurement) -> bool {
    let iterations = m.samples().count() as f64 * m.iterations as f64;
    m.switches || m.minor_faults as f64 > FAULTS * iterations
}

/// What launches of the panel scatter by; 0 if few of its members show it.
pub fn scatter_of_launches<'a>(members: impl Iterator<Item = &'a Launches>) -> f64 {
    let scatters: Vec<f64> = members
        .filter_map(|member| Deviation::known(&logs_of(&member.levels_ns)))
        .map(|one| one.sd)
        .collect();
    if scatters.len() < FEWEST_SCATTERS {
        return 0.0;
    }
    median(scatters).unwrap_or(0.0)
}

/// The launch of each round, and its median batch in nanoseconds per iteration, divided by how much slower the round was.
fn levels(m: &Measurement, calm: &Calm, yardsticks: &[usize]) -> Vec<(u32, f64)> {
    let mut levels = Vec::new();
    for (block, one) in m.blocks.iter().enumerate() {
        for (round, slot) in one.slots.iter().enumerate() {
            let ns = median(
                slot.iter()
                    .map(|ns| *ns as f64 / m.iterations as f64)
                    .collect(),
            );
            if let Some(ns) = positive(ns) {
                let slower = calm.slower_ln(yardsticks, block, round).exp();
                levels.push((one.launch, ns / slower));
            }
        }
    }
    levels
}

fn positive(ns: Option<f64>) -> Option<f64> {
    ns.filter(|ns| *ns > 0.0 && ns.is_finite())
}

/// How far the runs of two sides, `old` before `new`, are from each other, by the members of the panel that all of them have:
/// one list a member, one logarithm a run. `None` with fewer members than `fewest`.
pub fn run_shifts(members: &[Vec<f64>], fewest: usize) -> Option<Vec<f64>> {
    let runs = members.first()?.len();
    (members.len() >= fewest).then(|| polished(members, runs))
}

/// Two-way median polish (Tukey, Exploratory Data Analysis, 1977): how far each column is from the others, the median being 0.
fn polished(rows: &[Vec<f64>], count: usize) -> Vec<f64> {
    let mut shifts = vec![0.0; count];
    for _ in 0..POLISHES {
        let level = |row: &Vec<f64>| {
            middle(row.iter().zip(&shifts).map(|(ln, shift)| ln - shift)).unwrap_or(f64::NAN)
        };
        let levels: Vec<f64> = rows.iter().map(level).collect();
        let shift = |column: usize| {
            middle(
                rows.iter()
                    .zip(&levels)
                    .map(|(row, level)| row[column] - level),
            )
        };
        let found: Vec<f64> = (0..count)
            .map(|column| shift(column).unwrap_or(0.0))
            .collect();
        let centre = middle(found.iter().copied()).unwrap_or(0.0);
        let next: Vec<f64> = found.iter().map(|shift| shift - centre).collect();
        let moved = next
            .iter()
            .zip(&shifts)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f64::max);
        shifts = next;
        if moved < 1e-9 {
            break;
        }
    }
    shifts
}

fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(values.filter(|value| value.is_finite()).collect())
}

/// ln of new / old, and its error.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BetweenRuns {
    pub log_ratio: f64,
    pub error: Deviation,
}

impl BetweenRuns {
    /// The ratio of two sides, each a case, the machine or both. Their errors are independent.
    pub fn of(new: &[Side], old: &[Side]) -> BetweenRuns {
        let mean = |sides: &[Side]| sides.iter().map(|side| side.mean).sum::<f64>();
        let error = Deviation::sum(new.iter().chain(old).map(Side::error));
        BetweenRuns {
            log_ratio: mean(new) - mean(old),
            error,
        }
    }

    pub fn ratio(&self) -> f64 {
        self.log_ratio.exp()
    }

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
