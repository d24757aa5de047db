//! `syscost why`: traces a program, or reads a profile of one, and shows on one screen where its time went and which changes would
//! save time.

mod bill;
mod costs;
mod elsewhere;
mod prices;

use super::error::bail_usage;
use super::exit::Exit;
use super::messages::{self, note};
use super::race::Elsewhere;
use super::run::{EnvironmentName, check_destination};
use super::target::TargetArgs;
use super::trace::{self, Report};
use super::words::parsed;
use analysis::attribute::attribute;
use model::{Ending, Outside, Profile};
use report::{
    Format, ProfileDocument, Screen, WhyDocument, WhyView, sampled_table, why_document,
    write_answer,
};
use sys::Sources;
use sys::null_call::null_call_ns;
use sys::taxes::taxes;

use ::trace::{More, TraceOptions};
use anyhow::{Result, ensure};
use elsewhere::Asked;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Show where the time of a command goes, and which changes would save time.
///
/// Traces the command with all its children and prints one screen: the answer first, then the parts of the wall time, the
/// calls that took most of it, and further advice. All figures are measured in the program itself. A single FILE that is
/// not a program is a profile from 'syscost trace -o' or 'why -o', or the output of strace.
///
/// --versus compares unit costs, for machines on which you cannot run the command: calls x (cost there - cost here).
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, override_usage = "syscost why [OPTIONS] [--] COMMAND...\n       syscost why [OPTIONS] PROFILE [--costs FILE] [--versus FILE...]")]
pub struct WhyArgs {
    #[command(flatten)]
    target: TargetArgs,
    /// Sample the CPUs instead of counting calls: shares of CPU time by call, for less than 1% overhead. eBPF only.
    #[arg(long, conflicts_with_all = ["environments", "costs", "versus"])]
    sampled: bool,
    /// Do not record which functions make the calls.
    #[arg(long)]
    no_callers: bool,
    /// Then race the command natively and in these environments, without input and output, and count its calls in
    /// each. It ends when the ratios are known within 5%, cannot be, or after 20 seconds; 'syscost list --envs' lists
    /// environments.
    #[arg(long = "env", value_name = "NAME[,NAME...]", value_delimiter = ',', value_parser = EnvironmentName)]
    pub environments: Vec<String>,
    /// With --env: also run a command again that changed files outside of the working directory or connected to a
    /// socket.
    #[arg(long, requires = "environments")]
    yes: bool,
    /// Write the profile to a file, for 'syscost why', 'show' and 'report'.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    answer: AnswerArgs,
}

// Not a doc comment, which would become the command's help: these options are also valid after a profile.
#[derive(clap::Args)]
struct AnswerArgs {
    /// Unit costs of the machine that the profile is from: a result file of 'syscost run --all --out FILE'.
    #[arg(long, value_name = "FILE[@ENV]", requires = "versus")]
    costs: Option<String>,
    /// Unit costs to compare with: of another machine, kernel, environment or article. Repeatable.
    #[arg(long, value_name = "FILE[@ENV]", requires = "costs")]
    versus: Vec<String>,
    /// Write the answer to a file instead of standard error; '-' for standard output, after the command's.
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// How much to print. [default: screen]
    #[arg(long)]
    view: Option<WhyView>,
    /// Output format of the answer. [default: text]
    #[arg(long)]
    format: Option<Format>,
}

const EXAMPLES: &str = "\
Examples:
  syscost why git status
  syscost why --env seccomp-docker,strace -- git status
  syscost why -o app.profile.json -- ./app
  sudo syscost why -p 1234 --for 10
  syscost why app.profile.json
  syscost why app.profile.json --costs here.json --versus there.json
  syscost why studies/mercurial.profile.json --costs published/linux-2.6.32.json \\
      --versus published/macosx-10.7.json

Standard output is the command's. The answer goes to standard error, or to the file of --report; for a profile, to standard output.
FILE@ENV takes the unit costs of one environment of a run (default: native).
Exit status: the command's, as of 'syscost trace'.";

/// Errors: `trace::LaunchError` if the command cannot be run; otherwise why it cannot be traced, or the profile not read.
pub fn run(args: &WhyArgs) -> Result<Exit> {
    if let Some((path, behind)) = args.target.profile() {
        return args.read(&path, behind);
    }
    if args.answer.costs.is_some() {
        bail_usage!("--costs and --versus: they need a profile: write one with -o first");
    }
    check_destination("-o", args.out.as_deref())?;
    let mut report = Report::open(args.answer.report.as_deref())?;
    let options = TraceOptions {
        target: args.target.resolve()?,
        tracer: args.sampled.then_some(::trace::bpf::KIND),
        detail: trace::detail(args.sampled, false),
        time: args.target.time,
        more: More {
            tree: true,
            paths: !args.sampled,
            waits: !args.sampled,
            callers: !args.sampled && !args.no_callers,
            ..More::default()
        },
    };
    let mut elsewhere = Asked::for_command(&args.environments, &options.target)?;
    let mut profile = ::trace::run(&options, &mut note::<str>)?;
    let ended = trace::exit(&profile);
    let has_exited = matches!(profile.ending, Some(Ending::Exited(_)));
    let computes = |outside: &Outside| outside.samples > 0;
    let has_calls = profile.all_calls().calls > 0
        || args.sampled
        || profile.usage.outside.as_ref().is_some_and(computes);
    elsewhere =
        elsewhere.filter(|asked| has_exited && has_calls && asked.may_repeat(&profile, args.yes));
    elsewhere.iter_mut().try_for_each(Asked::traced)?;
    profile.null_call_ns = Some(null_call_ns());
    prices::add(&mut profile);
    let format = args.answer.format.unwrap_or_default();
    profile.host.taxes = taxes(&Sources::default());
    let stored = trace::store(&profile, args.out.as_deref());
    trace::tell_lost(profile.tracer.lost);
    ensure!(
        has_calls,
        "neither system calls nor samples were seen: nothing to explain"
    );
    // A document and a file are written as a whole.
    let is_whole = format == Format::Json || matches!(report, Report::File(_));
    if elsewhere.is_none() || !is_whole {
        report.write(|screen, out| args.answer.write(&profile, None, screen, out))?;
    }
    let raced = elsewhere.map(|asked| asked.measure(&profile));
    let prediction = raced.as_ref().and_then(|raced| raced.as_ref().ok());
    if raced.is_some() && is_whole {
        report.write(|screen, out| args.answer.write(&profile, prediction, screen, out))?;
    } else if let Some(prediction) = prediction {
        report.write(|screen, out| prediction.write(format, screen, out))?;
    }
    stored?;
    raced.transpose()?;
    Ok(ended)
}

impl WhyArgs {
    /// `behind` are the options behind the profile's name.
    fn read(&self, path: &Path, behind: &[OsString]) -> Result<Exit> {
        if !self.environments.is_empty() {
            bail_usage!(
                "--env: {} is a profile, and only a command can be run elsewhere",
                path.display()
            );
        }
        if self.out.is_some() {
            bail_usage!("-o: {} is a profile already: omit it", path.display());
        }
        if behind.first().is_some_and(|word| Path::new(word).is_file()) {
            bail_usage!("'why' reads one profile: 'syscost show FILE...' adds several up");
        }
        let answer = self.answer.with(behind)?;
        let profile = store::read_profile(path)?;
        messages::cautions(&profile, answer.format.unwrap_or_default());
        let mut report = Report::open(answer.report.as_deref().or(Some(Path::new("-"))))?;
        report.write(|screen, out| answer.write(&profile, None, screen, out))?;
        Ok(Exit::Success)
    }
}

impl AnswerArgs {
    fn with(&self, words: &[OsString]) -> Result<AnswerArgs> {
        let more: AnswerArgs = parsed("syscost why", words)?;
        Ok(AnswerArgs {
            costs: more.costs.or(self.costs.clone()),
            versus: [&self.versus[..], &more.versus].concat(),
            report: more.report.or(self.report.clone()),
            view: more.view.or(self.view),
            format: more.format.or(self.format),
        })
    }

    fn write(
        &self,
        profile: &Profile,
        raced: Option<&Elsewhere>,
        screen: Screen,
        out: &mut dyn Write,
    ) -> Result<()> {
        let format = self.format.unwrap_or_default();
        if profile.samples().is_some() {
            return write_answer(
                &ProfileDocument::new(profile),
                || sampled_table(profile),
                format,
                screen,
                out,
            );
        }
        let here = self
            .costs
            .as_deref()
            .map(|name| costs::read("--costs", name))
            .transpose()?;
        let versus = self
            .versus
            .iter()
            .map(|name| costs::read("--versus", name))
            .collect::<Result<Vec<_>>>()?;
        let attribution = attribute(profile, here.as_ref(), &versus);
        let (race, kernels) = match raced {
            Some(Elsewhere::Race(race)) => (Some(race), None),
            Some(Elsewhere::Kernels(kernels)) => (None, Some(kernels)),
            None => (None, None),
        };
        let json = WhyDocument {
            attribution: &attribution,
            race,
            kernels,
        };
        write_answer(
            &json,
            || why_document(profile, &attribution, self.view.unwrap_or_default(), screen),
            format,
            screen,
            out,
        )?;
        match raced {
            Some(raced) if format != Format::Json => raced.write(format, screen, out),
            _ => Ok(()),
        }
    }
}
