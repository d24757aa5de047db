//! The options of `syscost compare`.

use super::gate::{GateArgs, percent};
use crate::complete;
use crate::error::bail_usage;
use crate::show::Only;
use analysis::compare::Order;
use anyhow::Result;
use report::Format;
use std::path::PathBuf;

/// Compare result files or profiles: which costs changed, and by how much.
///
/// Shows costs side by side, ratios with their intervals, and differences that make the comparison unfair. For profiles
/// of traced programs, compares calls, errors, bytes and CPU time.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct CompareArgs {
    /// Result files of `syscost run --out`, published figures from published/, or profiles of `syscost trace -o`; '-'
    /// is standard input. A single file is compared within itself: the ratios that its study defines.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    /// The other side: the files before it are runs of one version, these are runs of another.
    ///
    /// Each side is one column, and intervals come from the scatter of its runs. Takes at least two runs a side; five
    /// or more resolve small differences.
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub versus: Vec<PathBuf>,
    /// Label for each file, or with --versus for each side, in order [default: its host name, else its file name; for a side
    /// its directory or what its file names have in common].
    #[arg(long = "label", value_name = "TEXT", hide_short_help = true)]
    pub labels: Vec<String>,
    /// File or label that the others are divided by [default: the first file].
    #[arg(long, value_name = "FILE|LABEL")]
    pub baseline: Option<String>,
    /// Use a study's cases as rows and apply its derived rows and scales to every file. A name (see 'syscost list
    /// --studies') or a TOML file.
    #[arg(long, value_name = "NAME|FILE", add = complete::studies(), hide_short_help = true)]
    pub study: Option<String>,
    /// Row order.
    #[arg(long, value_enum, default_value = "asked", hide_short_help = true)]
    pub sort: Order,
    #[command(flatten)]
    pub only: Only,
    /// Show only rows that certainly differ by more than this, and count the others [default: show all rows;
    /// differences under 1% are called equal].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub threshold: Option<f64>,
    #[command(flatten)]
    pub gate: GateArgs,
    /// Output format.
    #[arg(long, value_enum, default_value = "text")]
    pub format: Format,
}

const EXAMPLES: &str = "\
Examples:
  syscost compare before.json after.json
  syscost compare before.json after.json --threshold 5% --sort ratio
  syscost compare before/*.json --versus after/*.json
  syscost compare a.json b.json c.json --label 5.15 --label 6.1 --label 6.18
  syscost compare main.json branch.json --fail-over 10%
  syscost compare main.json branch.json --fail-on-entries
  syscost compare pull-request.json --fail-over 5% --fail-on-entries
  syscost compare main.profile.json branch.profile.json --fail-over 5%
  syscost compare --study os-calls published/macosx-10.7.json mine.json

On one machine, rows are compared relative to the machine as a whole, which a panel of cheap operations shows in every run; \
machine-wide speed changes are reported separately. Otherwise the interval of a single-run ratio combines launch scatter with \
run-to-run scatter, learned from earlier runs or assumed (1.5%). Several runs per side ('run --runs N', or --versus) detect smaller \
differences, because their scatter is known. Rows with different kernel entries have no ratio.";

impl CompareArgs {
    pub fn check_for_profiles(&self) -> Result<()> {
        for (flag, is_given) in [
            ("--study", self.study.is_some()),
            ("--sort", self.sort != Order::default()),
        ] {
            if is_given {
                let file = self.files[0].display();
                bail_usage!("{flag} is for result files, {file} is a profile");
            }
        }
        Ok(())
    }
}
