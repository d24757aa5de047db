//! How instructions are counted: batches of two lengths, whose difference is free of what starts and ends a batch. Pure: it
//! asks a probe through a function. Called by `session`.

use crate::model::{Counted, Failure, FailureKind, Reply};

/// How long batches are.
#[derive(Clone, Copy)]
struct Length {
    /// Instructions of the longer batch.
    batch: u64,
    /// Most rounds of pairs of batches, each of which starts afresh.
    rounds: usize,
    /// Fewest pairs in a round, if one is not very long.
    pairs: u64,
    /// Instructions of a round's longer batches: shorter batches, of an operation with a limit, make more pairs.
    round: u64,
}

/// Short beside the time between two timer interrupts (4 million instructions at 250 Hz): most batches have none, so many agree.
const SHORT: Length = Length { batch: 400_000, rounds: 3, pairs: 8, round: 3_200_000 };
/// For operations that leave work for later, such as freeing memory: long beside the time that it waits, which is some timer
/// interrupts, so that each batch has its share of it.
const LONG: Length = Length { batch: 60_000_000, rounds: 1, pairs: 3, round: 180_000_000 };
/// How many times longer the longer batch is.
const TIMES: u64 = 4;
/// Calls after which kernels for arm64 make new random numbers, of which each entry takes one to shift its stack (2,800
/// instructions in 6.1). Batches of so many iterations, times any number, have their share of them exactly.
const CYCLE: u64 = 48;
/// Most pairs in a round, and most instructions of its longer batches, above which it has only two pairs.
const PAIRS: u64 = 100;
const MOST: u64 = 500_000_000;
/// The share of equal differences that ends counting.
const AGREE: f64 = 0.5;
/// Most instructions between both readings of the clock beside the iterations. If there seem to be more, or fewer than none, then
/// an iteration did not cost the same in short and long batches: some calls depend on the time of day, or of the last interrupt.
const BESIDE: f64 = 200.0;

/// Counts the instructions of an operation that allows `limit` iterations per batch. `request` runs k batches of n iterations.
/// If `deferred`, what it leaves to others counts too, in long batches; so do operations of which short batches do not agree.
///
/// # Errors
/// The failure of a request, or that the limit leaves nothing to subtract.
pub fn count(
    limit: Option<u64>,
    deferred: bool,
    mut request: impl FnMut(u64, u32) -> Result<Reply, Failure>,
) -> Result<Counted, Failure> {
    let limit = limit.unwrap_or(u64::MAX);
    if limit < 2 {
        let text = "it allows one iteration per batch: there are no two lengths whose difference could be taken";
        return Err(Failure::new(FailureKind::Unsupported, text));
    }
    // The first iteration also does what is done once, so the second decides.
    let one = batches(1, 1, &mut request)?.first().copied().unwrap_or(1).max(1);
    let short = if deferred { Counted::default() } else { count_in(SHORT, one, limit, &mut request)? };
    if agree(&short) { Ok(short) } else { count_in(LONG, one, limit, &mut request) }
}

/// Counts in batches of that length; `one` is the length of one iteration.
fn count_in(
    length: Length,
    one: u64,
    limit: u64,
    request: &mut impl FnMut(u64, u32) -> Result<Reply, Failure>,
) -> Result<Counted, Failure> {
    let (fewer, more) = lengths((length.batch / one).clamp(TIMES, 1 << 24).min(limit));
    let longest = one.saturating_mul(more);
    let fewest = if longest.saturating_mul(length.pairs) > MOST { 2 } else { length.pairs };
    let pairs = (length.round / longest).clamp(fewest, PAIRS) as u32;
    let mut counted = Counted::default();
    for _ in 0..length.rounds {
        let (few, many) = (batches(fewer, pairs, request)?, batches(more, pairs, request)?);
        counted = Counted { fewer, more, batches: few.into_iter().zip(many).collect() };
        if agree(&counted) {
            break;
        }
    }
    Ok(counted)
}

/// Iterations of the shorter and of the longer batch, of which the longer one has at most `most`.
fn lengths(most: u64) -> (u64, u64) {
    let cycles = most / TIMES / CYCLE;
    if cycles == 0 { ((most / TIMES).max(1), most) } else { (cycles * CYCLE, cycles * CYCLE * TIMES) }
}

/// Instructions of each batch, without a first one, which also does what the request started.
fn batches(n: u64, k: u32, request: &mut impl FnMut(u64, u32) -> Result<Reply, Failure>) -> Result<Vec<u64>, Failure> {
    Ok(request(n, k + 1)?.batches.iter().skip(1).map(|batch| batch.ns).collect())
}

/// Whether the median difference is that of many pairs: then interrupts are only in the others.
fn agree(counted: &Counted) -> bool {
    let Some(median) = counted.per_operation() else { return false };
    let same = |(fewer, more): &&(u64, u64)| {
        let beside = [(*fewer, counted.fewer), (*more, counted.more)].map(|(all, n)| all as f64 - n as f64 * median);
        (beside[0] - beside[1]).abs() < 0.5 && (0.0..=BESIDE).contains(&beside[0])
    };
    counted.batches.iter().filter(same).count() as f64 >= AGREE * counted.batches.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Batch;

    /// Batches of `each` instructions per iteration and some more; `extra` of the batch's number is added.
    fn scripted(each: u64, extra: impl Fn(u64) -> u64) -> impl FnMut(u64, u32) -> Result<Reply, Failure> {
        let mut number = 0;
        move |n, k| {
            let batch = |_| {
                number += 1;
                Batch { ns: 55 + n * each + extra(number), switches: 0 }
            };
            Ok(Reply { batches: (0..k).map(batch).collect(), ..Reply::default() })
        }
    }

    #[test]
    fn what_starts_a_batch_cancels() {
        let counted = count(None, false, scripted(329, |_| 0)).unwrap();
        assert_eq!(counted.per_operation(), Some(329.0));
        assert_eq!(counted.batches.len(), SHORT.pairs as usize, "all agree at once");
        assert!(counted.more * 329 < SHORT.batch && counted.fewer * TIMES <= counted.more);
    }

    #[test]
    fn interrupts_in_some_batches_do_not_count() {
        let counted = count(None, false, scripted(2734, |number| if number % 5 == 0 { 9000 } else { 0 })).unwrap();
        assert_eq!(counted.per_operation(), Some(2734.0));
        let (least, most) = counted.range().unwrap();
        assert!(least < 2734.0 && most > 2734.0);
    }

    #[test]
    fn batches_that_never_agree_are_long_and_end_too() {
        let counted = count(None, false, scripted(5000, |number| number * number % 977)).unwrap();
        assert_eq!(counted.batches.len(), LONG.rounds * LONG.pairs as usize);
        assert!(counted.more * 5000 > SHORT.batch && (counted.per_operation().unwrap() - 5000.0).abs() < 1.0);
    }

    #[test]
    fn work_of_every_48th_call_is_shared_by_all() {
        let (mut calls, each) = (7, 404);
        let mut refills = |n: u64| {
            calls += n;
            calls / CYCLE - (calls - n) / CYCLE
        };
        let request = |n, k: u32| {
            let batches = (0..k).map(|_| Batch { ns: 21 + n * each + 2818 * refills(n), switches: 0 }).collect();
            Ok(Reply { batches, ..Reply::default() })
        };
        let counted = count(None, false, request).unwrap();
        assert!((counted.per_operation().unwrap() - (404.0 + 2818.0 / 48.0)).abs() < 1e-9, "{counted:?}");
        assert_eq!([lengths(2), lengths(4), lengths(191)], [(1, 2), (1, 4), (47, 191)]);
        assert_eq!([lengths(192), lengths(868)], [(48, 192), (192, 768)]);
    }

    #[test]
    fn a_state_that_changes_between_batches_does_not_count() {
        let late = |number| if (11..=20).contains(&number) { 4 * 1146 } else { 0 };
        let counted = count(None, false, scripted(329, late)).unwrap();
        assert_eq!(counted.per_operation(), Some(329.0));
    }

    #[test]
    fn deferred_work_is_in_long_batches_at_once() {
        let counted = count(None, true, scripted(5000, |_| 0)).unwrap();
        assert!(counted.more * 5000 > SHORT.batch);
        assert_eq!(counted.per_operation(), Some(5000.0));
    }

    #[test]
    fn long_operations_get_few_iterations_and_the_limit_holds() {
        let counted = count(None, false, scripted(300_000_000, |_| 0)).unwrap();
        assert_eq!((counted.fewer, counted.more, counted.batches.len()), (1, 4, 2));
        let counted = count(Some(3), false, scripted(10, |_| 0)).unwrap();
        assert_eq!((counted.fewer, counted.more, counted.per_operation()), (1, 3, Some(10.0)));
        assert_eq!(count(Some(1), false, scripted(10, |_| 0)).unwrap_err().kind, FailureKind::Unsupported);
    }
}
