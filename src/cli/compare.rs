//! `syscost compare`: result files side by side, or one directory of them over time.

mod asked;
mod gate;
mod history;
mod profiles;
mod sides;
mod within;

use super::error::usage;
use super::exit::Exit;
use super::labels::Where;
use super::messages::Notes;
use super::{complete, result_files, terminal};
use crate::clean;
use crate::compare::{
    self, Column, Comparison, GroupBy, MARGIN, Metric, Options, Order, Selection, StudyCases, Verdict, compare,
};
use crate::model::pattern::Pattern;
use crate::plan::Study;
use crate::report::{Format, comparison_document, findings, plan_table, write_answer};
use anyhow::{Result, anyhow};
use asked::Asked;
use gate::{GateArgs, percent};
use history::{HistoryFormat, Question};
use std::ffi::OsString;
use std::io::Write;
use std::path::PathBuf;

/// Compare result files: costs side by side, ratios with their intervals, and what makes the comparison unfair. Or profiles
/// of traced programs: calls, errors, bytes and time on the CPU.
#[derive(clap::Args, Clone)]
#[command(after_help = EXAMPLES)]
pub struct CompareArgs {
    /// Files that `syscost run --out` wrote, or figures of articles from published/; or profiles of `syscost trace -o`. '-' is
    /// standard input. A single file is compared within itself: the ratios that its study derives.
    #[arg(value_name = "FILE", required_unless_present = "history")]
    files: Vec<PathBuf>,
    /// The other side: what was named before are several runs of one thing, these of another. Each side is one column, and
    /// ratios come with the scatter of its runs. Two runs a side or more; five or more show small differences.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with = "history")]
    versus: Vec<PathBuf>,
    /// Label for each file, or with --versus for each side, in order [default: its host name, else its file name; for a side
    /// its directory or what its file names have in common].
    #[arg(long = "label", value_name = "TEXT")]
    labels: Vec<String>,
    /// File or label to divide the others by [default: the first file].
    #[arg(long, value_name = "FILE|LABEL", conflicts_with = "history")]
    baseline: Option<String>,
    /// Use a study's cases as rows and apply its derived rows and scales to every file. A name (see 'syscost list
    /// --studies') or a TOML file.
    #[arg(long, value_name = "NAME|FILE", add = complete::studies())]
    study: Option<String>,
    /// Row order.
    #[arg(long, value_enum, default_value = "asked", conflicts_with = "history")]
    sort: Order,
    /// Show only rows whose name, operation or area matches; repeatable.
    #[arg(long, value_name = "PATTERN", add = complete::operations())]
    only: Vec<String>,
    /// Show only rows that certainly differ by more than this, and count the others. With --history: hide smaller changes
    /// [default: show all rows; differences under 1% are called unchanged].
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    threshold: Option<f64>,
    #[command(flatten)]
    gate: GateArgs,
    /// Instead of comparing files: say how many runs like these a side would find a change of this size, by how these runs
    /// scatter. Name several runs of one thing; --threshold says what is too small to matter [default: 1%].
    #[arg(long, value_name = "PERCENT", value_parser = percent, conflicts_with_all = ["versus", "history", "gate"])]
    plan: Option<f64>,
    /// Compare by counts of an event instead of time, in runs made with --counters: ns, instructions:k, instructions:u,
    /// cycles:k, branch-misses, page-faults, ... as perf spells them.
    #[arg(long, value_name = "NAME", default_value = "ns", value_parser = Metric::find, conflicts_with_all = ["history", "versus", "plan"])]
    metric: Metric,
    /// Instead of comparing files: show when costs changed on each host, from all result files (*.json) in a directory.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["files", "labels"])]
    history: Option<PathBuf>,
    #[command(flatten)]
    filter: Where,
    /// One column for each value of this label, over all files that have it: pools, commits, instance types.
    #[arg(long, value_name = "KEY", conflicts_with_all = ["versus", "history", "plan", "labels", "metric"])]
    by: Option<String>,
    /// With --history: take the runs that have these in common as one history, of however many hosts: host, a fact such as cpu or
    /// kernel, keys of 'run --label' [default: host].
    #[arg(long, value_name = "KEY[,KEY...]", value_delimiter = ',', requires = "history")]
    group_by: Vec<String>,
    /// Output format.
    #[arg(long, value_enum, default_value = "text")]
    format: HistoryFormat,
}

impl CompareArgs {
    /// The same with only those files whose runs have the labels that are asked for. Errors: if none is left.
    fn chosen(&self) -> Result<CompareArgs> {
        let mut chosen = self.clone();
        self.filter.keep(&mut chosen.files)?;
        self.filter.keep(&mut chosen.versus)?;
        Ok(chosen)
    }
}

const EXAMPLES: &str = "\
Examples:
  syscost compare before.json after.json
  syscost compare before.json after.json --threshold 5% --sort ratio
  syscost compare before/*.json --versus after/*.json
  syscost compare --plan 2% --threshold 0.5% before/*.json
  syscost compare a.json b.json c.json --label 5.15 --label 6.1 --label 6.18
  syscost compare main.json branch.json --fail-over 10%
  syscost compare before.json after.json --metric instructions:k --fail-over 0.5%
  syscost compare results/*.json --by commit --where pool=web
  syscost compare main.json branch.json --fail-on-entries --junit verdicts.xml
  syscost compare pull-request.json --fail-over 5% --fail-on-entries
  syscost compare main.profile.json branch.profile.json --fail-over 5%
  syscost compare --study os-calls published/macosx-10.7.json mine.json
  syscost compare --history results/
  syscost compare --history fleet/ --group-by cpu,pool

On one machine, rows are compared relative to the machine as a whole, which a panel of cheap
operations shows in every run: what made everything faster or slower is said apart. Otherwise
a ratio of single runs rests on how launches scatter and on what moves whole runs, learned from
earlier runs or assumed (1.5%). Several runs a side ('run --runs N', or --versus) show smaller
differences by their own scatter. Where kernel entries differ, there is no ratio.";

/// Compares; with --bisect the exit status is for git, whatever happens. Errors: a usage error where the question has
/// no answer; else what cannot be read or written.
pub fn run(args: &CompareArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    let done = args.chosen().and_then(|args| compared(&args, notes, out));
    if args.gate.bisects() { gate::for_git(done, &args.files) } else { done }
}

fn compared(args: &CompareArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    args.gate.check()?;
    let selection = usage(selection(args))?;
    let margin = args.threshold.unwrap_or(MARGIN);
    if let Some(directory) = &args.history {
        let by: Vec<GroupBy> = args.group_by.iter().map(|key| GroupBy::new(key)).collect();
        return history::run(&Question { directory, by: &by, selection: &selection, margin, format: args.format }, out);
    }
    let HistoryFormat::Ours(format) = args.format else {
        return usage(Err(anyhow!("--format otava is for --history DIR")));
    };
    if profiles::are_meant(&args.files) {
        usage(args.check_for_profiles())?;
        return profiles::run(&args.asked(), format, notes, out);
    }
    if let Some(change) = args.plan {
        return plan(args, &selection, ((change, margin), format), out);
    }
    if let ([file], [], Metric::Time) = (&args.files[..], &args.versus[..], &args.metric) {
        return within::run(&args.asked(), file, format, notes, out);
    }
    let (columns, baseline) = columns(args, &selection)?;
    check_counted(&columns)?;
    let margin = args.threshold.unwrap_or(args.metric.margin());
    let options = Options { baseline, margin, selection, order: args.sort };
    let mut comparison = compare(&columns, &options);
    check_rows(&comparison, args)?;
    if args.gate.is_set() {
        comparison.gate(&args.gate.gate());
    }
    if args.threshold.is_some() {
        comparison.keep_differing();
    }
    write_answer(&comparison, || comparison_document(&comparison), (format, terminal::screen()), out)?;
    out.flush()?;
    let complete = comparison.columns.iter().all(|column| column.complete);
    args.gate.conclude(&findings(&comparison), complete, notes)
}

impl CompareArgs {
    fn asked(&self) -> Asked<'_> {
        Asked {
            files: &self.files,
            versus: &self.versus,
            labels: &self.labels,
            baseline: self.baseline.as_deref(),
            only: &self.only,
            threshold: self.threshold,
            gate: &self.gate,
        }
    }

    /// Profiles have neither cases nor times that can be judged.
    fn check_for_profiles(&self) -> Result<()> {
        let given = [
            ("--study", self.study.is_some()),
            ("--sort", self.sort != Order::default()),
            ("--plan", self.plan.is_some()),
            ("--metric", self.metric != Metric::Time),
        ];
        match given.iter().find(|(_, given)| *given) {
            None => Ok(()),
            Some((flag, _)) => Err(anyhow!("{flag} is for result files, {} is a profile", self.files[0].display())),
        }
    }
}

/// A change and the margin below which it does not matter, as shares; and how to write the plan.
type Planned = ((f64, f64), Format);

/// All files are runs of one thing.
fn plan(
    args: &CompareArgs,
    selection: &Selection,
    ((change, margin), format): Planned,
    out: &mut dyn Write,
) -> Result<Exit> {
    if change <= margin {
        return usage(Err(anyhow!(
            "--plan: the change is not over the {}% that is too small to matter: name a smaller --threshold",
            100.0 * margin
        )));
    }
    let condense = |_, run| result_files::column(selection.study.as_ref(), &Metric::Time, run);
    let column = sides::one(&args.files, condense)?;
    let plan = compare::plan(&column, selection, change, margin);
    write_answer(&plan, || plan_table(&plan), (format, terminal::screen()), out)?;
    out.flush()?;
    Ok(Exit::Success)
}

/// The columns, and which of them is the baseline.
fn columns(args: &CompareArgs, selection: &Selection) -> Result<(Vec<Column>, usize)> {
    let condense = |_, run| result_files::column(selection.study.as_ref(), &args.metric, run);
    let baseline = args.baseline.as_deref();
    if !args.versus.is_empty() {
        return sides::read([&args.files, &args.versus], &args.labels, baseline, condense);
    }
    usage(result_files::check(&args.files, &args.labels))?;
    if let Some(key) = &args.by {
        return sides::by_label(&args.files, key, baseline, condense);
    }
    let columns = result_files::read(&args.files, &args.labels, condense, |column| &mut column.info)?;
    let labels = columns.iter().map(|column| column.info.label.as_str());
    let baseline = usage(result_files::baseline(baseline, &args.files, labels))?;
    Ok((columns, baseline))
}

/// Whether these words ask for git's exit statuses, so that a mistake in them is not taken for a bad commit.
pub fn asks_for_bisection(words: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.collect();
    words.iter().any(|word| word == "compare") && words.iter().any(|word| word == "--bisect")
}

fn selection(args: &CompareArgs) -> Result<Selection> {
    let study = args.study.as_deref().map(Study::find).transpose()?;
    let patterns = |texts: &mut dyn Iterator<Item = &str>| texts.map(Pattern::new).collect::<Result<Vec<_>>>();
    let study = match &study {
        None => None,
        Some(study) => Some(StudyCases {
            view: study.view.clone(),
            cases: study.named_cases(),
            patterns: patterns(&mut study.patterns())?,
        }),
    };
    Ok(Selection { study, only: patterns(&mut args.only.iter().map(String::as_str))? })
}

/// By an event, each file has counts of it.
fn check_counted(columns: &[Column]) -> Result<()> {
    let missing = |column: &Column| {
        let (events, reason) = (column.metric.events()?, column.not_counted()?);
        Some(anyhow!("--metric: {} in {}: {}", events.name, column.info.label, clean::line(reason)))
    };
    usage(columns.iter().find_map(missing).map_or(Ok(()), Err))
}

/// Nothing to show is a mistake in the question: patterns that match nothing, files that have nothing in common.
fn check_rows(comparison: &Comparison, args: &CompareArgs) -> Result<()> {
    let common = comparison.rows.iter().any(|row| row.cells.iter().flatten().count() > 1);
    let verdicts = || comparison.rows.iter().flat_map(|row| &row.verdicts);
    let says = |verdict: &Verdict| verdict.ratio().is_some() || matches!(verdict, Verdict::DifferentWork(_));
    if verdicts().any(|verdict| *verdict == Verdict::OtherUnit) && !verdicts().any(says) {
        return usage(Err(anyhow!(
            "one file has times and the other numbers of instructions of the same cases: measure both in the same \
             environment"
        )));
    }
    let result = match (common, comparison.rows.is_empty()) {
        (true, _) => return Ok(()),
        (false, true) if !args.only.is_empty() => {
            Err(anyhow!("--only: no row matches {}; leave it out to see all", args.only.join(", ")))
        }
        (false, true) if args.study.is_some() => {
            Err(anyhow!("--study: no file has a case of the study; leave it out to see all rows"))
        }
        _ => Err(anyhow!(
            "the files have no row in common: compare runs of the same operations, environments and parameters, or name \
             --study for articles ('syscost show FILE' lists a file's rows)"
        )),
    };
    usage(result)
}
