//! What the page shows of each result file.

use super::{Kind, ReportArgs};
use crate::cli::compare::{files::read_all, labels};
use crate::compare::Selection;
use crate::model::{Role, Run};
use crate::report::html::MOST_DETAILED;
use crate::report::portrait::Portrait;
use crate::store::StoreError;
use anyhow::Result;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// The files in their order, with their labels.
///
/// # Errors
/// The first file that cannot be read.
pub fn portraits(args: &ReportArgs, selection: &Selection) -> Result<Vec<Portrait>> {
    let read = read_all(&args.files, |index, run| portrait(run, selection, detail(args, index)));
    let mut portraits = read.into_iter().collect::<Result<Vec<Portrait>, StoreError>>()?;
    labels::give(&args.files, &args.labels, portraits.iter_mut().map(|portrait| &mut portrait.column));
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
        Some(wanted) => labels::find(wanted, &args.files, &args.labels).is_none_or(|baseline| index == baseline),
    };
    match args.format {
        _ if is_baseline => Wanted::Always,
        Kind::Html if args.files.len() <= MOST_DETAILED => Wanted::OfFewRecords,
        Kind::Html | Kind::Svg => Wanted::Never,
    }
}

/// Whether both names are one existing file, be it by a link.
pub fn is_same(a: &PathBuf, b: &PathBuf) -> bool {
    let facts = |path: &PathBuf| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    facts(a).zip(facts(b)).is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()))
}
