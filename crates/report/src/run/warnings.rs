//! The text of warnings about a run or a row. `summary` finds them.

use analysis::summary::{CPU_SHARE, RunWarning, Warning};
use stats::{FEWEST_BLOCKS, FEWEST_REPEATED};
use std::borrow::Cow;

/// Shared by all rows with this warning.
pub fn text(warning: &Warning) -> Cow<'_, str> {
    match warning {
        Warning::Recorded { text } => Cow::Borrowed(text),
        Warning::TooFewBlocks { blocks } => {
            format!("no interval within the run: it needs {FEWEST_BLOCKS} time blocks, and there are {blocks}").into()
        }
        Warning::TargetNotMet { target_percent, .. } => format!("±{target_percent}% not reached; a longer --time narrows it").into(),
        Warning::Preempted { .. } => "batches left out because they were preempted".into(),
        Warning::WaitedForCpu { .. } => {
            "batches left out because other processes had the CPU (--cpu pins to one)".into()
        }
        Warning::Disturbed => "measured in disturbed rounds only, so the cost may be lower; use a longer --time".into(),
        Warning::Traced => "measured while a tracer of system calls was on; its overhead is included".into(),
        Warning::LostCpu { .. } => format!("on CPU for under {} of wall time", whole_percent(CPU_SHARE)).into(),
        Warning::BelowResolution => "net cost is below resolution: it cannot be distinguished from the empty loop".into(),
        Warning::FoldedBody => {
            "does no more than the empty loop: the compiler may have removed the body (in C, assign its result to a volatile variable)".into()
        }
        Warning::NotEntered { .. } => {
            "names a system call but never enters the kernel: answered in user space (vDSO, a cache), or removed by the compiler".into()
        }
        Warning::DependsOnHistory => {
            "depends on earlier file system activity (journal, free lists, caches): runs may differ"
                .into()
        }
        Warning::Unverified { reason } => format!("kernel entries unverified: {reason}").into(),
        Warning::FewRuns { .. } => format!(
            "fewer than {FEWEST_REPEATED} runs: the interval is that within the runs, without run-to-run variation"
        )
        .into(),
        Warning::FailedInRuns { .. } => "failed in some runs, which are left out".into(),
    }
}

/// The part of a warning that differs from row to row, e.g. `2.3%`.
pub fn detail(warning: &Warning) -> String {
    match warning {
        Warning::TargetNotMet {
            target_percent,
            reached_percent,
        } => format!("±{}", above(*reached_percent, *target_percent)),
        Warning::Preempted { share } | Warning::WaitedForCpu { share } => {
            format!("{:.0}%", share * 100.0)
        }
        Warning::LostCpu { share } => whole_percent(*share),
        Warning::NotEntered { name } => name.clone(),
        Warning::FailedInRuns { failed, runs } => format!("{failed} of {runs}"),
        _ => String::new(),
    }
}

/// Has enough digits to show that it is above `limit`.
fn above(percent: f64, limit: f64) -> String {
    let mut written = (1..=9).map(|digits| format!("{percent:.digits$}"));
    format!(
        "{}%",
        written
            .find(|text| text.parse::<f64>().is_ok_and(|shown| shown > limit))
            .unwrap_or_else(|| percent.to_string())
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

pub const INTERRUPTED: &str =
    "the run was interrupted: it has fewer samples, and missing results are marked";

/// The text of a warning about a whole run.
pub fn of_run(warning: &RunWarning) -> String {
    match warning {
        RunWarning::Recorded { text } => text.clone(),
        RunWarning::Disturbed(disturbed) => match disturbed.slower_percent {
            Some(slower) => format!(
                "the whole run was disturbed: figures are about {slower:.0}% above this machine's fastest known run, unevenly (a neighbour on the CPU, or a tracer)"
            ),
            None => format!(
                "only {:.0}% of the rounds were near this run's best, and figures are from these; a longer --time finds more",
                disturbed.undisturbed_percent
            ),
        },
        RunWarning::Stolen { percent } => format!("the hypervisor took {percent:.0}% of CPU time"),
        RunWarning::Busy { busy, cpus } => {
            format!("other programs kept {busy:.1} of {cpus} CPUs busy")
        }
        RunWarning::ManyDerived { most } => {
            format!("a study has at most {most} derived rows: some may be missing")
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
    }

    #[test]
    fn a_missed_target_is_not_rounded_to_it() {
        assert_eq!(above(1.7, 1.0), "1.7%");
        assert_eq!(above(1.04, 1.0), "1.04%");
        assert_eq!(above(1.0003, 1.0), "1.0003%");
        assert_eq!(above(0.56, 0.5), "0.6%");
    }
}
