//! Entries of one iteration from those of requests with different n. Pure.

use indexmap::IndexMap;
use model::{Count, Entries, Failure, Planned};
use std::time::{Duration, Instant};
use sys::ptrace::Counts;

/// Of the additional iterations in the larger request: powers of two, so that fractions such as
/// 1/4096 are exact.
const LEAST: u64 = 8;
const MOST: u64 = 1 << 16;
/// Runtime threads and garbage collectors make background calls: smaller differences are ignored if
/// the larger request has at least `MANY` more iterations.
const BACKGROUND: i64 = 3;
const MANY: u64 = 256;
const PAIRS: usize = 6;

/// The first difference that is seen twice in a row, else the median of all. Requests grow to about
/// `long`.
pub fn per_iteration(
    planned: &Planned,
    long: Duration,
    mut request: impl FnMut(u64) -> Result<Counts, Failure>,
) -> Result<Entries, Failure> {
    let more = step(planned, long, &mut request)?;
    let mut seen: Vec<IndexMap<String, i64>> = Vec::new();
    for _ in 0..PAIRS {
        let few = request(base(more))?;
        // What happens every 64th time, say, must stand at the same place in its period for both.
        if more > base(more) {
            request(more - base(more))?;
        }
        let many = request(base(more) + more)?;
        seen.push(difference(&many, &few));
        if seen.len() > 1 && seen[seen.len() - 1] == seen[seen.len() - 2] {
            seen.drain(..seen.len() - 1);
            break;
        }
    }
    // Calls that are fewer are not the case's own.
    let fewest = if planned.case.language.is_some() {
        BACKGROUND
    } else {
        1
    };
    let counts = medians(&seen)
        .into_iter()
        .filter(|(_, count)| *count >= fewest || more < MANY);
    Ok(counts
        .map(|(name, count)| (name, count as f64 / more as f64))
        .collect())
}

/// Of a case that seems to make none, over as many iterations as take about `long`: those of a
/// buffer that is refilled once in a while, of a lock that sleeps, of a clock that leaves the vDSO.
pub fn rare(
    limit: Option<u64>,
    long: Duration,
    mut request: impl FnMut(u64) -> Result<Counts, Failure>,
) -> Result<Entries, Failure> {
    let few = request(1)?;
    let mut n = MANY;
    while n <= limit.unwrap_or(u64::MAX) {
        let started = Instant::now();
        let many = request(n)?;
        let found = difference(&many, &few);
        if !found.is_empty() || started.elapsed() * 4 > long {
            return Ok(found
                .into_iter()
                .map(|(name, count)| (name, count.max(0) as f64 / n as f64))
                .collect());
        }
        n *= 4;
    }
    Ok(Entries::default())
}

/// How many iterations more the larger request has: the largest power of two that fits time and
/// limit, but not fewer than the finest period. The first request also resolves what is resolved
/// lazily.
pub fn step<T>(
    planned: &Planned,
    long: Duration,
    request: &mut impl FnMut(u64) -> Result<T, Failure>,
) -> Result<u64, Failure> {
    let (limit, least) = (planned.limit.unwrap_or(u64::MAX), finest(planned));
    request(1)?;
    let fits = |more: u64| more <= MOST && base(more) + more <= limit;
    let mut more = (0..=LEAST.ilog2())
        .map(|shift| LEAST >> shift)
        .find(|more| fits(*more))
        .unwrap_or(1);
    loop {
        let started = Instant::now();
        request(base(more) + more)?;
        if !fits(more * 4) || (more >= least && started.elapsed() * 4 > long) {
            return Ok(more);
        }
        more *= 4;
    }
}

/// Of the smaller request: as many digits as the larger, because a language that reads its input
/// byte by byte makes a system call for each digit.
pub fn base(more: u64) -> u64 {
    10u64.pow(more.ilog10())
}

/// In which every declared fraction occurs at least once: 4096 for x1/4096.
fn finest(planned: &Planned) -> u64 {
    let declared = planned
        .enters
        .iter()
        .chain([&planned.prepares])
        .flat_map(|declared| &declared.0);
    let periods = declared.map(|expected| match expected.count {
        Count::Exactly(count) if count > 0.0 => (1.0 / count).round() as u64,
        _ => 1,
    });
    periods.max().unwrap_or(1)
}

fn difference(many: &Counts, few: &Counts) -> IndexMap<String, i64> {
    let count = |counts: &Counts, name: &str| counts.get(name).map_or(0, |n| n.cast_signed());
    let names = many.keys().chain(few.keys());
    names
        .map(|name| (name.clone(), count(many, name) - count(few, name)))
        .filter(|(_, n)| *n != 0)
        .collect()
}

fn medians(seen: &[IndexMap<String, i64>]) -> IndexMap<String, i64> {
    let names = seen.iter().flat_map(|counts| counts.keys());
    let median = |name: &String| {
        let mut counts: Vec<i64> = seen
            .iter()
            .map(|c| c.get(name).copied().unwrap_or(0))
            .collect();
        counts.sort_unstable();
        counts[counts.len() / 2]
    };
    names
        .map(|name| (name.clone(), median(name).max(0)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Case, Role};

    /// What a process that reads, makes calls, and writes counts, without those that it does not make.
    fn counts(getppid: u64) -> Counts {
        let counts = [("read", 1), ("getppid", getppid), ("write", 1)];
        let counts = counts.into_iter().filter(|(_, count)| *count > 0);
        counts
            .map(|(name, count)| (name.to_string(), count))
            .collect()
    }

    /// Entries per iteration of a process that makes `calls` of the iteration's number.
    fn counted(limit: Option<u64>, calls: impl Fn(u64) -> u64) -> String {
        let planned = Planned {
            limit,
            ..Planned::new(Case::native("id.getppid"), Role::Asked)
        };
        let mut made = 0;
        let request = |n| {
            made += n;
            Ok(counts((made - n..made).map(&calls).sum()))
        };
        per_iteration(&planned, Duration::ZERO, request)
            .unwrap()
            .to_string()
    }

    #[test]
    fn what_a_request_makes_beside_its_iterations_cancels() {
        assert_eq!(counted(None, |_| 1), "getppid x1");
        assert_eq!(counted(Some(4), |_| 2), "getppid x2");
        assert_eq!(counted(None, |_| 0), Entries::default().to_string());
    }

    #[test]
    fn what_happens_once_in_a_million_iterations_is_found() {
        let mut made = 0;
        let found = rare(None, Duration::from_secs(1), |n| {
            made += n;
            Ok(counts(made / 1_000_000 - (made - n) / 1_000_000))
        });
        assert_eq!(found.unwrap().to_string(), "getppid x1/1048576");
        let never = rare(Some(1 << 20), Duration::from_secs(1), |_| Ok(counts(0)));
        assert_eq!(never.unwrap(), Entries::default());
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
