//! Reading many result files, on as many threads as there are processors. Each run is condensed as soon as it was read, so
//! that only the samples of those at work are in memory.

use super::labels;
use crate::compare::{Column, StudyCases};
use crate::model::Run;
use crate::store::{self, StoreError};
use anyhow::Result;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The files as columns, in their order, with their labels.
///
/// # Errors
/// The first file that cannot be read.
pub fn columns(files: &[PathBuf], asked: &[String], study: Option<&StudyCases>) -> Result<Vec<Column>> {
    let mut columns = read_all(files, study).into_iter().collect::<Result<Vec<Column>, StoreError>>()?;
    let hosts: Vec<Option<String>> = columns.iter().map(|column| column.info.host.name.clone()).collect();
    for (column, label) in columns.iter_mut().zip(labels::labels(files, asked, &hosts)) {
        column.info.label = label;
    }
    Ok(columns)
}

/// Each file as a column, or why it cannot be read; in the order of `files`.
pub fn read_all(files: &[PathBuf], study: Option<&StudyCases>) -> Vec<Result<Column, StoreError>> {
    condensed(files, |_, mut run| {
        study.iter().for_each(|study| study.apply(&mut run));
        Column::new("", &run)
    })
}

/// What `condense` makes of the run in each file, given the file's index; or why it cannot be read. In the order of `files`.
pub fn condensed<T: Send>(files: &[PathBuf], condense: impl Fn(usize, Run) -> T + Sync) -> Vec<Result<T, StoreError>> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(files.len()));
    let work = || {
        while let Some((index, file)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, files.get(i)?)))
        {
            let made = store::read(file).map(|run| condense(index, run));
            // A poisoned lock means that another thread panicked: the scope passes that on.
            found.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, made));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len().max(1));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let mut found = found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, made)| made).collect()
}
