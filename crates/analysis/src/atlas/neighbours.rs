//! Which kernels of an atlas are neighbours, and which operations differ between two.

use model::atlas::{AtlasCell, AtlasCount, AtlasKernel, AtlasStep, are_alike, ends, oldest_first};

/// Steps from either on are explained; the share is of the smaller count.
const INSTRUCTIONS: f64 = 5.0;
const SHARE: f64 = 0.01;

/// Pairs of kernels in the same machine, the older one first: the ends of series that follow each other, and those of one series and
/// build.
pub fn neighbours(kernels: &[AtlasKernel]) -> Vec<(&AtlasKernel, &AtlasKernel)> {
    let mut all: Vec<&AtlasKernel> = kernels.iter().collect();
    all.sort_by(|a, b| {
        a.machine
            .cmp(&b.machine)
            .then_with(|| oldest_first(&a.release, &b.release))
    });
    all.chunk_by(|a, b| a.machine == b.machine)
        .flat_map(in_machine)
        .collect()
}

fn in_machine<'a>(kernels: &[&'a AtlasKernel]) -> Vec<(&'a AtlasKernel, &'a AtlasKernel)> {
    fn pairs<'a>(kernels: &[&'a AtlasKernel]) -> Vec<(&'a AtlasKernel, &'a AtlasKernel)> {
        kernels.windows(2).map(|pair| (pair[0], pair[1])).collect()
    }

    let alike = pairs(kernels)
        .into_iter()
        .filter(|(a, b)| are_alike(&a.release, &b.release));
    // From series to series first, then within each.
    pairs(&ends(kernels)).into_iter().chain(alike).collect()
}

/// The largest share first.
pub fn steps(before: &AtlasKernel, after: &AtlasKernel) -> Vec<AtlasStep> {
    steps_between(&before.cells, &after.cells, before.boots.min(after.boots))
}

/// The largest share first: by instructions, starting a program would hide all else.
pub fn steps_between(before: &[AtlasCell], after: &[AtlasCell], boots: u32) -> Vec<AtlasStep> {
    fn cell_count(cells: &[AtlasCell], operation: &str) -> Option<AtlasCount> {
        cells
            .iter()
            .find(|cell| cell.operation == operation)
            .and_then(|cell| cell.count)
    }

    // One boot agrees with itself and does not show a range.
    let are_several = boots > 1;
    let mut steps: Vec<AtlasStep> = before
        .iter()
        .filter_map(|cell| {
            let operation = &cell.operation;
            let (a, b) = (
                cell_count(before, operation)?,
                cell_count(after, operation)?,
            );
            let is_seen = are_several || (b.mode - a.mode).abs() > unseen(&a, &b);
            if !is_seen || !is_step(&a, &b) {
                return None;
            }
            Some(AtlasStep {
                operation: operation.clone(),
                before: a.mode,
                after: b.mode,
                ..AtlasStep::default()
            })
        })
        .collect();
    steps.sort_by(|a, b| {
        b.share()
            .total_cmp(&a.share())
            .then_with(|| a.operation.cmp(&b.operation))
    });
    steps
}

/// Whether a step is large enough that the atlas explains it: by its instructions, or by its share of the smaller count.
pub fn is_explained(step: &AtlasStep) -> bool {
    step.instructions() >= INSTRUCTIONS || step.share() >= SHARE
}

/// The share of a count that two boots may miss if the count differs between boots (METHOD.md).
const UNSEEN: f64 = 0.01;

fn is_step(before: &AtlasCount, after: &AtlasCount) -> bool {
    let apart = (after.least - before.most).max(before.least - after.most);
    let exact = [before, after]
        .iter()
        .all(|count| count.least == count.most);
    apart > 0.0 && (exact || apart > unseen(before, after))
}

fn unseen(before: &AtlasCount, after: &AtlasCount) -> f64 {
    UNSEEN * before.mode.min(after.mode)
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::atlas::AtlasMachine;

    fn atlas_count([mode, least, most]: [f64; 3]) -> AtlasCount {
        AtlasCount { mode, least, most }
    }

    fn kernel(release: &str, cpu: &str, counts: &[(&str, [f64; 3])]) -> AtlasKernel {
        AtlasKernel {
            release: release.into(),
            machine: AtlasMachine {
                cpu: cpu.into(),
                ..AtlasMachine::default()
            },
            cells: counts
                .iter()
                .map(|(operation, counts)| AtlasCell {
                    operation: operation.to_string(),
                    count: Some(atlas_count(*counts)),
                    reason: None,
                })
                .collect(),
            ..AtlasKernel::default()
        }
    }

    #[test]
    fn neighbours_are_in_the_same_machine() {
        let all = [
            ("6.12.2+deb13", "a"),
            ("6.1.0-9", "b"),
            ("6.1.0-9", "a"),
            ("5.10", "a"),
            ("6.12.1+deb13", "a"),
        ];
        let all = all.map(|(release, cpu)| kernel(release, cpu, &[]));
        let pairs = neighbours(&all);
        let pairs = pairs
            .iter()
            .map(|(a, b)| (a.release.as_str(), b.release.as_str()));
        let expected = [
            ("5.10", "6.1.0-9"),
            ("6.1.0-9", "6.12.2+deb13"),
            ("6.12.1+deb13", "6.12.2+deb13"),
        ];
        assert_eq!(pairs.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn one_boot_shows_steps_of_more_than_one_percent() {
        fn number(boots: u32, each: f64) -> usize {
            steps(&booted(boots, 1000.0), &booted(2, each)).len()
        }

        fn booted(boots: u32, each: f64) -> AtlasKernel {
            AtlasKernel {
                boots,
                ..kernel("1", "", &[("x", [each; 3]), ("y", [1000.0; 3])])
            }
        }

        assert_eq!(
            [(1, 1009.0), (1, 1011.0), (2, 1009.0)].map(|(boots, each)| number(boots, each)),
            [0, 1, 1]
        );
    }

    #[test]
    fn counts_that_boots_may_share_are_no_step() {
        for (before, after, is) in [
            ([2731.0, 2728.0, 2731.0], [1115.0; 3], true),
            ([1.0; 3], [2.0; 3], true),
            (
                [10114.0, 10114.0, 11075.0],
                [11075.0, 10900.0, 11075.0],
                false,
            ),
            // They touch.
            ([1.0, 1.0, 2.0], [3.0, 2.0, 3.0], false),
            // Exact in all boots.
            ([2071.0; 3], [2052.0; 3], true),
            // Another boot may be between.
            (
                [10822.0, 10822.0, 10865.0],
                [10946.0, 10946.0, 11116.0],
                false,
            ),
        ] {
            assert_eq!(
                is_step(&atlas_count(before), &atlas_count(after)),
                is,
                "{before:?}"
            );
        }
    }

    #[test]
    fn a_step_is_beyond_both_ranges() {
        fn step(before: f64, after: f64) -> bool {
            is_explained(&AtlasStep {
                before,
                after,
                ..AtlasStep::default()
            })
        }

        let (x, y, z) = ([100.0, 90.0, 110.0], [100.0; 3], [5.0; 3]);
        let before = kernel("1", "", &[("x", x), ("y", y), ("z", z), ("gone", z)]);
        let (x, y, z) = ([120.0, 110.0, 130.0], [104.0; 3], [50.0; 3]);
        let after = kernel("2", "", &[("x", x), ("y", y), ("z", z)]);
        let steps = steps(&before, &after).into_iter();
        let names: Vec<String> = steps.map(|step| step.operation).collect();
        assert_eq!(names, ["z", "y"]);
        assert!(step(100.0, 104.0) && step(10_000.0, 10_005.0) && !step(10_000.0, 10_004.0));
    }
}
