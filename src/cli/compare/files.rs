//! Reading many result files, on as many threads as there are processors, for `compare` and `report`. Each run is condensed
//! as soon as it was read, so that only the samples of those at work are in memory.

use crate::compare::{Column, Selection};
use crate::model::Run;
use crate::store::{self, StoreError};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What `condense` makes of each file, given its index, or why it cannot be read; in the order of `files`.
pub fn read_all<T: Send + Sync>(
    files: &[PathBuf],
    condense: impl Fn(usize, Run) -> T + Sync,
) -> Vec<Result<T, StoreError>> {
    let next = AtomicUsize::new(0);
    let made: Vec<OnceLock<_>> = files.iter().map(|_| OnceLock::new()).collect();
    let work = || {
        let take = || files.iter().zip(&made).enumerate().nth(next.fetch_add(1, Ordering::Relaxed));
        while let Some((index, (file, made))) = take() {
            made.get_or_init(|| store::read(file).map(|run| condense(index, run)));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    made.into_iter().filter_map(OnceLock::into_inner).collect()
}

/// What comparing needs of a run, under the names of the study's cases.
pub fn column(mut run: Run, selection: &Selection) -> Column {
    if let Some(study) = &selection.study {
        study.apply(&mut run);
    }
    Column::new("", &run)
}
