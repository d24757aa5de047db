//! Reading result files for a page, on as many threads as there are processors; of each only what is shown is kept.

use super::{Kind, ReportArgs};
use crate::cli::compare::labels;
use crate::compare::Selection;
use crate::model::{Role, Run};
use crate::report::Portrait;
use crate::report::html::MOST_DETAILED;
use crate::store::{self, StoreError};
use anyhow::{Result, bail};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The files in their order, with their labels.
///
/// # Errors
/// The first file that cannot be read.
pub fn portraits(args: &ReportArgs, selection: &Selection) -> Result<Vec<Portrait>> {
    let mut portraits = read_all(args, selection).into_iter().collect::<Result<Vec<Portrait>, StoreError>>()?;
    let hosts: Vec<Option<String>> = portraits.iter().map(|p| p.column.info.host.name.clone()).collect();
    for (portrait, label) in portraits.iter_mut().zip(labels::labels(&args.files, &args.labels, &hosts)) {
        portrait.column.info.label = label;
    }
    Ok(portraits)
}

fn read_all(args: &ReportArgs, selection: &Selection) -> Vec<Result<Portrait, StoreError>> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(args.files.len()));
    let work = || {
        while let Some((index, file)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, args.files.get(i)?)))
        {
            let portrait = store::read(file).map(|run| portrait(run, selection, detail(args, index)));
            // A poisoned lock means that another thread panicked: the scope passes that on.
            found.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, portrait));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(args.files.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut found = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, portrait)| portrait).collect()
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

/// The index of the baseline, as `compare` finds it.
///
/// # Errors
/// When there is no such file or label.
pub fn baseline(args: &ReportArgs, portraits: &[Portrait]) -> Result<usize> {
    let Some(wanted) = args.baseline.as_deref() else { return Ok(0) };
    let by_label = portraits.iter().position(|portrait| portrait.label() == wanted);
    match by_label.or_else(|| by_file(args, wanted)) {
        Some(index) => Ok(index),
        None => {
            let labels: Vec<&str> = portraits.iter().map(Portrait::label).collect();
            bail!("--baseline: '{wanted}' is none of the files, which are called {}", labels.join(", "))
        }
    }
}

/// Whether both names are one existing file, be it by a link.
pub fn is_same(a: &PathBuf, b: &PathBuf) -> bool {
    let facts = |path: &PathBuf| std::fs::metadata(path).ok().filter(std::fs::Metadata::is_file);
    facts(a).zip(facts(b)).is_some_and(|(a, b)| (a.dev(), a.ino()) == (b.dev(), b.ino()))
}
