//! What a gate found, in words: one finding for each row and column, for messages and pages. Comparisons of runs and of profiles
//! make them.

/// One row in one column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// What was judged: an operation with its parameters, a system call.
    pub name: String,
    pub outcome: Outcome,
    /// Why; empty if it passed.
    pub text: String,
}

/// What a gate says of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Growth is not certain, or within the limit.
    Passed,
    Failed,
    /// Neither passed nor failed.
    NotJudged,
}

/// One line for each finding that failed.
pub fn failed_lines(findings: &[Finding]) -> Vec<String> {
    let failed = findings.iter().filter(|finding| finding.outcome == Outcome::Failed);
    failed.map(|finding| finding.text.clone()).collect()
}

/// One line for each reason not to judge rows, with their names.
pub fn not_judged_lines(findings: &[Finding]) -> Vec<String> {
    let mut by_text: indexmap::IndexMap<&str, Vec<&str>> = indexmap::IndexMap::new();
    for finding in findings.iter().filter(|finding| finding.outcome == Outcome::NotJudged) {
        by_text.entry(&finding.text).or_default().push(&finding.name);
    }
    let line = |(text, names): (&str, Vec<&str>)| format!("not judged: {}: {text}", crate::prose::some(&names, 6));
    by_text.into_iter().map(line).collect()
}
