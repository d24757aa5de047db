//! `syscost attribute`: a profile and unit costs to seconds explained, here and elsewhere.

use super::error::usage;
use super::exit::Exit;
use super::terminal;
use crate::attribute::attribute;
use crate::attribute::costs::{Costs, NoCosts};
use crate::model::{By, Run};
use crate::report::{Format, Top, write_attribution};
use crate::store::{self, Stored};
use anyhow::{Result, anyhow};
use clap::ValueEnum;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How many seconds of a traced workload its system calls explain, here and with the unit costs of another run.
///
/// The profile's own times say where the time went; unit costs divide them into bare crossings of the boundary, work, page
/// faults and the rest. With --versus: what would change with the unit costs of another machine, kernel, environment or
/// article, bare crossings and work each by its own ratio. A profile without times is priced by its counts. Ranges: half or
/// twice the work is a normal error for each call, independent between calls.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct AttributeArgs {
    /// A profile of `syscost trace -o` or `syscost import`, or one written by hand; - for standard input.
    profile: PathBuf,
    /// Unit costs of the machine that the profile is from: a result file of `syscost run --out`.
    #[arg(long, value_name = "FILE[@ENV]")]
    costs: Option<String>,
    /// Unit costs to compare with: a result file of another machine or of an article; may be given several times.
    #[arg(long, value_name = "FILE[@ENV]", num_args = 1..)]
    versus: Vec<String>,
    /// The rows.
    #[arg(long, value_enum, default_value = "call")]
    by: Rows,
    /// Output format.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
    /// Maximum number of rows per table in text and Markdown. [default: 20 calls, 5 changes]
    #[arg(long, value_name = "N")]
    top: Option<usize>,
}

/// What rows are told apart by.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Rows {
    /// One row a system call.
    Call,
    /// One row a system call and class: size, kind of descriptor, depth of path.
    Class,
}

const EXAMPLES: &str = "\
Examples:
  syscost attribute profile.json --costs here.json
  syscost attribute profile.json --costs here.json --by class --versus there.json
  syscost attribute profile.json --costs both.json@native --versus both.json@gvisor
  syscost attribute studies/mercurial.profile.json --costs published/linux-2.6.32.json \\
      --versus published/macosx-10.7.json

FILE@ENV takes the unit costs of one environment of a run (native without it).
Unit costs: syscost run --all --out here.json, or the operations that the warning without --costs names.";

pub fn run(args: &AttributeArgs, out: &mut dyn Write) -> Result<Exit> {
    let profile = store::profile::read(&args.profile)?;
    let own = args.costs.as_deref().map(|name| costs("--costs", name)).transpose()?;
    let versus = args.versus.iter().map(|name| costs("--versus", name)).collect::<Result<Vec<Costs>>>()?;
    if own.is_none() && !versus.is_empty() {
        let advice = "a ratio needs both sides: say --costs with a run of the machine that the profile is from";
        return usage(Err(anyhow!("--versus without --costs: {advice}")));
    }
    let by = match args.by {
        Rows::Call => By::Call,
        Rows::Class => By::Class,
    };
    let found = attribute(&profile, own.as_ref(), &versus, by);
    let top = Top { calls: args.top.unwrap_or(20), changes: args.top.unwrap_or(5) };
    write_attribution((&profile, &found), (by, top), (args.format, terminal::screen()), out)?;
    Ok(Exit::Success)
}

/// The unit costs of a file, or of one environment of it.
fn costs(flag: &str, name: &str) -> Result<Costs> {
    let (path, environment) = split(name);
    let run = result_file(flag, path)?;
    usage(Costs::of(&run, environment).map_err(|why| anyhow!("{flag} {}: {}", path.display(), no_costs(&why))))
}

fn no_costs(why: &NoCosts) -> String {
    match why {
        NoCosts::Empty => {
            "it has no records: measure operations first, with 'syscost run --all --out FILE'".to_string()
        }
        NoCosts::NoEnvironment { wanted, present } => {
            format!("it has no environment '{wanted}', only {}: name one of these after the @", present.join(", "))
        }
        NoCosts::Ambiguous { present } => {
            format!("it has the environments {}: choose one as FILE@ENVIRONMENT", present.join(", "))
        }
    }
}

/// `FILE@ENV`, unless a file of the whole name exists.
fn split(name: &str) -> (&Path, Option<&str>) {
    match name.rsplit_once('@') {
        Some((path, environment)) if !Path::new(name).exists() => (Path::new(path), Some(environment)),
        _ => (Path::new(name), None),
    }
}

/// A result file; a profile given in its place is told apart, as the two are easily swapped.
fn result_file(flag: &str, path: &Path) -> Result<Run> {
    match store::read_any(path)? {
        Stored::Run(run) => Ok(*run),
        Stored::Profile(_) => {
            let advice = "it takes a result file of 'syscost run --out'; the profile stands alone, without a flag";
            usage(Err(anyhow!("{flag} {}: is a profile, which has no unit costs: {advice}", path.display())))
        }
    }
}
