//! The gate of `syscost compare` and `run`: its options, its messages on standard error, and the exit status.

use crate::error::usage_error;
use crate::exit::Exit;
use crate::messages::note;
use analysis::compare::{Column, EntriesRule, Gate, Options, within};
use anyhow::Result;
use model::Run;
use report::{Finding, Outcome, finding_lines, findings};

/// What fails.
#[derive(clap::Args)]
#[group(id = "gate", multiple = true)]
pub struct GateArgs {
    /// Exit with status 1 and name the rows whose cost has certainly grown by more than this (the whole confidence
    /// interval lies above it) or whose kernel entries have. For profiles: whose calls, errors or bytes have.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_over: Option<f64>,
    /// Exit with status 1 and name the rows that have more kernel entries than the baseline; with '=any', different
    /// ones. For profiles: that have more calls.
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "more")]
    fail_on_entries: Option<EntriesRule>,
}

/// A percentage, with or without its sign, as a share.
pub fn percent(text: &str) -> Result<f64, String> {
    match text
        .strip_suffix('%')
        .unwrap_or(text)
        .trim_end()
        .parse::<f64>()
    {
        Ok(value) if (0.0..=10_000.0).contains(&value) => Ok(value / 100.0),
        _ => Err(format!(
            "'{text}' is not a percentage: give a number such as 5 or 5%"
        )),
    }
}

impl GateArgs {
    pub fn gate(&self) -> Option<Gate> {
        let gate = Gate {
            limit: self.fail_over,
            entries: self.fail_on_entries,
        };
        (gate.limit.is_some() || gate.entries.is_some()).then_some(gate)
    }

    pub fn judge(&self, run: &Run) -> Result<Exit> {
        let Some(gate) = self.gate() else {
            return Ok(Exit::Success);
        };
        let mut ratios = within(&Column::new("", run), &Options::default());
        ratios.gate(&gate);
        self.conclude(&findings(&ratios))
    }

    /// Prints on standard error.
    ///
    /// # Errors
    /// Fails if a gate was asked for and no row could be judged.
    pub fn conclude(&self, findings: &[Finding]) -> Result<Exit> {
        finding_lines(findings).iter().for_each(note);
        let has = |outcome: Outcome| findings.iter().any(|finding| finding.outcome == outcome);
        let passed = has(Outcome::Passed) || has(Outcome::Unclear);
        match (has(Outcome::Failed), passed) {
            (true, _) => Ok(Exit::CostGrown),
            (false, false) if self.gate().is_some() => Err(usage_error!(
                "no row could be checked against the limit; the lines above have the reasons"
            )),
            _ => Ok(Exit::Success),
        }
    }
}
