//! `syscost run`: from patterns to a table, by way of plan, proof and engine.

use super::error::usage;
use super::exit::Exit;
use super::messages::Notes;
use super::progress::Progress;
use super::show::{View, write_run};
use super::{complete, labels, messages, terminal};
use crate::attribute::needs::{Needs, needs};
use crate::guest;
use crate::kernel::affinity::Wanted;
use crate::model::{COLD, Label, Outcome, Profile, Run, SHARED, THREADS};
use crate::plan::{
    Choices, Code, MOST_CASES, Reach, Setting, Study, StudyPlan, Surroundings, TOUR, add_cold_cases, exact, select,
    subjects,
};
use crate::report::{ViewKind, needs_lines};
use crate::runner::Environment;
use crate::session::{Keep, RunOptions, Session, Sides};
use crate::singles::{self, MOST_CALLS, Singles};
use crate::store::{self, StoreError};
use anyhow::{Result, anyhow};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, Command, FromArgMatches};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Measure operations and count their kernel entries.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RunArgs {
    /// Ids, areas or globs, e.g. id.getppid, file, 'time.clock_*' (see 'syscost list'); the last part of an id if it is
    /// unique, e.g. getpid; or snippets, e.g. 'perl:time()', 'c:getpid()', python:@body.py (see 'syscost list --languages').
    #[arg(value_name = "PATTERN", add = complete::subjects())]
    patterns: Vec<String>,
    /// Measure every operation.
    #[arg(long, conflicts_with = "patterns")]
    all: bool,
    /// Run a study: a name (see 'syscost list --studies') or a TOML file. --param, --env and --time override what it says.
    #[arg(long, value_name = "NAME|FILE", add = complete::studies(), conflicts_with_all = ["patterns", "all", "setups", "preludes"])]
    study: Option<String>,
    /// Measure what this profile from 'syscost trace -o' needs as unit costs, for 'syscost attribute --costs': the operations
    /// that are like its calls, at their sizes, depths and kinds of descriptor. Those that take a small share of the calls' time
    /// may have wider intervals. - for standard input.
    #[arg(long = "for", value_name = "PROFILE", conflicts_with_all = ["patterns", "all", "study", "setups", "preludes", "params", "cold"])]
    profile: Option<PathBuf>,
    /// Wall time to spend measuring; stops early once the precision is reached [default: depends on the number of cases].
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    time: Option<f64>,
    /// Seconds per case, like a count of -N in Perl's Benchmark: the run takes N times the number of cases, baselines
    /// included, even if the precision is reached earlier. Starting and calibrating workers counts; --view cmpthese shows
    /// what each case got.
    #[arg(long, value_name = "N", conflicts_with = "time", value_parser = cpu_seconds)]
    cpu_seconds: Option<f64>,
    /// Repeat the whole run N times, each with new processes, a new directory and a new random order, in one result file. Costs
    /// are then means over the runs and intervals come from their scatter, from three runs on. --time and --cpu-seconds are
    /// per run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
    /// Target half-width of the 95% confidence interval.
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = positive)]
    precision: f64,
    /// Write the run with all its samples to a result file. - for standard output: it is written there at the end, and the table
    /// goes to standard error, or nowhere with --quiet.
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Write it to a new file in this directory, HOST-START-SEED.json, which many hosts may share.
    #[arg(long, value_name = "DIR", conflicts_with = "out")]
    out_dir: Option<PathBuf>,
    /// Leave out of the run what names its owner: host, user, command lines and paths. Labels, notes and snippets stay.
    #[arg(long)]
    anonymous: bool,
    /// Keep this with the run: a pool, a commit, an instance type. Labels are shown with it, become columns of 'syscost rows', and
    /// choose files with --where. Repeatable; also from the environment, SYSCOST_LABEL_KEY=VALUE.
    #[arg(long = "label", value_name = "KEY=VALUE")]
    labels: Vec<Label>,
    /// CPU to pin to, or 'none' to let the scheduler choose [default: the last allowed CPU].
    #[arg(long, value_name = "N|none")]
    cpu: Option<Wanted>,
    /// Parameter values, one case each: a list, or ranges such as 1..8, 1..64x2 (doubling) or 1..100+10, ends included.
    /// Repeatable.
    #[arg(long = "param", value_name = "KEY=VALUE[,VALUE...]", add = complete::parameters())]
    params: Vec<Setting>,
    /// Refuse to run more cases than this; each combination of values is a case with its own process.
    #[arg(long, value_name = "N", default_value_t = MOST_CASES)]
    max_cases: u64,
    /// Run each operation N times concurrently, each on its own CPU; a list or ranges, one case each. One is timed while the
    /// others keep going, so figures are per thread. They are processes with their own files unless --shared is given [same
    /// as --param threads=N].
    #[arg(long, value_name = "N[,N...]", value_parser = threads)]
    threads: Option<Setting>,
    /// With --threads: use threads of one process that work on the same objects [same as --param shared=1].
    #[arg(long, requires = "threads")]
    shared: bool,
    /// Also measure each operation cold: before each call, which is timed alone, displace what the one before left in caches,
    /// TLB and branch predictors, by walking memory of these sizes and running 128K of code; 0 displaces nothing
    /// [sizes if none are given: 0,32K,1M,32M; one alone: --param cold=1M].
    #[arg(long, value_name = "SIZE[,SIZE...]", num_args = 0..=1, require_equals = true, default_missing_value = COLD_SIZES, value_parser = cold)]
    cold: Option<Setting>,
    /// Untimed setup code for all snippets in that language; @FILE reads it from a file.
    #[arg(long = "setup", value_name = "LANG:CODE", add = complete::languages())]
    setups: Vec<Code>,
    /// File-scope code (imports, functions) for all snippets in that language; @FILE reads it from a file.
    #[arg(long = "prelude", value_name = "LANG:CODE", add = complete::languages())]
    preludes: Vec<Code>,
    /// Run studies and @FILEs even if other users could have written them; their code runs as you. Without this flag, files
    /// must belong to you or root and be writable by nobody else.
    #[arg(long)]
    trust_files: bool,
    /// How to build the probe and C snippets; one column each. All are measured in the same rounds, and each case has its ratio
    /// to the first, paired round by round.
    /// linux-VERSION is a fetched kernel in an emulated machine, linux-arm64-VERSION one for arm64, linux:FILE any, and
    /// 'linux-VERSION PARAMETERS' one with boot parameters: there, instructions are counted.
    #[arg(long = "env", value_name = "NAME[,NAME...]", value_delimiter = ',', value_parser = EnvironmentName)]
    environments: Vec<String>,
    /// Boot parameters for all guests of --env, e.g. 'audit=1' or 'mitigations=off', beside those in their names. They stand in
    /// the result file.
    #[arg(long, value_name = "PARAMETERS")]
    append: Option<String>,
    /// Memory of all guests of --env, in MiB [default: 256].
    #[arg(long, value_name = "MIB", value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    guest_memory: Option<u32>,
    /// Measure in an environment of your own: the command that starts a program there, split into words as a shell would, without
    /// a shell. {program} is the program with its arguments (at the end if it is not named), {static} the same linked
    /// statically, {dir} its working directory, {run} the directory that holds all of these. Repeatable.
    #[arg(long = "env-command", value_name = "[NAME=]COMMAND", conflicts_with_all = ["versus_probe", "tmpdir"])]
    commands: Vec<String>,
    /// Measure on another machine: a command that starts a program there and carries its standard input and output, such as
    /// 'ssh host' or 'docker exec -i x'. With --env it is a column beside this machine's.
    #[arg(long, value_name = "[NAME=]COMMAND", requires = "other_probe", conflicts_with_all = ["versus_probe", "tmpdir"])]
    via: Option<String>,
    /// The path there of a probe made by 'syscost probe build'.
    #[arg(long = "probe", id = "other_probe", value_name = "FILE", requires = "via")]
    other_probe: Option<PathBuf>,
    /// Measure every operation with this other probe too, in the same rounds, and show the ratio to the built-in one, paired
    /// round by round: a build by another compiler or with other flags, or the probe of another version.
    #[arg(long, value_name = "FILE", conflicts_with = "environments")]
    versus_probe: Option<PathBuf>,
    /// Directories to measure in, in place of TMPDIR; each case is measured in every one, in the same rounds, with the ratio to
    /// the first, paired round by round: file systems, or disks.
    #[arg(long, value_name = "DIR,DIR[,...]", value_delimiter = ',', conflicts_with_all = ["environments", "versus_probe"])]
    tmpdir: Vec<PathBuf>,
    /// Seed for the random order of cases [default: from the clock; stored with the run].
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Kill a worker that takes longer than this for one request.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = positive)]
    timeout: f64,
    /// Time single calls too, in a pass before the rounds, and show their percentiles with --view latency. Not for snippets.
    #[arg(long)]
    latency: bool,
    /// Time at most N single calls per case [default: 100000; implies --latency].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MOST_CALLS))]
    latency_calls: Option<u64>,
    /// Time single calls for at most this long per case [default: 0.2; implies --latency].
    #[arg(long, value_name = "SECONDS", value_parser = latency_seconds)]
    latency_time: Option<f64>,
    /// Skip counting kernel entries.
    #[arg(long)]
    no_verify: bool,
    /// Count hardware and software events per iteration too: instructions and cycles by mode, branch and cache misses, page
    /// faults. Takes up to a second more per case; --view counters shows all of them.
    #[arg(long)]
    counters: bool,
    #[command(flatten)]
    view: View,
}

const EXAMPLES: &str = "\
Examples:
  syscost run id.getppid file.lstat
  syscost run file --param depth=1,8 --time 10 --out file.json
  syscost run call --view cmpthese --cpu-seconds 1
  syscost run id file --runs 5 --time 10 --out file.json
  syscost run --all --precision 2 --format csv
  syscost run fd.dup_close --threads 1..4 --shared
  syscost run file --tmpdir /tmp,/dev/shm
  syscost run --all --versus-probe ./probe-clang --runs 5
  syscost run id.getppid file.stat --cold
  syscost run io.read_file --param size=4K --cold=1M,32M
  syscost run file.lstat io --view latency --latency-time 1
  syscost run --env-command 'nice=nice -n 19' --env native
  syscost run id file --via 'ssh host' --probe /tmp/probe
  syscost run --study perl-ops
  syscost run --for profile.json --out here.json
  syscost run '*.getpid' --format json | jq '.records[].median_ns'

Operations work on files in a private directory under TMPDIR (if unset: /tmp, or XDG_RUNTIME_DIR if /tmp
is unusable). The next run removes what a killed run left there.";

pub(super) fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1e7 => Ok(value),
        _ => Err(format!("'{text}' is not a positive number")),
    }
}

/// Benchmark refuses less too.
fn cpu_seconds(text: &str) -> Result<f64, String> {
    match positive(text)? {
        seconds if seconds < 0.1 => Err(format!("'{text}' is under 0.1 seconds, which say nothing")),
        seconds => Ok(seconds),
    }
}

/// The probe takes whole milliseconds, up to an hour.
fn latency_seconds(text: &str) -> Result<f64, String> {
    match positive(text)? {
        seconds if !(0.001..=3600.0).contains(&seconds) => Err(format!("'{text}' is not from 0.001 to 3600 seconds")),
        seconds => Ok(seconds),
    }
}

fn threads(text: &str) -> Result<Setting> {
    let setting: Setting = format!("{THREADS}={text}").parse()?;
    match setting.values.contains(&0) {
        true => Err(anyhow!("'{text}' holds 0: one thread is the fewest")),
        false => Ok(setting),
    }
}

/// Sizes below, between and above those of usual caches of one core, and 0: what timing single calls changes by itself.
const COLD_SIZES: &str = "0,32K,1M,32M";

fn cold(text: &str) -> Result<Setting> {
    format!("{COLD}={text}").parse()
}

/// Which cases have both sides: other programs than the probe do not care for it, but all work in a directory.
fn reach(sides: &Sides) -> Reach {
    match sides {
        Sides::One => Reach::Built,
        Sides::Commands(_, own) if own.iter().any(Environment::is_elsewhere) => Reach::Operations,
        Sides::Commands(..) => Reach::Built,
        Sides::Probe(_) => Reach::Operations,
        Sides::Directories(_) => Reach::Everything,
    }
}

/// How many CPUs a profile's operations are measured on at once: as many as it ran on, but one is left for the driver.
fn threads_of(needs: &Needs) -> u64 {
    let cpus = std::thread::available_parallelism().map_or(1, |cpus| cpus.get() as u64);
    needs.threads.unwrap_or(1).clamp(1, cpus.saturating_sub(1).max(1))
}

/// The name of an environment: what is in environments/ is what there is, and guests with a kernel or boot parameters.
#[derive(Clone)]
pub(super) struct EnvironmentName;

impl TypedValueParser for EnvironmentName {
    type Value = String;

    fn parse_ref(&self, command: &Command, flag: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        let names = PossibleValuesParser::new(Environment::names());
        match value.to_str().map(|name| (name, Environment::find(name))) {
            Some((name, Ok(found))) if found.is_guest => Ok(name.to_string()),
            _ => names.parse_ref(command, flag, value),
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let value = |name: &'static str| {
            let title = Environment::find(name).map(|environment| environment.title);
            PossibleValue::new(name).help(title.unwrap_or_default())
        };
        Some(Box::new(Environment::names().into_iter().map(value)))
    }
}

/// Texts by language; of several for one language, all in their order.
pub(super) fn by_language(codes: &[Code]) -> BTreeMap<String, String> {
    let mut texts: BTreeMap<String, String> = BTreeMap::new();
    for code in codes {
        let text = texts.entry(code.language.clone()).or_default();
        text.push_str(&code.text);
        text.push('\n');
    }
    texts
}

/// What is measured, if not patterns.
struct What<'a> {
    study: Option<&'a Study>,
    needs: Option<Needs>,
}

impl RunArgs {
    /// What `syscost` alone does: `syscost run` without anything.
    pub fn tour() -> Result<RunArgs> {
        RunArgs::from_words(["run"])
    }

    /// What `syscost` with these words does; the first is `run`.
    ///
    /// # Errors
    /// What the parser says of them.
    pub fn from_words<T: Into<OsString> + Clone>(words: impl IntoIterator<Item = T>) -> Result<RunArgs> {
        let matches = RunArgs::augment_args(clap::Command::new("run")).try_get_matches_from(words);
        usage(matches.and_then(|matches| RunArgs::from_arg_matches(&matches)).map_err(Into::into))
    }

    fn surroundings(&self) -> Surroundings {
        let (preludes, setups) = (by_language(&self.preludes), by_language(&self.setups));
        Surroundings { preludes, setups, trust_files: self.trust_files }
    }

    fn options(&self, study: Option<&Study>) -> RunOptions {
        // What the user says of time, either way, replaces what the study says of it.
        let of_study = study.filter(|_| self.time.is_none()).and_then(|study| study.cpu_seconds);
        let cpu_seconds = self.cpu_seconds.or(of_study);
        RunOptions {
            cpu: self.cpu.unwrap_or_default(),
            budget: self.time.or(study.and_then(|study| study.seconds)).map(Duration::from_secs_f64),
            per_case: cpu_seconds.map(Duration::from_secs_f64),
            precision_percent: self.precision,
            seed: self.seed,
            timeout: Duration::from_secs_f64(self.timeout),
            verify: !self.no_verify,
            counters: self.counters || self.view.view == Some(ViewKind::Counters),
            latency: self.singles(),
        }
    }

    /// How many single calls to time; `None` if nothing asks for them.
    fn singles(&self) -> Option<Singles> {
        let flag = self.latency || self.latency_calls.is_some() || self.latency_time.is_some();
        let view = self.view.view == Some(ViewKind::Latency);
        let time = self.latency_time.map_or(singles::TIME, Duration::from_secs_f64);
        let calls = self.latency_calls.unwrap_or(singles::CALLS);
        (flag || view).then_some(Singles { calls, time })
    }

    /// The study that was asked for; the tour where nothing was.
    fn study(&self) -> Result<Option<Study>> {
        let nothing = self.patterns.is_empty() && !self.all && self.profile.is_none();
        self.study.as_deref().or(nothing.then_some(TOUR)).map(Study::find).transpose()
    }

    /// What others may have written does not run unless the user says so; the files of patterns are checked with them.
    fn check_trust(&self, study: Option<&Study>) -> Result<()> {
        study.map_or(Ok(()), |study| study.may_run(self.trust_files))?;
        Ok(self.setups.iter().chain(&self.preludes).try_for_each(|code| code.may_run(self.trust_files))?)
    }

    /// All parameters that were asked for, those with a flag of their own included, or that the profile needs.
    fn settings(&self, needs: Option<&Needs>) -> Vec<Setting> {
        let shared = self.shared.then(|| Setting { name: SHARED.to_string(), values: vec![1] });
        let threads = needs.map(threads_of).filter(|threads| *threads > 1 && self.threads.is_none());
        let threads = threads.map(|threads| Setting { name: THREADS.to_string(), values: vec![threads] });
        self.params.iter().chain(&self.threads).cloned().chain(shared).chain(threads).collect()
    }

    /// The environments that commands of the user's make.
    fn own_environments(&self) -> Result<Vec<Environment>> {
        let mut own: Vec<Environment> = Vec::new();
        for command in &self.commands {
            let taken: Vec<String> = own.iter().map(|environment| environment.name.clone()).collect();
            own.push(Environment::of_command(command, &taken).map_err(|e| anyhow!("--env-command: {e:#}"))?);
        }
        if let (Some(command), Some(probe)) = (&self.via, &self.other_probe) {
            let taken: Vec<String> = own.iter().map(|environment| environment.name.clone()).collect();
            own.push(Environment::elsewhere(command, probe, &taken).map_err(|e| anyhow!("--via: {e:#}"))?);
        }
        Ok(own)
    }

    /// Whether the result file goes to standard output.
    fn is_to_output(&self) -> bool {
        self.out.as_deref() == Some(Path::new("-"))
    }

    /// Where the run is kept while it is made. Standard output gets it at the end.
    fn keep(&self) -> Result<Keep> {
        let file = self.out.as_deref().filter(|_| !self.is_to_output());
        check_destination("--out", file)?;
        let folder = self.out_dir.as_deref();
        folder.map_or(Ok(()), |folder| check_folder("--out-dir", folder))?;
        Ok(folder.map_or_else(|| Keep::in_file(file), Keep::in_folder).anonymous(self.anonymous))
    }

    /// What is measured side by side.
    fn sides(&self) -> Result<Sides> {
        let own = self.own_environments()?;
        if !own.is_empty() {
            return Ok(Sides::Commands(self.environments.clone(), own));
        }
        match (&self.versus_probe, &self.tmpdir[..]) {
            (Some(probe), _) => Ok(Sides::Probe(probe.clone())),
            (None, []) => Ok(Sides::One),
            (None, [_]) => Err(anyhow!("--tmpdir needs two directories or more, or set TMPDIR for one")),
            (None, directories) => Ok(Sides::Directories(directories.to_vec())),
        }
    }

    /// The profile that the run is for.
    fn profile(&self) -> Result<Option<Profile>> {
        let Some(path) = &self.profile else { return Ok(None) };
        let profile = store::read_profile(path)?;
        match profile.all_calls().calls {
            0 => usage(Err(anyhow!("--for {}: the profile has no calls to price", path.display()))),
            _ => Ok(Some(profile)),
        }
    }

    /// What the profile needs, which the user is told; `None` without one.
    fn needs(&self, session: &Session, profile: Option<&Profile>, notes: Notes) -> Option<Needs> {
        let (needs, path) = (needs(profile?, Some(&session.catalogue)), self.profile.as_ref()?);
        let threads = self.threads.as_ref().map_or_else(|| threads_of(&needs), |own| own.values[0]);
        let lines = needs_lines(&needs, &path.display().to_string(), threads);
        lines.iter().for_each(|line| notes.tell(line));
        Some(needs)
    }

    fn plan(&self, session: &Session, what: &What, sides: &Sides) -> Result<StudyPlan> {
        let settings = self.settings(what.needs.as_ref());
        let names = sides.names();
        let environments = if names.is_empty() { &self.environments } else { &names };
        let (most_cases, reach) = (self.max_cases, reach(sides));
        let choices = Choices { settings: &settings, environments, most_cases, reach };
        let mut plan = self.plan_warm(session, what, &choices)?;
        if let Some(cold) = &self.cold {
            plan.planned = add_cold_cases(&session.catalogue, plan.planned, &cold.values, &choices)?;
        }
        Ok(plan)
    }

    fn plan_warm(&self, session: &Session, what: &What, choices: &Choices) -> Result<StudyPlan> {
        if let Some(study) = what.study {
            return study.plan(&session.catalogue, choices);
        }
        if let Some(needs) = &what.needs {
            return Ok(StudyPlan::without_study(exact(&session.catalogue, &needs.cases, choices)?));
        }
        let subjects = subjects(&session.catalogue, &self.patterns, &self.surroundings())?;
        let planned = select(&session.catalogue, &subjects, choices)?;
        Ok(StudyPlan::without_study(planned))
    }

    /// Boot parameters and memory are for what boots.
    fn check_boot(&self) -> Result<()> {
        let boots = |name: &String| Environment::find(name).is_ok_and(|environment| environment.is_guest);
        let given = [("--append", self.append.is_some()), ("--guest-memory", self.guest_memory.is_some())];
        match given.iter().find(|(_, is_given)| *is_given) {
            Some((flag, _)) if !self.environments.iter().any(boots) => {
                Err(anyhow!("{flag} needs a guest: name one with --env, e.g. linux-6.1"))
            }
            _ => Ok(()),
        }
    }

    fn boot(&self) -> guest::Options {
        let default = guest::Options::default();
        let memory_mib = self.guest_memory.unwrap_or(default.memory_mib);
        guest::Options { append: self.append.clone().unwrap_or_default(), memory_mib, ..default }
    }

    /// Both would set the same parameter.
    fn check_cold(&self) -> Result<()> {
        match self.cold.is_some() && self.params.iter().any(|setting| setting.name == COLD) {
            true => Err(anyhow!("--cold and --param {COLD} are the same parameter: omit one")),
            false => Ok(()),
        }
    }
}

pub fn run(args: &RunArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    args.view.check_for_run()?;
    let Measured { run, plan, stored } = measure(args, notes)?;
    if args.is_to_output() {
        store::write_to(&run, out)?;
        out.flush()?;
        table_beside(&run, &args.view, notes)?;
        return Ok(exit(&run, &plan));
    }
    write_run(&run, &args.view, terminal::screen(), out)?;
    // Only now: a full disk is no reason to lose the table as well.
    out.flush()?;
    stored?;
    Ok(exit(&run, &plan))
}

/// The table on standard error, since standard output has the result file.
fn table_beside(run: &Run, view: &View, notes: Notes) -> Result<()> {
    if notes.quiet {
        return Ok(());
    }
    let mut table = Vec::new();
    write_run(run, view, terminal::error_screen(), &mut table)?;
    messages::show(&table);
    Ok(())
}

/// A run, what was planned, and whether it was written to a file.
pub(super) struct Measured {
    pub run: Run,
    pub plan: StudyPlan,
    pub stored: Result<(), StoreError>,
}

/// Measures what `args` ask for.
///
/// # Errors
/// A usage error if there is no such thing; else what the tool failed at.
pub(super) fn measure(args: &RunArgs, notes: Notes) -> Result<Measured> {
    let progress = Progress::new(notes.quiet);
    usage(args.check_cold())?;
    usage(args.check_boot())?;
    let keep = args.keep()?;
    let labels = labels::of_run(&args.labels)?;
    let profile = args.profile()?;
    let study = usage(args.study())?;
    usage(args.check_trust(study.as_ref()))?;
    let sides = usage(args.sides())?;
    let mut session = usage(Session::open_sides(args.options(study.as_ref()), sides.clone()))?;
    let what = What { study: study.as_ref(), needs: args.needs(&session, profile.as_ref(), notes) };
    let plan = usage(args.plan(&session, &what, &sides))?;
    usage(session.check_limits(&plan.planned))?;
    usage(session.check_room(&plan.fixtures))?;
    session.make_fixtures(&plan.fixtures)?;
    session.study = study.map(|study| study.view);
    session.labels = labels;
    session.boot = args.boot();
    let (run, stored) = session.measure_runs((plan.planned.clone(), &plan.fixtures), args.runs, &progress, &keep);
    progress.done();
    keep.chosen().iter().for_each(|path| notes.tell(&format_args!("the run is in {}", path.display())));
    Ok(Measured { run: keep.told(run), plan, stored })
}

/// A case that enters the kernel otherwise than its study says has failed as a test.
fn exit(run: &Run, plan: &StudyPlan) -> Exit {
    if !run.complete {
        return Exit::Interrupted;
    }
    let failed = run.runs().flat_map(|run| &run.records).any(|record| matches!(record.outcome, Outcome::Failed(_)));
    if failed || plan.unmet(run).next().is_some() { Exit::SomeFailed } else { Exit::Success }
}

/// The same of a directory for new files.
fn check_folder(flag: &str, folder: &Path) -> Result<()> {
    let wrong = |what: String| usage(Err(anyhow!("{flag} {}: {what}", folder.display())));
    if !folder.is_dir() {
        return wrong("not an existing directory: make it first".to_string());
    }
    tempfile::tempfile_in(folder).map(drop).or_else(|e| wrong(format!("no file can be made there ({})", e.kind())))
}

/// A long run must not end with a file that cannot be written.
pub(super) fn check_destination(flag: &str, path: Option<&Path>) -> Result<()> {
    let Some(path) = path else { return Ok(()) };
    let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if path.is_dir() || !parent.is_dir() {
        return usage(Err(anyhow!("{flag} {}: not a file in an existing directory", path.display())));
    }
    // A device or a pipe is written straight into; a file takes the old one's place only when it is whole.
    let replaced = !path.exists() || path.is_file();
    match tempfile::tempfile_in(parent) {
        Err(e) if replaced => {
            usage(Err(anyhow!("{flag} {}: no file can be made there ({})", path.display(), e.kind())))
        }
        _ => Ok(()),
    }
}
