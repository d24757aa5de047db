//! Doubts about a row, from its samples and entries.

use super::warning::Warning;
use model::{Measurement, Record};
use stats::Estimate;

// bench/interrupted counts figures that are off without a warning: a higher limit would let more of them pass.
/// A share of batches.
const PREEMPTED: f64 = 0.05;
/// Beyond this share of an operation that switches by itself, those that are left waited too, only less. With a busy process
/// on each CPU and --cpu none, process.thread keeps 4% of its batches, which take 4 to 8 times as long as on idle CPUs.
pub const MOST_WAITED: f64 = 0.75;
/// A worker on CPU for a smaller share of the wall time lost its CPU.
pub const CPU_SHARE: f64 = 0.95;
/// With less CPU time, accounting by ticks gives no shares.
const ENOUGH_CPU_NS: f64 = 100e6;

/// The worker was preempted in these batches; 0 to 1.
pub fn left_out(m: &Measurement) -> f64 {
    let left_out = m.preempted_ns.len() as f64;
    left_out / (left_out + m.samples().count() as f64)
}

/// Warnings that follow from the samples. `language` is true for a snippet that a language's own loop measured.
pub fn doubts(
    m: &Measurement,
    language: bool,
    estimate: &Estimate,
    precision_percent: f64,
) -> Vec<Warning> {
    let mut doubts = Vec::new();
    if m.history {
        doubts.push(Warning::DependsOnHistory);
    }
    match estimate.half_width_percent() {
        None if estimate.interval.is_none() => doubts.push(Warning::TooFewBlocks {
            blocks: estimate.blocks,
        }),
        Some(reached_percent) if reached_percent > precision_percent => {
            doubts.push(Warning::TargetNotMet {
                target_percent: precision_percent,
                reached_percent,
            });
        }
        _ => {}
    }
    let share = left_out(m);
    if share > PREEMPTED {
        doubts.push(if m.switches {
            Warning::WaitedForCpu { share }
        } else {
            Warning::Preempted { share }
        });
    }
    doubts.extend(lost_cpu(m, language).map(|share| Warning::LostCpu { share }));
    doubts
}

/// The CPU time that languages report lags by a tick, most of a short request, so it is ignored. No CPU time at all means
/// that the system does not account for it.
fn lost_cpu(m: &Measurement, language: bool) -> Option<f64> {
    let wall = m.cpu.wall_ns as f64;
    let cpu = m.cpu.user_ns as f64 + m.cpu.system_ns as f64;
    let share = cpu / wall;
    (!language && !m.switches && wall > ENOUGH_CPU_NS && cpu > 0.0 && share < CPU_SHARE)
        .then_some(share)
}

pub struct EmptyLoop {
    pub estimate: Estimate,
    pub instructions: Option<f64>,
}

/// A net cost under three standard errors of the empty loop, or a body without an instruction. The empty loop itself is exempt.
pub fn below_empty_loop(
    record: &Record,
    estimate: &Estimate,
    empty: &EmptyLoop,
) -> Option<Warning> {
    if record.case.is_empty_loop() {
        return None;
    }
    let is_below = is_below(estimate, &empty.estimate);
    let instructions = record.instructions.zip(empty.instructions);
    let is_folded = match instructions {
        // A body has at least one instruction; counts of both loops are exact but for rounding.
        Some((executed, empty)) => executed - empty < 0.5,
        None => is_below && record.case.language.is_some(),
    };
    if is_folded {
        return Some(Warning::FoldedBody);
    }
    is_below.then_some(Warning::BelowResolution)
}

fn is_below(estimate: &Estimate, empty: &Estimate) -> bool {
    empty.interval.is_some_and(|interval| {
        // Half of a 95% interval is 1.96 standard errors.
        let standard_error = (interval.high - interval.low) / (2.0 * 1.96);
        (estimate.median - empty.median).0 < 3.0 * standard_error
    })
}

/// A warning if a snippet names a system call and enters the kernel for none.
pub fn not_entered(record: &Record) -> Option<Warning> {
    record.case.language.as_ref()?;
    record
        .entries
        .as_ref()
        .filter(|entries| entries.total() == 0.0)?;
    let named = record
        .case
        .operation
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .into_iter()
        .find(|word: &&str| model::syscall_names::is_known(word))?;
    Some(Warning::NotEntered {
        name: named.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::CpuTime;
    use model::fixtures::varying;

    #[test]
    fn instructions_and_not_the_time_show_that_a_body_was_folded() {
        fn with(language: Option<&str>, instructions: Option<f64>, ns: u64) -> Option<Warning> {
            fn samples(record: &Record) -> Option<Estimate> {
                stats::estimate(record.outcome.measurement().unwrap())
            }

            let mut record = varying("1+1", |block| ns + block % 2);
            record.case.language = language.map(str::to_string);
            record.instructions = instructions;
            let empty = EmptyLoop {
                estimate: samples(&varying("call.empty_loop", |block| 300 + block % 2)).unwrap(),
                instructions: Some(3.0),
            };
            below_empty_loop(&record, &samples(&record).unwrap(), &empty)
        }

        assert_eq!(with(Some("c"), Some(3.02), 360), Some(Warning::FoldedBody));
        assert_eq!(
            with(Some("c"), Some(4.0), 300),
            Some(Warning::BelowResolution)
        );
        assert_eq!(with(Some("c"), Some(4.0), 360), None);
        assert_eq!(with(Some("perl"), None, 300), Some(Warning::FoldedBody));
        assert_eq!(with(Some("perl"), None, 360), None);
        assert_eq!(with(None, None, 300), Some(Warning::BelowResolution));
    }

    #[test]
    fn a_lost_cpu_is_reported_only_with_cpu_accounting() {
        fn with(user_ns: u64, system_ns: u64) -> Option<f64> {
            let cpu = CpuTime {
                user_ns,
                system_ns,
                wall_ns: 1_000_000_000,
            };
            lost_cpu(
                &Measurement {
                    cpu,
                    ..Measurement::default()
                },
                false,
            )
        }

        assert_eq!(with(0, 0), None);
        assert_eq!(with(u64::MAX, u64::MAX), None);
        assert_eq!(with(1_000_000, 0), Some(0.001));
        assert_eq!(with(250_000_000, 250_000_000), Some(0.5));
    }
}
