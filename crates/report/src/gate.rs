//! What a gate found, in words: one finding for each row and column, for messages and pages. Comparisons of runs and of profiles
//! make them.

use model::grouped;
use model::prose::few;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// An operation with its parameters, a system call.
    pub name: String,
    pub outcome: Outcome,
    pub text: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Growth is not certain, or within the limit.
    Passed,
    Failed,
    NotJudged,
}

/// A line for each that failed, and one for each reason not to judge rows.
pub fn finding_lines(findings: &[Finding]) -> Vec<String> {
    let of = |outcome: Outcome| {
        findings
            .iter()
            .filter(move |finding| finding.outcome == outcome)
    };
    let failed = of(Outcome::Failed).map(|finding| finding.text.clone());
    let by_text = grouped(of(Outcome::NotJudged).map(|finding| (&finding.text, &finding.name)));
    let not_judged = by_text
        .iter()
        .map(|(text, names)| format!("not judged: {}: {text}", few(names)));
    failed.chain(not_judged).collect()
}
