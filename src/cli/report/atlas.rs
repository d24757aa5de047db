//! `syscost report DIR`: the page about kernels, of an atlas or of runs in emulated kernels.

use super::super::exit::Exit;
use super::super::messages::Notes;
use super::args::{Kind, ReportArgs};
use crate::atlas::{self, Atlas};
use crate::cli::directory::{Skipped, expanded, shown};
use crate::cli::error::usage;
use crate::cli::result_files::read_all;
use crate::compare::Selection;
use crate::model::Run;
use crate::model::pattern::Pattern;
use crate::report::html::write_atlas_page;
use crate::store::installed;
use anyhow::{Result, bail};
use std::fs;
use std::io::Write;
use std::path::Path;

/// Writes the page. Errors: if flags do not fit, the directory cannot be read, or nothing in it is of an emulated kernel.
pub fn run(directory: &Path, args: &ReportArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    usage(check(args))?;
    let mut skipped = Skipped::default();
    let atlas = match is_atlas(directory) {
        true => usage(check_only(args)).and_then(|()| atlas::read(directory))?,
        false => of_runs(directory, &args.only, &mut skipped)?,
    };
    let exit = skipped.told();
    if atlas.kernels.is_empty() {
        bail!(
            "{}: it has neither an atlas nor runs in emulated kernels: name the result files themselves",
            shown(directory)
        );
    }
    let mut html = Vec::new();
    write_atlas_page(&atlas, &mut html)?;
    args.deliver_page(&html, notes, out)?;
    Ok(exit)
}

/// Whether it has compressed files, which no directory of results has, or is the atlas that the program has.
fn is_atlas(directory: &Path) -> bool {
    let mut entries = fs::read_dir(directory).into_iter().flatten().flatten();
    installed::files(directory).is_some()
        || entries.any(|entry| entry.file_name().to_string_lossy().ends_with(".json.gz"))
}

/// The atlas that the result files of `directory` are. Those that cannot be read go to `skipped`.
fn of_runs(directory: &Path, only: &[String], skipped: &mut Skipped) -> Result<Atlas> {
    let only = usage(only.iter().map(|text| Pattern::new(text)).collect::<Result<Vec<Pattern>>>())?;
    let selection = Selection { only, ..Selection::default() };
    let files = expanded(&[directory.to_path_buf()], skipped)?;
    let selected = |_, mut run: Run| {
        run.retain_records(|record| selection.takes(&record.case));
        run
    };
    let mut runs = Vec::new();
    for read in read_all(&files, selected) {
        match read {
            Ok(run) => runs.push(run),
            Err(error) => skipped.add(error.file(), &error.reason()),
        }
    }
    Ok(atlas::of_runs(&runs))
}

fn check(args: &ReportArgs) -> Result<()> {
    if args.format != Kind::Html || args.figure.is_some() {
        bail!("--figure and --format svg are for single files: a directory has a page, so omit them");
    }
    if !args.labels.is_empty() || args.baseline.is_some() {
        bail!(
            "--label and --baseline are for single files: a directory has one page about all its kernels, so omit them"
        );
    }
    args.of_profile.check_for_runs()
}

fn check_only(args: &ReportArgs) -> Result<()> {
    match args.only.is_empty() {
        true => Ok(()),
        false => bail!("--only is for result files: the page of an atlas has a search box, so omit it"),
    }
}
