//! `syscost race`: whole commands against each other.

use super::compare::percent;
use super::error::{bail_usage, usage};
use super::exit::Exit;
use super::explain::kernel::is_emulated;
use super::explain::program;
use super::messages::{is_quiet, note};
use super::progress::Progress;
use super::run::{EnvironmentName, check_destination, seconds};
use super::terminal;
use super::words::parsed;
use analysis::compare::RaceFound;
use measure::runner::{Environment, Interrupt, RunDirectory};
use model::JsonDocument;
use model::program::ProgramInKernels;
use report::{Format, Screen, program_document, race_document, write_answer, write_json};
use sys::affinity::Wanted;
use trace::race::{self, Command, Commands, FEWEST_ROUNDS, Options, Parameter, Start};

use anyhow::{Result, ensure};
use std::io::Write;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use trace::{LaunchError, words};

/// The limit of 'why --env', and the parts of it that are reserved for removing copies and, after enough rounds, for unit costs.
const WHY: Duration = Duration::from_secs(19);
const REMOVAL: Duration = Duration::from_secs(4);
const UNIT_COSTS: Duration = Duration::from_millis(4_500);

pub enum Elsewhere {
    Race(RaceFound),
    Kernels(ProgramInKernels),
}

/// Race whole commands: which is faster, and which system calls explain it.
///
/// The commands run in turn, in a random order in each round, with their output discarded, and are compared round by
/// round. Their system calls are counted in separate runs that are not timed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct RaceArgs {
    /// The baseline command, as one argument; further ones are compared with it, as with --versus. With --env: the
    /// words of one command.
    #[arg(value_name = "COMMAND", required = true)]
    commands: Vec<String>,
    /// A command to compare with the first; repeatable.
    #[arg(long, value_name = "COMMAND")]
    versus: Vec<String>,
    /// Run one command in each of these environments and compare them with 'native', or with the first if 'native' is
    /// one of them; 'syscost list --envs' lists them. The extra time that an empty program takes there is subtracted.
    /// The command runs as the current user, also under sudo. Emulated kernels (linux-6.1, ...) count instructions,
    /// as 'explain' does.
    #[arg(long = "env", value_name = "NAME[,NAME...]", value_delimiter = ',', value_parser = EnvironmentName, conflicts_with_all = ["versus", "parameters"])]
    pub environments: Vec<String>,
    /// With --env: start each execution in a fresh copy of the working directory (at most 256 MiB and 20,000 files),
    /// made untimed below TMPDIR. Environments with a file system of their own (tmpfs, overlay, ...) imply this for
    /// all. Absolute paths still lead to the original.
    #[arg(long, requires = "environments")]
    fresh_copy: bool,
    /// Values for {NAME} in the commands, one race each: a list, or a range as in 'run --param'. A single command is
    /// compared with itself at the first value. Repeatable.
    #[arg(long = "parameter", short = 'P', value_name = "NAME=VALUE[,VALUE...]")]
    parameters: Vec<Parameter>,
    /// Run this in a shell, untimed, before each run of a command; given once per command, each applies to its own
    /// command.
    #[arg(long, value_name = "CODE")]
    prepare: Vec<String>,
    /// Untimed rounds before the timed ones.
    #[arg(long, value_name = "N", default_value_t = 1)]
    warmup: u32,
    /// Number of rounds [default: 10, or as many as fit into 3 seconds per command].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000), conflicts_with = "time")]
    runs: Option<u32>,
    /// Wall time for everything, including warm-up and counting.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    time: Option<Duration>,
    /// Run the commands with 'sh -c', whose time is part of theirs.
    #[arg(long)]
    shell: bool,
    /// Show what the commands print.
    #[arg(long)]
    show_output: bool,
    /// Also time commands that fail; otherwise a failure ends the race.
    #[arg(long, short)]
    ignore_failure: bool,
    /// Kill what a command leaves running before the next one starts. Otherwise it is named and left running; with
    /// --env it is killed when the race ends.
    #[arg(long, conflicts_with = "environments")]
    end_left: bool,
    /// Do not count system calls.
    #[arg(long)]
    no_counts: bool,
    /// Exit with status 1 if a command is certainly slower than the first by more than this or, where wall time is not
    /// known, takes so much more CPU time.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    fail_over: Option<f64>,
    /// Ends the race when the ratios are known, or cannot be, and after this time.
    #[arg(skip)]
    most: Option<Duration>,
    #[arg(skip)]
    pub start: Start,
    /// Differences up to this are called equal.
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "1%", hide_short_help = true)]
    threshold: f64,
    /// Also write the JSON document to a file; its times are named as in hyperfine's --export-json.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Output format.
    #[arg(long, default_value = "text")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  syscost race 'git status' --versus 'git status -uno'
  syscost race './old input' --versus './new input' --time 30
  syscost race 'rg -j{jobs} word' --parameter jobs=1,2,4
  syscost race 'make -j4' --versus 'ninja' --prepare 'make clean' --runs 10
  syscost race --shell 'cat f | wc' --versus 'wc < f'
  syscost race ./main --versus ./branch --fail-over 5% --out race.json
  syscost race --env seccomp-docker,podman,strace -- git status
  syscost race --env linux-6.1,linux-6.12 -- git status          (instructions)

Exit status: 0 all rounds were run, 1 a command failed or took longer than --fail-over allows, 2 usage, 126 or 127 a command cannot be run, 130 interrupted.";

/// # Errors
/// `trace::LaunchError` if a command cannot be run; otherwise if a command fails, or an environment cannot be entered.
pub fn run(args: &RaceArgs, out: &mut dyn Write) -> Result<Exit> {
    check_destination("--out", args.out.as_deref())?;
    let elsewhere = args.measure()?;
    elsewhere.write(args.format, terminal::screen(), out)?;
    out.flush()?;
    match &elsewhere {
        Elsewhere::Race(elsewhere) => args.store(elsewhere).and_then(|()| args.exit(elsewhere)),
        Elsewhere::Kernels(elsewhere) => args.store(elsewhere).map(Exit::from),
    }
}

impl Elsewhere {
    pub fn write(&self, format: Format, screen: Screen, out: &mut dyn Write) -> Result<()> {
        match self {
            Elsewhere::Race(race) => {
                write_answer(race, || race_document(race), format, screen, out)
            }
            Elsewhere::Kernels(race) => {
                write_answer(race, || program_document(race, false), format, screen, out)
            }
        }
    }
}

impl RaceArgs {
    /// A race of one command, natively and in these environments, that ends when its ratios are known.
    pub fn in_environments(words: &[String], environments: &[String]) -> Result<RaceArgs> {
        let names = format!("--env={}", environments.join(","));
        let words = ["--ignore-failure", &names, "--", &race::joined(words)];
        let args = RaceArgs {
            most: Some(WHY),
            ..parsed("race", words)?
        };
        // Checked before the command is traced, so that a wrong name does not waste its run.
        if !usage(args.counts_instructions())? {
            args.timed_environments()?;
        }
        Ok(args)
    }

    /// If all environments are emulated kernels, counts instructions instead.
    pub fn measure(&self) -> Result<Elsewhere> {
        if usage(self.counts_instructions())? {
            let words = words(&self.commands()?.swap_remove(0).launch);
            let kernels = program::counted(&words, &self.environments, Wanted::default())?;
            return Ok(Elsewhere::Kernels(kernels));
        }
        let removal = if self.start == Start::Unchanged {
            Duration::ZERO
        } else {
            REMOVAL
        };
        // Removing the copies happens after the race, within the same limit.
        let end = self.most.map(|most| Instant::now() + most - removal);
        let environments = self.timed_environments()?;
        let commands = self.commands()?;
        let interrupt = Interrupt::on_signals()?;
        let (directory, commands) = self.entered(commands, &environments, &interrupt)?;
        let options = Options {
            runs: self.runs,
            time: self
                .time
                .or(self.most.map(|most| most - removal - UNIT_COSTS)),
            end,
            warmup: self.warmup,
            ignore_failure: self.ignore_failure,
            ends_left: self.end_left,
            count: !self.no_counts,
        };
        // The bar would be mixed with the commands' output.
        let progress = Progress::shown(!is_quiet() && !self.show_output);
        let run = (&interrupt, directory);
        let raced = race::run(&commands, &options, run, &progress, &note::<str>);
        progress.done();
        let compared = analysis::compare::race(&raced?, self.threshold);
        Ok(Elsewhere::Race(compared))
    }

    /// # Errors
    /// Fails if only some environments are emulated kernels, or if an option applies to times only.
    fn counts_instructions(&self) -> Result<bool> {
        let emulated = self.environments.iter().filter(|name| is_emulated(name));
        match emulated.count() {
            0 => return Ok(false),
            some => ensure!(
                some == self.environments.len(),
                "--env: emulated kernels count instructions, the others measure time: race them separately"
            ),
        }
        let timed = self.runs.is_some()
            || self.time.is_some()
            || self.fail_over.is_some()
            || !self.prepare.is_empty();
        ensure!(
            !timed && !self.fresh_copy,
            "--env {}: instructions are counted, in a copy of the command's files: leave out --runs, --time, --fail-over, --prepare \
             and --fresh-copy",
            self.environments[0]
        );
        Ok(true)
    }

    fn timed_environments(&self) -> Result<Vec<Environment>> {
        if self.environments.is_empty() {
            Ok(Vec::new())
        } else {
            usage(race::timed(&self.environments))
        }
    }

    /// # Errors
    /// Fails with a usage error, except if the program does not exist.
    fn commands(&self) -> Result<Vec<Command>> {
        let own_user = if self.environments.is_empty() {
            None
        } else {
            race::own_user()
        };
        let commands = Commands {
            texts: self.texts()?,
            parameters: self.parameters.clone(),
            prepare: self.prepare.clone(),
            shell: self.shell,
            show_output: self.show_output,
            user: own_user,
        };
        match commands.launched() {
            Err(error) if !error.is::<LaunchError>() => usage(Err(error)),
            done => done,
        }
    }

    /// The commands of the race. With --env, the arguments are the words of one command, unless a single argument holds all of them.
    fn texts(&self) -> Result<Vec<String>> {
        if self.environments.is_empty() && self.commands.iter().any(|word| word == "--versus") {
            let each = self.commands.split(|word| word == "--versus");
            let quoted = each.map(|words| match words {
                [_] => race::joined(words),
                _ => race::joined(&[race::joined(words)]),
            });
            bail_usage!(
                "--versus after '--' is a word of the command; quote each command: race {}",
                quoted.collect::<Vec<_>>().join(" --versus ")
            );
        }
        if self.environments.is_empty() || self.commands.len() == 1 {
            return Ok([&self.commands[..], &self.versus].concat());
        }
        if self.shell {
            bail_usage!("--shell with --env: give the code as one argument");
        }
        Ok(vec![race::joined(&self.commands)])
    }

    /// The command in each environment, and the directory of their files, which must outlive the race.
    fn entered(
        &self,
        mut commands: Vec<Command>,
        environments: &[Environment],
        interrupt: &Interrupt,
    ) -> Result<(Option<RunDirectory>, Vec<Command>)> {
        if environments.is_empty() {
            // Only for the janitor, which ends what commands leave behind. A race works without one.
            let directory = RunDirectory::create_empty().ok();
            if let Some(directory) = directory.as_ref()
                && self.end_left
            {
                race::mark_left(&mut commands, directory);
            }
            return Ok((directory, commands));
        }
        let mut directory = RunDirectory::create()?;
        let start = if self.fresh_copy {
            Start::Fresh
        } else {
            self.start
        };
        let run = (&mut directory, interrupt);
        let entered = race::enter(&commands[0], environments, start, run, &note::<str>)?;
        Ok((Some(directory), entered))
    }

    fn store(&self, answer: &impl JsonDocument) -> Result<()> {
        let Some(path) = &self.out else { return Ok(()) };
        let mut text = Vec::new();
        write_json(answer, &mut text)?;
        Ok(store::write_bytes(path, &text)?)
    }

    fn exit(&self, race: &RaceFound) -> Result<Exit> {
        if !race.complete {
            return Ok(Exit::Interrupted);
        }
        let Some(limit) = self.fail_over else {
            return Ok(Exit::Success);
        };
        // Fewer rounds have no interval, so the gate could never fail.
        if race.rounds < FEWEST_ROUNDS as usize {
            bail_usage!(
                "--fail-over: {} rounds are too few to judge: take at least {FEWEST_ROUNDS}",
                race.rounds
            );
        }
        let grown = race.grown(limit);
        for (index, has_grown) in &grown {
            let name = race.results[*index].name();
            let percent = 100.0 * limit;
            note(&format!("'{name}' {has_grown} by more than {percent}%"));
        }
        Ok(if grown.is_empty() {
            Exit::Success
        } else {
            Exit::CostGrown
        })
    }
}
