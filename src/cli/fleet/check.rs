//! `syscost fleet check`: which nodes are missing in a directory of gathered files, and whose runs cannot stand beside the
//! others.

use super::super::directory::{Listing, list, shown};
use super::super::error::usage;
use super::super::exit::Exit;
use super::super::{directory, result_files, terminal};
use super::script::node_file;
use crate::fleet::{FleetCheck, NodeRun, NodeStatus, Skipped, check};
use crate::report::{Format, fleet_table, write_answer};
use anyhow::{Context, Result};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

/// Say which nodes are missing or incomplete, whose run was disturbed, and who has another version or another plan.
///
/// Reads the result files of a directory and what 'syscost fleet script' makes each node leave beside them. The newest run of
/// each node counts, unless the node began again after it.
#[derive(clap::Args)]
#[command(after_help = STATUS)]
pub struct CheckArgs {
    /// The directory of result files.
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// The nodes that must be there: a list a line, with ranges as n[1-3,7] [default: all nodes found in DIR].
    #[arg(long, value_name = "FILE")]
    expect: Option<PathBuf>,
    /// Leave out what began before this: YYYY-MM-DD, YYYY-MM-DDTHH:MM:SSZ, or seconds since 1970.
    #[arg(long, value_name = "TIME", value_parser = unix_s)]
    since: Option<u64>,
    /// Output format.
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

/// The most bytes that are read of what a node wrote on standard error.
const LONGEST: u64 = 4096;

const STATUS: &str = "\
Exit status:
  0  every expected node has a complete run, all of the same version and plan
  1  nodes are missing, failed or incomplete, or have another version or plan
  2  usage error: the directory or the list of nodes cannot be read
  3  files were skipped: unreadable, half-written, or no result files; regardless of the nodes
A run that was disturbed is named and does not change the status.";

/// Checks the directory. Errors: a usage error if the directory or the list of nodes cannot be read.
pub fn run(args: &CheckArgs, out: &mut dyn Write) -> Result<Exit> {
    let expected = usage(args.expect.as_deref().map(node_file).transpose().context("--expect"))?;
    let mut gathered = Gathered::read(&args.directory)?;
    let since = args.since.unwrap_or(0);
    gathered.runs.retain(|run| run.started_unix_s >= since);
    gathered.statuses.retain(|status| status.began_unix_s >= since);
    let found = check(expected.as_ref(), gathered.runs, gathered.statuses, gathered.skipped);
    let mut skipped = directory::Skipped::default();
    found.skipped.iter().for_each(|Skipped { file, reason }| skipped.add(file, reason));
    skipped.told();
    write_answer(&found, || fleet_table(&found), (args.format, terminal::screen()), out)?;
    Ok(exit(&found))
}

fn exit(found: &FleetCheck) -> Exit {
    match (found.skipped.is_empty(), found.is_sound()) {
        (false, _) => Exit::SomeFailed,
        (true, false) => Exit::NodesMissing,
        (true, true) => Exit::Success,
    }
}

fn unix_s(text: &str) -> Result<u64, String> {
    let date = || humantime::parse_rfc3339(&format!("{text}T00:00:00Z"));
    let since = |time: std::time::SystemTime| time.duration_since(std::time::UNIX_EPOCH).ok();
    let second = || Some(since(humantime::parse_rfc3339(text).or_else(|_| date()).ok()?)?.as_secs());
    text.parse().ok().or_else(second).ok_or_else(|| format!("'{text}' is not a time such as 2026-03-01"))
}

#[derive(Default)]
struct Gathered {
    runs: Vec<NodeRun>,
    statuses: Vec<NodeStatus>,
    skipped: Vec<Skipped>,
}

impl Gathered {
    fn read(directory: &Path) -> Result<Gathered> {
        let mut gathered = Gathered::default();
        let listing = list(directory, &["json"]).with_context(|| shown(directory));
        let files = gathered.files(usage(listing)?);
        let read = result_files::read_all(&files, |index, run| NodeRun::new(name(&files[index]), &run));
        for (file, found) in files.iter().zip(read) {
            match found {
                Ok(run) => gathered.runs.push(run),
                Err(error) => gathered.skip(file, &error.reason()),
            }
        }
        gathered.read_statuses(&directory.join("nodes"));
        Ok(gathered)
    }

    /// There are none where a launcher was not one of ours.
    fn read_statuses(&mut self, directory: &Path) {
        let listing = match list(directory, &["status"]) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(error) => return self.skip(directory, &format!("cannot be read ({error})")),
            Ok(listing) => listing,
        };
        for file in self.files(listing) {
            match status(&file) {
                Ok(Some(status)) => self.statuses.push(status),
                Ok(None) => self.skip(&file, "is not the status of a node"),
                Err(error) => self.skip(&file, &format!("cannot be read ({error})")),
            }
        }
    }

    fn files(&mut self, listing: Listing) -> Vec<PathBuf> {
        listing.others.iter().for_each(|(path, reason)| self.skip(path, reason));
        listing.files
    }

    fn skip(&mut self, file: &Path, reason: &str) {
        self.skipped.push(Skipped { file: name(file), reason: reason.to_string() });
    }
}

fn name(file: &Path) -> String {
    file.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// The status in `file`, with what the node said; `None` if it is none.
fn status(file: &Path) -> io::Result<Option<NodeStatus>> {
    let text = end_of(file)?;
    let stderr = match end_of(&file.with_extension("stderr")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        stderr => stderr?,
    };
    let node = file.file_stem().unwrap_or_default().to_string_lossy();
    Ok(NodeStatus::parse(&node, &text, &stderr))
}

/// The last few KiB of a file, which may be long.
fn end_of(file: &Path) -> io::Result<String> {
    let mut file = File::open(file)?;
    let from = file.metadata()?.len().saturating_sub(LONGEST);
    file.seek(SeekFrom::Start(from))?;
    let mut bytes = Vec::new();
    file.take(LONGEST).read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
