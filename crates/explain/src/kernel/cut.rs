//! Cuts the recording of a batch into its iterations: in a batch of n, the head of the probe's loop is executed n times. Pure.
//!
//! Rejected: the difference of two batches, as for code outside of the kernel: it gives counts, but no order, and a call tree needs the
//! order.

use model::explained::Iterations;
use std::collections::BTreeMap;
use std::ops::Range;

pub type Cut = (Vec<u64>, Iterations);

/// The iteration that occurs most often in a batch of `n`; the shorter one of two that occur as often. `code` is the function with
/// the loop: the probe's run function, or the main function of a snippet, which was entered before. `None` if there is no loop.
pub fn cut(trace: &[u64], code: &Range<u64>, n: u64) -> Option<Cut> {
    let begin = trace.iter().position(|address| code.contains(address))?;
    let trace = &trace[begin..];
    let head = head(trace, code, n)?;
    let at: Vec<usize> = (0..trace.len()).filter(|i| trace[*i] == head).collect();
    let iterations: Vec<&[u64]> = at.windows(2).map(|pair| &trace[pair[0]..pair[1]]).collect();
    let mut times: BTreeMap<&[u64], usize> = BTreeMap::new();
    iterations
        .iter()
        .for_each(|one| *times.entry(one).or_insert(0) += 1);
    let (iteration, alike) = times
        .into_iter()
        .max_by_key(|(one, times)| (*times, usize::MAX - one.len()))?;
    let lengths = || iterations.iter().map(|one| one.len());
    let (fewest, most) = (lengths().min()?, lengths().max()?);
    Some((
        iteration.to_vec(),
        Iterations {
            recorded: iterations.len(),
            alike,
            fewest,
            most,
        },
    ))
}

/// From the call of the run function to where that was executed last: for operations that allow a batch of one iteration only.
pub fn whole(trace: &[u64], code: &Range<u64>) -> Option<Cut> {
    let begin = trace.iter().position(|address| *address == code.start)?;
    let end = trace.iter().rposition(|address| code.contains(address))?;
    let iteration = trace[begin..=end].to_vec();
    let iterations = Iterations {
        recorded: 1,
        alike: 1,
        fewest: iteration.len(),
        most: iteration.len(),
    };
    Some((iteration, iterations))
}

/// The first instruction that is executed exactly `n` times.
fn head(trace: &[u64], code: &Range<u64>, n: u64) -> Option<u64> {
    let own = || trace.iter().filter(|address| code.contains(address));
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    own().for_each(|address| *counts.entry(*address).or_insert(0) += 1);
    own().find(|address| n > 1 && counts[address] == n).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: Range<u64> = 10..20;

    #[test]
    fn a_batch_is_cut_at_the_head_of_its_loop() {
        // Before it, the head once an iteration with the kernel's 100 and 101, and the return.
        let even: &[u64] = &[
            1, 2, 10, 11, 12, 100, 101, 13, 12, 100, 101, 13, 12, 100, 101, 13, 14, 3,
        ];
        // One iteration was interrupted.
        let uneven: &[u64] = &[10, 12, 100, 12, 100, 900, 901, 12, 100, 12, 100, 14];
        for (trace, n, iteration, [recorded, alike, fewest, most]) in [
            (even, 3, vec![12, 100, 101, 13], [2, 2, 4, 4]),
            (uneven, 4, vec![12, 100], [3, 2, 2, 4]),
        ] {
            let iterations = Iterations {
                recorded,
                alike,
                fewest,
                most,
            };
            assert_eq!(cut(trace, &CODE, n), Some((iteration, iterations)));
        }
    }

    #[test]
    fn without_a_loop_there_is_nothing_to_cut() {
        assert_eq!(cut(&[10, 12, 100, 14], &CODE, 1), None);
        assert_eq!(cut(&[1, 2, 3], &CODE, 2), None);
        assert_eq!(
            whole(&[1, 10, 12, 100, 14, 3], &CODE).unwrap().0,
            [10, 12, 100, 14]
        );
    }
}
