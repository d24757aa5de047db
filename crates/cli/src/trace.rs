//! `syscost trace`: traces a command or a process, and shows a table of its profile.
//!
//! Standard output is left to the command: this prints to standard error, as time(1) and strace(1) do, or to the file
//! of --report. The exit status is the command's.

use super::error::bail_usage;
use super::exit::Exit;
use super::messages::{self, note};
use super::output::Output;
use super::run::check_destination;
use super::target::TargetArgs;
use super::terminal;
use analysis::compare::{Budget, Budgets, ProfileColumn};
use model::{By, Ending, Profile};
use report::{
    Format, ProfileDocument, Screen, exceeded_line, lost_events, profile_table, tracer_line,
    write_answer,
};

use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use store::StoreError;
use sys::Sources;
use sys::bpf::layout::SLOWEST;
use sys::taxes::taxes;
use trace::{Detail, Grouping, More, TraceOptions, TracerKind};

/// Count and time the system calls of a command and all its children.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TraceArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Write the profile to a file, for 'syscost why', 'show' and 'report'.
    #[arg(short, long = "out", value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the table to a file instead of standard error; '-' for standard output, after the command's.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// How to count calls [default: bpf if available, else ptrace].
    #[arg(long, value_enum)]
    tracer: Option<TracerKind>,
    /// Count only, without times: less overhead. With ptrace, no errors or byte counts either.
    #[arg(long)]
    counts: bool,
    /// Sample the CPUs instead of counting calls: shares of CPU time by call, for less than 1% overhead. eBPF only.
    #[arg(long, conflicts_with_all = ["tracer", "counts", "budget", "runs", "paths", "descriptors", "stacks", "slowest"])]
    sampled: bool,
    /// Keep counts by process name, process, control group or thread name.
    #[arg(long, value_enum, default_value = "name")]
    group: Grouping,
    /// Count calls by path, for the most used paths.
    #[arg(long)]
    paths: bool,
    /// Count calls by descriptor, and what it refers to. eBPF only.
    #[arg(long)]
    descriptors: bool,
    /// Count calls by user stack, with names of functions. eBPF only.
    #[arg(long)]
    stacks: bool,
    /// Keep the N slowest calls, at most 64, with their classes, times and, with --stacks, stacks. eBPF only.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 0,
        value_parser = clap::value_parser!(u64).range(..=SLOWEST as u64),
        hide_default_value = true,
        hide_short_help = true
    )]
    slowest: u64,
    /// Keep only the program's name, without the command's arguments, which may hold secrets.
    #[arg(long)]
    no_arguments: bool,
    /// Run the command N times and keep the counts of each run, for programs whose counts vary.
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true, value_parser = clap::value_parser!(u32).range(1..=1000), conflicts_with_all = ["all", "cgroup", "container", "pids"])]
    runs: u32,
    /// Exit with status 1 if the command succeeds and makes more calls than this: CALL is a system call, 'total' for all
    /// calls, 'errors' for failed ones, 'processes' (started) or 'programs' (executed). With 'SECTION: ' in front, limits
    /// are per iteration of that section, which the program must mark. With --runs, only if every run exceeds it.
    #[arg(long, value_name = "CALL=N[,...]")]
    budget: Vec<Budgets>,
    /// The rows of the table [default: path with --paths, else call].
    #[arg(long, value_enum)]
    by: Option<By>,
    /// One row per marked section, per iteration: the same as --by section.
    #[arg(long, conflicts_with_all = ["by", "sampled"])]
    sections: bool,
    /// Output format of the table.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  syscost trace make -j4
  syscost trace -o git.profile.json -- git status
  syscost trace --counts --format csv --report calls.csv find / -xdev
  sudo syscost trace --user nobody ls
  syscost trace -p 1234,1250 --for 10
  sudo syscost trace --all --for 10 --by process
  sudo syscost trace --sampled -p 1234 --for 60
  syscost trace --budget openat=200,total=5000 -- ./build
  syscost trace --sections --budget 'parse: openat=2,processes=1' -- ./benchmarks
  syscost trace --runs 10 -o base.profile.json -- python3 app.py

Standard output is the command's. The table goes to standard error, or to the file of --report.
Exit status: the command's; 128+N if signal N ended it; 126 if it cannot be run, 127 if not found; 1 if tracing failed, lost data, or a budget was exceeded, 2 usage; 130 if a signal to syscost alone ended the tracing: the command continues.";

/// Errors: `trace::LaunchError` if the command cannot be run; why no tracer works; what cannot be written.
pub fn run(args: &TraceArgs) -> Result<Exit> {
    let options = args.options()?;
    // Before the command runs: a long run must not end with a report that cannot be written.
    check_destination("-o", args.out.as_deref())?;
    let mut report = Report::open(args.report.as_deref())?;
    let is_beside = matches!(report, Report::StandardError);
    // One document on standard error is nothing but that.
    let is_alone = is_beside && matches!(args.format, Format::Json | Format::Csv);
    if is_alone {
        messages::be_quiet();
    }
    let (mut profile, mut ended) = args.traced(&options)?;
    let exceeded = exceeded(args.budgets(), &profile);
    // A failed command keeps its status, which is the more important message.
    if !exceeded.is_empty() && ended.status() == 0 {
        ended = Exit::CostGrown;
    }
    if args.no_arguments {
        profile = profile.without_arguments();
    }
    // Finding what slows calls here takes a look at every process, so only profiles that are kept have it.
    if args.out.is_some() || args.format == Format::Json {
        profile.host.taxes = taxes(&Sources::default());
    }
    // Stored first, as printing may fail; and the table is printed even if the disk is full.
    let stored = store(&profile, args.out.as_deref());
    if !is_beside {
        note_closing(&profile);
    }
    if !is_alone {
        tell_lost(profile.tracer.lost);
    }
    exceeded.iter().for_each(messages::show_line);
    args.budgets()
        .filter_map(|budget| other_name(budget, &profile))
        .for_each(|line| messages::show_line(&line));
    report.write(|screen, out| {
        write_answer(
            &ProfileDocument::new(&profile),
            || profile_table(&profile, args.rows()),
            args.format,
            screen,
            out,
        )
    })?;
    stored?;
    Ok(ended)
}

pub(super) fn store(profile: &Profile, out: Option<&Path>) -> Result<(), StoreError> {
    out.map_or(Ok(()), |path| store::write(profile, path))
}

pub(super) enum Report<'a> {
    StandardError,
    StandardOutput(Output),
    File(&'a Path),
}

impl Report<'_> {
    /// Before the command runs.
    pub fn open(path: Option<&Path>) -> Result<Report<'_>> {
        let Some(path) = path else {
            return Ok(Report::StandardError);
        };
        if path == Path::new("-") {
            return Ok(Report::StandardOutput(Output::open()?));
        }
        check_destination("--report", Some(path))?;
        Ok(Report::File(path))
    }

    pub fn write(
        &mut self,
        answer: impl FnOnce(Screen, &mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let mut text = Vec::new();
        match self {
            Report::StandardError => {
                answer(terminal::error_screen(), &mut text)?;
                messages::show(&text);
                Ok(())
            }
            Report::StandardOutput(out) => {
                answer(terminal::screen(), out)?;
                Ok(out.flush()?)
            }
            Report::File(path) => {
                answer(Screen::PLAIN, &mut text)?;
                store::write_bytes(path, &text)
                    .with_context(|| format!("--report {}", path.display()))
            }
        }
    }
}

impl TraceArgs {
    /// Runs the command as often as it should, until it fails; the counts of later runs are those of the profile's `repeats`.
    fn traced(&self, options: &TraceOptions) -> Result<(Profile, Exit)> {
        let mut profile = trace::run(options, &mut note::<str>)?;
        let mut ended = exit(&profile);
        for _ in 1..self.runs {
            if ended != Exit::Command(0) {
                break;
            }
            // Notes were printed by the first run.
            let next = trace::run(options, &mut |_| {})?;
            ended = exit(&next);
            profile.repeats.push(next.as_run());
            // One incomplete run makes ranges of all runs unreliable.
            profile.complete &= next.complete;
            profile.tracer.lost += next.tracer.lost;
        }
        Ok((profile, ended))
    }

    fn rows(&self) -> By {
        let asked = [
            (self.sections, By::Section),
            (self.paths, By::Path),
            (self.descriptors, By::Descriptor),
        ];
        self.by
            .or_else(|| {
                asked
                    .into_iter()
                    .find_map(|(is_asked, by)| is_asked.then_some(by))
            })
            .unwrap_or_default()
    }

    fn budgets(&self) -> impl Iterator<Item = &Budget> {
        self.budget.iter().flat_map(|Budgets(budgets)| budgets)
    }

    fn options(&self) -> Result<TraceOptions> {
        self.budgets().try_for_each(check_budget)?;
        if self.sampled
            && !matches!(
                self.rows(),
                By::Call | By::Process | By::Cgroup | By::Thread
            )
        {
            bail_usage!(
                "--sampled has rows by call, process, cgroup or thread only: it does not look into calls"
            );
        }
        let by_section =
            self.rows() == By::Section || self.budgets().any(|budget| budget.section.is_some());
        if by_section && self.group != Grouping::Name {
            bail_usage!("sections need counts by process name: leave out --group");
        }
        // Rows by control group need counts by control group, and by thread by thread.
        let grouping = match (self.rows(), self.group) {
            (By::Cgroup, Grouping::Name) => Grouping::Cgroup,
            (By::Thread, _) => Grouping::Thread,
            (_, group) => group,
        };
        Ok(TraceOptions {
            target: self.target.resolve()?,
            tracer: if self.sampled {
                Some(trace::bpf::KIND)
            } else {
                self.tracer
            },
            detail: detail(self.sampled, self.counts),
            time: self.target.time,
            more: More {
                grouping,
                tree: true,
                stacks: self.stacks,
                paths: self.paths || self.rows() == By::Path,
                descriptors: self.descriptors || self.rows() == By::Descriptor,
                slowest: self.slowest as usize,
                ..More::default()
            },
        })
    }
}

/// A budget of a misspelt call would never be exceeded.
fn check_budget(budget: &Budget) -> Result<()> {
    let name = budget.call.split('(').next().unwrap_or_default();
    if budget.is_of_one_call() && !model::syscall_names::is_known(name) {
        bail_usage!(
            "--budget {budget}: unknown system call {name}; 'total', 'errors', 'processes' and 'programs' are also allowed"
        );
    }
    Ok(())
}

/// A budget for `stat` limits nothing if the C library makes `newfstatat` of it.
fn other_name(budget: &Budget, profile: &Profile) -> Option<String> {
    let made: BTreeSet<&str> = profile.calls().map(|count| &*count.call).collect();
    if budget.section.is_some() || !budget.is_of_one_call() || made.contains(&*budget.call) {
        return None;
    }
    let others: Vec<&str> = made
        .into_iter()
        .filter(|made| made.contains(&*budget.call))
        .collect();
    if others.is_empty() {
        return None;
    }
    let (call, others) = (&budget.call, others.join(", "));
    Some(format!(
        "--budget {budget}: the command made no {call}, but {others}"
    ))
}

fn exceeded<'a>(budgets: impl Iterator<Item = &'a Budget>, profile: &Profile) -> Vec<String> {
    let whole = ProfileColumn::new("", profile);
    // Budgets of sections are per iteration, those of the whole command are not.
    let by_section = whole.by_section().unwrap_or_else(|| whole.clone());
    budgets
        .filter_map(|budget| {
            let column = match &budget.section {
                None => &whole,
                Some(section) if by_section.info.sections.contains(section) => &by_section,
                Some(section) => {
                    return Some(format!(
                        "--budget {budget}: the program marked no section '{section}'"
                    ));
                }
            };
            Some(exceeded_line(&budget.exceeded(column)?, profile))
        })
        .collect()
}

pub(super) fn detail(sampled: bool, counts: bool) -> Detail {
    match (sampled, counts) {
        (true, _) => Detail::Samples,
        (false, true) => Detail::Counts,
        (false, false) => Detail::Times,
    }
}

fn note_closing(profile: &Profile) {
    tracer_line(profile).iter().for_each(note);
    for text in &profile.warnings {
        note(&format!("warning: {text}"));
    }
}

pub(super) fn tell_lost(lost: u64) {
    if let Some(text) = lost_events(lost) {
        messages::show_line(&text);
    }
}

/// The command's exit status, as time(1) passes it on; 1 if data was lost, unless the command itself failed.
pub(super) fn exit(profile: &Profile) -> Exit {
    let status = match profile.ending {
        Some(Ending::Exited(code)) => code as u8,
        Some(Ending::Signalled(signal)) => 128u8.saturating_add(signal as u8),
        // A SIGINT to us alone ended the tracing, not the command.
        None if !profile.command.is_empty() => Exit::Interrupted.status(),
        None => 0,
    };
    match status {
        0 if profile.tracer.lost > 0 => Exit::Command(1),
        status => Exit::Command(status),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::TracerFacts;

    fn ended(ending: Ending, lost: u64) -> Exit {
        exit(&Profile {
            ending: Some(ending),
            tracer: TracerFacts {
                lost,
                ..TracerFacts::default()
            },
            ..Profile::default()
        })
    }

    #[test]
    fn lost_data_is_a_failure_that_hides_none_of_the_command() {
        assert_eq!(ended(Ending::Exited(0), 3), Exit::Command(1));
        assert_eq!(ended(Ending::Exited(7), 3), Exit::Command(7));
    }
}
