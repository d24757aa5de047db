//! `syscost import`: what another benchmark program printed, as a result file.

use super::Exit;
use crate::import::{KINDS, Kind};
use crate::store;
use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Make a result file of what another benchmark program printed.
///
/// Its figures become unit costs without samples: nothing can be said about their spread, and their kernel entries are
/// unverified. What is the same as an operation of ours gets its id; all else keeps its name.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// Which program's output it is.
    #[arg(value_name = "KIND", value_parser = kinds())]
    kind: String,
    /// The file that holds it; '-' is standard input.
    file: PathBuf,
    /// The result file to write [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

const EXAMPLES: &str = "\
Examples:
  lat_syscall null 2>&1 | syscost import lmbench - -o lmbench.json
  perf bench syscall basic | syscost import perf-bench - -o perf.json
  syscost import google-benchmark results.json | syscost show -";

/// Bytes of an output that are read: those of a whole suite are under 1 MB.
const MOST_BYTES: u64 = 64 << 20;

fn kinds() -> PossibleValuesParser {
    KINDS.iter().map(|kind| PossibleValue::new(kind.name).help(kind.what)).into()
}

pub fn run(args: &ImportArgs, out: &mut dyn Write) -> Result<Exit> {
    let name = name(&args.file);
    let kind = Kind::find(&args.kind).with_context(|| format!("'{}' is no kind of output", args.kind))?;
    let text = text(&args.file).with_context(|| format!("{name}: check its name, and that you may read it"))?;
    let run = kind.import(&text, &name).with_context(|| name.clone())?;
    match &args.out {
        Some(path) => store::write(&run, path)?,
        None => store::write_to(&run, out)?,
    }
    Ok(Exit::Success)
}

/// What messages and the result file call it.
fn name(path: &Path) -> String {
    match path == Path::new("-") {
        true => "standard input".to_string(),
        false => path.to_string_lossy().chars().flat_map(printable).collect(),
    }
}

fn printable(c: char) -> impl Iterator<Item = char> {
    let (escaped, plain) = if c.is_control() { (Some(c.escape_default()), None) } else { (None, Some(c)) };
    escaped.into_iter().flatten().chain(plain)
}

/// All of it. Names of machines may be in any encoding, and figures are ASCII: what is no UTF-8 is replaced.
fn text(path: &Path) -> Result<String> {
    let mut bytes = Vec::new();
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(File::open(path)?),
    };
    source.take(MOST_BYTES + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MOST_BYTES {
        bail!("is larger than {} MiB, which no benchmark's output is: check its name", MOST_BYTES >> 20);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
