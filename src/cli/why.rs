//! `syscost why`: traces a program, measures the unit costs that its calls need, and says on one screen where the time went and what
//! could be saved. The parts of `trace`, `run --profile` and `attribute` in one command.

pub(super) mod costs;

use super::error::usage;
use super::exit::Exit;
use super::messages::{self, Notes};
use super::run::{EnvironmentName, check_destination, positive};
use super::target::TargetArgs;
use super::trace::{self, Report};
use crate::attribute::attribute;
use crate::attribute::costs::Costs;
use crate::model::{By, Ending, Profile, Run};
use crate::report::{AttributionDocument, Format, Screen, why_document, write_answer};
use crate::store::{self, StoreError};
use crate::trace::{Detail, Grouping, More, TraceOptions};
use anyhow::{Result, anyhow};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::io::Write;
use std::path::PathBuf;

/// Where the time of a command goes, and what could be saved.
///
/// Traces it with all its children, measures what the calls that it makes cost here, and prints at most one screen. The costs are
/// kept until the machine reboots, so the next 'why' of a similar program takes little longer than the program itself.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct WhyArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// What the program would take in these environments as well; 'syscost list --envs' names them.
    #[arg(long = "env", value_name = "NAME[,NAME...]", value_delimiter = ',', value_parser = EnvironmentName)]
    environments: Vec<String>,
    /// Seconds to measure unit costs [default: as long as they need].
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    time: Option<f64>,
    /// Measure unit costs again, even if there are some from an earlier 'why'.
    #[arg(long)]
    fresh: bool,
    /// Write the profile with its unit costs to a file, for 'syscost show', 'report' and 'attribute'.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write the answer to a file instead of standard error; '-' for standard output, after the command's.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Output format of the answer.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  syscost why git status
  syscost why --env seccomp-docker,gvisor -- python3 app.py
  syscost why -o app.profile.json -- ./app
  sudo syscost why -p 1234 --for 10

Standard output is the command's. The answer goes to standard error, or to the file of --report.
Exit status: the command's, as of 'syscost trace'.";

/// Errors: `trace::LaunchError` if the command cannot be run; otherwise why it cannot be traced, or nothing measured.
pub fn run(args: &WhyArgs, notes: Notes) -> Result<Exit> {
    usage(args.target.check())?;
    check_destination("-o", args.out.as_deref())?;
    let mut report = args.report.as_deref().map(Report::open).transpose()?;
    let mut profile = crate::trace::run(&args.options()?, &mut |line| notes.tell(&line))?;
    let ended = trace::exit(&profile);
    // Already without the unit costs, which take a while.
    let stored = args.store(&profile);
    trace::lost(&profile).iter().for_each(|line| messages::tell(line));
    if profile.all_calls().calls == 0 {
        return Err(anyhow!("no system call was seen: nothing can be explained"));
    }
    let costs = args.wanted(&profile);
    let is_over = was_interrupted(&profile);
    let Some(unit_costs) = (if is_over { costs.kept(notes) } else { Some(costs.costs(args.fresh, notes)?) }) else {
        messages::tell(&"interrupted: no unit costs were measured, so nothing is priced");
        return stored.map(|()| ended).map_err(Into::into);
    };
    if !unit_costs.complete {
        messages::tell(&"interrupted while measuring unit costs: calls without one are not priced");
    }
    let answer = |screen: Screen, out: &mut dyn Write| args.write(&profile, &unit_costs, screen, out);
    match &mut report {
        Some(report) => report.write(answer)?,
        None => messages::show_answer(answer)?,
    }
    profile.unit_costs = Some(Box::new(unit_costs));
    stored.and_then(|()| args.store(&profile))?;
    Ok(ended)
}

/// Whether a signal ended the command, or the tracing of it.
fn was_interrupted(profile: &Profile) -> bool {
    let ended = |ending| matches!(ending, Ending::Signalled(SIGINT | SIGQUIT | SIGTERM | SIGHUP));
    let is_cut = !profile.complete && profile.tracer.lost == 0;
    !profile.command.is_empty() && (is_cut || profile.ending.is_none_or(ended))
}

impl WhyArgs {
    fn store(&self, profile: &Profile) -> Result<(), StoreError> {
        self.out.as_deref().map_or(Ok(()), |path| store::write(profile, path))
    }

    fn options(&self) -> Result<TraceOptions> {
        let more = More { grouping: Grouping::Name, tree: true, ..More::default() };
        let options = TraceOptions { target: self.target.resolve()?, tracer: None, detail: Detail::Times, more };
        Ok(options.with_paths_if_possible())
    }

    fn others(&self) -> impl Iterator<Item = &String> {
        self.environments.iter().filter(|name| *name != "native")
    }

    fn wanted<'a>(&self, profile: &'a Profile) -> costs::Wanted<'a> {
        let names = self.others().cloned().collect();
        costs::Wanted { profile, environments: names, time: self.time }
    }

    fn write(&self, profile: &Profile, run: &Run, screen: Screen, out: &mut dyn Write) -> Result<()> {
        let side =
            |name: &str| Costs::from_run(run, Some(name)).map_err(|_| anyhow!("no unit costs of {name} were measured"));
        let there = self.others().map(|name| side(name));
        let there = there.collect::<Result<Vec<_>>>()?;
        let found = attribute(profile, Some(&side("native")?), &there, By::Call);
        let json = AttributionDocument { command: &profile.command, found: &found };
        write_answer(&json, || why_document(profile, &found), (self.format, screen), out)
    }
}
