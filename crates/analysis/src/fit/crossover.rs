//! Where one strategy overtakes another: by the measured ratios at neighbouring values, so it holds where no line fits.

use super::series::{Point, Series};
use schemars::JsonSchema;
use serde::Serialize;
use stats::{Interval, block_interval, median};

/// Two strategies over the values that both have.
#[derive(Serialize, JsonSchema)]
pub struct Pair {
    /// Index of the first in `strategies`.
    pub a: usize,
    /// Index of the second.
    pub b: usize,
    /// The smallest and the largest value that both have a cost for.
    pub within: (u64, u64),
    #[serde(rename = "verdict")]
    pub overtaking: Overtaking,
}

/// Which of a pair is faster, and where that changes.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overtaking {
    /// They cross, once or more, by ascending value.
    Crossings(Vec<Crossing>),
    /// The series of this index is faster wherever the two differ significantly.
    #[serde(rename = "faster")]
    AlwaysFaster(usize),
    /// They differ significantly nowhere.
    Unresolved,
}

/// One strategy overtakes the other.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Crossing {
    /// The index of the series that is faster below `at`.
    pub faster_below: usize,
    /// The index of the one that is faster above it.
    pub faster_above: usize,
    /// The value at which their costs are equal.
    pub at: f64,
    /// `None` with fewer than 10 common time blocks, and for published results.
    pub interval: Option<Interval>,
    /// The nearest measured values at which one, and then the other, is significantly faster.
    pub between: (u64, u64),
}

/// The number of pairs grows with the square of the series.
pub const MOST_COMPARED: usize = 24;
/// Ratios within this share of 1 count as equal.
const MARGIN: f64 = 0.005;

pub fn compare(series: &[Series]) -> Vec<Pair> {
    let count = series.len().min(MOST_COMPARED);
    let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    pairs.filter_map(|(a, b)| pair(series, a, b)).collect()
}

fn pair(series: &[Series], a: usize, b: usize) -> Option<Pair> {
    let path = ratios(&series[a].points, &series[b].points);
    let [first, .., last] = &path[..] else {
        return None;
    };
    let within = (first.value, last.value);
    let decided: Vec<usize> = (0..path.len()).filter(|i| path[*i].is_decided).collect();
    let changes = decided
        .windows(2)
        .filter(|ends| path[ends[0]].a_is_slower() != path[ends[1]].a_is_slower());
    let crossings: Vec<Crossing> = changes
        .filter_map(|ends| crossing(&path[ends[0]..=ends[1]], a, b))
        .collect();
    let overtaking = match decided.first() {
        None => Overtaking::Unresolved,
        Some(i) if crossings.is_empty() => {
            Overtaking::AlwaysFaster(if path[*i].a_is_slower() { b } else { a })
        }
        Some(_) => Overtaking::Crossings(crossings),
    };
    Some(Pair {
        a,
        b,
        within,
        overtaking,
    })
}

struct Ratio {
    value: u64,
    /// ln a - ln b, the median over all rounds.
    log: f64,
    /// The same of each time block; NaN for a block without common rounds.
    blocks: Vec<f64>,
    /// Its interval, or the ratio itself without one, lies beyond the margin.
    is_decided: bool,
}

impl Ratio {
    fn a_is_slower(&self) -> bool {
        self.log > 0.0
    }

    fn new(value: u64, log: f64, blocks: Vec<f64>) -> Ratio {
        let mut finite: Vec<f64> = blocks
            .iter()
            .copied()
            .filter(|log| log.is_finite())
            .collect();
        let interval = block_interval(&mut finite).map(|interval| interval.holding(log));
        let (low, high) = interval.map_or((log, log), Interval::ends);
        Ratio {
            value,
            log,
            blocks,
            is_decided: low > MARGIN || high < -MARGIN,
        }
    }
}

fn ratios(a: &[Point], b: &[Point]) -> Vec<Ratio> {
    let same = |p: &Point| {
        b.binary_search_by_key(&p.value, |q| q.value)
            .ok()
            .and_then(|i| b.get(i))
    };
    a.iter().filter_map(|p| ratio(p, same(p)?)).collect()
}

/// Paired round by round where both have rounds; otherwise the ratio of the two published costs.
fn ratio(a: &Point, b: &Point) -> Option<Ratio> {
    let (cost_a, cost_b) = (a.cost.as_ref()?, b.cost.as_ref()?);
    let (Some(times_a), Some(times_b)) = (&a.measurement, &b.measurement) else {
        return Some(Ratio::new(a.value, cost_a.ns.ln() - cost_b.ns.ln(), vec![]));
    };
    let logs = stats::log_ratios(times_a, times_b);
    let medians = logs
        .iter()
        .map(|block| median(block.clone()).unwrap_or(f64::NAN))
        .collect();
    Some(Ratio::new(a.value, median(logs.concat())?, medians))
}

fn crossing(stretch: &[Ratio], a: usize, b: usize) -> Option<Crossing> {
    let (low, high) = (stretch.first()?, stretch.last()?);
    let path: Vec<(u64, f64)> = stretch.iter().map(|r| (r.value, r.log)).collect();
    let at = root(&path)?;
    let blocks = stretch.iter().map(|r| r.blocks.len()).min().unwrap_or(0);
    let mut roots: Vec<f64> = (0..blocks).filter_map(|i| block_root(stretch, i)).collect();
    let interval = block_interval(&mut roots).map(|interval| interval.holding(at));
    let (faster_below, faster_above) = if low.a_is_slower() { (b, a) } else { (a, b) };
    Some(Crossing {
        faster_below,
        faster_above,
        at,
        interval,
        between: (low.value, high.value),
    })
}

/// A block without a crossing in the stretch crosses beyond one of its ends, and that end is returned.
fn block_root(stretch: &[Ratio], block: usize) -> Option<f64> {
    let path: Vec<(u64, f64)> = stretch
        .iter()
        .map(|r| Some((r.value, *r.blocks.get(block)?)))
        .collect::<Option<_>>()?;
    if path.iter().any(|(_, log)| !log.is_finite()) {
        return None;
    }
    let (low, high) = (stretch.first()?, stretch.last()?);
    let still = (path.last()?.1 > 0.0) == low.a_is_slower();
    Some(root(&path).unwrap_or(if still { high.value } else { low.value } as f64))
}

/// The middle one of several places.
fn root(path: &[(u64, f64)]) -> Option<f64> {
    let changes = path
        .windows(2)
        .filter(|ends| (ends[0].1 > 0.0) != (ends[1].1 > 0.0));
    let roots: Vec<f64> = changes.map(|ends| between(ends[0], ends[1])).collect();
    roots.get(roots.len() / 2).copied()
}

/// Linear in the logarithms of ratio and value, or in the value itself from 0. Where costs are lines this is off by a few percent of
/// the value, which the interval does not include.
fn between((x0, log0): (u64, f64), (x1, log1): (u64, f64)) -> f64 {
    let (x0, x1, share) = (x0 as f64, x1 as f64, log0 / (log0 - log1));
    if x0 > 0.0 {
        x0 * (x1 / x0).powf(share)
    } else {
        x0 + share * (x1 - x0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::series::series;
    use super::super::synthetic::{Noise, Strategy, run};
    use super::*;

    fn sizes() -> [u64; 21] {
        std::array::from_fn(|i| 1 << i)
    }

    fn overtaking(strategies: &[Strategy], blocks: usize, share: f64) -> Overtaking {
        let run = run(strategies, blocks, Noise { seed: 7, share });
        let mut pairs = compare(&series(&run));
        assert_eq!(pairs.len(), 1);
        pairs.remove(0).overtaking
    }

    #[test]
    fn a_known_crossover_is_inside_its_interval() {
        // 10 x^0.8 = 100 x^0.5 at x = 10^(1/0.3), and powers are straight in logarithms
        const TRUTH: f64 = 2154.43;
        let read = |x| 10.0 * (x as f64).powf(0.8);
        let map = |x| 100.0 * (x as f64).sqrt();
        let found = overtaking(
            &[("io.read", &sizes(), &read), ("io.mmap", &sizes(), &map)],
            20,
            0.04,
        );
        let Overtaking::Crossings(crossings) = found else {
            panic!("{found:?}")
        };
        assert_eq!(crossings.len(), 1);
        let one = &crossings[0];
        assert_eq!((one.faster_below, one.faster_above), (0, 1));
        assert_eq!(one.between, (2048, 4096));
        assert!((one.at / TRUTH - 1.0).abs() < 0.03, "{one:?}");
        let (low, high) = one.interval.unwrap().ends();
        assert!(low < TRUTH && TRUTH < high, "{one:?}");
    }

    #[test]
    fn none_several_and_unresolved() {
        let flat = |_| 100.0;
        let slow = |_| 200.0;
        let is_middle = |x: u64| (100..10_000).contains(&x);
        let wave = |x| if is_middle(x) { 50.0 } else { 200.0 };
        let near = |_| 100.1;
        let one = |other: &dyn Fn(u64) -> f64| {
            overtaking(
                &[("io.a", &sizes(), &flat), ("io.b", &sizes(), other)],
                20,
                0.01,
            )
        };
        assert_eq!(one(&slow), Overtaking::AlwaysFaster(0));
        assert_eq!(one(&near), Overtaking::Unresolved);
        let Overtaking::Crossings(both) = one(&wave) else {
            panic!()
        };
        let places: Vec<_> = both.iter().map(|c| (c.faster_above, c.between)).collect();
        assert_eq!(places, [(1, (64, 128)), (0, (8192, 16384))]);
    }

    #[test]
    fn few_blocks_give_a_place_without_an_interval() {
        let rising = |x| 50.0 + x as f64;
        let found = overtaking(
            &[("io.a", &sizes(), &|_| 100.0), ("io.b", &sizes(), &rising)],
            3,
            0.0,
        );
        let Overtaking::Crossings(crossings) = found else {
            panic!("{found:?}")
        };
        let one = &crossings[0];
        assert_eq!(
            (crossings.len(), one.interval, one.faster_above),
            (1, None, 0)
        );
        assert!((48.0..52.0).contains(&one.at), "{one:?}");
    }

    #[test]
    fn zero_is_a_value_too() {
        assert_eq!(between((0, -1.0), (8, 1.0)), 4.0);
        assert_eq!(between((2, -1.0), (8, 1.0)), 4.0);
    }
}
