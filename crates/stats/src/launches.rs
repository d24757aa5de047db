//! The launches of a case in one run. The memory layout of each shifts a cost, so launches are the least unit of scatter.

use super::{Calm, Deviation, median, moments};
use model::Measurement;

// Chosen, not measured: it widens the interval of runs that ended within their first launch.
/// Where neither the panel nor other launches show what launches scatter by.
const ONE_LAUNCH: Deviation = Deviation {
    sd: 0.02,
    degrees: 2.0,
};

/// The scatter of a case's launches is expected to be that of the panel's, known as well as by these degrees of freedom.
const EXPECTED_OF_LAUNCHES: f64 = 4.0;

/// So many times as much where pages and threads are placed.
const PLACED_LAUNCHES: f64 = 3.0;

/// From so many times as much on, launches follow what is placed for a whole run, and many show no more than one.
const DEPENDENT_LAUNCHES: f64 = 4.0;

const FEWEST_SCATTERS: usize = 3;

/// Fewer undisturbed rounds of a launch show nothing.
const FEWEST_ROUNDS: usize = 3;

/// Variance of the median of several launches over that of their mean: at most this, for normal launches
/// (Kendall and Stuart, The Advanced Theory of Statistics, 14.12).
pub(super) const OF_MEDIAN: f64 = std::f64::consts::FRAC_PI_2;

// Operations fault once per iteration or hardly ever, so the exact value does not matter.
/// Page faults per iteration from which on they are the operation's own.
const FAULTS: f64 = 0.5;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Launches {
    /// Median over all batches, in nanoseconds per iteration.
    pub median_ns: f64,
    /// The same with the batches of each round divided by how much slower the panel was in it.
    pub level_ns: f64,
    pub levels_ns: Vec<f64>,
    /// 0 if there was none.
    pub rounds: usize,
    /// A standard deviation; 0 if unknown.
    pub launch_scatter: f64,
    /// The cost relative to the machine, in units of its panel.
    pub relative: Option<f64>,
    /// The same in earlier runs.
    pub earlier: Vec<f64>,
    pub in_user_mode: bool,
    pub is_placed: bool,
    /// ln of how much slower everything was in a run that was disturbed all the time; else 0.
    pub disturbed_ln: f64,
    pub is_disturbed: bool,
    /// The step of the clock, as a share of a batch; 0 if it is unknown.
    pub clock_step: f64,
}

pub(super) fn logs_of(costs: &[f64]) -> Vec<f64> {
    costs
        .iter()
        .map(|cost| cost.ln())
        .filter(|log| log.is_finite())
        .collect()
}

/// The standard error of a run's level, as its launches show it; `None` without any.
pub(super) fn by_launches(run: &Launches) -> Option<Deviation> {
    let logs = logs_of(&run.levels_ns);
    if logs.is_empty() {
        return None;
    }
    // The number of launches that count as independent values.
    let mut independent = logs.len() as f64;
    // Without a panel, only the launches themselves show their scatter.
    if run.launch_scatter == 0.0 {
        let one = Deviation::with_degrees(&logs, 1.0).unwrap_or(ONE_LAUNCH);
        return Some(one.times((OF_MEDIAN / independent).sqrt()));
    }
    let times = if run.is_placed { PLACED_LAUNCHES } else { 1.0 };
    let expected = Deviation {
        sd: times * run.launch_scatter,
        degrees: EXPECTED_OF_LAUNCHES,
    };
    let one = expected.moderated(&logs);
    if one.sd > DEPENDENT_LAUNCHES * expected.sd {
        independent = 1.0;
    }
    Some(one.times(1.0 / independent.sqrt()))
}

/// The launches of a measurement in undisturbed rounds, or in all if none was; `None` without a sample above 0. `yardsticks` are the
/// members of the panel that show how much slower a round was.
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
        // If all launches have few rounds, none is left out.
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

pub fn is_placed(m: &Measurement) -> bool {
    let iterations = m.samples().count() as f64 * m.iterations as f64;
    m.switches || m.minor_faults as f64 > FAULTS * iterations
}

/// The scatter of the panel's launches, as a standard deviation of logarithms; 0 if few of its members show it.
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
            let per_iteration = slot.iter().map(|ns| *ns as f64 / m.iterations as f64);
            if let Some(ns) = positive(median(per_iteration.collect())) {
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
    if members.len() < fewest {
        return None;
    }
    let shifts = (0..runs).map(|run| {
        let from_mean = members.iter().map(|member| member[run] - moments(member).0);
        median(from_mean.filter(|shift| shift.is_finite()).collect()).unwrap_or(0.0)
    });
    Some(shifts.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches_far_apart_have_the_error_of_one() {
        fn error(apart: f64) -> f64 {
            let run = Launches {
                levels_ns: [1.0, 1.0 + apart].repeat(8),
                launch_scatter: 0.002,
                ..Launches::default()
            };
            by_launches(&run).unwrap().sd / apart
        }

        assert!(error(0.01) < 0.2, "{}", error(0.01));
        assert!(error(0.1) > 0.4, "{}", error(0.1));
    }
}
