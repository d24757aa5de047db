//! `syscost attribute`: turns a profile and unit costs into seconds explained, here and elsewhere.

use super::error::usage;
use super::exit::Exit;
use super::{result_files, terminal};
use crate::attribute::attribute;
use crate::attribute::costs::{Costs, NoCosts};
use crate::model::{By, Profile, Run};
use crate::report::{
    AttributionDocument, Format, ProfileDocument, Top, attribution_document, profile_table, write_answer,
};
use crate::store::{self, Stored};
use anyhow::{Result, anyhow};
use clap::ValueEnum;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How many seconds of a profile its calls explain, here and with other unit costs.
///
/// A profile says how often each call was made and how long it took. Unit costs, measured by `syscost run`, split that time
/// into bare user-kernel crossings, work inside the kernel, page faults and the rest. All times are in seconds; CPU time of
/// several threads adds up, so it can exceed wall time. A profile without times is priced as calls x unit cost.
///
/// --versus predicts the change with the unit costs of another machine, kernel, environment or article. Crossings and work
/// each change by their own ratio: a machine where a crossing takes 300 ns instead of 100 ns adds 0.2 s to a million calls.
///
/// Ranges are meant to hold 95% of cases; on workloads that they were not tuned to they held 89% (METHOD.md). A call in a
/// program may cost half or twice what its operation costs alone, independently of other calls, so totals have narrower ranges
/// than their parts.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct AttributeArgs {
    /// A profile from `syscost trace -o`, one written by hand, or what strace printed; - for standard input.
    profile: PathBuf,
    /// Unit costs of the machine that the profile is from: a result file from `syscost run --out`.
    #[arg(long, value_name = "FILE[@ENV]")]
    costs: Option<String>,
    /// What to compare with, one or more: the result file of another machine, kernel or article.
    #[arg(long, value_name = "FILE[@ENV]", num_args = 1..)]
    versus: Vec<String>,
    /// What each row of the first table is.
    #[arg(long, value_enum, default_value = "call")]
    by: Rows,
    /// Output format.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Maximum number of rows per table in text and Markdown. [default: 20 calls, 5 changes]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Rows {
    /// A system call.
    Call,
    /// A system call with the size, kind of descriptor or path depth of its arguments.
    Class,
}

const EXAMPLES: &str = "\
Examples:
  syscost attribute profile.json --costs here.json
  syscost attribute profile.json --costs here.json --by class --versus there.json
  syscost attribute profile.json --costs both.json@native --versus both.json@gvisor
  syscost attribute studies/mercurial.profile.json --costs published/linux-2.6.32.json \\
      --versus published/macosx-10.7.json

A profile that 'syscost why -o' wrote brings its unit costs: --costs may be left out. FILE@ENV takes the unit costs of one environment of a run (default: native).
To get unit costs: syscost run --profile profile.json --out here.json";

pub fn run(args: &AttributeArgs, out: &mut dyn Write) -> Result<Exit> {
    let profile = store::read_profile(&args.profile)?;
    if profile.samples().is_some() {
        if args.costs.is_some() {
            result_files::counted_profile(&args.profile)?;
        }
        let table = || profile_table(&profile, By::Call);
        write_answer(&ProfileDocument::new(&profile), table, (args.format, terminal::screen()), out)?;
        return Ok(Exit::Success);
    }
    let by = match args.by {
        Rows::Call => By::Call,
        Rows::Class => By::Class,
    };
    let own = own_costs(args.costs.as_deref(), &profile)?;
    if own.is_none() && !args.versus.is_empty() {
        let advice = "a ratio needs both sides: pass --costs with a run from the machine that the profile is from";
        return usage(Err(anyhow!("--versus without --costs: {advice}")));
    }
    let versus = args.versus.iter().map(|name| costs("--versus", name)).collect::<Result<Vec<_>>>()?;
    let found = attribute(&profile, own.as_ref(), &versus, by);
    let top = Top { calls: args.top.unwrap_or(20), changes: args.top.unwrap_or(5) };
    let json = AttributionDocument { command: &profile.command, found: &found };
    let document = || attribution_document((&profile, &found), by, top);
    write_answer(&json, document, (args.format, terminal::screen()), out)?;
    Ok(Exit::Success)
}

/// The unit costs of `--costs`; without, those that the profile brings.
pub fn own_costs(name: Option<&str>, profile: &Profile) -> Result<Option<Costs>> {
    match (name, &profile.unit_costs) {
        (Some(name), _) => costs("--costs", name).map(Some),
        (None, Some(run)) => Ok(Costs::from_run(run, Some("native")).ok()),
        (None, None) => Ok(None),
    }
}

/// The unit costs of a file, or of one environment of it: `FILE` or `FILE@ENV`. Errors: if the file cannot be read or has none.
pub fn costs(flag: &str, name: &str) -> Result<Costs> {
    let (path, environment) = split(name);
    let run = result_file(flag, path)?;
    usage(Costs::from_run(&run, environment).map_err(|why| anyhow!("{flag} {}: {}", path.display(), no_costs(&why))))
}

/// What to do where a run has no unit costs.
fn no_costs(why: &NoCosts) -> String {
    let present = why.present.join(", ");
    let counted = |name: &String| why.counted.contains(name);
    match &why.wanted {
        _ if why.wanted.as_ref().is_some_and(counted) || (present.is_empty() && !why.counted.is_empty()) => format!(
            "its figures in {} are numbers of instructions, which price no seconds: measure times, with 'syscost run --all \
             --out FILE'",
            why.wanted.clone().filter(counted).unwrap_or(why.counted.join(", "))
        ),
        _ if present.is_empty() => {
            "it has no records: measure operations first, with 'syscost run --all --out FILE'".to_string()
        }
        Some(wanted) => format!("it has no environment '{wanted}', only {present}: name one of these after the @"),
        None => format!("it has the environments {present}: choose one as FILE@ENVIRONMENT"),
    }
}

/// `FILE@ENV`, unless a file of the whole name exists.
fn split(name: &str) -> (&Path, Option<&str>) {
    match name.rsplit_once('@') {
        Some((path, environment)) if !Path::new(name).exists() => (Path::new(path), Some(environment)),
        _ => (Path::new(name), None),
    }
}

/// A result file, or the unit costs in a profile. Another profile in its place gets an error of its own, because the two are easily swapped.
fn result_file(flag: &str, path: &Path) -> Result<Run> {
    match store::read_any(path)? {
        Stored::Run(run) => Ok(*run),
        Stored::Profile(profile) if profile.unit_costs.is_some() => {
            Ok(profile.unit_costs.map(|run| *run).unwrap_or_default())
        }
        Stored::Profile(_) => {
            let advice = "it takes a result file from 'syscost run --out'; the profile is given without a flag";
            usage(Err(anyhow!("{flag} {}: is a profile, which has no unit costs: {advice}", path.display())))
        }
        Stored::Kernel(_) | Stored::Versus(_) => {
            let advice = "it takes a result file from 'syscost run --out'";
            usage(Err(anyhow!("{flag} {}: is a kernel explanation, which has no unit costs: {advice}", path.display())))
        }
    }
}
