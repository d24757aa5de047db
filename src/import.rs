//! Figures of other benchmark programs as runs: what they printed becomes published figures, with what is known and
//! unknown said. Pure: text in, `Run` out; `cli::import` reads and writes.
//!
//! One file a kind, and one row in `KINDS`; those of traces, which give profiles, stand in `profiles`. A figure gets the id of our operation only where both do the same; otherwise it
//! keeps the name that its program gives it. Nothing printed as zero, negative or not a number becomes a time.

mod google_benchmark;
mod imported;
mod libmicro;
mod lmbench;
mod perf_bench;
mod perf_trace;
pub mod profiles;
mod strace;
mod strace_args;
mod strace_line;
mod strace_log;
pub mod tally;

pub use imported::Malformed;

use crate::model::{Run, Source, Tool};
use imported::Imported;

/// A program whose output can be read.
pub struct Kind {
    /// As the command line has it.
    pub name: &'static str,
    /// What is read, in a few words.
    pub what: &'static str,
    parse: fn(&str) -> Result<Imported, Malformed>,
}

pub const KINDS: [Kind; 4] = [
    Kind { name: "lmbench", what: "lines that lmbench's lat_* programs print", parse: lmbench::parse },
    Kind { name: "perf-bench", what: "output of 'perf bench syscall'", parse: perf_bench::parse },
    Kind { name: "libmicro", what: "output of libMicro's bench or of its programs", parse: libmicro::parse },
    Kind {
        name: "google-benchmark",
        what: "JSON of Google Benchmark (--benchmark_format=json)",
        parse: google_benchmark::parse,
    },
];

impl Kind {
    /// The kind of that name.
    pub fn find(name: &str) -> Option<&'static Kind> {
        KINDS.iter().find(|kind| kind.name == name)
    }

    /// What `text` holds, as a run. `from` tells where it comes from, e.g. a file's name.
    ///
    /// # Errors
    /// The first line that is not as the program prints it; or that there is no figure at all.
    pub fn import(&self, text: &str, from: &str) -> Result<Run, Malformed> {
        let imported = (self.parse)(text)?;
        let unknown = format!("not stated by {}", imported.program);
        Ok(Run {
            tool: Tool { compiler: imported.compiler.unwrap_or(unknown), ..Tool::default() },
            host: imported.host,
            complete: true,
            records: imported.records,
            warnings: imported.warnings,
            source: Some(Source { title: format!("{}, from {from}", imported.program), note: imported.note.into() }),
            ..Run::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::imported::outcome;
    use super::*;
    use crate::model::Outcome;
    use proptest::prelude::*;

    const SAMPLES: [(&str, &str); 4] = [
        ("lmbench", include_str!("../tests/formats/lmbench-3.0-a9.txt")),
        ("perf-bench", include_str!("../tests/formats/perf-bench-6.1.txt")),
        ("libmicro", include_str!("../tests/formats/libmicro-0.4.0.txt")),
        ("google-benchmark", include_str!("../tests/formats/google-benchmark-1.7.1.json")),
    ];

    fn import(kind: &str, text: &str) -> Result<Run, Malformed> {
        Kind::find(kind).unwrap().import(text, "a file")
    }

    /// The whole has what its beginning has: nothing that was cut off becomes another figure.
    fn is_part_of(part: &Run, whole: &Run) -> bool {
        part.records.iter().all(|record| whole.records.contains(record))
    }

    #[test]
    fn what_is_cut_off_is_an_error_or_a_part() {
        for (kind, text) in SAMPLES.iter().filter(|(kind, _)| *kind != "google-benchmark") {
            let whole = import(kind, text).unwrap();
            for end in 0..text.len() {
                match import(kind, &text[..end]) {
                    Ok(run) => assert!(is_part_of(&run, &whole) && !run.records.is_empty(), "{kind}, {end}"),
                    Err(error) => assert!(!error.to_string().contains('\n'), "{error}"),
                }
            }
        }
        let json = SAMPLES[3].1;
        assert!((0..json.trim_end().len()).all(|end| import("google-benchmark", &json[..end]).is_err()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn damaged_output_gives_a_line_or_sound_records(which in 0..4usize, at in any::<prop::sample::Index>(),
                                                        gone in 0..40usize, put in "[ -~\n]{0,12}") {
            let (kind, text) = SAMPLES[which];
            let start = at.index(text.len());
            let end = (start + gone).min(text.len());
            let damaged = format!("{}{put}{}", &text[..start], &text[end..]);
            match import(kind, &damaged) {
                Err(error) => prop_assert!(!error.to_string().contains('\n'), "{}", error),
                Ok(run) => for record in &run.records {
                    if let Outcome::Published(figure) = &record.outcome {
                        prop_assert!(figure.time.0 > 0.0 && figure.time.0.is_finite());
                    }
                },
            }
        }

        #[test]
        fn any_text_is_borne(which in 0..4usize, text in any::<String>()) {
            let _ = import(SAMPLES[which].0, &text);
        }
    }

    #[test]
    fn nothing_is_no_time() {
        for ns in [0.0, -0.0, -1.0, f64::NAN, f64::INFINITY] {
            assert!(matches!(outcome(ns, "x".into(), None), Outcome::Failed(_)), "{ns}");
        }
        let Outcome::Published(figure) = outcome(2.5, "x".into(), Some(0)) else { panic!() };
        assert_eq!((figure.time.0, figure.count), (2.5, None));
    }

    #[test]
    fn messages_are_one_short_line() {
        let error = Malformed::at(3, "a number of microseconds", &format!("\t\u{1b}{}", "x".repeat(100)));
        let text = error.to_string();
        assert!(text.starts_with("line 3: expected a number of microseconds, found ' \u{fffd}x"), "{text}");
        assert!(text.ends_with("x...'") && text.len() < 150, "{text}");
    }
}
