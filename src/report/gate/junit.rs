//! The findings of a gate as JUnit's XML, which CI systems show: a suite for each file, a test case for each row. There is no
//! standard; this is the part that the readers agree on (<https://github.com/testmoapp/junitxml>). Rows that are not judged are
//! skipped tests.
//!
//! Written here: a crate for it brings dates, UUIDs and a parser for what is six elements.

use super::{Finding, Outcome};
use crate::clean;
use anyhow::Result;
use indexmap::IndexMap;
use std::io::Write;

/// Writes `findings` as a document.
///
/// # Errors
/// If `out` cannot be written.
pub fn write_junit(findings: &[Finding], out: &mut dyn Write) -> Result<()> {
    let mut suites: IndexMap<&str, Vec<&Finding>> = IndexMap::new();
    findings.iter().for_each(|finding| suites.entry(&finding.column).or_default().push(finding));
    writeln!(out, r#"<?xml version="1.0" encoding="UTF-8"?>"#)?;
    let all: Vec<&Finding> = findings.iter().collect();
    writeln!(out, "<testsuites name=\"syscost\" {}>", counts(&all))?;
    for (column, findings) in suites {
        writeln!(out, "  <testsuite name=\"{}\" {}>", escaped(column), counts(&findings))?;
        findings.iter().try_for_each(|finding| case(finding, out))?;
        writeln!(out, "  </testsuite>")?;
    }
    Ok(writeln!(out, "</testsuites>")?)
}

fn counts(findings: &[&Finding]) -> String {
    let count = |outcome: Outcome| findings.iter().filter(|finding| finding.outcome == outcome).count();
    let (failed, skipped) = (count(Outcome::Failed), count(Outcome::NotJudged));
    format!("tests=\"{}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\"", findings.len())
}

fn case(finding: &Finding, out: &mut dyn Write) -> Result<()> {
    let (name, class, text) = (escaped(&finding.name), escaped(&finding.column), escaped(&finding.text));
    write!(out, "    <testcase name=\"{name}\" classname=\"{class}\"")?;
    match finding.outcome {
        Outcome::Passed => writeln!(out, "/>")?,
        Outcome::Unclear => writeln!(out, "><system-out>{text}</system-out></testcase>")?,
        Outcome::Failed => writeln!(out, "><failure message=\"{text}\">{text}</failure></testcase>")?,
        Outcome::NotJudged => writeln!(out, "><skipped message=\"{text}\"/></testcase>")?,
    }
    Ok(())
}

/// On one line, without what XML 1.0 cannot hold (section 2.2), and with nothing that ends an element or an attribute.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    clean::markup(text, &mut escaped);
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_outcome_has_its_element_and_names_stay_text() {
        let finding = |name: &str, outcome, text: &str| Finding {
            name: name.into(),
            column: "pr \"<&>".into(),
            outcome,
            text: text.into(),
        };
        let findings = [
            finding("file.stat", Outcome::Passed, ""),
            finding("]]></testcase>", Outcome::Failed, "a\u{0}\u{1b}\u{ffff}\nb"),
            finding("c", Outcome::NotJudged, "no result"),
            finding("d", Outcome::Unclear, "x1.050 (0.950 .. 1.150)"),
        ];
        let mut out = Vec::new();
        write_junit(&findings, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert!(
            text.contains("<testsuites name=\"syscost\" tests=\"4\" failures=\"1\" errors=\"0\" skipped=\"1\">"),
            "{text}"
        );
        assert!(text.contains("<testsuite name=\"pr &quot;&lt;&amp;&gt;\" "), "{text}");
        assert!(text.contains("<testcase name=\"]]&gt;&lt;/testcase&gt;\""), "{text}");
        assert!(text.contains("<skipped message=\"no result\"/>") && text.contains("<system-out>x1.050"), "{text}");
        assert!(!text.contains(['\u{0}', '\u{1b}', '\u{ffff}']) && !text.contains("a\nb"), "{text}");
    }
}
