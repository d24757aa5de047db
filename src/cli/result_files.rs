//! Result files given side by side: reading them, what they are called, and which of them is the baseline. For `compare`,
//! `report` and `rows`.

use crate::clean;
use crate::compare::{Column, ColumnInfo, StudyCases};
use crate::model::Run;
use crate::store::{self, StoreError};
use anyhow::{Context, Result, bail};
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

/// Characters of a host's or a file's name that a label keeps.
const LONGEST: usize = 24;

/// Whether files and labels go together; asked before anything is read.
///
/// # Errors
/// Which do not.
pub fn check(files: &[PathBuf], labels: &[String]) -> Result<()> {
    if files.len() < 2 {
        bail!("compare needs two files or more: name another one, or use 'syscost show' for one");
    }
    check_labels(files, labels)
}

/// The same where one file is enough.
///
/// # Errors
/// Which labels do not fit.
pub fn check_labels(files: &[PathBuf], labels: &[String]) -> Result<()> {
    if files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        bail!("standard input ('-') can be read once only: write the other runs to files");
    }
    if labels.len() > files.len() {
        bail!("--label: {} labels for {} files: give one for each file at most", labels.len(), files.len());
    }
    if let Some(empty) = labels.iter().position(|label| label.trim().is_empty()) {
        bail!("--label: label {} is empty: give a name", empty + 1);
    }
    let mut seen = HashSet::new();
    match labels.iter().find(|label| !seen.insert(*label)) {
        Some(twice) => bail!("--label: '{twice}' is given twice: columns need different names"),
        None => Ok(()),
    }
}

/// The files in their order, each condensed from the run of its index, and labelled in what `info` gives.
///
/// # Errors
/// The first file that cannot be read.
pub fn read<T: Send>(
    files: &[PathBuf],
    asked: &[String],
    condense: impl Fn(usize, Run) -> T + Sync,
    info: impl Fn(&mut T) -> &mut ColumnInfo,
) -> Result<Vec<T>> {
    let read = read_all(files, condense).into_iter().collect::<Result<Vec<T>, StoreError>>()?;
    Ok(labelled(files, asked, read, info))
}

/// What was read of `files`, labelled in what `info` gives.
pub fn labelled<T>(
    files: &[PathBuf],
    asked: &[String],
    mut read: Vec<T>,
    info: impl Fn(&mut T) -> &mut ColumnInfo,
) -> Vec<T> {
    let hosts: Vec<Option<String>> = read.iter_mut().map(|one| info(one).host.name.clone()).collect();
    for (one, label) in read.iter_mut().zip(labels(files, asked, &hosts)) {
        info(one).label = label;
    }
    read
}

/// What comparing needs of `run`, which is made one of `study`.
pub fn column(study: Option<&StudyCases>, mut run: Run) -> Column {
    study.iter().for_each(|study| study.apply(&mut run));
    Column::new("", &run)
}

/// Each file condensed, or why it cannot be read; in the order of `files`. On as many threads as there are processors; a
/// run is condensed as soon as it was read, so that only the samples of those at work are in memory.
pub fn read_all<T: Send>(files: &[PathBuf], condense: impl Fn(usize, Run) -> T + Sync) -> Vec<Result<T, StoreError>> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(files.len()));
    let work = || {
        while let Some((index, file)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|i| Some((i, files.get(i)?)))
        {
            let condensed = store::read(file).map(|run| condense(index, run));
            // A poisoned lock means that another thread panicked: the scope passes that on.
            found.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push((index, condensed));
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
    found.into_iter().map(|(_, condensed)| condensed).collect()
}

/// What `work` makes of each of `count`, handed to `take` in their order; on as many threads as there are processors. A thread
/// waits until its result is taken, so that there is one for each thread in memory.
///
/// # Errors
/// The first of `take`, which ends it.
pub fn in_order<T: Send>(
    count: usize,
    work: impl Fn(usize) -> T + Sync,
    mut take: impl FnMut(T) -> Result<()>,
) -> Result<()> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(count.max(1));
    let work = &work;
    std::thread::scope(|scope| {
        let start = |first: usize| {
            let (sender, receiver) = sync_channel(0);
            scope.spawn(move || (first..count).step_by(threads).try_for_each(|index| sender.send(work(index))));
            receiver
        };
        let receivers: Vec<Receiver<T>> = (0..threads).map(start).collect();
        // A thread that panicked sends nothing: the scope passes that on.
        (0..count).try_for_each(|index| receivers[index % threads].recv().map_or(Ok(()), &mut take))
    })
}

/// Whether it is standard input.
pub fn is_input(file: &Path) -> bool {
    file == Path::new("-")
}

/// The files that `inputs` name, with those of directories in their place.
///
/// # Errors
/// If a directory cannot be read or has no such file, or standard input is named twice.
pub fn expanded(inputs: &[PathBuf]) -> Result<Vec<PathBuf>> {
    expanded_to(inputs, &["json"])
}

/// The same with files of directories that end with one of `endings`.
///
/// # Errors
/// As [`expanded`].
pub fn expanded_to(inputs: &[PathBuf], endings: &[&str]) -> Result<Vec<PathBuf>> {
    if inputs.iter().filter(|file| is_input(file)).count() > 1 {
        bail!("standard input ('-') can be read once only: write the other runs to files");
    }
    let files = |input: &PathBuf| if input.is_dir() { ending_with(input, endings) } else { Ok(vec![input.clone()]) };
    Ok(inputs.iter().map(files).collect::<Result<Vec<_>>>()?.concat())
}

/// The files of `directory` that may be results, by name: `*.json`, without hidden ones.
///
/// # Errors
/// If it cannot be read or has none.
pub fn in_directory(directory: &Path) -> Result<Vec<PathBuf>> {
    ending_with(directory, &["json"])
}

fn ending_with(directory: &Path, endings: &[&str]) -> Result<Vec<PathBuf>> {
    let shown = clean::line(&directory.to_string_lossy());
    let why = || format!("{shown}: cannot be read; name a directory of result files");
    let entries = std::fs::read_dir(directory).with_context(why)?;
    let paths = entries.map(|entry| Ok(entry.with_context(why)?.path())).collect::<Result<Vec<PathBuf>>>()?;
    let is_result = |path: &PathBuf| {
        path.extension().is_some_and(|end| endings.iter().any(|ending| end == *ending)) && path.is_file()
    };
    let hidden = |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let mut files: Vec<PathBuf> = paths.into_iter().filter(|path| is_result(path) && !hidden(path)).collect();
    files.sort();
    match files.is_empty() {
        true => bail!("{shown}: there is no file called *.json in it; write runs there with 'syscost run --out'"),
        false => Ok(files),
    }
}

/// A label for each file: the one that was asked for, else its host's name, else the file's; where two would be the same,
/// the files' names, and a number where these are the same too.
pub fn labels(files: &[PathBuf], asked: &[String], hosts: &[Option<String>]) -> Vec<String> {
    let stem = |file: &PathBuf| match file == Path::new("-") {
        true => "stdin".to_string(),
        false => file.file_stem().map_or("?".into(), |stem| stem.to_string_lossy().into_owned()),
    };
    let host = |i: usize| hosts[i].clone().filter(|name| !name.trim().is_empty());
    let by_host =
        |i: usize| host(i).filter(|name| (0..files.len()).filter(|j| host(*j).as_ref() == Some(name)).count() == 1);
    let mut labels: Vec<String> = asked.to_vec();
    for (i, file) in files.iter().enumerate().skip(asked.len()) {
        let wanted = shortened(&by_host(i).unwrap_or_else(|| stem(file)));
        let numbered = (2..).map(|number| format!("{wanted} #{number}"));
        let free = std::iter::once(wanted.clone()).chain(numbered).find(|label| !labels.contains(label));
        labels.push(free.unwrap_or(wanted));
    }
    labels
}

/// Names come from files: made printable and short.
pub fn shortened(name: &str) -> String {
    let clean: String = clean::line(name);
    match clean.chars().count() > LONGEST {
        true => clean.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => clean,
    }
}

/// The index of the file that `wanted` names: by its label, else by its path.
///
/// # Errors
/// When it is neither.
pub fn baseline<'a>(
    wanted: Option<&str>,
    files: &[PathBuf],
    labels: impl Iterator<Item = &'a str> + Clone,
) -> Result<usize> {
    let Some(wanted) = wanted else { return Ok(0) };
    let by_label = labels.clone().position(|label| label == wanted);
    match by_label.or_else(|| by_path(wanted, files)) {
        Some(index) => Ok(index),
        None => {
            let labels = labels.collect::<Vec<_>>().join(", ");
            bail!("--baseline: '{wanted}' is none of the files, which are called {labels}")
        }
    }
}

/// The index of the file at `path`.
pub fn by_path(path: &str, files: &[PathBuf]) -> Option<usize> {
    files.iter().position(|file| file == Path::new(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[&str], asked: &[&str], hosts: &[Option<&str>]) -> Vec<String> {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
        let hosts: Vec<Option<String>> = hosts.iter().map(|host| host.map(str::to_string)).collect();
        labels(&files, &asked, &hosts)
    }

    #[test]
    fn labels_differ_and_are_short() {
        assert_eq!(of(&["a/x.json", "b/y.json"], &[], &[Some("vm"), Some("db")]), ["vm", "db"]);
        assert_eq!(
            of(&["a/x.json", "b/y.json", "c/z.json"], &[], &[Some("vm"), Some("vm"), Some("db")]),
            ["x", "y", "db"]
        );
        assert_eq!(of(&["a/x.json", "b/x.json"], &["new"], &[None, None]), ["new", "x"]);
        assert_eq!(of(&["a/x.json", "b/x.json", "-"], &[], &[None, None, None]), ["x", "x #2", "stdin"]);
        let long = of(&["a", "b"], &[], &[Some(&"h".repeat(99)), Some("e\u{1b}[31m")]);
        assert_eq!((long[0].chars().count(), long[1].as_str()), (24, "e\u{fffd}[31m"));
    }
}
