//! Reading result files for a page; of each only what is shown is kept.

use super::{Kind, ReportArgs};
use crate::cli::compare::{files::condensed, labels};
use crate::compare::Selection;
use crate::model::{Role, Run};
use crate::report::html::MOST_DETAILED;
use crate::report::portrait::Portrait;
use crate::store::StoreError;
use anyhow::Result;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// The files in their order, with their labels.
///
/// # Errors
/// The first file that cannot be read.
pub fn portraits(args: &ReportArgs, selection: &Selection) -> Result<Vec<Portrait>> {
    let portraits = condensed(&args.files, |index, run| portrait(run, selection, detail(args, index)));
    let mut portraits = portraits.into_iter().collect::<Result<Vec<Portrait>, StoreError>>()?;
    let hosts: Vec<Option<String>> = portraits.iter().map(|p| p.column.info.host.name.clone()).collect();
    for (portrait, label) in portraits.iter_mut().zip(labels::labels(&args.files, &args.labels, &hosts)) {
        portrait.column.info.label = label;
    }
    Ok(portraits)
}

fn portrait(mut run: Run, selection: &Selection, detail: Wanted) -> Portrait {
    run.records.retain(|record| record.role == Role::Baseline || selection.takes(&record.case));
    let with_detail = match detail {
        Wanted::Always => true,
        Wanted::OfFewRecords => run.records.len() <= MOST_RECORDS,
        Wanted::Never => false,
    };
    Portrait::new("", &run, with_detail)
}

/// Whether more than the costs of a file is shown.
enum Wanted {
    Always,
    OfFewRecords,
    Never,
}

/// Records of a file beside the baseline that are shown in detail: a page of more would be too large for a browser.
const MOST_RECORDS: usize = 2000;

/// Of many files only the baseline is shown in detail. It is known by its file before anything is read; asked for by the
/// label that its host gives it, it must be looked for in all.
fn detail(args: &ReportArgs, index: usize) -> Wanted {
    let is_baseline = match &args.baseline {
        None => index == 0,
        Some(wanted) => match args.labels.iter().position(|label| label == wanted).or_else(|| by_file(args, wanted)) {
            Some(baseline) => index == baseline,
            None => true,
        },
    };
    match args.format {
        _ if is_baseline => Wanted::Always,
        Kind::Html if args.files.len() <= MOST_DETAILED => Wanted::OfFewRecords,
        Kind::Html | Kind::Svg => Wanted::Never,
    }
}

fn by_file(args: &ReportArgs, wanted: &str) -> Option<usize> {
    args.files.iter().position(|file| file == Path::new(wanted))
}

/// Whether both names are one existing file, be it by a link.
pub fn is_same(a: &PathBuf, b: &PathBuf) -> bool {
    let facts = |path: &PathBuf| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    facts(a).zip(facts(b)).is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()))
}
