//! `syscost import`: output of another benchmark program or tracer, as a result file or a profile.

use super::exit::Exit;
use crate::clean;
use crate::import::{IMPORTERS, Importer};
use crate::store::{self, Document, Stored};
use anyhow::{Context, Result, bail};
use clap::builder::{PossibleValue, PossibleValuesParser};
use std::fs::File;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Convert the output of another benchmark or tracer to a result file or a profile.
///
/// Its results become unit costs without samples: their spread is unknown, and their kernel entries are unverified.
/// A result that does the same as an operation of syscost gets its id; all others keep their names.
/// A profile says what its tracer does not report.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct ImportArgs {
    /// The program that printed the output.
    #[arg(value_name = "KIND", value_parser = kinds())]
    kind: String,
    /// File with the output; '-' is standard input.
    file: PathBuf,
    /// Output file [default: standard output].
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

impl ImportArgs {
    /// Whether it writes a file, and nothing to standard output.
    pub fn has_file(&self) -> bool {
        self.out.is_some()
    }
}

const EXAMPLES: &str = "\
Examples:
  lat_syscall null 2>&1 | syscost import lmbench - -o lmbench.json
  perf bench syscall basic | syscost import perf-bench - -o perf.json
  syscost import google-benchmark results.json | syscost show -
  strace -f -T -ttt -o log.txt make; syscost import strace log.txt -o make.json
  perf trace -s -o sum.txt -- make; syscost import perf-trace sum.txt | syscost show -";

/// Most bytes of a benchmark's output; those of a whole suite are under 1 MB.
const MOST_BYTES: u64 = 64 << 20;

/// Most bytes of a trace: some ten million calls.
const MOST_TRACE_BYTES: u64 = 1 << 30;

fn kinds() -> PossibleValuesParser {
    IMPORTERS.iter().map(|kind| PossibleValue::new(kind.name).help(kind.what)).collect::<Vec<_>>().into()
}

/// Imports one file. Errors: if it cannot be read or is not what KIND prints, or the output cannot be written.
pub fn run(args: &ImportArgs, out: &mut dyn Write) -> Result<Exit> {
    let name = name(&args.file);
    let importer = Importer::find(&args.kind).with_context(|| format!("'{}' is no kind of output", args.kind))?;
    let most = if importer.is_trace() { MOST_TRACE_BYTES } else { MOST_BYTES };
    let text = text(&args.file, most).with_context(|| format!("{name}: check its name, and that you may read it"))?;
    match importer.import(&text, &name).with_context(|| name.clone())? {
        Stored::Run(run) => write(&*run, args, out)?,
        Stored::Profile(profile) => write(&*profile, args, out)?,
        Stored::Kernel(explained) => write(&*explained, args, out)?,
        Stored::Versus(versus) => write(&*versus, args, out)?,
    }
    Ok(Exit::Success)
}

fn write(document: &impl Document, args: &ImportArgs, out: &mut dyn Write) -> Result<()> {
    if let Some(path) = &args.out {
        return Ok(store::write(document, path)?);
    }
    // To memory first, since errors of `out` have their own message.
    let mut text = Vec::new();
    store::write_to(document, &mut text)?;
    Ok(out.write_all(&text)?)
}

/// The input's name in messages and in the written file.
fn name(path: &Path) -> String {
    match path == Path::new("-") {
        true => "standard input".to_string(),
        false => clean::line(&path.to_string_lossy()),
    }
}

/// All of the input. Names of machines may be in any encoding, and numbers are ASCII, so invalid UTF-8 is replaced.
fn text(path: &Path, most: u64) -> Result<String> {
    let mut bytes = Vec::new();
    let source: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(File::open(path)?),
    };
    source.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        bail!("is larger than {} MiB, more than such an output has: check its name, or take a part of it", most >> 20);
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
