//! Figures independent of their format: data, axes and a description in words, without pixels and colours. `svg` draws
//! them, for the page and for `syscost report --format svg`.

pub mod axis;
mod flame;
pub mod palette;
mod percentiles;
mod shares;
pub mod tree;

pub use flame::{Flame, Frame, FrameKind};
pub use percentiles::{Curve, Percentiles, share_words, shares};
pub use shares::{Share, ShareKind, Shares};

use axis::LogAxis;
use model::Unit;
use stats::{Ranged, TwoModes};

/// A chart with its title and a description for readers who cannot see it.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    pub title: String,
    pub description: String,
    pub chart: Chart,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Chart {
    Bars(Bars),
    Ratios(Ratios),
    Distributions(Vec<Distribution>),
    Lines(Lines),
    Percentiles(Percentiles),
    Shares(Shares),
    Latencies(Vec<Distribution>),
    Flame(Flame),
}

/// Costs on a logarithmic axis, those of other files on the same rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    pub unit: Unit,
    /// Names of the files; the first one determines the rows.
    pub series: Vec<String>,
    pub groups: Vec<Group<Bar>>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group<T> {
    pub name: String,
    pub rows: Vec<T>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub label: String,
    /// With where the next run will be.
    pub first: Option<Ranged>,
    pub kernel: Kernel,
    /// Costs in the other files.
    pub others: Vec<Option<Ranged>>,
}

/// Whether it makes system calls. Without any, it may still enter the kernel by a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    Enters,
    Never,
    /// Its entries were not counted.
    Unknown,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ratios {
    pub series: Vec<String>,
    pub groups: Vec<Group<RatioRow>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RatioRow {
    pub label: String,
    pub dots: Vec<Option<Dot>>,
}

/// A ratio with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    pub ratio: Ranged,
    /// Whether the data distinguish it from 1.
    pub decided: bool,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    pub label: String,
    /// Where the first bin begins and the last one ends, in nanoseconds.
    pub low: f64,
    pub high: f64,
    /// Square roots of counts, the largest as `TALLEST`.
    pub heights: Vec<u8>,
    pub samples: usize,
    pub modes: Option<TwoModes>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overlay<'a> {
    pub samples: Vec<Option<&'a Distribution>>,
    pub costs: Vec<Option<Ranged>>,
}

impl Overlay<'_> {
    pub fn ends(&self) -> (f64, f64) {
        let samples = self
            .samples
            .iter()
            .flatten()
            .flat_map(|one| [one.low, one.high]);
        let costs = self.costs.iter().flatten().flat_map(|one| {
            [
                Some(one.value),
                one.low_high.map(|e| e.0),
                one.low_high.map(|e| e.1),
            ]
        });
        let all = samples.chain(costs.flatten()).filter(|ns| ns.is_finite());
        all.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), ns| {
            (low.min(ns), high.max(ns))
        })
    }
}

/// What the fullest bin is scaled to.
pub const TALLEST: u8 = 16;

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    pub parameter: String,
    pub series: Vec<Line>,
    /// Values of the parameter at which two lines cross.
    pub crossovers: Vec<f64>,
}

impl Lines {
    /// Where 0 is drawn, which has no logarithm.
    pub fn zero(&self) -> f64 {
        self.values()
            .find(|value| *value > 0.0)
            .map_or(0.5, |smallest| smallest / 2.0)
    }

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

    pub fn points(&self) -> impl Iterator<Item = &PlotPoint> {
        self.series.iter().flat_map(|line| &line.points)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pub label: String,
    pub points: Vec<PlotPoint>,
    /// Fixed cost and cost per unit, in nanoseconds.
    pub model: Option<(f64, f64)>,
}

/// In nanoseconds, with its 95% interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PlotPoint {
    pub value: f64,
    pub ns: f64,
    pub low_high: Option<(f64, f64)>,
}
