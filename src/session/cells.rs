//! Operations counted in one kernel over several boots, for the atlas.

use super::guests::LazyGuest;
use super::open::Session;
use crate::guest::Options;
use crate::model::atlas::{AtlasCell, AtlasCount};
use crate::model::{Failure, FailureKind, Planned};
use std::collections::BTreeMap;

/// What a kernel's boots counted.
#[derive(Clone, Debug, Default)]
pub struct CountedKernel {
    /// One for each operation, in the order of the plan.
    pub cells: Vec<AtlasCell>,
    /// As `uname -r` showed it.
    pub release: String,
    /// The emulator with its version.
    pub emulator: String,
    /// The probe's version, compiler and C library.
    pub probe: String,
}

/// Per operation, what each boot counted, or its first failure.
type Found = Vec<Result<Vec<f64>, Failure>>;

impl Session {
    /// Counts the instructions of `planned`, whose environment is one emulated kernel, in each of `boots` boots.
    ///
    /// # Errors
    /// That the kernel does not boot, or the interrupt. What fails of one operation is its cell's reason.
    pub fn count_cells(&self, environment: &str, planned: &[Planned], boots: u32) -> Result<CountedKernel, Failure> {
        let mut counted = CountedKernel::default();
        let mut found: Found = planned.iter().map(|_| Ok(Vec::new())).collect();
        for boot in 0..boots {
            self.count_boot(environment, &of_boot(boot), planned, &mut found, &mut counted)?;
        }
        let named = planned.iter().zip(found);
        counted.cells = named.map(|(planned, found)| cell(planned.case.to_string(), found)).collect();
        Ok(counted)
    }

    fn count_boot(
        &self,
        environment: &str,
        boot: &Options,
        planned: &[Planned],
        found: &mut Found,
        told: &mut CountedKernel,
    ) -> Result<(), Failure> {
        let mut place = LazyGuest::to_count(environment, planned.to_vec());
        for (number, found) in found.iter_mut().enumerate() {
            let counted = place.counted(&self.workers, boot, number);
            if self.workers.interrupt.is_set() {
                return Err(Failure::interrupted());
            }
            let Some((_, facts)) = place.facts(&self.workers) else {
                return Err(counted.err().unwrap_or_else(|| Failure::new(FailureKind::Start, "no guest")));
            };
            told.release = facts.kernel.unwrap_or_default();
            told.emulator = facts.emulator.unwrap_or_default();
            if let Ok((_, facts)) = &counted
                && told.probe.is_empty()
            {
                let built = self.workers.environment(environment)?.probe_text();
                let libc = facts.get("libc").map(|libc| format!(", {libc}"));
                told.probe = built + &libc.unwrap_or_default();
            }
            let each = counted.and_then(|(counted, _)| {
                counted.per_operation().ok_or_else(|| Failure::new(FailureKind::Failed, "nothing was counted"))
            });
            match (&mut *found, each) {
                (Ok(known), Ok(each)) => known.push(each),
                (Ok(_), Err(failure)) => *found = Err(failure),
                (Err(_), _) => {}
            }
        }
        Ok(())
    }
}

/// Memory that each boot has less than the one before, in MiB: the kernel's objects then lie elsewhere.
const SHIFT_MIB: u32 = 3;

/// Each boot has another seed and another amount of memory, so that what depends on where objects lie shows as a range.
fn of_boot(number: u32) -> Options {
    let usual = Options::default();
    let memory_mib = usual.memory_mib.saturating_sub(number % 8 * SHIFT_MIB);
    Options { seed: usual.seed + number, memory_mib, ..usual }
}

fn cell(operation: String, found: Result<Vec<f64>, Failure>) -> AtlasCell {
    match found {
        Ok(each) => AtlasCell { operation, count: count(&each), reason: None },
        Err(failure) => AtlasCell { operation, count: None, reason: Some(failure.message) },
    }
}

/// Digits after the point that are kept: 48 iterations share what every 48th call does.
const KEPT: f64 = 100.0;

/// What most boots counted, and the range; of values that as many counted, the smallest.
fn count(each: &[f64]) -> Option<AtlasCount> {
    let mut times: BTreeMap<i64, usize> = BTreeMap::new();
    for value in each {
        *times.entry((value * KEPT).round() as i64).or_default() += 1;
    }
    let most = times.values().max()?;
    let number = |kept: &i64| *kept as f64 / KEPT;
    let mode = times.iter().find(|(_, count)| *count == most).map(|(value, _)| number(value))?;
    Some(AtlasCount { mode, least: number(times.keys().next()?), most: number(times.keys().next_back()?) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn most_boots_decide_and_all_are_in_the_range() {
        let all = |each: &[f64]| count(each).map(|count| (count.mode, count.least, count.most));
        assert_eq!(all(&[329.0, 340.0, 329.001, 320.0]), Some((329.0, 320.0, 340.0)));
        assert_eq!(all(&[9.0, 7.0]), Some((7.0, 7.0, 9.0)));
        assert_eq!(all(&[]), None);
    }

    #[test]
    fn one_boot_that_fails_leaves_a_reason() {
        let failed = cell("x".into(), Err(Failure::new(FailureKind::Unsupported, "ENOSYS")));
        assert_eq!((failed.count, failed.reason.as_deref()), (None, Some("ENOSYS")));
    }
}
