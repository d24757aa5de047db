//! `syscost kernel atlas build`: first a file for each kernel, then one for each pair of neighbours.

use super::machine::machine;
use super::source::Source;
use crate::complete;
use crate::error::{bail_usage, usage};
use crate::exit::Exit;
use crate::kernel::find_architecture;
use crate::kernel::parallel::{Pace, in_parallel, jobs};
use crate::kernel::steps::{Effort, explained};
use crate::messages::note;
use analysis::atlas::{self, Releases, environment_of, is_explained, steps};
use anyhow::{Context, Result, bail, ensure};
use measure::guest::images::{Facts, Images};
use measure::plan::{Choices, Surroundings, select, subjects};
use measure::runner::Interrupt;
use measure::session::{CountedBoot, RunOptions, Session, Sides, cells};
use model::atlas::{ATLAS_KERNEL, ATLAS_STEPS, AtlasKernel, AtlasMachine, AtlasStep, AtlasSteps};
use model::prose::counted;
use model::{Failure, Planned, Role};
use std::collections::BTreeSet;
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::atlas::{kernel_path, steps_path};
use sys::affinity::{Wanted, on_one_cpu};

/// Count operations in all kernels that the mirror serves, and list the changes between neighbours.
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

/// Its own watch begins when it is opened: what `interrupt` saw before ends it here.
pub fn session(interrupt: &Interrupt) -> Result<Session> {
    let options = RunOptions {
        cpu: Wanted::None,
        timeout: TIMEOUT,
        ..RunOptions::default()
    };
    let session = Session::open(options, Sides::One)?;
    ensure!(!interrupt.is_set(), Failure::interrupted());
    Ok(session)
}

/// The cases of the patterns, or of all operations, without the baselines, which an emulated machine does not need.
pub fn planned(session: &Session, patterns: &[String]) -> Result<Vec<Planned>> {
    let subjects = subjects(&session.catalogue, patterns, &Surroundings::default())?;
    let mut planned = select(&session.catalogue, &subjects, &Choices::default())?;
    planned.retain(|planned| planned.role == Role::Asked);
    Ok(planned)
}

/// Its release, its machine and its file.
type Kernel = (String, AtlasMachine, PathBuf);

struct Build<'a> {
    args: &'a BuildArgs,
    planned: Vec<Planned>,
    interrupt: &'a Interrupt,
    kernels: Vec<Kernel>,
    missing: Mutex<Vec<String>>,
}

/// Kernels without a complete file, then the steps between neighbours.
pub fn run(args: &BuildArgs, interrupt: &Interrupt, out: &mut dyn Write) -> Result<Exit> {
    let architectures = args
        .architectures
        .iter()
        .map(|name| find_architecture(name))
        .collect::<Result<Vec<_>>>()?;
    // Patterns are checked before the mirror is contacted.
    let planned = usage(planned(&usage(session(interrupt))?, &args.operations))?;
    let images = Images::open()?;
    let mut source = Source::open(&images, &architectures, interrupt, args.fetched);
    let wanted = Releases(args.kernels.clone());
    let releases = source.offered(&architectures, &wanted);
    let unmatched = wanted.unmatched(&releases).join(", ");
    if !unmatched.is_empty() {
        bail_usage!("--kernels {unmatched}: no such kernel");
    }
    if releases.is_empty() {
        bail_usage!("no kernel to count: 'syscost kernel fetch 6.1' gets one");
    }
    store::atlas::write_about(&args.directory)?;
    let kernels = releases.into_iter().map(|release| kernel(args, release));
    let build = Build {
        args,
        planned,
        interrupt,
        kernels: usage(kernels.collect())?,
        missing: Mutex::default(),
    };
    build.count_kernels(&source)?;
    build.compare(&source)?;
    build.report(out)
}

fn kernel(args: &BuildArgs, release: String) -> Result<Kernel> {
    let (machine, usual) = machine(&release, args.cpu.as_deref(), &args.append)?;
    let path = kernel_path(&args.directory, &release, &machine, &usual);
    Ok((release, machine, path))
}

impl Build<'_> {
    fn miss(&self, what: &str, why: &anyhow::Error) {
        // After an interrupt everything fails, and none of it is a defect of the kernel.
        if !self.interrupt.is_set() {
            let mut missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
            missing.push(format!("{what}: {why:#}"));
        }
    }

    fn make(&self, name: &str, pace: &Pace, make: impl FnOnce() -> Result<String>) {
        if self.interrupt.is_set() {
            return;
        }
        let begun = Instant::now();
        match make() {
            Ok(made) => note(&format_args!(
                "{}: {made} in {:.0} s",
                pace.step(),
                begun.elapsed().as_secs_f64()
            )),
            Err(why) => self.miss(name, &why),
        }
    }

    fn jobs(&self) -> usize {
        jobs(self.args.jobs.map(usize::from))
    }

    fn count_kernels(&self, source: &Source) -> Result<()> {
        let kernels = self.kernels.iter();
        let todo: Vec<&Kernel> = kernels
            .filter(|(.., path)| !self.is_complete(path))
            .collect();
        // Before any kernel is fetched: a directory with counts of two probes would be useless.
        usage(self.check_probes(&todo))?;
        let all = counted(self.kernels.len(), "kernel");
        let here = self.kernels.len() - todo.len();
        note(&format_args!("{all}, {here} of them already counted"));
        let pace = Pace::new(todo.len());
        // Fetches a kernel only when a job is free, so that at most a few images lie on the disk.
        let tasks = self.until_interrupted(todo).filter_map(|kernel| {
            let facts = source.get(&kernel.0);
            let facts = facts.map_err(|why| self.miss(&kernel.0, &why));
            Some((facts.ok()?, kernel))
        });
        // Several boots at once if there are more jobs than kernels.
        let at_once = self.jobs().div_ceil(pace.all());
        in_parallel(self.jobs(), tasks, |(facts, (_, machine, path))| {
            self.make(&facts.release, &pace, || {
                let kernel = self.count_kernel(&facts, machine, at_once)?;
                store::atlas::write(path, &kernel)?;
                Ok(format!("{} counted", facts.release))
            })
        });
        Ok(())
    }

    fn until_interrupted<T>(&self, todo: Vec<T>) -> impl Iterator<Item = T> {
        todo.into_iter().take_while(|_| !self.interrupt.is_set())
    }

    fn is_complete(&self, path: &Path) -> bool {
        store::atlas::read_kernel(path).is_ok_and(|kernel| {
            let operations: BTreeSet<&str> = kernel
                .cells
                .iter()
                .map(|cell| cell.operation.as_str())
                .collect();
            // A file of fewer boots or operations is counted anew, not completed: one file has the counts of one build.
            kernel.boots >= self.args.boots
                && self
                    .planned
                    .iter()
                    .all(|planned| operations.contains(&*planned.case.to_string()))
        })
    }

    fn check_probes(&self, todo: &[&Kernel]) -> Result<()> {
        let known = store::atlas::read(&self.args.directory)
            .map(|atlas| atlas.kernels)
            .unwrap_or_default();
        let mut checked = BTreeSet::new();
        for (release, machine, _) in todo {
            let same: Vec<&AtlasKernel> = known
                .iter()
                .filter(|kernel| kernel.machine.architecture == machine.architecture)
                .collect();
            if checked.insert(&machine.architecture) && !same.is_empty() {
                self.check_probe(&same, &environment_of(release, machine))?;
            }
        }
        Ok(())
    }

    /// Another compiler or C library makes other calls: counts of both do not compare. Another version of the probe moves some
    /// counts by parts of a percent.
    fn check_probe(&self, known: &[&AtlasKernel], environment: &str) -> Result<()> {
        let session = session(self.interrupt)?;
        let probe = session.probe_text(environment)?;
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
        let digest = session.probe_digest(environment)?;
        if let Some(other) = known.iter().find(|kernel| kernel.probe_digest != digest) {
            note(&format_args!(
                "{} was counted with another version of the probe: differences below 1% may come from that",
                other.release
            ));
        }
        Ok(())
    }

    /// Makes files of pairs that are missing or made of other counts, and removes those of pairs that are none any more.
    fn compare(&self, source: &Source) -> Result<()> {
        let machines: Vec<_> = self.kernels.iter().map(|(_, machine, _)| machine).collect();
        let has_counts = self.kernels.iter().any(|(.., path)| path.exists());
        // Without counts of this machine, other machines' steps must not be removed.
        if self.interrupt.is_set() || !has_counts {
            return Ok(());
        }
        let atlas = store::atlas::read(&self.args.directory)?;
        let pairs: Vec<Pair> = atlas::neighbours(&atlas.kernels)
            .into_iter()
            .filter(|(_, after)| machines.contains(&&after.machine))
            .map(|(before, after)| self.pair([before, after]))
            .collect::<Result<_>>()?;
        for old in &atlas.steps {
            let path = self.steps_path([&old.before, &old.after], &old.machine)?;
            // A kernel that was inserted between two makes their old steps wrong.
            if machines.contains(&&old.machine) && pairs.iter().all(|pair| pair.path != path) {
                std::fs::remove_file(&path)
                    .with_context(|| format!("cannot remove {}", path.display()))?;
            }
        }
        let todo: Vec<Pair> = pairs
            .into_iter()
            .filter(|pair| !pair.is_complete())
            .collect();
        let pace = Pace::new(todo.len());
        let tasks = self.until_interrupted(todo).filter(|pair| {
            let got = pair.fetch(source);
            got.map_err(|why| self.miss(&pair.name(), &why)).is_ok()
        });
        in_parallel(self.jobs(), tasks, |pair| {
            let name = pair.name();
            self.make(&name, &pace, || {
                let steps = pair.explained(self.interrupt)?;
                store::atlas::write(&pair.path, &steps)?;
                Ok(format!("{name}: {}", steps_text(&steps)))
            })
        });
        Ok(())
    }

    fn steps_path(&self, releases: [&str; 2], machine: &AtlasMachine) -> Result<PathBuf> {
        let usual = self::machine(releases[1], None, "")?.1;
        Ok(steps_path(&self.args.directory, releases, machine, &usual))
    }

    fn pair<'k>(&self, kernels: [&'k AtlasKernel; 2]) -> Result<Pair<'k>> {
        let releases = kernels.map(|kernel| kernel.release.as_str());
        Ok(Pair {
            kernels,
            steps: steps(kernels[0], kernels[1]),
            path: self.steps_path(releases, &kernels[1].machine)?,
        })
    }

    /// The first boot has the emulator's and the probe's versions.
    fn count_kernel(
        &self,
        facts: &Facts,
        machine: &AtlasMachine,
        at_once: usize,
    ) -> Result<AtlasKernel> {
        let environment = environment_of(&facts.release, machine);
        let (planned, boots) = (&self.planned, self.args.boots);
        let mut counted = count_boots(self.interrupt, &environment, planned, 0..boots, at_once)?;
        ensure!(!counted.is_empty(), "no boot was requested");
        let cells = cells(planned, &counted);
        let first = counted.swap_remove(0);
        Ok(AtlasKernel {
            schema: ATLAS_KERNEL.to_string(),
            release: facts.release.clone(),
            machine: machine.clone(),
            package: facts.package.clone(),
            version: facts.version.clone(),
            suite: facts.suite.clone(),
            image: facts.sha256.clone(),
            emulator: first.emulator,
            probe: first.probe,
            probe_digest: first.probe_digest,
            boots,
            cells,
        })
    }

    fn report(&self, out: &mut dyn Write) -> Result<Exit> {
        let complete = self.kernels.iter();
        let complete = complete.filter(|(.., path)| self.is_complete(path));
        writeln!(
            out,
            "{}: {} of {} counted",
            self.args.directory.display(),
            complete.count(),
            counted(self.kernels.len(), "kernel")
        )?;
        let missing = self.missing.lock().unwrap_or_else(PoisonError::into_inner);
        for line in missing.iter() {
            writeln!(out, "missing: {}", model::clean::excerpt(line, 1000))?;
        }
        if self.interrupt.is_set() {
            note("interrupted: run the same command again to continue");
            return Ok(Exit::Interrupted);
        }
        Ok(if missing.is_empty() {
            Exit::Success
        } else {
            Exit::SomeFailed
        })
    }
}

/// The counts of operations in a kernel in boots of these numbers, `at_once` of which run at a time.
pub fn count_boots(
    interrupt: &Interrupt,
    environment: &str,
    planned: &[Planned],
    numbers: Range<u32>,
    at_once: usize,
) -> Result<Vec<CountedBoot>> {
    let planned: Vec<Planned> = planned
        .iter()
        .map(|planned| planned.in_environment(environment))
        .collect();
    let count = |number| {
        let session = session(interrupt)?;
        Ok(session.count_boot(environment, &planned, number)?)
    };
    // If its threads run at the same time, the emulator may skip too far ahead when the guest goes idle (METHOD.md).
    let counted = in_parallel(at_once, numbers, |number| on_one_cpu(|| count(number)));
    counted.into_iter().collect()
}

const EFFORT: Effort = Effort {
    steps: 6,
    functions: 5,
    jobs: 1,
};

struct Pair<'a> {
    kernels: [&'a AtlasKernel; 2],
    steps: Vec<AtlasStep>,
    path: PathBuf,
}

impl Pair<'_> {
    fn name(&self) -> String {
        self.kernels
            .map(|kernel| kernel.release.as_str())
            .join("..")
    }

    fn fetch(&self, source: &Source) -> Result<()> {
        // Images are needed only to explain steps, not to list them.
        if self.steps.iter().any(is_explained) {
            for kernel in self.kernels {
                source.get(&kernel.release)?;
            }
        }
        Ok(())
    }

    fn explained(&self, interrupt: &Interrupt) -> Result<AtlasSteps> {
        // A directory may have operations that this build does not count.
        let all = planned(&session(interrupt)?, &[])?;
        let [before, after] = self.kernels;
        let environments = self
            .kernels
            .map(|kernel| environment_of(&kernel.release, &kernel.machine));
        let sides = [&*environments[0], &*environments[1]];
        Ok(AtlasSteps {
            schema: ATLAS_STEPS.to_string(),
            machine: after.machine.clone(),
            before: before.release.clone(),
            after: after.release.clone(),
            steps: explained(interrupt, sides, self.steps.clone(), &all, EFFORT)?,
        })
    }

    fn is_complete(&self) -> bool {
        fn counts(step: &AtlasStep) -> (&str, f64, f64) {
            (&step.operation, step.before, step.after)
        }

        store::atlas::read_steps(&self.path).is_ok_and(|written| {
            // Explained steps are kept as long as the counts that they were made of are the same.
            let written = written.steps.iter().map(counts);
            written.eq(self.steps.iter().map(counts))
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
