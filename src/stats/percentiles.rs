//! Percentiles of single calls, from their histograms.
//!
//! A percentile is the smallest time that the given share of all calls does not exceed. Nothing is assumed of how times are
//! distributed. Calls one after the other resemble each other, so there is no interval.

use crate::model::{CallTimes, TimeBucket};

/// Calls that must lie beyond a percentile: with fewer it says what a handful of calls took.
pub const FEWEST_BEYOND: u64 = 10;

/// The percentile at `share` (0.99), in nanoseconds; `None` with fewer than [`FEWEST_BEYOND`] calls beyond it.
pub fn percentile(times: &CallTimes, share: f64) -> Option<u64> {
    let calls = times.calls();
    let within = (share * calls as f64).ceil() as u64;
    if calls.saturating_sub(within) < FEWEST_BEYOND {
        return None;
    }
    at_rank(times, within.max(1))
}

/// The longest time, in nanoseconds; `None` without calls.
pub fn longest(times: &CallTimes) -> Option<u64> {
    times.0.last().map(|bucket| bucket.ns)
}

/// The number of calls that took longer than `ns`.
pub fn beyond(times: &CallTimes, ns: u64) -> u64 {
    times.0.iter().filter(|bucket| bucket.ns > ns).fold(0, |sum, bucket| sum.saturating_add(bucket.count))
}

/// The median, however few calls there are; `None` without any.
pub fn median_call(times: &CallTimes) -> Option<u64> {
    at_rank(times, times.calls().div_ceil(2).max(1))
}

/// Steps per power of ten on the axis of [`tail_curve`].
const STEPS: i32 = 16;

/// The times that shares of the calls do not exceed, in nanoseconds, by 1 / (1 - share), which is 1 for the shortest call and
/// the number of calls for the longest. Places where the time stays the same are left out.
pub fn tail_curve(times: &CallTimes) -> Vec<(f64, u64)> {
    let calls = times.calls() as f64;
    let steps = (0..).map(|i| 10f64.powf(f64::from(i) / f64::from(STEPS))).take_while(|beyond| *beyond < calls);
    let at = |beyond: f64| Some((beyond, at_rank(times, ((1.0 - 1.0 / beyond) * calls).ceil().max(1.0) as u64)?));
    let last = longest(times).map(|ns| (calls, ns));
    let all: Vec<(f64, u64)> = steps.filter_map(at).chain(last).collect();
    let turns = |i: &usize| *i == 0 || *i + 1 == all.len() || all[*i].1 != all[i - 1].1 || all[*i].1 != all[i + 1].1;
    (0..all.len()).filter(turns).map(|i| all[i]).collect()
}

/// The time of the call with this rank, counted from 1.
fn at_rank(times: &CallTimes, rank: u64) -> Option<u64> {
    let mut seen = 0u64;
    let reaches = |bucket: &&TimeBucket| {
        seen = seen.saturating_add(bucket.count);
        seen >= rank
    };
    times.0.iter().find(reaches).map(|bucket| bucket.ns)
}

/// The calls of `all` that are in none of `parts`.
pub fn without(all: &CallTimes, parts: &[&CallTimes]) -> CallTimes {
    let count = |part: &CallTimes, ns: u64| {
        part.0.binary_search_by_key(&ns, |bucket| bucket.ns).map_or(0, |at| part.0[at].count)
    };
    let left = all.0.iter().map(|bucket| {
        let gone = parts.iter().fold(0u64, |sum, part| sum.saturating_add(count(part, bucket.ns)));
        TimeBucket { ns: bucket.ns, count: bucket.count.saturating_sub(gone) }
    });
    CallTimes(left.filter(|bucket| bucket.count > 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(buckets: &[(u64, u64)]) -> CallTimes {
        CallTimes(buckets.iter().map(|(ns, count)| TimeBucket { ns: *ns, count: *count }).collect())
    }

    #[test]
    fn percentiles_are_the_times_that_a_share_does_not_exceed() {
        let all = times(&[(100, 5000), (101, 4000), (200, 900), (5000, 90), (90_000, 10)]);
        let at = |share| percentile(&all, share);
        assert_eq!([at(0.5), at(0.9), at(0.99), at(0.999)], [Some(100), Some(101), Some(200), Some(5000)]);
        assert_eq!((beyond(&all, 200), beyond(&all, 199)), (100, 1000));
        assert_eq!((at(0.9995), longest(&all), median_call(&all)), (None, Some(90_000), Some(100)));
    }

    #[test]
    fn a_handful_of_calls_beyond_is_no_percentile() {
        assert_eq!(percentile(&times(&[(100, 999)]), 0.99), None);
        assert_eq!(percentile(&times(&[(100, 1000)]), 0.99), Some(100));
        assert_eq!((percentile(&times(&[]), 0.5), longest(&times(&[])), median_call(&times(&[]))), (None, None, None));
        assert_eq!(median_call(&times(&[(7, 1)])), Some(7));
        assert_eq!(percentile(&times(&[(1, u64::MAX), (2, u64::MAX)]), 0.5), Some(1));
    }

    #[test]
    fn a_curve_goes_from_the_shortest_to_the_longest_call() {
        let curve = tail_curve(&times(&[(100, 5000), (101, 4000), (200, 900), (5000, 90), (90_000, 10)]));
        assert_eq!((curve.first(), curve.last()), (Some(&(1.0, 100)), Some(&(10_000.0, 90_000))));
        assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1), "{curve:?}");
        assert!(curve.iter().any(|(beyond, ns)| (*beyond - 100.0).abs() < 1e-9 && *ns == 200), "{curve:?}");
        assert_eq!(tail_curve(&times(&[])), []);
        assert_eq!(tail_curve(&times(&[(7, 1)])), [(1.0, 7)]);
    }

    #[test]
    fn what_was_disturbed_can_be_left_out() {
        let all = times(&[(100, 10), (5000, 3), (9000, 1)]);
        let left = without(&all, &[&times(&[(5000, 1)]), &times(&[(5000, 1), (9000, 1)])]);
        assert_eq!(left, times(&[(100, 10), (5000, 1)]));
        assert_eq!(without(&all, &[]), all);
    }
}
