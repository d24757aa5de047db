//! Operations counted in one kernel over several boots, for the atlas.

use super::Session;
use super::guests::LazyGuest;
use crate::guest::Options;
use crate::runner::digest;
use model::atlas::{AtlasCell, AtlasCount};
use model::{Failure, FailureKind, Planned};

pub struct CountedBoot {
    counts: Vec<Result<f64, Failure>>,
    pub emulator: String,
    pub probe: String,
    pub probe_digest: String,
}

impl CountedBoot {
    /// Whether the operation at this place has another count in another kernel, or fails in one of them.
    pub fn differs(&self, other: &CountedBoot, place: usize) -> bool {
        let [Ok(count), Ok(elsewhere)] = [&self.counts[place], &other.counts[place]] else {
            return true;
        };
        AtlasCount::from_boots(&[*count]) != AtlasCount::from_boots(&[*elsewhere])
    }

    pub fn only(&self, places: &[usize]) -> CountedBoot {
        CountedBoot {
            counts: places
                .iter()
                .map(|place| self.counts[*place].clone())
                .collect(),
            emulator: self.emulator.clone(),
            probe: self.probe.clone(),
            probe_digest: self.probe_digest.clone(),
        }
    }
}

fn is_crash(count: &Result<f64, Failure>) -> bool {
    count
        .as_ref()
        .is_err_and(|failure| matches!(failure.kind, FailureKind::Crashed | FailureKind::Timeout))
}

impl Session {
    /// Again with other seeds while the kernel crashes.
    ///
    /// # Errors
    /// The kernel does not boot, or the interrupt. The failure of one operation is in its count.
    pub fn count_boot(
        &self,
        environment: &str,
        planned: &[Planned],
        number: u32,
    ) -> Result<CountedBoot, Failure> {
        let mut counted = self.count_once(environment, planned, of_boot(number))?;
        for retry in 1..=RETRIES {
            if !counted.counts.iter().any(is_crash) {
                break;
            }
            // A kernel that crashes under one seed may not under another: emulated time makes its races repeat exactly.
            counted = self.count_once(environment, planned, of_boot(number + retry * RETRY))?;
        }
        Ok(counted)
    }

    fn count_once(
        &self,
        environment: &str,
        planned: &[Planned],
        boot: Options,
    ) -> Result<CountedBoot, Failure> {
        let mut place = LazyGuest::to_count(environment, planned.to_vec(), boot);
        let (mut counts, mut libc) = (Vec::new(), None);
        for number in 0..planned.len() {
            let counted = place.counted(&self.workers, number);
            self.workers.interrupt.check()?;
            if place.booted().is_none() {
                return Err(counted.err().unwrap_or_else(no_guest));
            }
            counts.push(counted.and_then(|(counted, facts)| {
                libc = facts.get("libc").map(str::to_string).or(libc.take());
                counted
                    .per_operation()
                    .ok_or_else(|| Failure::failed("nothing was counted"))
            }));
        }
        let (_, facts) = place.facts(&self.workers).ok_or_else(no_guest)?;
        let probe: Vec<String> = [Some(self.probe_text(environment)?), libc]
            .into_iter()
            .flatten()
            .collect();
        Ok(CountedBoot {
            counts,
            emulator: facts.emulator.unwrap_or_default(),
            probe: probe.join(", "),
            probe_digest: self.probe_digest(environment)?,
        })
    }

    /// # Errors
    /// The environment cannot be used here.
    pub fn probe_text(&self, environment: &str) -> Result<String, Failure> {
        Ok(self.workers.environment(environment)?.probe_text())
    }

    /// SHA-256; built if need be.
    ///
    /// # Errors
    /// It cannot be built or read.
    pub fn probe_digest(&self, environment: &str) -> Result<String, Failure> {
        let probe = self.workers.probe_of(environment)?;
        digest(&probe).map_err(|error| Failure::start(format!("{error:#}")))
    }
}

fn no_guest() -> Failure {
    Failure::start("no guest")
}

/// One per operation: its counts in all boots, or the reason if it failed in one of them.
pub fn cells(planned: &[Planned], boots: &[CountedBoot]) -> Vec<AtlasCell> {
    planned
        .iter()
        .enumerate()
        .map(|(number, planned)| {
            let counts = boots
                .iter()
                .map(|boot| boot.counts[number].clone())
                .collect::<Result<Vec<f64>, Failure>>();
            let (count, reason) = match counts {
                Ok(each) => (AtlasCount::from_boots(&each), None),
                Err(failure) => (None, Some(failure.message)),
            };
            AtlasCell {
                operation: planned.case.to_string(),
                count,
                reason,
            }
        })
        .collect()
}

/// In MiB: each boot has less than the one before, so that the kernel's objects lie elsewhere.
const SHIFT_MIB: u32 = 3;

const RETRIES: u32 = 3;
/// The distance between the numbers of a boot and its repeat: no other boot has that number.
const RETRY: u32 = 1003;

/// Options that differ from boot to boot, so that a count that depends on the addresses of objects shows as a range.
fn of_boot(number: u32) -> Options {
    let usual = Options::default();
    Options {
        seed: usual.seed + number,
        memory_mib: usual.memory_mib.saturating_sub(number % 8 * SHIFT_MIB),
        ..usual
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_call_is_no_crash() {
        fn failed(kind: FailureKind) -> Result<f64, Failure> {
            Err(Failure::new(kind, "x"))
        }

        assert!(is_crash(&failed(FailureKind::Crashed)) && is_crash(&failed(FailureKind::Timeout)));
        assert!(
            !is_crash(&failed(FailureKind::Unsupported))
                && !is_crash(&failed(FailureKind::Failed))
                && !is_crash(&Ok(1.0))
        );
    }

    #[test]
    fn repeats_have_the_seed_of_no_other_boot() {
        let all: Vec<u32> = (0..1000)
            .flat_map(|number| (0..=RETRIES).map(move |retry| of_boot(number + retry * RETRY).seed))
            .collect();
        assert_eq!(
            all.iter().collect::<std::collections::BTreeSet<_>>().len(),
            4000
        );
    }
}
