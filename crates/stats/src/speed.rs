//! The machine's speed over a run, as far as all cases share it: a panel of cheap operations shows in each time block how
//! much slower everything ran than in the run as a whole. Frequency steps and busy neighbours move all cases together; with
//! their part removed, a cost repeats several times more closely.

use super::median;
use model::Measurement;
use std::ops::Range;

/// Fewer members cannot distinguish the machine's speed from one of their own oddities.
pub const FEWEST_MEMBERS: usize = 5;
/// Rounds of Tukey's median polish; it converges after a few.
const POLISHES: usize = 20;

/// How much slower than usual the machine ran in each time block of a run, on the log scale.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Speed {
    /// By block, counted from the run's first; 0 where it is unknown.
    slower_ln: Vec<f64>,
}

impl Speed {
    /// Two-way median polish (Tukey, Exploratory Data Analysis, 1977) of the logarithms of block medians: a level for each
    /// member and a shift for each block in `range`, the median shift being 0. Without [`FEWEST_MEMBERS`], all shifts are 0.
    ///
    /// `members` are the block medians of each member of the panel in nanoseconds, NaN for a block without samples.
    pub fn from_panel(members: &[Vec<f64>], range: &Range<usize>) -> Speed {
        if members.len() < FEWEST_MEMBERS {
            return Speed::default();
        }
        let length = members.iter().map(Vec::len).max().unwrap_or(0);
        let used = range.start.min(length)..range.end.min(length);
        let ln = |member: &Vec<f64>, block: usize| member.get(block).map_or(f64::NAN, |ns| ns.ln());
        let logs: Vec<Vec<f64>> = members
            .iter()
            .map(|m| used.clone().map(|block| ln(m, block)).collect())
            .collect();
        let mut slower_ln = vec![0.0; used.start];
        slower_ln.extend(polished(&logs, used.len()));
        Speed { slower_ln }
    }

    pub fn slower_ln(&self, block: usize) -> f64 {
        self.slower_ln.get(block).copied().unwrap_or(0.0)
    }

    /// The samples of a block in nanoseconds per iteration, at the run's usual speed.
    pub(super) fn samples<'a>(
        &self,
        m: &'a Measurement,
        block: usize,
    ) -> impl Iterator<Item = f64> + use<'a> {
        let factor = (-self.slower_ln(block)).exp() / m.iterations as f64;
        m.blocks[block]
            .slots
            .iter()
            .flatten()
            .map(move |ns| *ns as f64 * factor)
    }
}

pub(super) fn polished(rows: &[Vec<f64>], count: usize) -> Vec<f64> {
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

pub(super) fn middle(values: impl Iterator<Item = f64>) -> Option<f64> {
    median(values.filter(|value| value.is_finite()).collect())
}

/// The median over the batches in `range` in nanoseconds per iteration, at the run's usual speed; `None` if there is no
/// batch above 0.
pub fn steady_median(m: &Measurement, range: &Range<usize>, speed: &Speed) -> Option<f64> {
    let blocks = (0..m.blocks.len()).filter(|block| range.contains(block));
    let samples = blocks.flat_map(|block| speed.samples(m, block));
    median(samples.collect()).filter(|ns| *ns > 0.0 && ns.is_finite())
}

#[cfg(test)]
mod tests {
    use super::super::tests::measurement;
    use super::*;

    /// Members whose costs follow `shifts`, each with its own level.
    fn panel(members: usize, shifts: &[f64]) -> Vec<Vec<f64>> {
        let member = |i: usize| {
            shifts
                .iter()
                .map(|shift| (i + 1) as f64 * 100.0 * shift.exp())
                .collect()
        };
        (0..members).map(member).collect()
    }

    #[test]
    fn what_all_members_share_is_the_machines() {
        let shifts = [0.0, 0.0, 0.0, 0.05, 0.05, -0.02, 0.0];
        let mut members = panel(6, &shifts);
        members[2][0] *= 1.5;
        members[4][6] = f64::NAN;
        let speed = Speed::from_panel(&members, &(0..usize::MAX));
        for (block, shift) in shifts.iter().enumerate() {
            assert!(
                (speed.slower_ln(block) - shift).abs() < 1e-6,
                "block {block}: {}",
                speed.slower_ln(block)
            );
        }
        assert_eq!(speed.slower_ln(99), 0.0);
    }

    #[test]
    fn a_small_panel_and_blocks_out_of_range_say_nothing() {
        let shifts = [0.0, 0.0, 0.3, 0.0, 0.0];
        assert_eq!(
            Speed::from_panel(&panel(FEWEST_MEMBERS - 1, &shifts), &(0..9)),
            Speed::default()
        );
        let late = Speed::from_panel(&panel(6, &shifts), &(2..5));
        assert_eq!((late.slower_ln(0), late.slower_ln(1)), (0.0, 0.0));
        assert!((late.slower_ln(2) - 0.3).abs() < 1e-6);
        assert_eq!(
            Speed::from_panel(&[vec![], vec![], vec![], vec![], vec![]], &(0..9)).slower_ln(0),
            0.0
        );
    }

    #[test]
    fn a_steady_median_is_at_the_usual_speed() {
        let slow_half = measurement(&[
            &[100, 100],
            &[100, 100],
            &[110, 110],
            &[110, 110],
            &[110, 110],
        ]);
        let shifts = [0.0, 0.0, 0.1, 0.1, 0.1].map(|up: f64| up.ln_1p());
        let speed = Speed {
            slower_ln: shifts
                .map(|s| if s > 0.0 { 1.1f64.ln() } else { 0.0 })
                .to_vec(),
        };
        let steady = steady_median(&slow_half, &(0..5), &speed).unwrap();
        assert!((steady - 100.0).abs() < 1e-9, "{steady}");
        assert_eq!(steady_median(&slow_half, &(9..12), &speed), None);
    }
}
