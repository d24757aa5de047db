//! The probe's text protocol. Functions fail with the failure of an `error` line, or because a line is not
//! part of the protocol. Pure; `child` moves the bytes.

use model::{
    Batch, Facts, Failure, FailureKind, Histogram, LONGEST_NS, ModeSamples, Nanos, Reply,
    SingleCalls,
};

/// `ready name=value ...`
pub fn parse_ready(line: &str) -> Result<Facts, Failure> {
    parse_facts("ready", line)
}

/// `WORD name=value ...`
pub fn parse_facts(word: &str, line: &str) -> Result<Facts, Failure> {
    let words = line.strip_prefix(word).ok_or_else(|| failure_in(line))?;
    let pairs = words
        .split_whitespace()
        .filter_map(|word| word.split_once('='));
    Ok(pairs
        .map(|(name, value)| (name.to_string(), value.to_string()))
        .collect())
}

/// True for the last line of a reply.
pub fn add_line(reply: &mut Reply, line: &str) -> Result<bool, Failure> {
    if let Some(totals) = line.strip_prefix("total ") {
        let numbers: Vec<u64> = totals
            .split(' ')
            .filter_map(|word| word.parse().ok())
            .collect();
        let [user_ns, system_ns, minor_faults, major_faults] = numbers[..] else {
            return Err(failure_in(line));
        };
        (reply.user_ns, reply.system_ns) = (user_ns, system_ns);
        (reply.minor_faults, reply.major_faults) = (minor_faults, major_faults);
        return Ok(true);
    }
    if let Some(times) = line.strip_prefix("cpu ") {
        let times: Result<Vec<u64>, _> = times.split(' ').map(str::parse).collect();
        reply.cpu_ns = times
            .ok()
            // One for each batch, or none can be assigned.
            .filter(|all| all.len() == reply.batches.len())
            .ok_or_else(|| failure_in(line))?;
        return Ok(false);
    }
    let (ns, switches) = line
        .split_once(' ')
        .and_then(|(ns, switches)| Some((ns.parse().ok()?, switches.parse().ok()?)))
        .ok_or_else(|| {
            // Languages that have only the wall clock (bash, Tcl) see it go back.
            if line.starts_with('-') {
                Failure::failed(format!(
                    "the clock was set back during a batch ('{line}'): measure again"
                ))
            } else {
                failure_in(line)
            }
        })?;
    reply.batches.push(Batch { ns, switches });
    Ok(false)
}

/// `sampled USER SYSTEM`
pub fn parse_sampled(line: &str) -> Result<ModeSamples, Failure> {
    let (user, system) = line
        .strip_prefix("sampled ")
        .and_then(|rest| rest.split_once(' '))
        .and_then(|(user, system)| Some((user.parse().ok()?, system.parse().ok()?)))
        .ok_or_else(|| failure_in(line))?;
    Ok(ModeSamples { user, system })
}

pub fn expect(word: &str, line: &str) -> Result<(), Failure> {
    if line == word {
        Ok(())
    } else {
        Err(failure_in(line))
    }
}

/// `error ENOSYS futex: Function not implemented`; any other line violates the protocol.
pub fn failure_in(line: &str) -> Failure {
    let Some(text) = line.strip_prefix("error ") else {
        return Failure::crashed(format!(
            "the probe answered '{line}', which is not part of the protocol"
        ));
    };
    let (errno, call) = text.split_once(' ').unwrap_or(("-", text));
    let kind = match errno {
        "ENOSYS" | "EPERM" | "EACCES" | "EOPNOTSUPP" | "ENOTSUP" => FailureKind::Unsupported,
        _ => FailureKind::Failed,
    };
    Failure::new(
        kind,
        if errno == "-" {
            call.to_string()
        } else {
            format!("{errno}: {call}")
        },
    )
}

pub struct Singles {
    classes: [Histogram; 3],
    facts: Facts,
}

const CLASSES: [&str; 3] = ["all", "preempted", "interrupted"];

impl Default for Singles {
    fn default() -> Singles {
        fn empty() -> Histogram {
            Histogram::with_resolution(Histogram::SINGLE)
        }

        Singles {
            classes: [empty(), empty(), empty()],
            facts: Facts::default(),
        }
    }
}

impl Singles {
    /// True for the last line of a reply. Buckets of a class come in ascending order, so that there is an end to them.
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
            // A worker's output is not trusted: user code may have printed it.
            ns.parse().ok().filter(|ns| *ns <= LONGEST_NS)?,
            count.parse().ok().filter(|n| *n > 0)?,
        );
        let bucket = histogram.bucket(ns);
        let last = histogram.counts.last_key_value();
        if last.is_some_and(|(last, _)| bucket <= *last) {
            return None;
        }
        histogram.add(bucket, count);
        Some(())
    }

    fn is_sound(&self) -> bool {
        [self.facts.number("timer_ns"), self.facts.number("tick_ns")]
            .iter()
            .all(|ns| ns.is_some_and(|ns| ns > 0.0 && ns < 1e9))
            && self.classes[0].total_count() > 0
    }

    /// After the last line.
    pub fn calls(self) -> SingleCalls {
        let [timer, tick, spent, waits, unseen, switches, interrupts] = [
            "timer_ns",
            "tick_ns",
            "spent_ns",
            "waits",
            "unseen",
            "switches",
            "interrupts",
        ]
        .map(|name| self.facts.number(name).unwrap_or(0.0));
        let [all, preempted, interrupted] = self.classes;
        SingleCalls {
            timer: Nanos(timer),
            tick: Nanos(tick),
            spent_ns: spent as u64,
            waits: waits as u64,
            unseen: unseen as u64,
            all,
            preempted: (switches > 0.0).then_some(preempted),
            interrupted: (interrupts > 0.0).then_some(interrupted),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_batch_may_have_its_cpu_time() {
        let mut reply = Reply::default();
        for line in ["101233 0", "99871 2", "cpu 98120 97003"] {
            assert_eq!(add_line(&mut reply, line), Ok(false));
        }
        assert_eq!(reply.cpu_ns, [98120, 97003]);
        for line in ["cpu 1", "cpu 1 2 3", "cpu 1 x", "cpu "] {
            assert_eq!(
                add_line(&mut reply, line).unwrap_err().kind,
                FailureKind::Crashed,
                "{line}"
            );
        }
        assert_eq!(add_line(&mut reply, "total 1 2 3 4"), Ok(true));
        assert_eq!(
            reply.batches[0],
            Batch {
                ns: 101233,
                switches: 0
            }
        );
        assert_eq!((reply.user_ns, reply.system_ns), (1, 2));
        assert_eq!((reply.minor_faults, reply.major_faults), (3, 4));
    }

    #[test]
    fn what_is_no_answer_is_a_failure() {
        fn added(line: &str) -> Failure {
            add_line(&mut Reply::default(), line).unwrap_err()
        }

        let refused = parse_ready("error ENOSYS futex: Function not implemented").unwrap_err();
        for (failure, kind, message) in [
            (
                refused,
                FailureKind::Unsupported,
                "ENOSYS: futex: Function not implemented",
            ),
            (
                parse_ready("error - no such operation").unwrap_err(),
                FailureKind::Failed,
                "no such operation",
            ),
            (
                parse_sampled("error EIO read: I/O error").unwrap_err(),
                FailureKind::Failed,
                "EIO: read: I/O error",
            ),
            (
                added("-3599999797000 0"),
                FailureKind::Failed,
                "the clock was set back during a batch",
            ),
        ] {
            assert!(
                failure.kind == kind && failure.message.starts_with(message),
                "{failure}"
            );
        }
        for line in ["hello", "1 2 3", "total 1 2", ""] {
            assert_eq!(added(line).kind, FailureKind::Crashed, "{line}");
        }
        assert_eq!(
            parse_sampled("sampled 120 1500"),
            Ok(ModeSamples {
                user: 120,
                system: 1500
            })
        );
        for line in [
            "sampled",
            "sampled 1",
            "sampled 1 -2",
            "sampled 1 2 3",
            "total 1 2",
        ] {
            assert_eq!(
                parse_sampled(line).unwrap_err().kind,
                FailureKind::Crashed,
                "{line}"
            );
        }
    }

    #[test]
    fn facts_are_words() {
        let facts = parse_ready("ready pid=42 clock_cost_ns=22.1 libc=glibc-2.36").unwrap();
        assert_eq!(facts.get("libc"), Some("glibc-2.36"));
        assert_eq!(facts.number("clock_cost_ns"), Some(22.1));
        assert_eq!(facts.number("bits"), None);
    }

    const LAST: &str = "singles timer_ns=17.30 tick_ns=0.3846 spent_ns=2e8 switches=1 interrupts=0 waits=2 unseen=3";

    #[test]
    fn a_reply_is_buckets_and_facts() {
        fn counts(histogram: &Histogram) -> Vec<u64> {
            histogram.counts.values().copied().collect()
        }

        let mut singles = Singles::default();
        for line in ["all 104 90", "all 4103 1", "preempted 4103 1"] {
            assert_eq!(singles.add_line(line), Ok(false), "{line}");
        }
        assert_eq!(singles.add_line(LAST), Ok(true));
        let calls = singles.calls();
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
        fn failure(line: &str) -> Failure {
            let mut singles = Singles::default();
            singles.add_line("all 104 90").unwrap();
            singles.add_line(line).unwrap_err()
        }

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
