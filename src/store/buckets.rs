//! Histograms in files: pairs of bucket and count. Used by results and profiles.

use super::rules::{Checked, fits, wrong};
use crate::model::Histogram;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A bucket of durations and how many calls took as long.
#[derive(Clone, Copy, Serialize, Deserialize, JsonSchema)]
pub struct Bucket(pub u16, pub u64);

/// The buckets of `histogram` that have calls.
pub fn pairs(histogram: &Histogram) -> Vec<Bucket> {
    histogram.counts.iter().map(|(bucket, count)| Bucket(*bucket, *count)).collect()
}

/// The histogram of these buckets, `per_octave` of them for each power of two.
pub fn histogram(per_octave: u16, buckets: &[Bucket]) -> Histogram {
    let mut histogram = Histogram::with_resolution(per_octave);
    buckets.iter().for_each(|bucket| histogram.add(bucket.0, bucket.1));
    histogram
}

/// Errors: a bucket beyond the last, or more calls than 64 bits hold.
pub fn check_buckets(place: &str, buckets: &[Bucket], per_octave: u16) -> Checked {
    let last = Histogram::buckets(per_octave) - 1;
    if let Some(bucket) = buckets.iter().find(|bucket| bucket.0 > last) {
        return wrong(place, &format!("bucket {} is beyond {last}", bucket.0));
    }
    fits(place, buckets.iter().map(|bucket| bucket.1))
}
