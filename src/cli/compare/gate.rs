//! The gate of `syscost compare`: its flags, what they say on standard error and in JUnit's XML, and the exit status, for people
//! and for `git bisect run`.

use crate::cli::error::usage;
use crate::cli::exit::Exit;
use crate::cli::messages::{self, Notes};
use crate::compare::{EntriesRule, Gate};
use crate::report::{Finding, Outcome, failed_lines, not_judged_lines, write_junit};
use crate::store::{self, StoreError};
use anyhow::{Context, Result, anyhow};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// What fails, and how it is reported.
#[derive(Clone, clap::Args)]
#[group(id = "gate", multiple = true)]
pub struct GateArgs {
    /// Exit with status 1 and name the rows if a cost has certainly grown by more than this, i.e. if the whole confidence
    /// interval lies above it, or if the kernel entries have. Of profiles: if calls, errors or bytes have.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_over: Option<f64>,
    /// Exit with status 1 and name the rows with more kernel entries than the baseline's; with '=any', with other ones.
    #[arg(long, value_name = "WHICH", num_args = 0..=1, require_equals = true, default_missing_value = "more")]
    fail_on_entries: Option<EntriesRule>,
    /// Write the verdicts of --fail-over and --fail-on-entries as JUnit's XML, a test case for each row.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// The exit status is for 'git bisect run': 0 if all rows are certainly within the limits, 1 if one is certainly over, 125
    /// if neither is certain or there is no result, 255 for other errors. The first file is the good one.
    #[arg(long)]
    bisect: bool,
}

/// A percentage, with or without its sign, as a share.
pub fn percent(text: &str) -> Result<f64, String> {
    match text.strip_suffix('%').unwrap_or(text).trim_end().parse::<f64>() {
        Ok(value) if (0.0..=10_000.0).contains(&value) => Ok(value / 100.0),
        _ => Err(format!("'{text}' is not a percentage: give a number such as 5 or 5%")),
    }
}

impl GateArgs {
    pub fn is_set(&self) -> bool {
        self.gate().is_set()
    }

    pub fn gate(&self) -> Gate {
        Gate { limit: self.fail_over, entries: self.fail_on_entries }
    }

    pub fn bisects(&self) -> bool {
        self.bisect
    }

    /// Whether the flags go together. Errors: which rule is missing.
    pub fn check(&self) -> Result<()> {
        match (self.is_set(), &self.junit, self.bisect) {
            (true, _, _) | (false, None, false) => Ok(()),
            (false, junit, _) => {
                let flag = if junit.is_some() { "--junit" } else { "--bisect" };
                usage(Err(anyhow!("{flag}: nothing is judged: add --fail-over PERCENT or --fail-on-entries")))
            }
        }
    }

    /// Tells what failed, writes the XML, and gives the exit status. `complete` is whether all runs were measured to their end.
    /// Errors: if the XML cannot be written; a usage error if no row could be judged.
    pub fn conclude(&self, findings: &[Finding], complete: bool, notes: Notes) -> Result<Exit> {
        if !self.is_set() {
            return Ok(Exit::Success);
        }
        if let Some(path) = &self.junit {
            written(findings, path).with_context(|| format!("--junit {}", path.display()))?;
        }
        failed_lines(findings).iter().chain(&not_judged_lines(findings)).for_each(|line| notes.tell(line));
        let has = |outcome: Outcome| findings.iter().any(|finding| finding.outcome == outcome);
        let (failed, open) = (has(Outcome::Failed), has(Outcome::Unclear) || has(Outcome::NotJudged));
        let judged = failed || has(Outcome::Passed) || has(Outcome::Unclear);
        match (self.bisect, failed) {
            (false, true) => Ok(Exit::CostGrown),
            (false, false) if !judged => usage(Err(anyhow!("the gate could judge no row: the lines above say why"))),
            (false, false) => Ok(Exit::Success),
            (true, true) => Ok(Exit::Bad),
            (true, false) if open || !complete || !judged => Ok(Exit::NotCounted),
            (true, false) => Ok(Exit::Success),
        }
    }
}

fn written(findings: &[Finding], path: &Path) -> Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    write_junit(findings, &mut file)?;
    Ok(file.flush()?)
}

/// Git takes 1 to 124 for a bad commit, so that no error may have such a status: 125 where the commit could not be measured, as
/// one of its files cannot be read, 255 for the rest, also if the good one cannot be. Errors: none: they are reported.
pub fn for_git(done: Result<Exit>, files: &[PathBuf]) -> Result<Exit> {
    let error = match done {
        Ok(exit) => return Ok(exit),
        Err(error) => error,
    };
    messages::tell(&format_args!("{error:#}"));
    let unreadable = error.is::<StoreError>();
    let good = files.first().is_some_and(|file| store::read_any(file).is_ok());
    Ok(if unreadable && good { Exit::NotCounted } else { Exit::NoBisection })
}
