//! The entries of one iteration, computed from requests with different n. Pure.

use super::Length;
use crate::runner::has_runtime;
use indexmap::IndexMap;
use model::{Count, Entries, Failure, Planned};
use std::time::{Duration, Instant};
use sys::ptrace::Counts;

/// Bounds of the additional iterations in the larger request: powers of two, so that fractions such as
/// 1/4096 are exact.
const LEAST: u64 = 8;
const MOST: u64 = 1 << 16;
/// Runtime threads and garbage collectors make background calls: smaller differences than this, and
/// than one in each iteration, are ignored.
const BACKGROUND: i64 = 3;
const PAIRS: usize = 6;
/// The larger request has fewer than `LEAST` iterations more where these would take longer.
const LONG: Duration = Duration::from_millis(200);
/// `over_all` takes the largest power of two up to the iterations divided by this, and makes requests of that divided by this again.
const PARTS: u64 = 8;
/// How much more often than in the empty loop a runtime may interrupt another one.
const MOST_OF_USUAL: f64 = 4.0;

/// The first that is seen twice in a row, else the median of all. Requests grow to about `long`.
///
/// # Errors
/// Those of `request`.
pub fn per_iteration(
    planned: &Planned,
    long: Duration,
    mut request: impl FnMut(u64) -> Result<Counts, Failure>,
) -> Result<Entries, Failure> {
    let more = step(planned, long, &mut request)?;
    let mut seen: Vec<IndexMap<String, i64>> = Vec::new();
    for _ in 0..PAIRS {
        let [few, many] = pair(more, &mut request)?;
        seen.push(difference(&many, &few));
        // Two equal differences in a row are not chance: background calls would have to repeat exactly.
        if seen.len() > 1 && seen[seen.len() - 1] == seen[seen.len() - 2] {
            // Only the difference that was repeated counts.
            seen.drain(..seen.len() - 1);
            break;
        }
    }
    let has_runtime = has_runtime(&planned.case);
    let counts = medians(&seen).into_iter().filter(|(name, count)| {
        // Few calls, or half as many more or less from pair to pair, are a runtime's, not the case's.
        let is_runtimes =
            *count < BACKGROUND.min(more.cast_signed()) || spread(&seen, name) * 2 >= *count;
        *count > 0 && !(has_runtime && is_runtimes)
    });
    Ok(counts
        .map(|(name, count)| (name, count as f64 / more as f64))
        .collect())
}

/// The results of a smaller request and of one with `more` iterations more.
///
/// # Errors
/// Those of `request`.
pub fn pair<T>(
    more: u64,
    request: &mut impl FnMut(u64) -> Result<T, Failure>,
) -> Result<[T; 2], Failure> {
    let few = request(base(more))?;
    // A call made every 64th time, say, must stand at the same place in its period in both requests.
    if more > base(more) {
        request(more - base(more))?;
    }
    Ok([few, request(base(more) + more)?])
}

/// Entries that are too rare for `per_iteration`: those of a buffer that is refilled once in a while, of a lock that sleeps, of a
/// clock that leaves the vDSO. Counted over `length.iterations`, a few more so that a period that is a power of two fits a whole
/// number of times, or over as many as are made in `length.time`. Returns the entries per iteration and the number of iterations.
///
/// # Errors
/// Those of `request`.
pub fn over_all(
    planned: &Planned,
    length: &Length,
    mut request: impl FnMut(&str) -> Result<Counts, Failure>,
) -> Result<(Entries, u64), Failure> {
    let least = finest(planned);
    let whole = power_of_two(length.iterations / PARTS).max(least);
    let part = power_of_two(whole / PARTS)
        .max(least)
        .min(power_of_two(planned.limit.unwrap_or(u64::MAX)));
    let many = part.to_string();
    // A language that reads its input byte by byte makes a system call for each digit.
    let one = format!("{:0digits$}", 1, digits = many.len());
    // The first request also does what is done once.
    request(&one)?;
    // The protocol's own calls, which every request makes.
    let beside = request(&one)?;
    let mut seen: IndexMap<String, Vec<u64>> = IndexMap::new();
    let (began, mut done) = (Instant::now(), 0);
    // Whole multiples, so that a period that is a power of two is met equally often by each request.
    let all = length.iterations.next_multiple_of(whole);
    while done == 0 || (done < all && began.elapsed() < length.time) {
        for (name, count) in request(&many)? {
            let extra = count.saturating_sub(beside.get(&name).copied().unwrap_or(0));
            seen.entry(name)
                .or_default()
                .extend((extra > 0).then_some(extra));
        }
        done += part;
    }
    let from_loop = seen.iter().filter(|(name, each)| {
        length
            .runtime
            .as_ref()
            .is_none_or(|usual| is_from_loop(each, done / part, usual.get(name)))
    });
    let shares =
        from_loop.map(|(name, each)| (name.clone(), each.iter().sum::<u64>() as f64 / done as f64));
    Ok((shares.collect(), done))
}

/// Whether the loop makes these calls: `each` has the number in each request that had any. A runtime interrupts the thread of the
/// empty loop as often, and makes many calls at once when it compiles.
fn is_from_loop(each: &[u64], requests: u64, usual: f64) -> bool {
    let sum: u64 = each.iter().sum();
    // One call more than usual may be chance, however rare the usual ones are.
    let is_often = sum as f64 > MOST_OF_USUAL * (usual + 1.0);
    is_often && each.len() as u64 * 2 > sum.min(requests)
}

fn power_of_two(most: u64) -> u64 {
    1 << most.max(1).ilog2()
}

/// How many iterations more the larger request has: the largest power of two that fits `long` and the case's
/// limit, but not fewer than the finest period. The first request also resolves what is resolved
/// lazily.
///
/// # Errors
/// Those of `request`.
pub fn step<T>(
    planned: &Planned,
    long: Duration,
    request: &mut impl FnMut(u64) -> Result<T, Failure>,
) -> Result<u64, Failure> {
    let (limit, least) = (planned.limit.unwrap_or(u64::MAX), finest(planned));
    let began = Instant::now();
    request(1)?;
    let one = began.elapsed();
    let mut more = (0..=LEAST.ilog2())
        .map(|shift| LEAST >> shift)
        // Powers of two down to 1, for cases that take long or that can run only a few times.
        .find(|more| fits(*more, limit) && one.saturating_mul(*more as u32) <= LONG)
        .unwrap_or(1);
    loop {
        let started = Instant::now();
        request(base(more) + more)?;
        if !fits(more * 4, limit) || (more >= least && started.elapsed() * 4 > long) {
            return Ok(more);
        }
        more *= 4;
    }
}

fn fits(more: u64, limit: u64) -> bool {
    more <= MOST && base(more) + more <= limit
}

/// The iterations of the smaller request: as many digits as the larger, because a language that reads its input
/// byte by byte makes a system call for each digit.
fn base(more: u64) -> u64 {
    10u64.pow(more.ilog10())
}

/// The fewest iterations in which every declared fraction occurs at least once: 4096 for x1/4096.
fn finest(planned: &Planned) -> u64 {
    planned
        .enters
        .iter()
        .chain([&planned.prepares])
        .flat_map(|declared| &declared.0)
        .map(|expected| match expected.count {
            Count::Exactly(count) if count > 0.0 => (1.0 / count).round() as u64,
            _ => 1,
        })
        .max()
        .unwrap_or(1)
}

fn difference(many: &Counts, few: &Counts) -> IndexMap<String, i64> {
    fn signed_count(counts: &Counts, name: &str) -> i64 {
        counts.get(name).map_or(0, |n| n.cast_signed())
    }

    many.keys()
        .chain(few.keys())
        .map(|name| {
            (
                name.clone(),
                signed_count(many, name) - signed_count(few, name),
            )
        })
        .filter(|(_, n)| *n != 0)
        .collect()
}

fn medians(seen: &[IndexMap<String, i64>]) -> IndexMap<String, i64> {
    let names = seen.iter().flat_map(|counts| counts.keys());
    names
        .map(|name| (name.clone(), median_count(seen, name).max(0)))
        .collect()
}

fn median_count(seen: &[IndexMap<String, i64>], name: &str) -> i64 {
    let counts = sorted(seen, name);
    counts[counts.len() / 2]
}

/// How far the largest count is from the smallest.
fn spread(seen: &[IndexMap<String, i64>], name: &str) -> i64 {
    let counts = sorted(seen, name);
    counts[counts.len() - 1] - counts[0]
}

fn sorted(seen: &[IndexMap<String, i64>], name: &str) -> Vec<i64> {
    let counts = seen.iter();
    let mut counts: Vec<i64> = counts
        .map(|counts| counts.get(name).copied().unwrap_or(0))
        .collect();
    counts.sort_unstable();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Case, Role};

    /// The counts of a process that reads a request, calls getppid so often, and writes a reply.
    fn counts(getppid: u64) -> Counts {
        let counts = [("read", 1), ("getppid", getppid), ("write", 1)];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        counts
            .map(|(name, count)| (name.to_string(), count))
            .collect()
    }

    fn planned(limit: Option<u64>) -> Planned {
        Planned {
            limit,
            ..Planned::new(Case::native("id.getppid"), Role::Asked)
        }
    }

    fn counted(limit: Option<u64>, calls: impl Fn(u64) -> u64) -> String {
        let mut made = 0;
        per_iteration(&planned(limit), Duration::ZERO, |n| {
            made += n;
            Ok(counts((made - n..made).map(&calls).sum()))
        })
        .unwrap()
        .to_string()
    }

    #[test]
    fn what_a_request_makes_beside_its_iterations_cancels() {
        assert_eq!(counted(None, |_| 1), "getppid x1");
        assert_eq!(counted(Some(4), |_| 2), "getppid x2");
        assert_eq!(counted(None, |_| 0), Entries::default().to_string());
    }

    fn over(iterations: u64, limit: Option<u64>, period: u64) -> (String, u64) {
        let mut made = 0;
        let length = Length {
            iterations,
            time: Duration::from_secs(60),
            runtime: None,
        };
        let (entries, done) = over_all(&planned(limit), &length, |n| {
            let before = made / period;
            made += n.parse::<u64>().unwrap();
            Ok(counts(made / period - before))
        })
        .unwrap();
        (entries.to_string(), done)
    }

    #[test]
    fn what_happens_once_in_as_many_iterations_as_were_timed_is_found() {
        for (period, expected) in [
            (1 << 11, "getppid x1/2048"),
            (1 << 15, "getppid x1/32768"),
            (1 << 20, "getppid x1/1048576"),
            (1_000_000, "getppid x1/1006633"),
            (150_000_000, "getppid x1/150994944"),
            (1 << 40, "none"),
        ] {
            assert_eq!(over(150_000_000, None, period), (expected.into(), 9 << 24));
        }
        assert_eq!(over(100_000, Some(100), 1 << 15).1, 106_496);
        assert_eq!(over(3, None, 7), ("none".into(), 3));
    }

    #[test]
    fn what_a_runtime_makes_is_not_the_loops() {
        for (each, usual, expected, what) in [
            (&[1; 30][..], 2.0, true, "once in a while"),
            (&[7; 64], 0.0, true, "several times in each request"),
            (&[1; 4], 0.0, false, "too few"),
            (&[8, 1, 1], 0.0, false, "at once"),
            (&[1; 30], 15.0, false, "as often as the empty loop"),
            (&[2; 64], 15.0, true, "far more often"),
        ] {
            assert_eq!(is_from_loop(each, 64, usual), expected, "{what}");
        }
    }

    /// A thread that watches the others sleeps now and then; a body may make a call in some of its iterations.
    #[test]
    fn what_does_not_repeat_is_the_runtimes() {
        let mut requests = 0;
        let planned = Planned::new(
            Case {
                language: Some("go".to_string()),
                ..Case::native("f()")
            },
            Role::Asked,
        );
        let entries = per_iteration(&planned, Duration::ZERO, |n| {
            requests += 1;
            let sleeps = [0, 9, 3, 5, 0, 7, 1, 11][requests % 8];
            let own = counts(n - requests as u64 % 3).into_iter();
            Ok(own.chain([("nanosleep".to_string(), sleeps)]).collect())
        });
        let entries = entries.unwrap();
        let names: Vec<&str> = entries.names().collect();
        assert_eq!(names, ["getppid"], "{entries}");
    }

    #[test]
    fn every_fourth_iteration_is_a_fraction_and_the_first_one_alone_is_none() {
        assert_eq!(counted(None, |i| u64::from(i % 4 == 0)), "getppid x1/4");
        assert_eq!(
            counted(None, |i| if i == 0 { 100 } else { 1 }),
            "getppid x1"
        );
    }
}
