//! A percentile is the smallest time that the given share of all calls does not exceed. Nothing is assumed of how times are
//! distributed. Calls one after the other resemble each other, so percentiles have no interval.

use model::Histogram;

// A count of 10 is known to about 60%.
/// Calls that must lie beyond a percentile: with fewer it describes a handful of calls.
pub const FEWEST_BEYOND: u64 = 10;

/// `share` as in 0.99; `None` with fewer than [`FEWEST_BEYOND`] calls beyond it.
pub fn percentile(times: &Histogram, share: f64) -> Option<f64> {
    let calls = times.total_count();
    let within = (share * calls as f64).ceil() as u64;
    if calls.saturating_sub(within) < FEWEST_BEYOND {
        return None;
    }
    times.at_rank(within.max(1))
}

pub fn beyond(times: &Histogram, ns: f64) -> u64 {
    let longer = times.times().filter(|(time, _)| *time > ns);
    longer.fold(0, |sum, (_, count)| sum.saturating_add(count))
}

const STEPS: i32 = 16;

/// The times that shares of the calls do not exceed, in nanoseconds, by 1 / (1 - share), which is 1 for the shortest call and
/// the number of calls for the longest. Points with the same time as both neighbours are left out.
pub fn tail_curve(times: &Histogram) -> Vec<(f64, f64)> {
    let calls = times.total_count() as f64;
    let steps = (0..)
        .map(|i| 10f64.powf(f64::from(i) / f64::from(STEPS)))
        .take_while(|beyond| *beyond < calls);
    let last = times.longest_ns().map(|ns| (calls, ns));
    let all: Vec<(f64, f64)> = steps
        .filter_map(|beyond| {
            Some((
                beyond,
                times.at_rank(((1.0 - 1.0 / beyond) * calls).ceil().max(1.0) as u64)?,
            ))
        })
        .chain(last)
        .collect();
    (0..all.len())
        // A step is drawn by both of its ends, so these stay.
        .filter(|i| {
            *i == 0 || *i + 1 == all.len() || all[*i].1 != all[i - 1].1 || all[*i].1 != all[i + 1].1
        })
        .map(|i| all[i])
        .collect()
}

/// Bucket by bucket and never below 0.
pub fn without(all: &Histogram, parts: &[&Histogram]) -> Histogram {
    let mut left = all.clone();
    for (bucket, gone) in parts.iter().flat_map(|part| &part.counts) {
        left.counts
            .entry(*bucket)
            .and_modify(|count| *count = count.saturating_sub(*gone));
    }
    left.counts.retain(|_, count| *count > 0);
    left
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::fixtures::times;

    const ALL: [(u64, u64); 5] = [(100, 5000), (101, 4000), (200, 900), (500, 90), (900, 10)];

    #[test]
    fn percentiles_are_the_times_that_a_share_does_not_exceed() {
        let all = times(&ALL);
        let at = |share| percentile(&all, share);
        assert_eq!(
            [at(0.5), at(0.9), at(0.99), at(0.999)],
            [100.0, 101.0, 200.0, 500.0].map(Some)
        );
        assert_eq!((beyond(&all, 200.0), beyond(&all, 199.0)), (100, 1000));
        assert_eq!(
            (at(0.9995), all.longest_ns(), all.quantile_ns(0.5)),
            (None, Some(900.0), Some(100.0))
        );
    }

    #[test]
    fn a_handful_of_calls_beyond_is_no_percentile() {
        assert_eq!(percentile(&times(&[(100, 999)]), 0.99), None);
        assert_eq!(percentile(&times(&[(100, 1000)]), 0.99), Some(100.0));
        assert_eq!(
            (
                percentile(&times(&[]), 0.5),
                times(&[]).longest_ns(),
                times(&[]).quantile_ns(0.5)
            ),
            (None, None, None)
        );
        assert_eq!(times(&[(7, 1)]).quantile_ns(0.5), Some(7.0));
        assert_eq!(
            percentile(&times(&[(1, u64::MAX), (2, u64::MAX)]), 0.5),
            Some(1.0)
        );
    }

    #[test]
    fn a_curve_goes_from_the_shortest_to_the_longest_call() {
        let curve = tail_curve(&times(&ALL));
        assert_eq!(
            (curve.first(), curve.last()),
            (Some(&(1.0, 100.0)), Some(&(10_000.0, 900.0)))
        );
        assert!(
            curve
                .windows(2)
                .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1),
            "{curve:?}"
        );
        assert!(
            curve
                .iter()
                .any(|(beyond, ns)| (*beyond - 100.0).abs() < 1e-9 && *ns == 200.0),
            "{curve:?}"
        );
        assert_eq!(tail_curve(&times(&[])), []);
        assert_eq!(tail_curve(&times(&[(7, 1)])), [(1.0, 7.0)]);
    }

    #[test]
    fn what_was_disturbed_can_be_left_out() {
        let all = times(&[(100, 10), (5000, 3), (9000, 1)]);
        let left = without(
            &all,
            &[&times(&[(5000, 1)]), &times(&[(5000, 1), (9000, 1)])],
        );
        assert_eq!(left, times(&[(100, 10), (5000, 1)]));
        assert_eq!(without(&all, &[]), all);
    }
}
