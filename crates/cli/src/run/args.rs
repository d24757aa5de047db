//! The options of `syscost run`.

use crate::compare::GateArgs;
use crate::complete;
use crate::show::View;
use anyhow::{Result, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::ErrorKind;
use clap::{Arg, Command};
use measure::plan::{Code, Setting};
use measure::runner::{Environment, SANDBOXES};

use model::{COLD, Label, THREADS};
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;
use sys::affinity::Wanted;

const CASES: &str = "Cases";
const TIME: &str = "Time";
const ENVIRONMENT: &str = "Environment";
const OUTPUT: &str = "Output";

/// Measure operations and count their kernel entries.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES, after_long_help = MORE_EXAMPLES)]
pub struct RunArgs {
    /// Operations: ids, areas, globs ('time.clock_*') or names (getpid), see 'syscost list'; or snippets
    /// ('perl:time()').
    ///
    /// The last part of an id is enough if it is unique. Snippets are code in a language of 'syscost list
    /// --languages': 'c:getpid()', or python:@body.py to read it from a file. NAME=LANG:CODE names a snippet; each is
    /// then compared with the first named one: 'BASE=c:getpid()' 'HEAD=c:getuid()'.
    #[arg(value_name = "PATTERN", add = complete::subjects())]
    pub patterns: Vec<String>,
    /// Measure every operation.
    #[arg(long, conflicts_with = "patterns", help_heading = CASES)]
    pub all: bool,
    /// Run a study: one of 'syscost list --studies', or a TOML file.
    ///
    /// --param, --env and --time override the study.
    #[arg(long, value_name = "NAME|FILE", add = complete::studies(), conflicts_with_all = ["patterns", "all", "setups", "preludes"], help_heading = CASES)]
    pub study: Option<String>,
    /// Values of a parameter; each becomes a case.
    ///
    /// A list, or ranges such as 1..8, 1..64x2 (doubling) or 1..100+10, including both ends. Repeatable.
    #[arg(long = "param", value_name = "KEY=VALUE[,VALUE...]", add = complete::parameters(), help_heading = CASES)]
    pub params: Vec<Setting>,
    /// Run each operation N times at once, each on its own CPU.
    ///
    /// A list or ranges; each becomes a case. One is timed while the others keep running, so figures are per thread.
    /// They are processes with their own files; with --param shared=1, threads of one process that use the same
    /// objects [same as --param threads=N].
    #[arg(long, value_name = "N[,N...]", value_parser = threads, help_heading = CASES)]
    pub threads: Option<Setting>,
    /// Also measure with cold caches.
    ///
    /// Before each call, which is timed alone, evict what the previous one left in caches, TLB and branch predictors,
    /// by walking memory of these sizes and running 128K of code; 0 evicts nothing [default sizes: 0,32K,1M,32M; a
    /// single size: --param cold=1M].
    #[arg(long, value_name = "SIZE[,SIZE...]", num_args = 0..=1, require_equals = true, default_missing_value = COLD_SIZES, value_parser = cold, help_heading = CASES)]
    pub cold: Option<Setting>,
    /// Untimed setup of snippets; @FILE reads it from a file.
    ///
    /// For all snippets in that language.
    #[arg(long = "setup", value_name = "LANG:CODE", add = complete::languages(), help_heading = CASES, hide_short_help = true)]
    pub setups: Vec<Code>,
    /// File-scope code (imports, functions) for all snippets in that language; @FILE reads it from a file.
    #[arg(long = "prelude", value_name = "LANG:CODE", add = complete::languages(), help_heading = CASES, hide_short_help = true)]
    pub preludes: Vec<Code>,
    /// Run studies and code files (@FILE) even if other users could have written them; their code runs as you.
    /// Without this flag, files must belong to you or root and be writable by nobody else.
    #[arg(long, help_heading = CASES, hide_short_help = true)]
    pub trust_files: bool,
    /// Wall time of the whole run [default: as long as its cases need].
    ///
    /// This includes builds, counting kernel entries and all other passes. The run stops early once the precision is
    /// reached. If it will not fit, syscost warns before it starts.
    #[arg(long, value_name = "SECONDS", value_parser = seconds, help_heading = TIME)]
    pub time: Option<Duration>,
    /// Target half-width of the interval within the run.
    ///
    /// This is the 95% interval within one run, the part of ± that a longer run shrinks. ± also includes the scatter
    /// between runs, which no target changes.
    #[arg(long, value_name = "PERCENT", default_value = "1", value_parser = positive, help_heading = TIME)]
    pub precision: f64,
    /// Repeat the whole run N times, to measure the scatter between runs.
    ///
    /// Each run has new processes, a new directory and a new random order; all go into one result file. Costs are
    /// then means over the runs, and from three runs on, intervals come from their scatter. --time and --cpu-seconds
    /// are per run.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = TIME)]
    pub runs: u32,
    /// Seconds per case, like a count of -N in Perl's Benchmark: the run takes N seconds times the number of cases,
    /// including baselines, even if the precision is reached earlier.
    /// Starting and calibrating workers is included.
    #[arg(long, value_name = "N", conflicts_with = "time", value_parser = cpu_seconds, help_heading = TIME, hide_short_help = true)]
    pub cpu_seconds: Option<Duration>,
    /// Kill a worker that takes longer than this for one request.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = seconds, help_heading = TIME, hide_short_help = true)]
    pub timeout: Duration,
    /// Environments, one column each: sandboxes, builds, kernels; see 'syscost list --envs'.
    ///
    /// 'sandboxes' stands for native and all sandboxes that this machine has.
    /// All are measured in the same rounds, and each case shows its ratio to the first, paired round by round.
    /// linux-VERSION is a fetched kernel in an emulated machine, linux-arm64-VERSION one for arm64, linux:FILE any,
    /// and 'linux-VERSION PARAMETERS' one with boot parameters, memory=MIB or cpu=NAME: there, instructions are
    /// counted. 'NAME confine=WAY', e.g. 'native confine=landlock:16', attaches a filter or hook (docs/options.md).
    #[arg(long = "env", value_name = "NAME[,NAME...]", value_delimiter = ',', value_parser = EnvironmentName, help_heading = ENVIRONMENT)]
    pub environments: Vec<String>,
    /// Also measure how long each environment takes to start, and the memory that it needs.
    ///
    /// A program that does nothing is started natively and in each environment in turn, for a third of --time or 12
    /// seconds, and for at least five rounds.
    #[arg(long, help_heading = ENVIRONMENT)]
    pub start_up: bool,
    /// Directories to measure in, instead of TMPDIR.
    ///
    /// With several, each case is measured in all of them, in the same rounds, with the ratio to the first, paired
    /// round by round: to compare file systems or disks.
    #[arg(long, value_name = "DIR[,DIR...]", value_delimiter = ',', conflicts_with_all = ["environments", "versus_probe"], help_heading = ENVIRONMENT)]
    pub tmpdir: Vec<PathBuf>,
    /// CPU to pin to, or 'none' [default: the last allowed CPU].
    #[arg(long, value_name = "N|none", help_heading = ENVIRONMENT)]
    pub cpu: Option<Wanted>,
    /// Measure on another machine, through a command such as 'ssh host'.
    ///
    /// The command starts a program there and passes on its standard input and output, such as 'docker exec -i x'.
    /// With --env, it is a column beside this machine's.
    #[arg(long, value_name = "[NAME=]COMMAND", requires = "other_probe", conflicts_with_all = ["versus_probe", "tmpdir"], help_heading = ENVIRONMENT, hide_short_help = true)]
    pub via: Option<String>,
    /// The path of the probe there, built by 'syscost probe build'.
    #[arg(long = "probe", id = "other_probe", value_name = "FILE", requires = "via", help_heading = ENVIRONMENT, hide_short_help = true)]
    pub other_probe: Option<PathBuf>,
    /// Measure in an environment of your own: the command that starts a program there, split into words as a shell
    /// would, but run without one. {program} is the program with its arguments (appended if not named), {static} the
    /// same linked statically, {dir} its working directory, {run} the directory that holds all of these. Repeatable.
    #[arg(long = "env-command", value_name = "[NAME=]COMMAND", conflicts_with_all = ["versus_probe", "tmpdir"], help_heading = ENVIRONMENT, hide_short_help = true)]
    pub commands: Vec<String>,
    /// Also measure every operation with this probe, in the same rounds, and show the ratio to the built-in one,
    /// paired round by round: a build with another compiler or other flags, or the probe of another version.
    #[arg(long, value_name = "FILE", conflicts_with = "environments", help_heading = ENVIRONMENT, hide_short_help = true)]
    pub versus_probe: Option<PathBuf>,
    /// Write the run with all its samples to a result file.
    ///
    /// '-' is standard output: the run is written there at the end, and the table goes to standard error, or nowhere
    /// with --quiet.
    #[arg(short, long, value_name = "FILE", help_heading = OUTPUT)]
    pub out: Option<PathBuf>,
    /// Store this with the run: a commit, a pool.
    ///
    /// Labels are shown with the run, and become columns of 'syscost show --format rows'. Repeatable.
    #[arg(long = "label", value_name = "KEY=VALUE", help_heading = OUTPUT, hide_short_help = true)]
    pub labels: Vec<Label>,
    /// Also time single calls, for their percentiles, this long per case [default: 0.2].
    ///
    /// Runs as a pass before the rounds. --view latency shows the percentiles, and implies this option. Not for
    /// snippets.
    #[arg(long, value_name = "SECONDS", value_parser = latency_seconds, num_args = 0..=1, require_equals = true, help_heading = OUTPUT)]
    pub latency: Option<Option<Duration>>,
    /// Write the run to a new file HOST-START-SEED.json in this directory, which many hosts may share. It is created
    /// if it does not exist.
    #[arg(long, value_name = "DIR", conflicts_with = "out", help_heading = OUTPUT, hide_short_help = true)]
    pub out_dir: Option<PathBuf>,
    /// Skip counting kernel entries.
    #[arg(long, help_heading = OUTPUT, hide_short_help = true)]
    pub no_verify: bool,
    #[command(flatten)]
    pub view: View,
    #[command(
        flatten,
        next_help_heading = "Gate on ratios of named snippets or of a study"
    )]
    pub gate: GateArgs,
}

const EXAMPLES: &str = "\
Examples:
  syscost getpid file.stat                          'run' may be omitted
  syscost file --param depth=1,8 --time 10 --out file.json
  syscost 'c:getpid()' 'perl:getppid()' id.getppid
  syscost 'BASE=c:getpid()' 'HEAD=c:getuid()'       compares the second with the first
  syscost id file --env native,seccomp-docker,gvisor

All options: syscost run --help-all";

const MORE_EXAMPLES: &str = "\
Examples:
  syscost run id.getppid file.lstat
  syscost run file --param depth=1,8 --time 10 --out file.json
  syscost run 'BASE=c:getpid()' 'HEAD=c:getuid()' --time 10
  syscost run call --view cmpthese --cpu-seconds 1
  syscost run id file --runs 5 --time 10 --out file.json
  syscost run --all --precision 2 --format csv
  syscost run fd.dup_close --threads 1..4 --param shared=1
  syscost run file --tmpdir /tmp,/dev/shm
  syscost run --all --versus-probe ./probe-clang --runs 5
  syscost run id.getppid file.stat --cold
  syscost run io.read_file --param size=4K --cold=1M,32M
  syscost run file.lstat io --view latency --latency=1
  syscost run --env-command 'nice=nice -n 19' --env native
  syscost run id file --via 'ssh host' --probe /tmp/probe
  syscost run --study perl-ops
  syscost run '*.getpid' --format json | jq '.records[].median_ns'

Operations work on files in a private directory under TMPDIR (if unset: /tmp, or XDG_RUNTIME_DIR if /tmp is unusable). The next run removes what a killed run left there.";

/// Below 10^7, a limit that durations can hold.
pub fn positive(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if value > 0.0 && value < 1e7 => Ok(value),
        _ => Err(format!("'{text}' is not a positive number")),
    }
}

pub fn seconds(text: &str) -> Result<Duration, String> {
    positive(text).map(Duration::from_secs_f64)
}

/// As Perl's Benchmark.
fn cpu_seconds(text: &str) -> Result<Duration, String> {
    match seconds(text)? {
        time if time < Duration::from_millis(100) => Err(format!(
            "'{text}' is under 0.1 seconds, too short to measure anything"
        )),
        time => Ok(time),
    }
}

/// The probe takes whole milliseconds, up to an hour.
fn latency_seconds(text: &str) -> Result<Duration, String> {
    let time = seconds(text)?;
    if (Duration::from_millis(1)..=Duration::from_secs(3600)).contains(&time) {
        Ok(time)
    } else {
        Err(format!("'{text}' is not from 0.001 to 3600 seconds"))
    }
}

fn threads(text: &str) -> Result<Setting> {
    let setting: Setting = format!("{THREADS}={text}").parse()?;
    ensure!(
        !setting.values.contains(&0),
        "'{text}' contains 0: there must be at least one thread"
    );
    Ok(setting)
}

/// Sizes below, between and above those of the usual caches of one core, and 0, which shows the effect of timing single calls alone.
const COLD_SIZES: &str = "0,32K,1M,32M";

fn cold(text: &str) -> Result<Setting> {
    format!("{COLD}={text}").parse()
}

/// The name of an environment: a file in environments/, possibly with a kernel, boot parameters or a profile.
#[derive(Clone)]
pub struct EnvironmentName;

impl TypedValueParser for EnvironmentName {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        flag: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        let name = value.to_str().unwrap_or_default();
        match Environment::find(name) {
            Ok(_) => Ok(name.to_string()),
            Err(_) if name == SANDBOXES => Ok(name.to_string()),
            // The file exists and is wrong, or has another name: its error helps more than a list of names.
            Err(error)
                if name.contains([':', ' ']) || Environment::with_keyword(name).is_some() =>
            {
                Err(clap::Error::raw(
                    ErrorKind::ValueValidation,
                    format!("{error:#}\n"),
                ))
            }
            Err(_) => {
                PossibleValuesParser::new(Environment::names()).parse_ref(command, flag, value)
            }
        }
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(Environment::names().into_iter().map(|name| {
            let title = Environment::find(name).map(|environment| environment.title);
            PossibleValue::new(name).help(title.unwrap_or_default())
        })))
    }
}
