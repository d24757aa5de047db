//! `syscost kernel atlas build`: first a file for each kernel, then one for each pair of neighbours.

use super::explained::explained;
use super::machine::machine;
use super::parallel::{Pace, in_parallel, jobs};
use super::source::{Offered, Source};
use crate::complete;
use crate::error::usage;
use crate::exit::Exit;
use crate::messages::Notes;
use analysis::atlas::{self, Releases, Step, environment_of, is_explained, steps};
use anyhow::{Context, Result, anyhow, bail, ensure};
use measure::guest::images::{Architecture, Facts, Images};
use measure::plan::{Choices, Surroundings, select, subjects};
use measure::runner::Interrupt;
use measure::session::{RunOptions, Session, cells};
use model::atlas::{ATLAS_KERNEL, AtlasKernel, AtlasMachine, AtlasSteps};
use model::prose::counted;
use model::{Failure, Planned, Role};
use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use store::atlas::{kernel_path, steps_path};
use sys::affinity::{Wanted, on_one_cpu};

/// Count operations in all kernels that the mirror serves, and say what changed between neighbours.
///
/// Kernels are fetched one by one, and removed afterwards unless they were there before. A kernel whose file is
/// complete is not counted again, so an interrupted build resumes when it is restarted. Between two kernels, the 6
/// largest relative changes of at least 1% or 5 instructions are explained: which functions changed.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BuildArgs {
    /// The directory of the atlas; it is created if it does not exist.
    #[arg(value_name = "DIR", add = complete::files())]
    directory: PathBuf,
    /// Only kernels whose version or release matches one of these globs, e.g. 6.12.*; a version means its kernels for
    /// virtual machines (-cloud-), as does the default.
    #[arg(long, value_name = "GLOB[,...]", value_delimiter = ',')]
    kernels: Vec<String>,
    /// Only kernels that were fetched already; the mirror is not contacted.
    #[arg(long)]
    fetched: bool,
    /// Architectures: amd64, arm64.
    #[arg(
        long = "arch",
        value_name = "ARCHITECTURE[,...]",
        value_delimiter = ',',
        default_value = "amd64"
    )]
    architectures: Vec<String>,
    /// Only these operations, as for 'syscost run'.
    #[arg(long, value_name = "PATTERN", num_args = 1.., add = complete::operations())]
    operations: Vec<String>,
    /// The processor to emulate, e.g. Haswell [default: the most basic one].
    #[arg(long, value_name = "MODEL")]
    cpu: Option<String>,
    /// Add these parameters to the kernels' command line.
    #[arg(
        long,
        value_name = "PARAMETERS",
        allow_hyphen_values = true,
        default_value = "",
        hide_default_value = true
    )]
    append: String,
    /// Boots of each kernel; the range of a count is over these.
    #[arg(long, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..=1000))]
    boots: u32,
    /// Emulated machines that run at once [default: one for each CPU].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
}

const EXAMPLES: &str = "\
Examples:
  syscost kernel atlas build atlas
  syscost kernel atlas build atlas --kernels '6.12.*' --arch amd64,arm64
  syscost kernel atlas build audited --fetched --append audit=1 --operations file id.getppid

Exit status: 3 if a kernel could not be fetched or booted.";

/// How long one request may take in a machine that shares its CPU with others.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A session for one task. Its own watch begins when it is opened: what `interrupt` saw before ends it here.
pub fn session(interrupt: &Interrupt) -> Result<Session> {
    let session = Session::open(RunOptions {
        cpu: Wanted::None,
        timeout: TIMEOUT,
        ..RunOptions::default()
    })?;
    ensure!(!interrupt.is_set(), Failure::interrupted().message);
    Ok(session)
}

pub fn planned(session: &Session, patterns: &[String]) -> Result<Vec<Planned>> {
    let subjects = subjects(&session.catalogue, patterns, &Surroundings::default())?;
    let mut planned = select(&session.catalogue, &subjects, &Choices::default())?;
    planned.retain(|planned| planned.role == Role::Asked);
    Ok(planned)
}

/// A kernel that is not counted yet: its release, its machine and its file.
type Todo = (String, AtlasMachine, PathBuf);

struct Build<'a> {
    args: &'a BuildArgs,
    planned: Vec<Planned>,
    interrupt: &'a Interrupt,
    notes: Notes,
    missing: Mutex<Vec<String>>,
}

pub fn run(
    args: &BuildArgs,
    interrupt: &Interrupt,
    notes: Notes,
    out: &mut dyn Write,
) -> Result<Exit> {
    let find = |name: &String| {
        Architecture::find(name).with_context(|| {
            format!("--arch: there are no kernels for '{name}': give amd64 or arm64")
        })
    };
    let architectures = usage(
        args.architectures
            .iter()
            .map(find)
            .collect::<Result<Vec<_>>>(),
    )?;
    let planned = usage(planned(&usage(session(interrupt))?, &args.operations))?;
    let images = Images::open()?;
    let tell = |doing: &str| notes.tell(&doing);
    let mut source = if args.fetched {
        Source::fetched(&images)
    } else {
        Source::open(&images, &architectures, (interrupt, notes), &tell)
    };
    let releases = Releases(args.kernels.clone());
    let offered = source.offered(&architectures, &releases);
    let names: Vec<String> = offered
        .iter()
        .map(|kernel| kernel.release.clone())
        .collect();
    let unmatched = releases.unmatched(&names).join(", ");
    usage(
        unmatched
            .is_empty()
            .then_some(())
            .with_context(|| format!("--kernels {unmatched}: no such kernel")),
    )?;
    usage(
        (!offered.is_empty())
            .then_some(())
            .context("there is no kernel to count: 'syscost kernel fetch 6.1' gets one"),
    )?;
    store::atlas::write_about(&args.directory)?;
    let build = Build {
        args,
        planned,
        interrupt,
        notes,
        missing: Mutex::default(),
    };
    build.count(&source, &offered)?;
    build.compare(&source, &offered)?;
    build.report(&offered, out)
}

impl Build<'_> {
    fn machine(&self, kernel: &Offered) -> Result<(AtlasMachine, PathBuf)> {
        let (machine, usual) =
            machine(&kernel.release, self.args.cpu.as_deref(), &self.args.append)?;
        let path = kernel_path(&self.args.directory, &kernel.release, &machine, &usual);
        Ok((machine, path))
    }

    fn miss(&self, what: &str, why: &anyhow::Error) {
        if !self.interrupt.is_set() {
            self.missing
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
                .push(format!("{what}: {why:#}"));
        }
    }

    fn jobs(&self) -> usize {
        jobs(self.args.jobs.map(usize::from))
    }

    fn count(&self, source: &Source, offered: &[Offered]) -> Result<()> {
        let mut todo: Vec<Todo> = Vec::new();
        for kernel in offered {
            let (machine, path) = usage(self.machine(kernel))?;
            if !is_complete(&path, &self.planned, self.args.boots) {
                todo.push((kernel.release.clone(), machine, path));
            }
        }
        usage(self.check_probes(&todo))?;
        let (all, here) = (counted(offered.len(), "kernel"), offered.len() - todo.len());
        self.notes
            .tell(&format_args!("{all}, {here} of them already counted"));
        let pace = Pace::new(todo.len());
        let tasks = todo
            .into_iter()
            .take_while(|_| !self.interrupt.is_set())
            .filter_map(|(release, machine, path)| {
                let facts = source
                    .get(&release)
                    .map_err(|why| self.miss(&release, &why))
                    .ok()?;
                Some((facts, machine, path))
            });
        in_parallel(self.jobs(), tasks, |(facts, machine, path)| {
            self.count_one(&facts, machine, &path, &pace)
        });
        Ok(())
    }

    fn check_probes(&self, todo: &[Todo]) -> Result<()> {
        let known = store::atlas::read(&self.args.directory)
            .map(|atlas| atlas.kernels)
            .unwrap_or_default();
        let mut checked = BTreeSet::new();
        for (release, machine, _) in todo
            .iter()
            .filter(|(_, machine, _)| checked.insert(&machine.architecture))
        {
            let same = known
                .iter()
                .filter(|kernel| kernel.machine.architecture == machine.architecture);
            let same: Vec<&AtlasKernel> = same.collect();
            if !same.is_empty() {
                self.check_probe(&same, &environment_of(release, machine))?;
            }
        }
        Ok(())
    }

    /// Another compiler or C library makes other calls: counts of both do not compare. Another version of the probe moves some
    /// counts by parts of a percent.
    fn check_probe(&self, known: &[&AtlasKernel], environment: &str) -> Result<()> {
        let session = session(self.interrupt)?;
        let failed = |failure: Failure| anyhow!(failure.message);
        let probe = session.probe_text(environment).map_err(failed)?;
        if let Some(other) = known
            .iter()
            .find(|kernel| !kernel.probe.starts_with(&probe))
        {
            bail!(
                "{} was counted with another probe ({}, in {}), and counts by '{probe}' are not comparable with it: use that \
                 compiler, or another directory",
                self.args.directory.display(),
                other.probe,
                other.release
            );
        }
        let digest = session.probe_digest(environment).map_err(failed)?;
        if let Some(other) = known.iter().find(|kernel| kernel.probe_digest != digest) {
            self.notes.tell(&format_args!(
                "{} was counted with another version of the probe: differences below 1% may come from that",
                other.release
            ));
        }
        Ok(())
    }

    fn count_one(&self, facts: &Facts, machine: AtlasMachine, path: &Path, pace: &Pace) {
        if self.interrupt.is_set() {
            return;
        }
        let begun = Instant::now();
        let boots = Boots::new(self.args.boots, self.jobs(), pace);
        let made = count_kernel(self.interrupt, facts, machine, (&self.planned, boots));
        match made.and_then(|kernel| store::atlas::write(path, &kernel)) {
            Ok(()) => {
                let seconds = begun.elapsed().as_secs_f64();
                self.notes.tell(&format_args!(
                    "{}: {} counted in {seconds:.0} s",
                    pace.step(),
                    facts.release
                ));
            }
            Err(why) => self.miss(&facts.release, &why),
        }
    }

    /// Makes the files of pairs that are not there, or were made of other counts, and removes those of pairs that are none any more.
    fn compare(&self, source: &Source, offered: &[Offered]) -> Result<()> {
        let mut machines: Vec<AtlasMachine> = Vec::new();
        for kernel in offered {
            machines.push(self.machine(kernel)?.0);
        }
        let read = || store::atlas::read(&self.args.directory);
        if self.interrupt.is_set()
            || !offered
                .iter()
                .any(|kernel| self.machine(kernel).is_ok_and(|(_, path)| path.exists()))
        {
            return Ok(());
        }
        let atlas = read()?;
        let pairs = atlas::neighbours(&atlas.kernels)
            .into_iter()
            .filter(|(_, after)| machines.contains(&after.machine));
        let pairs: Vec<Pair> = pairs
            .map(|(before, after)| self.pair([before, after]))
            .collect::<Result<_>>()?;
        for old in atlas
            .steps
            .iter()
            .filter(|old| machines.contains(&old.machine))
        {
            let path = self.steps_path([&old.before, &old.after], &old.machine)?;
            if pairs.iter().all(|pair| pair.path != path) {
                std::fs::remove_file(&path)
                    .with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        let todo: Vec<Pair> = pairs
            .into_iter()
            .filter(|pair| !pair.is_complete())
            .collect();
        let pace = Pace::new(todo.len());
        let tasks = todo
            .into_iter()
            .take_while(|_| !self.interrupt.is_set())
            .filter(|pair| {
                let got = pair
                    .kernels
                    .iter()
                    .filter(|_| pair.steps.iter().any(is_explained))
                    .try_for_each(|one| source.get(&one.release).map(drop));
                got.map_err(|why| self.miss(&pair.name(), &why)).is_ok()
            });
        in_parallel(self.jobs(), tasks, |pair| self.compare_one(pair, &pace));
        Ok(())
    }

    fn steps_path(&self, releases: [&str; 2], machine: &AtlasMachine) -> Result<PathBuf> {
        let usual = self::machine(releases[1], None, "")?.1;
        Ok(steps_path(&self.args.directory, releases, machine, &usual))
    }

    fn pair<'k>(&self, kernels: [&'k AtlasKernel; 2]) -> Result<Pair<'k>> {
        let path = self.steps_path(
            kernels.map(|kernel| kernel.release.as_str()),
            &kernels[1].machine,
        )?;
        Ok(Pair {
            kernels,
            steps: steps(kernels[0], kernels[1]),
            path,
        })
    }

    fn compare_one(&self, pair: Pair, pace: &Pace) {
        if self.interrupt.is_set() {
            return;
        }
        let (name, path, begun) = (pair.name(), pair.path.clone(), Instant::now());
        let explain = |session: Session| {
            // A directory may have operations that this build does not count.
            let all = planned(&session, &[])?;
            explained(&session, pair.kernels, pair.steps, &all)
                .map_err(|failure| anyhow!(failure.message))
        };
        let made = on_one_cpu(|| session(self.interrupt).and_then(explain));
        match made.and_then(|steps| store::atlas::write(&path, &steps).map(|()| steps_text(&steps)))
        {
            Ok(text) => {
                let seconds = begun.elapsed().as_secs_f64();
                self.notes.tell(&format_args!(
                    "{}: {name}: {text} in {seconds:.0} s",
                    pace.step()
                ));
            }
            Err(why) => self.miss(&name, &why),
        }
    }

    fn report(&self, offered: &[Offered], out: &mut dyn Write) -> Result<Exit> {
        let is_there = |kernel: &&Offered| {
            self.machine(kernel)
                .is_ok_and(|(_, path)| is_complete(&path, &self.planned, self.args.boots))
        };
        let there = offered.iter().filter(is_there).count();
        writeln!(
            out,
            "{}: {there} of {} counted",
            self.args.directory.display(),
            counted(offered.len(), "kernel")
        )?;
        let missing = self
            .missing
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        for line in missing.iter() {
            writeln!(out, "missing: {}", model::clean::excerpt(line, 1000))?;
        }
        if self.interrupt.is_set() {
            self.notes
                .tell(&"interrupted: run the same command again to continue");
            return Ok(Exit::Interrupted);
        }
        Ok(if missing.is_empty() {
            Exit::Success
        } else {
            Exit::SomeFailed
        })
    }
}

fn is_complete(path: &Path, planned: &[Planned], boots: u32) -> bool {
    let has =
        |kernel: &AtlasKernel, name: String| kernel.cells.iter().any(|cell| cell.operation == name);
    let Ok(kernel) = store::atlas::read_kernel(path) else {
        return false;
    };
    kernel.boots >= boots
        && planned
            .iter()
            .all(|planned| has(&kernel, planned.case.to_string()))
}

/// How a kernel is counted: in so many boots, so many of them at once.
#[derive(Clone, Copy)]
pub struct Boots {
    number: u32,
    at_once: usize,
}

impl Boots {
    /// Several at once if there are more jobs than kernels.
    pub fn new(number: u32, jobs: usize, kernels: &Pace) -> Boots {
        Boots {
            number,
            at_once: jobs.div_ceil(kernels.all()),
        }
    }
}

pub fn count_kernel(
    interrupt: &Interrupt,
    facts: &Facts,
    machine: AtlasMachine,
    (planned, boots): (&[Planned], Boots),
) -> Result<AtlasKernel> {
    let environment = environment_of(&facts.release, &machine);
    let planned: Vec<Planned> = planned
        .iter()
        .map(|planned| planned.in_environment(&environment))
        .collect();
    let count = |number| {
        let session = session(interrupt)?;
        session
            .count_boot(&environment, &planned, number)
            .map_err(|failure| anyhow!(failure.message))
    };
    // If its threads run at the same time, the emulator may skip too far ahead when the guest goes idle (METHOD.md).
    let counted = in_parallel(boots.at_once, 0..boots.number, |number| {
        on_one_cpu(|| count(number))
    })
    .into_iter()
    .collect::<Result<Vec<_>>>()?;
    let first = counted.first().context("no boot was requested")?;
    Ok(AtlasKernel {
        schema: ATLAS_KERNEL.to_string(),
        release: facts.release.clone(),
        machine,
        package: facts.package.clone(),
        version: facts.version.clone(),
        suite: facts.suite.clone(),
        image: facts.sha256.clone(),
        emulator: first.emulator.clone(),
        probe: first.probe.clone(),
        probe_digest: first.probe_digest.clone(),
        boots: boots.number,
        cells: cells(&planned, &counted),
    })
}

struct Pair<'a> {
    kernels: [&'a AtlasKernel; 2],
    steps: Vec<Step>,
    path: PathBuf,
}

impl Pair<'_> {
    fn name(&self) -> String {
        self.kernels
            .map(|kernel| kernel.release.as_str())
            .join("..")
    }

    fn is_complete(&self) -> bool {
        let same = |(found, step): (&model::atlas::AtlasStep, &Step)| {
            (&found.operation, found.before, found.after)
                == (&step.operation, step.before, step.after)
        };
        let found = store::atlas::read_steps(&self.path);
        found.is_ok_and(|found| {
            found.steps.len() == self.steps.len() && found.steps.iter().zip(&self.steps).all(same)
        })
    }
}

fn steps_text(pair: &AtlasSteps) -> String {
    let explained = pair
        .steps
        .iter()
        .filter(|step| !step.functions.is_empty())
        .count();
    format!(
        "{}, {explained} of them explained,",
        counted(pair.steps.len(), "step")
    )
}
