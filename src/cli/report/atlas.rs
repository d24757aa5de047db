//! `syscost report DIR` of a kernel atlas: the page about kernels.

use super::super::exit::Exit;
use super::super::messages::Notes;
use super::args::{Kind, ReportArgs};
use crate::atlas::{self, Atlas};
use crate::cli::directory::is_directory;
use crate::cli::error::usage;
use crate::compare::Selection;
use crate::model::Run;
use crate::model::pattern::Pattern;
use crate::report::html::write_atlas_page;
use crate::store::installed;
use anyhow::{Result, bail};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The only directory that is named, if it is an atlas: it has compressed files, which no directory of results has.
pub fn directory(args: &ReportArgs) -> Result<Option<&Path>> {
    let [only] = &args.files[..] else { return Ok(None) };
    if installed::files(only).is_some() {
        return Ok(Some(only));
    }
    if !is_directory(only)? {
        return Ok(None);
    }
    let entries = fs::read_dir(only).into_iter().flatten().flatten();
    let has_kernels = entries.into_iter().any(|entry| entry.file_name().to_string_lossy().ends_with(".json.gz"));
    Ok(has_kernels.then_some(only.as_path()))
}

/// Writes the page. Errors: if flags do not fit, or a file of the atlas cannot be read.
pub fn run(directory: &Path, args: &ReportArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    usage(check(args))?;
    page(&atlas::read(directory)?, args, notes, out)
}

/// The atlas that these files are, if some are runs in emulated kernels. Other files are left out.
pub fn of_runs(files: &[PathBuf], only: &[Pattern]) -> Option<Atlas> {
    let mut runs: Vec<Run> = files.iter().filter_map(|file| crate::store::read(file).ok()).collect();
    let selection = Selection { only: only.to_vec(), ..Selection::default() };
    runs.iter_mut().for_each(|run| run.retain_records(|record| selection.takes(&record.case)));
    Some(atlas::of_runs(&runs)).filter(|atlas| !atlas.kernels.is_empty())
}

pub fn page(atlas: &Atlas, args: &ReportArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    let mut html = Vec::new();
    write_atlas_page(atlas, &mut html)?;
    args.deliver_page(&html, notes, out)
}

fn check(args: &ReportArgs) -> Result<()> {
    if args.format != Kind::Html || args.figure.is_some() {
        bail!("--figure and --format svg are for single files: an atlas has a page, so omit them");
    }
    if !args.labels.is_empty() || args.baseline.is_some() || !args.only.is_empty() {
        bail!(
            "--label, --baseline and --only are for result files: the page of an atlas has a search box, so omit them"
        );
    }
    if args.of_fleet.fleet || !args.of_fleet.group_by.is_empty() {
        bail!("--fleet and --group-by are for the runs of many hosts, and this is an atlas: omit them");
    }
    args.of_profile.check_for_runs()
}
