//! A figure without a format: what is drawn, on which axis, and what it says in words. `svg` draws it; the page and
//! `syscost report --format svg` make it. It knows no pixel and no colour.

pub mod axis;
pub mod palette;

use crate::stats::TwoModes;
use axis::LogAxis;

/// A picture with its heading and the sentence that says what is to be seen, for those who do not see it.
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
}

/// Costs of one file as bars on a logarithmic axis, those of further files as marks on the same rows.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bars {
    /// Names of the files; the first has the bars.
    pub series: Vec<String>,
    pub groups: Vec<Group<Bar>>,
}

/// Rows that stand together below a heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Group<T> {
    pub name: String,
    pub rows: Vec<T>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    pub label: String,
    /// `None` where the first file has no cost.
    pub ns: Option<f64>,
    pub low_high: Option<(f64, f64)>,
    pub kernel: Kernel,
    /// Costs in the further files, in nanoseconds.
    pub others: Vec<Option<f64>>,
}

/// Whether an operation makes system calls. One that makes none may enter the kernel by a fault or another trap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernel {
    Enters,
    Never,
    /// Its entries were not counted.
    Unknown,
}

/// Ratios to the first file, each with its interval, on a logarithmic axis around 1.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Ratios {
    /// Names of the files whose ratios are shown.
    pub series: Vec<String>,
    pub groups: Vec<Group<RatioRow>>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RatioRow {
    pub label: String,
    /// One for each series.
    pub dots: Vec<Option<Dot>>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dot {
    pub ratio: f64,
    pub low_high: Option<(f64, f64)>,
    /// Whether the data can tell it from 1.
    pub decided: bool,
}

/// How the samples of one case are spread.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    pub label: String,
    /// The cost that the first bin begins at and the last ends at, in nanoseconds.
    pub low: f64,
    pub high: f64,
    /// Square roots of the samples in each bin, from 0 to `TALLEST` of the fullest.
    pub heights: Vec<u8>,
    pub samples: usize,
    pub modes: Option<TwoModes>,
}

/// What the fullest bin is scaled to.
pub const TALLEST: u8 = 16;

/// Costs over a parameter, both axes logarithmic.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Lines {
    pub parameter: String,
    pub series: Vec<Line>,
    /// Where one overtakes another, by the parameter's value.
    pub crossovers: Vec<f64>,
}

impl Lines {
    /// Where a value of 0 stands, which has no logarithm: at half of the smallest other.
    pub fn zero(&self) -> f64 {
        self.values().find(|value| *value > 0.0).map_or(0.5, |smallest| smallest / 2.0)
    }

    /// The parameter's axis.
    pub fn axis(&self) -> LogAxis {
        LogAxis::holding(self.values().map(|value| value.max(self.zero())))
    }

    /// The different values, ascending.
    pub fn values(&self) -> impl Iterator<Item = f64> + use<> {
        let mut values: Vec<f64> = self.points().map(|place| place.value).collect();
        values.sort_by(f64::total_cmp);
        values.dedup();
        values.into_iter()
    }

    pub fn points(&self) -> impl Iterator<Item = &Place> {
        self.series.iter().flat_map(|line| &line.points)
    }
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    pub label: String,
    pub points: Vec<Place>,
    /// Fixed cost and cost per unit of the fitted line, in nanoseconds.
    pub model: Option<(f64, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    pub value: f64,
    pub ns: f64,
    pub low_high: Option<(f64, f64)>,
}
