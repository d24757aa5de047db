//! libMicro: a row per benchmark below a heading `prc thr usecs/call samples ...`, and `!KEY: VALUE` lines about the machine
//! above. The layout comes from published output of version 0.4.0 (test reports, mails about kernel changes), not from its
//! source.

use super::imported::{Imported, Malformed, outcome, parse_count, parse_number, record};
use crate::model::{Case, Host, Record};

const NOTE: &str = "Results as printed by libMicro: medians over samples without outliers; count is samples times calls \
    per sample. The cost of the loop around the call is included.";

/// Its benchmarks that equal one of our operations. Others look up paths of unknown depth, or do more than their name says.
const SAME: [(&str, &str); 4] = [
    ("getpid", "call.getpid"),
    ("getppid", "id.getppid"),
    ("gettimeofday", "time.gettimeofday"),
    ("times", "id.times"),
];

/// Positions of the heading's columns in a row, whose first word is the name.
struct Columns {
    us: usize,
    samples: usize,
    errors: Option<usize>,
    calls: usize,
}

/// Reads the output.
///
/// # Errors
/// The first row that does not fit its heading, or that there is no result.
pub fn parse(text: &str) -> Result<Imported, Malformed> {
    let mut imported = Imported { program: "libMicro".into(), note: NOTE, ..Imported::default() };
    let mut columns: Option<Columns> = None;
    let lines = text.lines().count();
    for (i, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let Some(fact) = line.strip_prefix('!') {
            imported.learn(fact);
        } else if let Some(found) = heading(&words) {
            columns = Some(found);
        } else if let Some(columns) = columns.take_if(|_| !words.is_empty()) {
            if i + 1 == lines && !text.ends_with('\n') {
                return Err(Malformed::at(i + 1, "a row that ends with its line", line));
            }
            imported.records.push(columns.record(i + 1, line, &words)?);
        }
    }
    if columns.is_some() {
        return Err(Malformed::at(lines, "a row below the heading", text.lines().last().unwrap_or_default()));
    }
    match imported.records.is_empty() {
        true => Err(Malformed::nothing("a heading 'prc thr usecs/call samples errors cnt/samp' and a row below it")),
        false => Ok(imported),
    }
}

fn heading(words: &[&str]) -> Option<Columns> {
    let words = words.strip_prefix(&["prc"])?;
    let column = |name: &str| words.iter().position(|word| *word == name).map(|i| i + 2);
    let (us, samples, calls) = (column("usecs/call")?, column("samples")?, column("cnt/samp")?);
    Some(Columns { us, samples, errors: column("errors"), calls })
}

impl Columns {
    fn record(&self, line: usize, text: &str, words: &[&str]) -> Result<Record, Malformed> {
        let word = |i: usize| words.get(i).copied().ok_or_else(|| Malformed::at(line, "a value for each column", text));
        let us = word(self.us)?;
        let ns = parse_number(line, "microseconds", us)? * 1e3;
        let samples = parse_count(line, "samples", word(self.samples)?)?;
        let calls = parse_count(line, "calls a sample", word(self.calls)?)?;
        let errors = self.errors.map(|i| parse_count(line, "errors", word(i)?)).transpose()?.unwrap_or(0);
        let printed = format!("{us} usecs/call, {samples} samples of {calls} calls, {errors} errors");
        let doubt = (errors > 0).then(|| "libMicro counted errors: the result may include failed calls".to_string());
        Ok(record(case(word(0)?), outcome(ns, printed, samples.checked_mul(calls)), doubt.into_iter().collect()))
    }
}

fn case(name: &str) -> Case {
    Case::native(SAME.iter().find(|(theirs, _)| *theirs == name).map_or(name, |(_, id)| id))
}

impl Imported {
    /// `Machine_name:   x`: a fact about the run.
    fn learn(&mut self, fact: &str) {
        let Some((key, value)) = fact.split_once(':') else { return };
        let value = value.trim();
        if value.is_empty() {
            return;
        }
        match key.trim() {
            "Libmicro_#" => self.program = format!("libMicro {value}"),
            "Compiler" => self.compiler = Some(value.to_string()),
            "Compiler Ver." => self.compiler = self.compiler.take().map(|name| format!("{name} {value}")),
            key => learn(&mut self.host, key, value),
        }
    }
}

fn learn(host: &mut Host, key: &str, value: &str) {
    let text = Some(value.to_string());
    match key {
        "Machine_name" => host.name = text,
        "OS_name" => host.system = text,
        "OS_release" => host.kernel = text,
        "OS_build" => host.kernel_version = text,
        "Processor" => host.architecture = text,
        "CPU_NAME" => host.cpu = text,
        "#CPUs" => host.cpus = value.parse().ok(),
        "CPU_MHz" => host.frequency_mhz = value.parse().ok().filter(|mhz: &f64| mhz.is_finite() && *mhz > 0.0),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::imported::message;
    use super::*;

    const HEAD: &str = " prc thr usecs/call samples errors cnt/samp\n";

    #[test]
    fn mistakes_name_the_line() {
        for (row, expected) in [
            ("getpid 1 1 fast 2 0 5\n", "a number of microseconds, found 'fast'"),
            ("getpid 1 1 0.5 2 0\n", "a value for each column, found 'getpid 1 1 0.5 2 0'"),
            ("getpid 1 1 0.5 2 0 5", "a row that ends with its line, found 'getpid 1 1 0.5 2 0 5'"),
        ] {
            assert_eq!(message(parse, &format!("{HEAD}{row}")), format!("line 2: expected {expected}"));
        }
        assert!(message(parse, HEAD).starts_with("line 1: expected a row below the heading, found"));
        assert!(message(parse, "!OS_name: x\n").starts_with("expected a heading 'prc thr usecs/call"));
    }

    #[test]
    fn errors_are_reported_and_older_headings_lack_them() {
        let records = parse(&format!("{HEAD}open 1 1 0.5 2 7 5\n")).ok().unwrap().records;
        assert!(records[0].warnings[0].contains("counted errors"));
        let old =
            parse(" prc thr usecs/call samples cnt/samp size\nlseek 1 1 7.676 1486 2 8192\n").ok().unwrap().records;
        let printed = "7.676 usecs/call, 1486 samples of 2 calls, 0 errors".to_string();
        assert_eq!((&old[0].case, &old[0].outcome), (&Case::native("lseek"), &outcome(7676.0, printed, Some(2972))));
    }
}
