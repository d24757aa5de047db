//! Go's benchmark format, read by benchstat: one line per time block, from which benchstat computes its interval
//! (<https://go.dev/design/14313-benchmark-format>).
//!
//! A name begins with `Benchmark` and a capital letter; parameters follow as `/key=value`. The kernel is only in a
//! comment: benchstat makes separate tables for different values of a `key: value` line, but kernels are to be
//! compared.

use super::exported::{ExportFormat, Exported};
use crate::clean::{self, line};
use crate::model::{Case, Run};
use anyhow::Result;
use std::collections::HashMap;
use std::io::Write;

pub const FORMAT: ExportFormat = ExportFormat {
    name: "go-benchmark",
    what: "Go's benchmark lines, one a time block, for benchstat",
    write: Some(write),
    holds_instructions: true,
    write_profile: None,
};

fn write(run: &Run, cases: &[Exported], out: &mut dyn Write) -> Result<()> {
    head(run, cases, out)?;
    let mut taken = HashMap::new();
    for case in cases {
        let name = super::exported::unique(name(&case.row.case), &mut taken).replace(' ', "_");
        if let Some(failure) = case.row.failure() {
            writeln!(out, "# {name}: not measured: {}", line(&failure.message))?;
        }
        let entries = case.row.entries.as_ref().map(|entries| format!(" {} kernel-entries/op", entries.total()));
        let entries = entries.unwrap_or_default();
        for repetition in &case.repetitions {
            writeln!(out, "{name} {} {} ns/op{entries}", repetition.iterations, repetition.ns)?;
        }
        if let Some(count) = case.row.instructions() {
            writeln!(out, "{name} 1 {} instructions/op{entries}", count.per_operation)?;
        }
    }
    Ok(())
}

fn head(run: &Run, cases: &[Exported], out: &mut dyn Write) -> Result<()> {
    let host = &run.host;
    let lines = [
        ("goos", host.system.as_deref().map(str::to_lowercase)),
        ("goarch", host.architecture.as_deref().map(|name| architecture(name).to_string())),
        ("pkg", Some("syscost".to_string())),
        ("cpu", host.cpu.clone()),
        ("# kernel", host.kernel.clone()),
    ];
    for (key, value) in lines {
        if let Some(value) = value {
            writeln!(out, "{key}: {}", line(&value))?;
        }
    }
    writeln!(out, "Unit kernel-entries/op assume=exact")?;
    if cases.iter().any(|case| case.row.instructions().is_some()) {
        writeln!(out, "Unit instructions/op assume=exact")?;
    }
    Ok(())
}

/// Go's name for an architecture.
fn architecture(name: &str) -> &str {
    match name {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        "i686" | "i586" => "386",
        other => other,
    }
}

/// `BenchmarkFile.lstat/depth=4/env=m32`
fn name(case: &Case) -> String {
    let label = match (&case.name, &case.language) {
        (None, Some(language)) => format!("{language}:{}", case.operation),
        _ => case.label().to_string(),
    };
    let params = case.params.iter().map(|(key, value)| format!("/{}={value}", word(key)));
    let environment = (case.environment != "native").then(|| format!("/env={}", word(&case.environment)));
    let tail: String = params.chain(environment).collect();
    format!("Benchmark{}{}", capital(&word(&label)), tail)
}

/// Removes separators of words and parts of a name. A dash and a number at the end would be read as a number of
/// processors.
fn word(text: &str) -> String {
    clean::word(text).replace(['/', '-'], "_")
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) if first.is_ascii_alphabetic() => first.to_ascii_uppercase().to_string() + letters.as_str(),
        _ => format!("X{word}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::written;
    use super::capital;
    use super::*;

    #[test]
    fn a_run_as_go_prints_it() {
        let text = written(FORMAT);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(
            lines[..3],
            [
                "pkg: syscost",
                "Unit kernel-entries/op assume=exact",
                "BenchmarkFile.lstat 4 500 ns/op 0 kernel-entries/op"
            ]
        );
        let of = |name: &str| lines.iter().filter(|line| line.starts_with(&format!("{name} "))).count();
        assert_eq!((of("BenchmarkFile.lstat"), of("BenchmarkFile.lstat/depth=4/env=m32")), (12, 12));
        assert_eq!((of("BenchmarkFile.lstat_#2"), of("BenchmarkC:a_\"b\"_\\_{}___4")), (12, 12), "{text}");
        assert!(lines.contains(&"# BenchmarkFile.stat: not measured: stat: ENOSYS"), "{text}");
        assert!(lines.contains(&"BenchmarkId.umask 67108864 463.7241363525391 ns/op 1 kernel-entries/op"), "{text}");
    }

    #[test]
    fn names_begin_with_a_capital() {
        assert_eq!([capital("a"), capital("B"), capital("1"), capital("")], ["A", "B", "X1", "X"]);
    }
}
