//! The verdict on ratios: a change, equality, or neither. All comparisons use this rule, of runs and of races.

use super::differ::discoveries;
use super::{BetweenRuns, Deviation};

// By simulation: 1 degree hides that a command takes 1.9 times as long if the control is off by 10%.
/// A single control shows little of the size of the next shift, but more than Student's t of one degree of freedom.
const DEGREES: f64 = 2.0;

/// Expected share of wrong findings among those that are judged together.
const LEVEL: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Finding {
    Less,
    More,
    Equal,
    NotKnown,
}

/// Differences and equalities are a family each: if most ratios are certainly equal, no more may be called different by chance.
pub fn findings(ratios: &[BetweenRuns], margin: f64) -> Vec<Finding> {
    let differ = held_together(ratios, BetweenRuns::p_differs);
    let same = held_together(ratios, |ratio| ratio.p_same(margin));
    let holds = differ.into_iter().zip(same);
    ratios
        .iter()
        .zip(holds)
        .map(|(ratio, (differs, is_same))| {
            let within = ratio.log_ratio.abs() <= margin.ln_1p();
            match ratio.log_ratio {
                _ if within && is_same => Finding::Equal,
                // A certain difference that is smaller than the margin is neither a change nor equality.
                _ if within || !differs => Finding::NotKnown,
                log if log < 0.0 => Finding::Less,
                _ => Finding::More,
            }
        })
        .collect()
}

fn held_together(ratios: &[BetweenRuns], p: impl Fn(&BetweenRuns) -> f64) -> Vec<bool> {
    discoveries(&ratios.iter().map(p).collect::<Vec<f64>>(), LEVEL)
}

impl BetweenRuns {
    /// Widened by what `control`, a ratio of the same thing to itself in the same rounds, differs from 1 beyond its own error: one value,
    /// which shows little of the size of the next.
    #[must_use]
    pub fn beside(self, control: &BetweenRuns) -> BetweenRuns {
        let square = control.log_ratio.powi(2) - control.error.sd.powi(2);
        let shift = Deviation {
            sd: square.max(0.0).sqrt(),
            degrees: DEGREES,
        };
        let error = Deviation::sum([self.error, shift]);
        BetweenRuns { error, ..self }
    }

    /// The control's whole interval is nearer to 1 than what is claimed.
    pub fn permits(&self, finding: Finding, ratio: &BetweenRuns, margin: f64) -> bool {
        let reach = self.log_ratio.abs() + self.error.half_width();
        match finding {
            Finding::NotKnown => true,
            Finding::Equal => reach <= margin.ln_1p(),
            Finding::Less | Finding::More => reach < ratio.log_ratio.abs(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{normal, share};
    use super::super::trimmed;
    use super::*;
    use rand::rngs::ChaCha8Rng;

    fn ratio(log_ratio: f64, sd: f64) -> BetweenRuns {
        let degrees = 20.0;
        let error = Deviation { sd, degrees };
        BetweenRuns { log_ratio, error }
    }

    fn finding(ratio: BetweenRuns, control: BetweenRuns) -> Finding {
        let ratio = ratio.beside(&control);
        let finding = findings(&[ratio], 0.01)[0];
        let is_permitted = control.permits(finding, &ratio, 0.01);
        if is_permitted {
            finding
        } else {
            Finding::NotKnown
        }
    }

    #[test]
    fn nothing_is_concluded_that_the_control_does_not_show() {
        let (equal, apart, wide) = (ratio(0.0, 0.002), ratio(0.2, 0.01), ratio(0.0, 0.1));
        for (estimate, control, expected) in [
            (ratio(0.1, 0.01), equal, Finding::More),
            (ratio(-0.1, 0.01), equal, Finding::Less),
            (ratio(0.0, 0.002), equal, Finding::Equal),
            (ratio(0.0, 0.02), equal, Finding::NotKnown),
            (ratio(0.1, 0.01), apart, Finding::NotKnown),
            (ratio(0.1, 0.01), wide, Finding::NotKnown),
            (ratio(0.0, 0.002), wide, Finding::NotKnown),
            (ratio(1.2, 0.01), wide, Finding::More),
        ] {
            assert_eq!(
                finding(estimate, control),
                expected,
                "{estimate:?} {control:?}"
            );
        }
    }

    /// If each copy lies somewhere else, all rounds of a command agree and are off together.
    #[test]
    fn a_shift_that_rounds_do_not_show_is_less_often_a_change() {
        let wrong = share(5, 2000, |random: &mut ChaCha8Rng| {
            let mut arm = || {
                let shift = 0.1 * normal(random);
                let rounds = (0..10).map(|_| shift + 0.01 * normal(random)).collect();
                trimmed(rounds).unwrap().as_log_ratio()
            };
            let (ratio, control) = (arm(), arm());
            matches!(finding(ratio, control), Finding::Less | Finding::More)
        });
        assert!(wrong < 0.2, "{wrong}, where rounds alone say 0.9");
    }
}
