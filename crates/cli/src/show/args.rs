//! The options of `syscost show`, some of which other commands share.

use crate::complete;
use crate::error::bail_usage;
use analysis::compare::Selection;
use anyhow::Result;
use clap::ValueEnum;
use model::pattern::Pattern;
use model::{By, Run};
use report::{Format, RunFormat, Screen, Sort, ViewKind, Weight};
use std::path::PathBuf;

/// Show a result file or a profile as a table.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ShowArgs {
    /// A file that 'syscost run', 'trace', 'why' or 'race' wrote with -o, JSON of 'explain', or the output of strace;
    /// '-' for standard input. Several profiles are added up; several result files take --format rows.
    #[arg(value_name = "FILE", required = true)]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub only: Only,
    /// The rows of a profile. [default: call]
    #[arg(long)]
    pub by: Option<By>,
    /// What --view stacks counts. [default: calls]
    #[arg(long, value_name = "WHAT")]
    pub weight: Option<Weight>,
    /// For a profile, show only the program's name, without the command's arguments.
    #[arg(long)]
    pub no_arguments: bool,
    #[command(flatten)]
    pub view: View,
}

const EXAMPLES: &str = "\
Examples:
  syscost show now.json
  syscost show now.json --format csv --sort cost
  syscost show now.json --format go-benchmark > now.txt && benchstat now.txt
  syscost show published/perl-5.10.1-i686.json --view cmpthese
  syscost show now.json --view latency --format csv
  syscost show now.json --only 'file.*' --only id
  syscost show results/*.json --format rows > rows.jsonl
  syscost show profile.json --by class
  syscost show a.profile.json b.profile.json c.profile.json
  strace -f -T -ttt -o log.txt make; syscost show log.txt
  syscost show profile.json --view latency
  syscost show profile.json --view stacks --weight blocked > blocked.folded";

impl ShowArgs {
    pub fn is_of_profile(&self) -> bool {
        self.by.is_some() || self.weight.is_some() || self.no_arguments
    }
}

/// The rows that are shown.
#[derive(Clone, clap::Args)]
pub struct Only {
    /// Show only rows whose name, operation or area matches; repeatable.
    #[arg(long = "only", value_name = "PATTERN", value_parser = Pattern::new, add = complete::operations())]
    pub patterns: Vec<Pattern>,
}

impl Only {
    pub fn selection(&self) -> Selection {
        Selection {
            only: self.patterns.clone(),
            ..Selection::default()
        }
    }

    /// `what` names the rows.
    pub fn check(&self, is_found: bool, what: &str) -> Result<()> {
        if is_found || self.patterns.is_empty() {
            return Ok(());
        }
        let texts: Vec<&str> = self.patterns.iter().map(Pattern::text).collect();
        bail_usage!(
            "--only: no {what} matches {}; leave it out to see all",
            texts.join(", ")
        )
    }
}

/// How a run is shown.
#[derive(clap::Args)]
#[command(next_help_heading = "Output")]
pub struct View {
    /// Output format.
    #[arg(long, default_value = "text")]
    pub format: RunFormat,
    /// Row order.
    #[arg(long, default_value = "asked")]
    pub sort: Sort,
    /// View to show [default: the views that the study names, else the table with a plot of cost over a parameter].
    #[arg(long, value_name = "KIND")]
    pub view: Option<ViewKind>,
}

impl View {
    /// The one asked for, else those of the run's study. Only text has views other than the table.
    pub fn kinds(&self, run: &Run) -> Vec<ViewKind> {
        let is_text = matches!(self.format, RunFormat::Ours(Format::Text));
        let mut of_study: Vec<ViewKind> = run
            .study
            .iter()
            .flat_map(|study| &study.views)
            .filter_map(|name| ViewKind::from_str(name, true).ok())
            .collect();
        if self.view.is_some() || !is_text || self.sort != Sort::Asked || of_study.is_empty() {
            of_study = vec![self.view.unwrap_or(ViewKind::Table)];
        }
        of_study
    }

    /// Columns of the screen and of plots, of which only text has any.
    pub fn widths(&self, screen: Screen) -> (Option<u16>, Option<u16>) {
        let is_text = matches!(self.format, RunFormat::Ours(Format::Text));
        let width = if is_text { screen.width } else { None };
        let has_plots = screen.plots && self.view != Some(ViewKind::Table);
        (width, if has_plots { width } else { None })
    }

    pub fn check_for_run(&self) -> Result<()> {
        if self.view.is_some_and(|view| view.is_of_profiles()) {
            bail_usage!("this --view is for profiles of 'syscost trace': choose another one");
        }
        self.check()
    }

    pub fn check(&self) -> Result<()> {
        let is_sorted = self.sort != Sort::Asked;
        if is_sorted && self.format == RunFormat::Rows {
            bail_usage!("--format rows keeps the order of the file: omit --sort");
        }
        let Some(view) = self.view else { return Ok(()) };
        if matches!(view, ViewKind::Table | ViewKind::Wide) {
            return Ok(());
        }
        let has_formats =
            view.is_of_profiles() || matches!(view, ViewKind::Latency | ViewKind::Counters);
        match self.format {
            RunFormat::Ours(format) if format == Format::Text || has_formats => {}
            _ => bail_usage!(
                "views other than table are text only: omit --format, or use --view table"
            ),
        }
        if is_sorted {
            bail_usage!(
                "views other than table have their own order: omit --sort, or use --view table"
            );
        }
        Ok(())
    }
}
