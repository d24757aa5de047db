//! Computes one iteration as the difference of two recordings, instruction by instruction: a batch of two iterations minus a batch of one. Code
//! before and after the loop cancels. Pure.

use std::collections::{BTreeMap, BTreeSet};

pub struct Iteration {
    /// The addresses of instructions in the order of their first execution, with how often each was executed.
    pub executed: Vec<(u64, u64)>,
    /// Pairs of consecutive instructions, likewise.
    pub steps: Vec<((u64, u64), u64)>,
    /// The first batch executed code that the second did not: iterations differ.
    pub uneven: bool,
}

impl Iteration {
    /// The iteration by which `two`, a batch of two, is longer than `one`, a batch of one.
    pub fn between(one: &[u64], two: &[u64]) -> Iteration {
        let (executed, uneven) = difference(one.iter().copied(), two.iter().copied());
        let (steps, _) = difference(pairs(one), pairs(two));
        Iteration {
            executed,
            steps,
            uneven,
        }
    }

    /// A single recording taken for one iteration, with the code around the loop.
    pub fn whole(one: &[u64]) -> Iteration {
        Iteration::between(&[], one)
    }

    /// How many instructions one iteration executes.
    pub fn instructions(&self) -> u64 {
        self.executed.iter().map(|(_, count)| count).sum()
    }
}

fn pairs(trace: &[u64]) -> impl Iterator<Item = (u64, u64)> {
    trace.windows(2).map(|pair| (pair[0], pair[1]))
}

/// The items of which `many` has more, in its order; and whether `few` has more of any.
fn difference<T: Ord + Copy>(
    few: impl Iterator<Item = T>,
    many: impl Iterator<Item = T>,
) -> (Vec<(T, u64)>, bool) {
    let mut counts: BTreeMap<T, i64> = BTreeMap::new();
    few.for_each(|item| *counts.entry(item).or_insert(0) -= 1);
    // Counts alone would sort instructions by address; the listing has functions in the order of their calls.
    let (mut order, mut seen) = (Vec::new(), BTreeSet::new());
    for item in many {
        *counts.entry(item).or_insert(0) += 1;
        if seen.insert(item) {
            order.push(item);
        }
    }
    let more = order
        .into_iter()
        .filter(|item| counts[item] > 0)
        .map(|item| (item, counts[&item].cast_unsigned()));
    (more.collect(), counts.values().any(|count| *count < 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_around_the_loop_cancels() {
        let one = [1, 2, 10, 11, 3];
        let two = [1, 2, 10, 11, 2, 10, 11, 3];
        let iteration = Iteration::between(&one, &two);
        assert_eq!(iteration.executed, [(2, 1), (10, 1), (11, 1)]);
        assert_eq!(iteration.steps, [((2, 10), 1), ((10, 11), 1), ((11, 2), 1)]);
        assert_eq!((iteration.instructions(), iteration.uneven), (3, false));
    }

    #[test]
    fn a_first_iteration_that_differs_is_noticed() {
        assert!(Iteration::between(&[1, 9, 2], &[1, 2, 1, 2]).uneven);
        assert_eq!(Iteration::whole(&[1, 2, 2]).executed, [(1, 1), (2, 2)]);
    }
}
