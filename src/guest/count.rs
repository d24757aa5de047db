//! How instructions are counted: batches of two lengths, whose difference is free of what starts and ends a batch. Pure: it
//! asks a probe through a function. Called by `session`.

use crate::model::{Counted, Failure, FailureKind, Reply};

/// Instructions of the longer batch: short beside the time between two timer interrupts (4 million at 250 Hz), so that most
/// batches have none.
const BATCH: u64 = 400_000;
/// How many times longer the longer batch is.
const TIMES: u64 = 4;
/// Pairs of batches in one round; the first is run and left out, because it also does what the request started.
const PAIRS: u64 = 8;
/// Most instructions of a round's longer batches, above which it has fewer pairs.
const ROUND: u64 = 100_000_000;
/// Most rounds, and the share of equal differences that ends them.
const ROUNDS: usize = 4;
const AGREE: f64 = 0.5;

/// Counts the instructions of an operation that allows `limit` iterations per batch. `request` runs k batches of n iterations.
///
/// # Errors
/// The failure of a request, or that the limit leaves nothing to subtract.
pub fn count(
    limit: Option<u64>,
    mut request: impl FnMut(u64, u32) -> Result<Reply, Failure>,
) -> Result<Counted, Failure> {
    let (fewer, more, pairs) = lengths(limit.unwrap_or(u64::MAX), &mut request)?;
    let mut counted = Counted { fewer, more, batches: Vec::new() };
    for _ in 0..ROUNDS {
        let (few, many) = (batches(fewer, pairs, &mut request)?, batches(more, pairs, &mut request)?);
        counted.batches.extend(few.into_iter().zip(many));
        if agree(&counted) {
            break;
        }
    }
    Ok(counted)
}

/// Iterations of the two batches, and pairs in a round. The first iteration also does what is done once, so the second decides.
fn lengths(
    limit: u64,
    request: &mut impl FnMut(u64, u32) -> Result<Reply, Failure>,
) -> Result<(u64, u64, u32), Failure> {
    if limit < 2 {
        let text = "it allows one iteration per batch: there are no two lengths whose difference could be taken";
        return Err(Failure::new(FailureKind::Unsupported, text));
    }
    let one = batches(1, 1, request)?[0].max(1);
    let more = (BATCH / one).clamp(TIMES, 1 << 20).min(limit);
    let pairs = (ROUND / (one * more)).clamp(2, PAIRS);
    Ok(((more / TIMES).max(1), more, pairs as u32))
}

/// Instructions of each batch, without a first one.
fn batches(n: u64, k: u32, request: &mut impl FnMut(u64, u32) -> Result<Reply, Failure>) -> Result<Vec<u64>, Failure> {
    Ok(request(n, k + 1)?.batches.iter().skip(1).map(|batch| batch.ns).collect())
}

/// Whether the median difference is that of many pairs: then interrupts are only in the others.
fn agree(counted: &Counted) -> bool {
    let Some(median) = counted.per_operation() else { return false };
    let iterations = (counted.more - counted.fewer) as f64;
    let same = |(fewer, more): &&(u64, u64)| (*more as f64 - *fewer as f64 - median * iterations).abs() < 0.5;
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
        let counted = count(None, scripted(329, |_| 0)).unwrap();
        assert_eq!(counted.per_operation(), Some(329.0));
        assert_eq!(counted.batches.len(), PAIRS as usize, "all agree at once");
        assert!(counted.more * 329 < BATCH && counted.fewer * TIMES <= counted.more);
    }

    #[test]
    fn interrupts_in_some_batches_do_not_count() {
        let counted = count(None, scripted(2734, |number| if number % 5 == 0 { 9000 } else { 0 })).unwrap();
        assert_eq!(counted.per_operation(), Some(2734.0));
        let (least, most) = counted.range().unwrap();
        assert!(least < 2734.0 && most > 2734.0);
    }

    #[test]
    fn batches_that_never_agree_end_too() {
        let counted = count(None, scripted(5000, |number| number * number % 977)).unwrap();
        assert_eq!(counted.batches.len(), ROUNDS * PAIRS as usize);
        assert!((counted.per_operation().unwrap() - 5000.0).abs() < 30.0);
    }

    #[test]
    fn long_operations_get_few_iterations_and_the_limit_holds() {
        let counted = count(None, scripted(300_000_000, |_| 0)).unwrap();
        assert_eq!((counted.fewer, counted.more, counted.batches.len()), (1, 4, 2));
        let counted = count(Some(3), scripted(10, |_| 0)).unwrap();
        assert_eq!((counted.fewer, counted.more, counted.per_operation()), (1, 3, Some(10.0)));
        assert_eq!(count(Some(1), scripted(10, |_| 0)).unwrap_err().kind, FailureKind::Unsupported);
    }
}
