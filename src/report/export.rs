//! Runs in the formats of other programs, one file per format. Called by `show` and `run`.
//!
//! The formats share `exported`: a unique name for each case, and the cost of each time block, which these programs
//! call a repetition. Failed cases are left out, with a comment or a separate metric if the format allows it.

mod bencher;
mod exported;
mod firefox_profiler;
mod github_action_benchmark;
mod go_benchmark;
mod google_benchmark;
mod openmetrics;
mod seccomp;
mod speedscope;
mod stacks;

use super::Format;
use crate::model::{Profile, Run};
use crate::summary::Summary;
use anyhow::{Result, bail};
use clap::ValueEnum;
use clap::builder::PossibleValue;
pub use exported::ExportFormat;
use exported::cases;
use std::io::Write;
use std::sync::LazyLock;

/// The supported formats; each module describes its own.
pub const EXPORTS: &[ExportFormat] = &[
    // The help text has the same order.
    openmetrics::FORMAT,
    bencher::FORMAT,
    google_benchmark::FORMAT,
    go_benchmark::FORMAT,
    github_action_benchmark::FORMAT,
    speedscope::FORMAT,
    firefox_profiler::FORMAT,
    seccomp::FORMAT,
];

/// How a run is written: in a format of our own or in another program's.
#[derive(Clone, Copy, Debug)]
pub enum RunFormat {
    Ours(Format),
    Export(ExportFormat),
}

impl ValueEnum for RunFormat {
    fn value_variants<'a>() -> &'a [RunFormat] {
        static ALL: LazyLock<Vec<RunFormat>> = LazyLock::new(|| {
            let ours = Format::value_variants().iter().map(|format| RunFormat::Ours(*format));
            ours.chain(EXPORTS.iter().map(|format| RunFormat::Export(*format))).collect()
        });
        &ALL
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            RunFormat::Ours(format) => format.to_possible_value(),
            RunFormat::Export(format) => Some(PossibleValue::new(format.name).help(format.what)),
        }
    }
}

/// Writes a profile.
///
/// # Errors
/// If the format holds no profiles, or `out` cannot be written.
pub fn write_profile_export(profile: &Profile, format: ExportFormat, out: &mut dyn Write) -> Result<()> {
    let Some(write) = format.write_profile else {
        bail!(
            "--format {} holds no profile: choose text, markdown, csv, json, openmetrics, github-action-benchmark, \
             speedscope, firefox-profiler or seccomp",
            format.name
        );
    };
    write(profile, out)
}

/// What is doubtful about a profile in `format`, in one line each.
pub fn profile_cautions(profile: &Profile, format: ExportFormat) -> Vec<String> {
    if format.name == seccomp::FORMAT.name { seccomp::cautions(profile) } else { Vec::new() }
}

/// That `format` holds no run.
pub fn for_profiles(format: ExportFormat) -> String {
    format!("--format {} is for profiles of 'syscost trace': choose another one", format.name)
}

/// What `format` leaves out of `summary` for want of a place, in one line.
pub fn left_out(summary: &Summary, format: ExportFormat) -> Option<String> {
    let counted = summary.rows.iter().filter(|row| row.instructions().is_some()).count();
    let cases = if counted == 1 {
        "1 case is a number of instructions".to_string()
    } else {
        format!("{counted} cases are numbers of instructions")
    };
    (counted > 0 && !format.holds_instructions)
        .then(|| format!("warning: {cases}, for which --format {} has no place: left out", format.name))
}

/// Writes the requested cases of `run`; `summary` must be that of `run`.
///
/// # Errors
/// If the format is for profiles, or `out` cannot be written.
pub fn write_export(run: &Run, summary: &Summary, format: ExportFormat, out: &mut dyn Write) -> Result<()> {
    let Some(write) = format.write else {
        bail!("{}", for_profiles(format));
    };
    write(run, &cases(run, summary), out)
}

#[cfg(test)]
mod tests {
    use super::exported::{Repetition, Taken, of_blocks, unique};
    use super::*;
    use crate::model::fixtures::{counted, entering, instructions, run, varying};
    use crate::model::{Block, Case, Failure, FailureKind, Figure, Measurement, Nanos, Outcome, Record};
    use crate::summary::summarize;

    /// Results, a failure, hostile names and equal names: what every format must handle.
    pub fn example() -> Run {
        let failure = Failure::new(FailureKind::Unsupported, "stat:\nENOSYS");
        let failed = Record::new(Case::native("file.stat"), Outcome::Failed(failure));
        let hostile = Record { case: Case::snippet("c", "a \"b\" \\ {}\n/-4"), ..entering("x", 7, &[]) };
        let time = Nanos(463.7241363525391);
        let figure = Figure { time, as_printed: "31.12 s".into(), count: Some(1 << 26), user_share: None };
        let published = Record::new(Case::native("id.umask"), Outcome::Published(figure));
        let published = counted(published, &[("umask", 1.0)]);
        let mut m32 = counted(varying("file.lstat", |i| 900 + i), &[]);
        m32.case.environment = "m32".into();
        m32.case.params.insert("depth".into(), 4);
        let plain = counted(varying("file.lstat", |i| 500 + i), &[]);
        run(vec![plain.clone(), m32, plain, failed, hostile, published])
    }

    pub fn written(format: ExportFormat) -> String {
        let run = example();
        let mut out = Vec::new();
        write_export(&run, &summarize(&run), format, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn names_are_unique_and_blocks_are_repetitions() {
        let run = example();
        let summary = summarize(&run);
        let cases = cases(&run, &summary);
        let names: Vec<&str> = cases.iter().map(|case| case.name.as_str()).collect();
        assert_eq!(names[..3], ["file.lstat", "file.lstat depth=4 in m32", "file.lstat #2"]);
        assert_eq!((cases[0].repetitions.len(), cases[3].repetitions.len()), (12, 0));
        assert_eq!(cases[0].repetitions[1], Repetition { iterations: 4, ns: 501.0 });
        assert_eq!(cases[5].repetitions, [Repetition { iterations: 1 << 26, ns: 463.7241363525391 }]);
    }

    #[test]
    fn instructions_are_never_written_as_a_time() {
        let run = run(vec![instructions("file.stat", "linux-6.1", &[2731, 2733])]);
        let summary = summarize(&run);
        let text = |format: &ExportFormat| {
            let mut out = Vec::new();
            write_export(&run, &summary, *format, &mut out).unwrap();
            (left_out(&summary, *format).is_some(), String::from_utf8(out).unwrap())
        };
        for format in EXPORTS.iter().filter(|format| format.write.is_some()) {
            let (left_out, text) = text(format);
            assert_eq!(text.contains("2733"), !left_out, "{}: {text}", format.name);
            assert!(!text.contains(" ns/op") && !text.contains("latency") && !text.contains("cost_seconds{"), "{text}");
        }
        let (google, _) = text(&google_benchmark::FORMAT);
        assert!(google && !text(&bencher::FORMAT).0);
        assert!(text(&go_benchmark::FORMAT).1.ends_with("BenchmarkFile.stat/env=linux_6.1 1 2733 instructions/op\n"));
    }

    #[test]
    fn equal_names_are_counted_on_and_not_from_the_first() {
        let mut taken = Taken::from([("a #3".to_string(), 2)]);
        let names: Vec<String> = (0..4).map(|_| unique("a".to_string(), &mut taken)).collect();
        assert_eq!(names, ["a", "a #2", "a #4", "a #5"]);
        assert_eq!(taken["a"], 6, "the next one is tried with this number");
        assert_eq!(unique("a #3".to_string(), &mut taken), "a #3 #2");
    }

    #[test]
    fn blocks_without_samples_are_no_repetitions() {
        let block = |slot| Block { launch: 0, slots: vec![slot] };
        let blocks = vec![block(vec![]), block(vec![10, 30]), block(vec![50])];
        let m = Measurement { iterations: 10, blocks, ..Measurement::default() };
        let all = [Repetition { iterations: 20, ns: 2.0 }, Repetition { iterations: 10, ns: 5.0 }];
        assert_eq!(of_blocks(&m, &(0..usize::MAX)), all);
        assert_eq!(of_blocks(&m, &(2..3)), all[1..]);
    }
}
