//! The measured values between which one strategy overtakes another: by the ratios there, so it holds even if no line fits.

use super::series::{Point, Series};
use model::Case;
use schemars::JsonSchema;
use serde::Serialize;
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Two strategies over the values that both have.
#[derive(Serialize, JsonSchema)]
pub struct Pair {
    /// Index of the first in `strategies`.
    pub a: usize,
    /// Index of the second.
    pub b: usize,
    /// The smallest and the largest value that both have a cost for.
    pub within: (u64, u64),
    /// The values within at which it is not known which one is faster.
    pub not_known: Vec<u64>,
    /// The values at which one of the two was not measured or failed.
    pub not_compared: Vec<u64>,
    #[serde(rename = "verdict")]
    pub overtaking: Overtaking,
}

/// The faster one of a pair, and the values at which that changes.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Overtaking {
    /// The two cross, once or more, by ascending value.
    Crossings(Vec<Crossing>),
    /// The series of this index is faster wherever one of the two is for certain.
    #[serde(rename = "faster")]
    AlwaysFaster(usize),
    /// Which one is faster is not known at any value.
    Unresolved,
}

/// One strategy overtakes the other.
#[derive(Debug, PartialEq, Serialize, JsonSchema)]
pub struct Crossing {
    /// The index of the series that is faster at the first of `between`.
    pub faster_below: usize,
    /// The index of the one that is faster at the second.
    pub faster_above: usize,
    /// The nearest measured values at which one, and then the other, is faster for certain.
    pub between: (u64, u64),
}

/// The number of pairs grows with the square of the series.
pub const MOST_COMPARED: usize = 24;
/// Ratios within this share of 1 count as equal.
const MARGIN: f64 = 0.01;

/// Operations that do the same work by other calls. Reads of a file are not those of /dev/zero, a child that exits is not one that
/// executes a program, and a name that exists is not one that is absent.
pub const SAME_WORK: [&str; 14] = [
    "id.getrandom id.getrandom_raw",
    "file.stat file.lstat file.statx",
    "file.access file.faccessat",
    "file.open_close file.openat_close",
    "io.read_file io.pread",
    "io.write_file io.pwrite",
    "io.read_zero io.fread",
    "io.write_null io.fwrite",
    "event.poll_none event.select_none event.epoll_wait_none",
    "event.poll_one event.select_one event.epoll_wait_one",
    "ipc.pipe ipc.socketpair ipc.unix_stream ipc.unix_datagram ipc.tcp ipc.udp ipc.sysv_queue ipc.posix_queue",
    "socket.send_recv socket.sendmsg_recvmsg",
    "process.fork_wait process.vfork_wait",
    "process.fork_exec_static process.vfork_exec_static process.posix_spawn",
];

/// Whether one of two cases may replace the other: by the list of operations, and for snippets and the cases of a study by whoever
/// measures them together.
fn do_same_work(a: &Case, b: &Case) -> bool {
    let is_chosen = [a, b]
        .iter()
        .any(|case| case.name.is_some() || case.language.is_some());
    let both = [a, b].map(|case| case.operation.as_str());
    let mut lines = SAME_WORK.iter().map(|line| line.split(' '));
    is_chosen
        || both[0] == both[1]
        || lines.any(|line| line.filter(|operation| both.contains(operation)).count() == 2)
}

/// Compares the first [`MOST_COMPARED`] series, each with each that does the same work.
pub fn compare(series: &[Series]) -> Vec<Pair> {
    let count = series.len().min(MOST_COMPARED);
    let pairs = (0..count).flat_map(|a| (a + 1..count).map(move |b| (a, b)));
    let same = pairs.filter(|(a, b)| do_same_work(&series[*a].case, &series[*b].case));
    same.filter_map(|(a, b)| pair(series, a, b)).collect()
}

fn pair(series: &[Series], a: usize, b: usize) -> Option<Pair> {
    let path = orders(&series[a].points, &series[b].points);
    let [first, .., last] = &path[..] else {
        return None;
    };
    let within = (first.0, last.0);
    let unknown = path.iter().filter(|(_, order)| order.is_eq());
    let points = series[a].points.iter().chain(&series[b].points);
    let values: BTreeSet<u64> = points.map(|point| point.value).collect();
    let is_compared = |value: &u64| path.iter().any(|(known, _)| known == value);
    // Values without a certain order neither make nor hide a crossing.
    let decided: Vec<&(u64, Ordering)> = path.iter().filter(|(_, order)| order.is_ne()).collect();
    let changes = decided.windows(2).filter(|ends| ends[0].1 != ends[1].1);
    let crossings = changes.map(|ends| Crossing {
        faster_below: faster(ends[0].1, a, b),
        faster_above: faster(ends[1].1, a, b),
        between: (ends[0].0, ends[1].0),
    });
    let crossings: Vec<Crossing> = crossings.collect();
    let overtaking = match decided.first() {
        None => Overtaking::Unresolved,
        Some((_, order)) if crossings.is_empty() => Overtaking::AlwaysFaster(faster(*order, a, b)),
        Some(_) => Overtaking::Crossings(crossings),
    };
    Some(Pair {
        a,
        b,
        within,
        not_known: unknown.map(|(value, _)| *value).collect(),
        not_compared: values.into_iter().filter(|v| !is_compared(v)).collect(),
        overtaking,
    })
}

fn faster(order: Ordering, a: usize, b: usize) -> usize {
    if order.is_gt() { b } else { a }
}

/// By value, whether the first is slower; `Equal` if that is not certain.
fn orders(a: &[Point], b: &[Point]) -> Vec<(u64, Ordering)> {
    a.iter()
        .filter_map(|a| {
            let same = b.binary_search_by_key(&a.value, |b| b.value).ok()?;
            Some((a.value, order(a, b.get(same)?)?))
        })
        .collect()
}

/// Paired round by round where both have rounds; otherwise the ratio of the two published costs. The next run must find the same
/// order, so the ratio is also farther from 1 than the two may move apart until then.
fn order(a: &Point, b: &Point) -> Option<Ordering> {
    let (cost_a, cost_b) = (a.cost.as_ref()?, b.cost.as_ref()?);
    let moves = [cost_a, cost_b].map(|cost| cost.next_run.map_or(0.0, |next| next.alone));
    // Both costs may move until the next run, so their shares add as independent errors.
    let farther = 1.0 + moves[0].hypot(moves[1]).max(MARGIN);
    let (ratio, low_high) = match (&a.measurement, &b.measurement) {
        (Some(a), Some(b)) => {
            let ratio = stats::paired_ratio(a, b)?;
            (ratio.value, ratio.low_high.unwrap_or((0.0, f64::INFINITY)))
        }
        _ => (
            cost_a.ns / cost_b.ns,
            (cost_a.ns / cost_b.ns, cost_a.ns / cost_b.ns),
        ),
    };
    Some(match low_high {
        (low, _) if low > 1.0 + MARGIN && ratio > farther => Ordering::Greater,
        (_, high) if high * (1.0 + MARGIN) < 1.0 && ratio * farther < 1.0 => Ordering::Less,
        _ => Ordering::Equal,
    })
}

#[cfg(test)]
mod tests {
    use super::super::synthetic::{Noise, Strategy, run};
    use super::*;
    use crate::fit::series::series;
    use crate::summary::summarize;

    #[test]
    fn only_operations_that_do_the_same_work_are_compared() {
        fn case(operation: &str, name: Option<&str>) -> Case {
            Case {
                name: name.map(str::to_string),
                ..Case::native(operation)
            }
        }

        let fork = case("process.fork_wait", None);
        for (operation, name, expected) in [
            ("process.fork_wait", None, true),
            ("process.vfork_wait", None, true),
            ("process.posix_spawn", None, false),
            ("process.posix_spawn", Some("spawn"), true),
            ("process.unknown", None, false),
        ] {
            let other = case(operation, name);
            assert_eq!(do_same_work(&fork, &other), expected, "{operation}");
        }
    }

    fn sizes() -> [u64; 21] {
        std::array::from_fn(|i| 1 << i)
    }

    fn overtaking(other: &dyn Fn(u64) -> f64, noise: Noise, launches: usize) -> Overtaking {
        paired(&sizes(), other, noise, launches).overtaking
    }

    /// The first has all sizes, the other those of `sizes`.
    fn paired(sizes: &[u64], other: &dyn Fn(u64) -> f64, noise: Noise, launches: usize) -> Pair {
        let all: [u64; 21] = std::array::from_fn(|i| 1 << i);
        let both: [Strategy; 2] = [
            ("io.pread", &all, &|_| 100.0),
            ("io.read_file", sizes, other),
        ];
        let run = run(&both, 3 * launches, noise);
        let mut pairs = compare(&series(&run, &summarize(&run)));
        assert_eq!(pairs.len(), 1);
        pairs.remove(0)
    }

    #[test]
    fn values_without_an_order_are_named() {
        let step = |x: u64| if x < 4 { 100.0 } else { 300.0 };
        let pair = paired(&sizes()[..19], &step, Noise::NONE, 7);
        assert_eq!(pair.overtaking, Overtaking::AlwaysFaster(0));
        assert_eq!(pair.not_known, [1, 2]);
        assert_eq!(pair.not_compared, [1 << 19, 1 << 20]);
    }

    fn crossings(other: &dyn Fn(u64) -> f64, noise: Noise) -> Vec<(usize, (u64, u64))> {
        let Overtaking::Crossings(all) = overtaking(other, noise, 7) else {
            panic!()
        };
        all.iter()
            .map(|one| (one.faster_above, one.between))
            .collect()
    }

    #[test]
    fn crossings_are_between_measured_values_where_the_order_is_certain() {
        fn wave(x: u64) -> f64 {
            if (100..10_000).contains(&x) {
                50.0
            } else {
                200.0
            }
        }

        let noise = Noise {
            seed: 7,
            share: 0.01,
        };
        assert_eq!(
            crossings(&wave, noise),
            [(1, (64, 128)), (0, (8192, 16384))]
        );
        // It crosses at 50, beside which 64 is too near to be certain with that much noise.
        let noisy = Noise {
            seed: 7,
            share: 0.2,
        };
        let [(0, (below, above))] = crossings(&|x| 90.0 + x as f64 / 5.0, noisy)[..] else {
            panic!()
        };
        assert!(below < 32 && above > 64, "{below} and {above}");
    }

    #[test]
    fn one_is_always_faster_or_it_is_not_known() {
        fn beside(other: f64, launches: usize) -> Overtaking {
            overtaking(&|_| other, Noise::NONE, launches)
        }

        assert_eq!(beside(200.0, 7), Overtaking::AlwaysFaster(0));
        assert_eq!(beside(50.0, 7), Overtaking::AlwaysFaster(1));
        assert_eq!(beside(100.1, 7), Overtaking::Unresolved);
        assert_eq!(beside(200.0, 2), Overtaking::Unresolved);
    }
}
