//! The probe's reply to `single` (`probe/single.h`). Pure.

use super::protocol::{failure_in, parse_facts};
use model::{Facts, Failure, Histogram, LONGEST_NS, Nanos, SingleCalls};

/// Histograms of all calls, those preempted, and those interrupted.
#[derive(Debug, PartialEq)]
pub struct Singles {
    classes: [Histogram; 3],
    facts: Facts,
}

const CLASSES: [&str; 3] = ["all", "preempted", "interrupted"];

impl Default for Singles {
    fn default() -> Singles {
        let empty = || Histogram::with_resolution(Histogram::SINGLE);
        Singles {
            classes: [empty(), empty(), empty()],
            facts: Facts::default(),
        }
    }
}

impl Singles {
    /// True if it was the last. Buckets of a class come in ascending order, so that there is an end
    /// to them.
    pub fn add_line(&mut self, line: &str) -> Result<bool, Failure> {
        if line.starts_with("singles ") {
            self.facts = parse_facts("singles", line)?;
            return if self.is_sound() {
                Ok(true)
            } else {
                Err(failure_in(line))
            };
        }
        self.add_bucket(line).ok_or_else(|| failure_in(line))?;
        Ok(false)
    }

    fn add_bucket(&mut self, line: &str) -> Option<()> {
        let words: Vec<&str> = line.split(' ').collect();
        let [class, ns, count] = words[..] else {
            return None;
        };
        let histogram = &mut self.classes[CLASSES.iter().position(|name| *name == class)?];
        let (ns, count) = (
            ns.parse().ok().filter(|ns| *ns <= LONGEST_NS)?,
            count.parse().ok().filter(|n| *n > 0)?,
        );
        let bucket = histogram.bucket(ns);
        histogram
            .counts
            .last_key_value()
            .is_none_or(|(last, _)| *last < bucket)
            .then(|| histogram.add(bucket, count))
    }

    fn is_sound(&self) -> bool {
        let clock = [self.facts.number("timer_ns"), self.facts.number("tick_ns")];
        clock
            .iter()
            .all(|ns| ns.is_some_and(|ns| ns > 0.0 && ns < 1e9))
            && self.classes[0].count() > 0
    }

    pub fn calls(self) -> SingleCalls {
        let number = |name| self.facts.number(name).unwrap_or(0.0);
        let [all, preempted, interrupted] = self.classes;
        SingleCalls {
            timer: Nanos(number("timer_ns")),
            tick: Nanos(number("tick_ns")),
            spent_ns: number("spent_ns") as u64,
            waits: number("waits") as u64,
            unseen: number("unseen") as u64,
            all,
            preempted: (number("switches") > 0.0).then_some(preempted),
            interrupted: (number("interrupts") > 0.0).then_some(interrupted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::FailureKind;

    const LAST: &str = "singles timer_ns=17.30 tick_ns=0.3846 spent_ns=2e8 switches=1 interrupts=0 waits=2 unseen=3";

    #[test]
    fn a_reply_is_buckets_and_facts() {
        let mut singles = Singles::default();
        for line in ["all 104 90", "all 4103 1", "preempted 4103 1"] {
            assert_eq!(singles.add_line(line), Ok(false), "{line}");
        }
        assert_eq!(singles.add_line(LAST), Ok(true));
        let calls = singles.calls();
        let counts = |histogram: &Histogram| histogram.counts.values().copied().collect::<Vec<_>>();
        assert_eq!(
            (counts(&calls.all), calls.all.at_rank(1)),
            (vec![90, 1], Some(104.0))
        );
        assert_eq!(calls.preempted.as_ref().map(counts), Some(vec![1]));
        assert_eq!(calls.interrupted, None, "they could not be told apart");
        assert_eq!(
            (calls.timer, calls.spent_ns, calls.waits, calls.unseen),
            (Nanos(17.3), 200_000_000, 2, 3)
        );
    }

    #[test]
    fn lines_that_are_no_buckets_in_ascending_order_are_refused() {
        let failure = |line: &str| {
            let mut singles = Singles::default();
            singles.add_line("all 104 90").unwrap();
            singles.add_line(line).unwrap_err()
        };
        for line in [
            "all 104 1",
            "all 103 1",
            "all 105 0",
            "all 105",
            "all 105 1 1",
            "all x 1",
            "some 105 1",
            "",
            "singles timer_ns=0 tick_ns=1",
            "singles ",
            "all 2199023255551 1",
        ] {
            assert_eq!(failure(line).kind, FailureKind::Crashed, "{line}");
        }
        assert!(
            Singles::default().add_line(LAST).is_err(),
            "no call was timed"
        );
        assert_eq!(
            failure("error EIO read: I/O error").message,
            "EIO: read: I/O error"
        );
    }
}
