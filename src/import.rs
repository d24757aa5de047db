//! Output of other programs as runs and profiles: the times of benchmarks become published results, counts of tracers a
//! profile, each with a note about what is unknown. Pure: text in, [`Stored`] out; `cli::import` reads and writes.
//!
//! One file per program, and one row in `IMPORTERS`. A result gets the id of one of our operations only if both do the same
//! work; otherwise it keeps the name that its program gives it. Zero, negative and non-numeric times become failures.

mod google_benchmark;
mod imported;
mod lmbench;
mod perf_bench;
mod perf_trace;
mod strace;
mod strace_log;
mod tally;

pub use imported::Malformed;

use crate::model::{Profile, Run, Source, Tool};
use crate::store::Stored;
use imported::Imported;

pub struct Importer {
    /// As on the command line.
    pub name: &'static str,
    pub what: &'static str,
    read: Read,
}

/// How output is read: a benchmark's to a run, a tracer's to a profile.
enum Read {
    Run(fn(&str) -> Result<Imported, Malformed>),
    Profile(fn(&str) -> Result<Profile, Malformed>),
}

/// All importers, in the order of the help.
pub const IMPORTERS: &[Importer] = &[
    Importer::run("lmbench", "lines that lmbench's lat_* programs print", lmbench::parse),
    Importer::run("perf-bench", "output of 'perf bench syscall'", perf_bench::parse),
    Importer::run("google-benchmark", "JSON of Google Benchmark (--benchmark_format=json)", google_benchmark::parse),
    Importer::profile("strace", "table of 'strace -c', or log of 'strace -f -T -ttt' (a profile)", strace::read),
    Importer::profile("perf-trace", "output of 'perf trace -s' or of 'perf trace' (a profile)", perf_trace::read),
];

impl Importer {
    const fn run(name: &'static str, what: &'static str, read: fn(&str) -> Result<Imported, Malformed>) -> Importer {
        Importer { name, what, read: Read::Run(read) }
    }

    const fn profile(name: &'static str, what: &'static str, read: fn(&str) -> Result<Profile, Malformed>) -> Importer {
        Importer { name, what, read: Read::Profile(read) }
    }

    pub fn find(name: &str) -> Option<&'static Importer> {
        IMPORTERS.iter().find(|importer| importer.name == name)
    }

    /// Whether it reads a tracer's output, which gives a profile.
    pub fn is_trace(&self) -> bool {
        matches!(self.read, Read::Profile(_))
    }

    /// The run or profile in `text`, which comes from `from`, e.g. a file's name.
    ///
    /// # Errors
    /// The first line that the program does not print; or that there is no result or call at all.
    pub fn import(&self, text: &str, from: &str) -> Result<Stored, Malformed> {
        Ok(match self.read {
            Read::Run(read) => Stored::Run(Box::new(run(read(text)?, from))),
            Read::Profile(read) => {
                let mut profile = read(text)?;
                let note = profile.source.map_or_else(String::new, |source| source.note);
                profile.tool = Some(Tool::default());
                profile.source = Some(Source { title: format!("{}, from {from}", profile.tracer.kind), note });
                Stored::Profile(Box::new(profile))
            }
        })
    }
}

fn run(imported: Imported, from: &str) -> Run {
    let compiler = imported.compiler.unwrap_or_else(|| format!("not stated by {}", imported.program));
    Run {
        tool: Tool { compiler, ..Tool::default() },
        host: imported.host,
        complete: true,
        records: imported.records,
        warnings: imported.warnings,
        source: Some(Source { title: format!("{}, from {from}", imported.program), note: imported.note.into() }),
        ..Run::default()
    }
}

#[cfg(test)]
mod tests {
    use super::imported::outcome;
    use super::*;
    use crate::model::Outcome;
    use proptest::prelude::*;

    const SAMPLES: [(&str, &str); 3] = [
        ("lmbench", include_str!("../tests/formats/lmbench-3.0-a9.txt")),
        ("perf-bench", include_str!("../tests/formats/perf-bench-6.1.txt")),
        ("google-benchmark", include_str!("../tests/formats/google-benchmark-1.7.1.json")),
    ];

    fn import(kind: &str, text: &str) -> Result<Run, Malformed> {
        match Importer::find(kind).unwrap().import(text, "a file")? {
            Stored::Run(run) => Ok(*run),
            _ => panic!("{kind} gives no run"),
        }
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
        let json = SAMPLES[2].1;
        assert!((0..json.trim_end().len()).all(|end| import("google-benchmark", &json[..end]).is_err()));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn damaged_output_gives_a_line_or_sound_records(which in 0..SAMPLES.len(), at in any::<prop::sample::Index>(),
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
        fn no_text_panics(which in 0..SAMPLES.len(), text in any::<String>()) {
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
        assert!(text.starts_with("line 3: expected a number of microseconds, found '\u{fffd}x"), "{text}");
        assert!(text.ends_with("x...'") && text.len() < 150, "{text}");
    }
}
