//! Ratios of two costs of one run, each without the cost of its own empty loop.

use super::paired::{by_launch, over_launches};
use super::{Ranged, median, samples};
use model::Measurement;

#[derive(Clone, Copy)]
pub struct WithLoop<'a> {
    pub case: &'a Measurement,
    pub empty: &'a Measurement,
}

/// a / b, both net of their empty loops: the ratio of the differences of medians, with the interval of the ratios of launches,
/// which have all four in common. `None` if a net cost is indistinguishable from zero.
///
/// Not by rounds, as other ratios: the slots of single calls are too short for a net cost of their own.
pub fn net_ratio(a: WithLoop, b: WithLoop) -> Option<Ranged> {
    let value = ratio(a.net()?, b.net()?)?;
    let launch_ratios: Option<Vec<f64>> = a
        .nets()
        .into_iter()
        .zip(b.nets())
        .map(|(a, b)| Some(ratio(a, b)?.ln()))
        .collect();
    let low_high = over_launches(launch_ratios?).and_then(|ranged| ranged.exp().low_high);
    Some(Ranged {
        value,
        low_high: low_high.map(|(low, high)| (low.min(value), high.max(value))),
    })
}

fn ratio(a: f64, b: f64) -> Option<f64> {
    Some(a / b).filter(|ratio| a > 0.0 && b > 0.0 && ratio.is_finite())
}

impl WithLoop<'_> {
    fn net(&self) -> Option<f64> {
        let [case, empty] = [self.case, self.empty].map(|m| median(samples(m).concat()));
        Some(case? - empty?)
    }

    fn nets(&self) -> Vec<f64> {
        let [case, empty] = [self.case, self.empty].map(|m| by_launch(m, samples(m)));
        case.iter()
            .zip(&empty)
            .map(|(case, empty)| case - empty)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{expect, measurement};
    use super::*;

    fn costing(ns: impl Fn(u64) -> u64) -> Measurement {
        let blocks: Vec<[u64; 3]> = (0..12).map(|i| [ns(i); 3]).collect();
        measurement(
            &blocks
                .iter()
                .map(|block| block.as_slice())
                .collect::<Vec<_>>(),
        )
    }

    fn net<'a>([case, empty]: [&'a Measurement; 2]) -> WithLoop<'a> {
        WithLoop { case, empty }
    }

    #[test]
    fn loops_are_subtracted_before_the_ratio() {
        let [cold, cold_loop, warm, warm_loop] = [1030, 30, 102, 2].map(|ns| costing(move |_| ns));
        expect(
            net_ratio(net([&cold, &cold_loop]), net([&warm, &warm_loop])),
            10.0,
        );
    }

    #[test]
    fn a_drift_that_all_share_cancels() {
        let [cold, warm, empty] = [900, 110, 10].map(|ns| costing(move |i| ns * (10 + i)));
        expect(net_ratio(net([&cold, &empty]), net([&warm, &empty])), 8.9);
    }

    #[test]
    fn what_is_no_more_than_its_loop_has_no_ratio() {
        let (cold, empty, scattered) = (costing(|_| 100), costing(|_| 30), costing(|i| 28 + i % 6));
        let a = net([&cold, &empty]);
        for none in [&empty, &scattered].map(|case| net([case, &empty])) {
            assert_eq!((net_ratio(a, none), net_ratio(none, a)), (None, None));
        }
    }
}
