//! `syscost kernel bisect`: between which kernels the cost of operations changed; and as the test of `git bisect run`.

use crate::cli::error::usage;
use crate::cli::exit::Exit;
use crate::cli::messages::{self, Notes};
use crate::cli::run::{RunArgs, measure, positive};
use crate::cli::{complete, terminal};
use crate::compare::{KernelSteps, is_good, kernel_steps};
use crate::guest::images::newest_first;
use crate::model::pattern::Pattern;
use crate::model::{Counted, Outcome, Role, Run};
use crate::report::{Format, JsonDocument, kernel_steps_table, write_answer};
use crate::runner::{Environment, image_architecture};
use crate::store;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::collections::HashSet;
use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Find between which kernel versions the number of instructions per operation changed.
///
/// Each kernel runs in an emulated machine (see 'syscost kernel fetch'), so it does not matter which machine that is run on. Counts
/// of two boots of one kernel are within 1% of each other for most operations. With --image it judges one kernel for 'git bisect run'.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct BisectArgs {
    /// Operations as for 'syscost run'; with --image, one.
    #[arg(value_name = "PATTERN", add = complete::operations())]
    patterns: Vec<String>,
    /// Kernels to compare, each with the next.
    #[arg(long = "env", value_name = "linux-VERSION[,...]", value_delimiter = ',')]
    environments: Vec<String>,
    /// Boot the kernels with these parameters too.
    #[arg(long, value_name = "PARAMETERS", allow_hyphen_values = true, conflicts_with = "from")]
    append: Option<String>,
    /// Take the counts from this result file instead, the kernels by their release; repeatable.
    #[arg(long, value_name = "FILE", conflicts_with = "environments")]
    from: Vec<PathBuf>,
    /// Leave out smaller steps.
    #[arg(long, value_name = "PERCENT", default_value = "5", value_parser = positive)]
    threshold: f64,
    /// Write what was measured to a result file.
    #[arg(long, value_name = "FILE", conflicts_with = "from")]
    out: Option<PathBuf>,
    /// Judge this kernel image: exit status 0 if its count is nearer to --good, 1 if nearer to --bad, 125 if it cannot be counted.
    #[arg(long, value_name = "IMAGE", requires_all = ["good", "bad"], conflicts_with_all = ["environments", "from", "threshold"])]
    image: Option<PathBuf>,
    /// Instructions per operation in a good kernel: a number, or an environment to count it in.
    #[arg(long, value_name = "COUNT|ENV", requires = "image")]
    good: Option<Level>,
    /// The same of a bad one.
    #[arg(long, value_name = "COUNT|ENV", requires = "image")]
    bad: Option<Level>,
    /// Output format.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

const EXAMPLES: &str = "\
Examples:
  syscost kernel bisect file --env linux-5.10,linux-6.1,linux-6.12
  syscost kernel bisect --from before.json --from after.json
  git bisect run sh -c 'make -j8 bzImage || exit 125; syscost kernel bisect file.fstat \\
      --image arch/x86/boot/bzImage --good 1115 --bad 2731'";

/// What a kernel is held against.
#[derive(Clone, Debug, PartialEq)]
enum Level {
    Count(f64),
    Environment(String),
}

impl std::str::FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Level, String> {
        match text.parse::<f64>() {
            Ok(count) if count.is_finite() && count >= 0.0 => Ok(Level::Count(count)),
            Ok(_) => Err(format!("'{text}' is not a number of instructions")),
            Err(_) => Ok(Level::Environment(text.to_string())),
        }
    }
}

/// Compares kernels, or judges one. Errors: a usage error if nothing can be compared; else what cannot be measured or
/// read.
pub fn run(args: &BisectArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    if let (Some(image), Some(good), Some(bad)) = (&args.image, &args.good, &args.bad) {
        // Whatever goes wrong, git must not take it for a verdict.
        return Ok(judge(args, image, [good, bad], notes).unwrap_or_else(|error| {
            messages::tell(&format_args!("{error:#}"));
            Exit::NoBisection
        }));
    }
    let steps = steps(args, notes)?;
    write_answer(&steps, || kernel_steps_table(&steps), (args.format, terminal::screen()), out)?;
    Ok(Exit::Success)
}

impl JsonDocument for KernelSteps {
    const SCHEMA: &'static str = "syscost.kernel-steps/1";
}

/// Whether these words ask for a verdict, whose errors have a status of their own.
pub fn asks_for_verdict(words: impl Iterator<Item = OsString>) -> bool {
    let words: Vec<OsString> = words.collect();
    let is_image = |word: &OsString| word == "--image" || word.to_string_lossy().starts_with("--image=");
    let is_command = |word: &OsString| word == "bisect" || word == "bisect-kernels";
    words.iter().any(is_command) && words.iter().any(is_image)
}

fn steps(args: &BisectArgs, notes: Notes) -> Result<KernelSteps> {
    let (runs, environments) = match &args.from[..] {
        [] => {
            let different: HashSet<&String> = args.environments.iter().collect();
            let asked = different.len() > 1 && different.len() == args.environments.len();
            usage(asked.then_some(()).context("give two different kernels or more: --env linux-6.1,linux-6.12"))?;
            (vec![measured(args, &args.environments, notes)?], args.environments.clone())
        }
        files => {
            let runs = files.iter().map(|file| read(file, &args.patterns)).collect::<Result<Vec<Run>>>()?;
            let environments = environments(&runs);
            (runs, environments)
        }
    };
    let few = || anyhow!("fewer than two kernels were counted: measure with 'syscost run --env linux-6.1,linux-6.12'");
    usage((environments.len() > 1).then_some(()).ok_or_else(few))?;
    usage(kernel_steps(&runs, &environments, args.threshold).map_err(|why| anyhow!(why)))
}

fn measured(args: &BisectArgs, environments: &[String], notes: Notes) -> Result<Run> {
    let list = environments.join(",");
    let mut words: Vec<OsString> = ["run", "--env", &list].map(OsString::from).to_vec();
    words.extend(args.out.iter().flat_map(|path| ["--out".into(), path.clone().into_os_string()]));
    words.extend(args.append.iter().flat_map(|parameters| ["--append".into(), parameters.into()]));
    words.push("--".into());
    words.extend(args.patterns.iter().map(OsString::from));
    let measured = measure(&RunArgs::from_words(words)?, notes)?;
    measured.stored?;
    Ok(measured.run)
}

/// The run in a file, as far as `patterns` (if any) name its operations.
fn read(file: &Path, patterns: &[String]) -> Result<Run> {
    let patterns = patterns.iter().map(|text| usage(Pattern::new(text))).collect::<Result<Vec<_>>>()?;
    let mut run = store::read(file)?;
    let is_asked = |label: &str| {
        let area = label.split('.').next().unwrap_or_default();
        patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches_id(label) || pattern.text() == area)
    };
    run.retain_records(|record| is_asked(record.case.label()));
    Ok(run)
}

/// Those with counts, the oldest release first.
fn environments(runs: &[Run]) -> Vec<String> {
    let mut found: Vec<(String, String)> = Vec::new();
    for run in runs {
        for record in run.records.iter().filter(|record| matches!(record.outcome, Outcome::Counted(_))) {
            let name = &record.case.environment;
            if found.iter().all(|(_, known)| known != name) {
                let facts = run.environments.iter().find(|facts| facts.name == *name);
                let release = facts.and_then(|facts| facts.kernel.clone()).unwrap_or_else(|| name.clone());
                found.push((release, name.clone()));
            }
        }
    }
    found.sort_by(|(a, _), (b, _)| newest_first(b, a));
    found.into_iter().map(|(_, name)| name).collect()
}

/// Counts the operation in the image, and wherever else a count is not given.
fn judge(args: &BisectArgs, image: &Path, levels: [&Level; 2], notes: Notes) -> Result<Exit> {
    if let Err(error) = image_architecture(image) {
        messages::tell(&format_args!("{error:#}"));
        return Ok(Exit::NotCounted);
    }
    let own = format!("linux:{}", std::path::absolute(image)?.display());
    // What no kernel could be counted without is no reason to skip this one.
    Environment::find(&own)?.check_needs()?;
    let mut environments = vec![own.clone()];
    let others = levels.iter().filter_map(|level| match level {
        Level::Environment(name) => Some(name.clone()),
        Level::Count(_) => None,
    });
    environments.extend(others);
    environments.dedup();
    let run = measured(args, &environments, notes)?;
    if !run.complete {
        return Ok(Exit::Interrupted);
    }
    let level = |level: &Level| match level {
        Level::Count(count) => Ok(*count),
        Level::Environment(name) => count(&run, name)?.with_context(|| format!("no count in {name}")),
    };
    let (good, bad) = (level(levels[0])?, level(levels[1])?);
    let Some(found) = count(&run, &own)? else { return Ok(Exit::NotCounted) };
    let verdict = is_good(found, good, bad).context("--good and --bad are within 1% of each other")?;
    let word = if verdict { "good" } else { "bad" };
    notes.tell(&format_args!("{word}: {found:.1} instructions (good {good:.1}, bad {bad:.1})"));
    Ok(if verdict { Exit::Success } else { Exit::Bad })
}

/// Instructions of the one operation in `environment`; `None`, with a message, if it could not be counted.
fn count(run: &Run, environment: &str) -> Result<Option<f64>> {
    let of = run.records.iter().filter(|record| record.role == Role::Asked && record.case.environment == environment);
    let records: Vec<_> = of.collect();
    ensure!(records.len() < 2, "--image judges by one operation, and {} were named", records.len());
    let Some(record) = records.first() else { bail!("nothing was measured in {environment}") };
    match &record.outcome {
        Outcome::Counted(counted) => Ok(Counted::per_operation(counted)),
        Outcome::Failed(failure) => {
            messages::tell(&format_args!("{}: {}", record.case, failure.message));
            Ok(None)
        }
        _ => bail!("{environment} counts no instructions"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_a_count_or_an_environment() {
        assert_eq!("1115".parse(), Ok(Level::Count(1115.0)));
        assert_eq!("linux-6.1".parse(), Ok(Level::Environment("linux-6.1".into())));
        assert!("-1".parse::<Level>().is_err() && "nan".parse::<Level>().is_err());
    }

    #[test]
    fn a_verdict_is_asked_for_by_its_flag() {
        let asks = |words: &str| asks_for_verdict(words.split(' ').map(OsString::from));
        assert!(asks("syscost kernel bisect x --image a") && asks("syscost -q kernel bisect --image=a --nonsense"));
        assert!(!asks("syscost kernel bisect x --env a") && !asks("syscost run --image"));
    }
}
