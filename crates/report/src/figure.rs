//! Figures independent of their format: data, axes and a description in words, without pixels and colours. `svg` draws
//! them, for the page and for `syscost report --format svg`.

pub mod axis;
pub mod palette;
pub mod tree;

use axis::LogAxis;
use model::Unit;
use stats::Ranged;

/// A chart with its title and a description for readers who cannot see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub title: String,
    pub description: String,
    pub chart: Chart,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    Dots(Dots),
    Distributions(Vec<Distribution>),
    Lines(Lines),
    Scatter(Scatter),
    /// Parts of a whole, in the order of the bar.
    Shares(Vec<Share>),
    Latencies(Vec<Distribution>),
    Flame(Vec<Frame>),
}

/// Costs on a logarithmic axis, or ratios to the first file around 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dots {
    /// The unit of costs; `None` for ratios.
    pub unit: Option<Unit>,
    /// Files or environments, each with a dot in every row.
    pub series: Vec<String>,
    pub groups: Vec<Group>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group {
    pub name: String,
    pub rows: Vec<DotRow>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct DotRow {
    pub label: String,
    /// The kernel's part of costs, drawn like the first dot.
    pub kernel: Option<Kernel>,
    pub dots: Vec<Option<Dot>>,
}

impl DotRow {
    /// The dot of the first series, by which rows are sorted and described.
    pub fn first(&self) -> Option<Ranged> {
        Some(self.dots.first()?.as_ref()?.at)
    }
}

/// Whether it makes system calls. Without any, it may still enter the kernel by a fault.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kernel {
    Enters,
    Never,
    /// Its entries were not counted.
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    /// The value, with the interval for the next run or its 95% interval.
    pub at: Ranged,
    /// Whether the data distinguish a ratio from 1.
    pub decided: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Distribution {
    pub label: String,
    /// Where the first bin begins and the last one ends, in nanoseconds.
    pub low: f64,
    pub high: f64,
    /// Square roots of counts, the largest as `TALLEST`.
    pub heights: Vec<u8>,
    pub samples: usize,
}

pub struct Overlay<'a> {
    pub samples: Vec<Option<&'a Distribution>>,
    pub costs: Vec<Option<Ranged>>,
}

impl Overlay<'_> {
    /// The range that holds all samples and intervals, for a common axis.
    pub fn ends(&self) -> (f64, f64) {
        let samples = self
            .samples
            .iter()
            .flatten()
            .flat_map(|one| [one.low, one.high]);
        let costs = self.costs.iter().flatten().copied().flat_map(with_ends);
        samples
            .chain(costs)
            .filter(|ns| ns.is_finite())
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ns| {
                (low.min(ns), high.max(ns))
            })
    }
}

/// The height of the fullest bin.
pub const TALLEST: u8 = 16;

/// The heights of `bins` bins: square roots of their counts, so that rare samples are visible. Each
/// sample has its place, from 0 to 1, and its number.
pub fn heights(samples: impl Iterator<Item = (f64, u64)>, bins: usize) -> Vec<u8> {
    let mut counts = vec![0u64; bins];
    for (share, count) in samples {
        let bin = ((share.clamp(0.0, 1.0) * bins as f64) as usize).min(bins - 1);
        counts[bin] = counts[bin].saturating_add(count);
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1) as f64;
    counts
        .iter()
        .map(|count| (f64::from(TALLEST) * (*count as f64 / most).sqrt()).ceil() as u8)
        .collect()
}

/// Environments by what they cost once and at each call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scatter {
    /// The quantity of the horizontal axis.
    pub across: String,
    pub places: Vec<Place>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    pub name: String,
    /// Nanoseconds.
    pub start_ns: f64,
    /// `start_ns` is the most that it may be.
    pub is_bound: bool,
    pub ratio: f64,
    /// The same in words.
    pub title: String,
}

/// Costs over a parameter, or times of single calls by 1 / (1 - share of calls that took no longer).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    /// `None` for single calls.
    pub parameter: Option<String>,
    pub series: Vec<Line>,
}

impl Lines {
    /// Where 0 is drawn, which has no logarithm.
    pub fn zero(&self) -> f64 {
        self.values()
            .find(|value| *value > 0.0)
            .map_or(0.5, |smallest| smallest / 2.0)
    }

    /// The axis of values, which has a place for 0 if one of them is 0.
    pub fn axis(&self) -> LogAxis {
        LogAxis::holding(self.values().map(|value| value.max(self.zero())))
    }

    /// Distinct, ascending.
    pub fn values(&self) -> impl Iterator<Item = f64> + use<> {
        let mut values: Vec<f64> = self.points().map(|place| place.value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.into_iter()
    }

    /// The points of all lines, in no order of value.
    pub fn points(&self) -> impl Iterator<Item = &PlotPoint> {
        self.series.iter().flat_map(|line| &line.points)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pub label: String,
    pub points: Vec<PlotPoint>,
    /// Fixed cost and cost per unit, in nanoseconds.
    pub fitted: Option<(f64, f64)>,
    /// Without preempted and interrupted calls; empty if they are not known.
    pub rest: Vec<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotPoint {
    pub value: f64,
    pub ns: Ranged,
}

/// A value and the ends of its interval, all of which an axis must hold.
pub fn with_ends(Ranged { value, low_high }: Ranged) -> impl Iterator<Item = f64> {
    [value]
        .into_iter()
        .chain(low_high.into_iter().flat_map(|(low, high)| [low, high]))
}

/// `90%` for 10.
pub fn share_words(beyond: f64) -> String {
    if beyond <= 1.0 || !beyond.is_finite() {
        return "0%".to_string();
    }
    let digits = (beyond.log10().round() as usize).saturating_sub(2);
    format!("{:.digits$}%", 100.0 - 100.0 / beyond)
}

/// The powers of ten from 1 to `most`, in words.
pub fn shares(most: f64) -> Vec<(f64, String)> {
    (0..20)
        .map(|power| 10f64.powi(power))
        .take_while(|beyond| *beyond <= most)
        .map(|beyond| (beyond, share_words(beyond)))
        .collect()
}

#[derive(Clone, Debug, PartialEq)]
pub struct Share {
    pub kind: ShareKind,
    pub label: String,
    pub words: String,
    pub share: f64,
}

/// In the order of the bar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ShareKind {
    User,
    Calls,
    /// Outside of system calls.
    Kernel,
    /// Ready to run, but on no CPU.
    Waiting,
    Blocked,
    Unknown,
}

/// A box of a flame graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    pub name: String,
    /// Name, weight and share.
    pub words: String,
    pub kind: FrameKind,
    /// From -2, much less, to 2, much more.
    pub change: Option<i8>,
    /// 0 for processes.
    pub depth: usize,
    /// Where it begins and how wide it is, as shares of the whole.
    pub left: f64,
    pub share: f64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FrameKind {
    Process,
    Function,
    /// Functions without symbols, by the file that has them.
    NoSymbol,
    Call,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_are_shares() {
        let words: Vec<String> = shares(2e5).into_iter().map(|(_, words)| words).collect();
        assert_eq!(words, ["0%", "90%", "99%", "99.9%", "99.99%", "99.999%"]);
        assert_eq!([share_words(f64::NAN), share_words(20.0)], ["0%", "95%"]);
    }
}
