//! The text of warnings about a run or a row. `summary` finds them.

use crate::stats::{FEWEST_BLOCKS, FEWEST_REPEATED};
use crate::summary::{CPU_SHARE, RunWarning, Warning};
use std::borrow::Cow;
use std::fmt;

/// The text that all rows with this warning share, so that they can be listed together.
pub fn text(warning: &Warning) -> Cow<'_, str> {
    match warning {
        Warning::Recorded { text } => Cow::Borrowed(text),
        Warning::TooFewBlocks { blocks } => {
            format!("no interval: {blocks} of the {FEWEST_BLOCKS} time blocks that one needs").into()
        }
        Warning::TargetNotMet { target_percent, .. } => format!("target {target_percent}% not met").into(),
        Warning::Preempted { .. } => "batches that were preempted and are left out".into(),
        Warning::WaitedForCpu { .. } => {
            "batches that waited for a CPU that other processes had, and are left out (--cpu pins to one)".into()
        }
        Warning::LostCpu { .. } => format!("on CPU for under {} of wall time", whole_percent(CPU_SHARE)).into(),
        Warning::BelowResolution => "net cost is below resolution: it cannot be told from the empty loop".into(),
        Warning::FoldedBody => {
            "costs no more than the empty loop: the compiler may have dropped or folded the body".into()
        }
        Warning::NotEntered { .. } => {
            "names a system call but never enters the kernel: answered in user space (vDSO, a cache), or dropped".into()
        }
        Warning::DependsOnHistory => {
            "depends on what was done to the file system before (journal, free lists, caches): no two runs need agree"
                .into()
        }
        Warning::Unverified { reason } => format!("kernel entries unverified: {reason}").into(),
        Warning::FewRuns { .. } => format!(
            "fewer than {FEWEST_REPEATED} runs: the interval is from within them, the scatter of runs is not in it"
        )
        .into(),
        Warning::FailedInRuns { .. } => "failed in some runs, which are left out".into(),
    }
}

/// The part that differs from row to row, e.g. `2.3%`; may be empty.
pub fn detail(warning: &Warning) -> String {
    match warning {
        Warning::TargetNotMet {
            target_percent,
            reached_percent,
        } => above(*reached_percent, *target_percent),
        Warning::Preempted { share } | Warning::WaitedForCpu { share } => {
            format!("{:.0}%", share * 100.0)
        }
        Warning::LostCpu { share } => whole_percent(*share),
        Warning::NotEntered { name } => name.clone(),
        Warning::FailedInRuns { failed, runs } => format!("{failed} of {runs}"),
        _ => String::new(),
    }
}

/// A percentage above `limit`, with enough digits to show that it is.
fn above(percent: f64, limit: f64) -> String {
    let mut written = (1..=9).map(|digits| format!("{percent:.digits$}"));
    let shows = |text: &String| text.parse::<f64>().is_ok_and(|shown| shown > limit);
    format!(
        "{}%",
        written.find(shows).unwrap_or_else(|| percent.to_string())
    )
}

/// `93%`; `under 1%` if it would be rounded to 0.
fn whole_percent(share: f64) -> String {
    if share < 0.005 {
        "under 1%".to_string()
    } else {
        format!("{:.0}%", share * 100.0)
    }
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Warning::LostCpu { share } = self {
            return write!(f, "on CPU for {} of wall time", whole_percent(*share));
        }
        let detail = detail(self);
        let colon = if detail.is_empty() { "" } else { ": " };
        write!(f, "{}{colon}{detail}", text(self))
    }
}

impl fmt::Display for RunWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RunWarning::Recorded { text } => f.write_str(text),
            RunWarning::StateChanged(change) => write!(
                f,
                "the kernel's state changed during the run: getppid moved by {:+.0}% while user-mode work did not \
                 (somebody else's tracing, perhaps); results are from time blocks {} to {} of {}",
                change.share * 100.0,
                change.kept.start + 1,
                change.kept.end,
                change.blocks
            ),
            RunWarning::Stolen { percent } => {
                write!(f, "the hypervisor took {percent:.0}% of CPU time")
            }
            RunWarning::Busy { busy, cpus } => {
                write!(f, "other programs kept {busy:.1} of {cpus} CPUs busy")
            }
            RunWarning::ManyDerived { most } => {
                write!(
                    f,
                    "a study makes {most} derived rows at most: there may be more"
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_share_a_text_and_have_a_figure_each() {
        let (a, b) = (
            Warning::LostCpu { share: 0.87 },
            Warning::LostCpu { share: 0.001 },
        );
        assert_eq!(
            (text(&a), detail(&a), detail(&b)),
            (text(&b), "87%".into(), "under 1%".into())
        );
        assert_eq!(text(&a), "on CPU for under 95% of wall time");
        assert_eq!(a.to_string(), "on CPU for 87% of wall time");
        let waited = Warning::WaitedForCpu { share: 0.92 }.to_string();
        assert!(
            waited.starts_with("batches that waited for a CPU ") && waited.ends_with(": 92%"),
            "{waited}"
        );
        let missed = Warning::TargetNotMet {
            target_percent: 1.0,
            reached_percent: 2.34,
        };
        assert_eq!(missed.to_string(), "target 1% not met: 2.3%");
        assert_eq!(
            Warning::Unverified {
                reason: "EPERM".into()
            }
            .to_string(),
            "kernel entries unverified: EPERM"
        );
    }

    #[test]
    fn a_missed_target_is_not_rounded_to_it() {
        assert_eq!(above(1.7, 1.0), "1.7%");
        assert_eq!(above(1.04, 1.0), "1.04%");
        assert_eq!(above(1.0003, 1.0), "1.0003%");
        assert_eq!(above(0.56, 0.5), "0.6%");
    }
}
