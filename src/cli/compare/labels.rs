//! What the columns are called, and which of them is the baseline.

use crate::clean;
use crate::compare::Column;
use anyhow::{Result, bail};
use std::collections::HashSet;
use std::path::{Path, PathBuf};

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

/// A label for each file: the one that was asked for, else its host's name, else the file's; where two would be the same,
/// the files' names, and a number where these are the same too.
fn labels(files: &[PathBuf], asked: &[String], hosts: &[Option<String>]) -> Vec<String> {
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
fn shortened(name: &str) -> String {
    let clean: String = clean::line(name);
    match clean.chars().count() > LONGEST {
        true => clean.chars().take(LONGEST - 1).chain(['…']).collect(),
        false => clean,
    }
}

/// Gives each column its label: see [`labels`].
pub fn give<'a>(files: &[PathBuf], asked: &[String], columns: impl Iterator<Item = &'a mut Column>) {
    let columns: Vec<&mut Column> = columns.collect();
    let hosts: Vec<Option<String>> = columns.iter().map(|column| column.info.host.name.clone()).collect();
    for (column, label) in columns.into_iter().zip(labels(files, asked, &hosts)) {
        column.info.label = label;
    }
}

/// The index of the file that `wanted` names: by its label, else by its path.
pub fn find(wanted: &str, files: &[PathBuf], labels: &[impl AsRef<str>]) -> Option<usize> {
    let by_label = labels.iter().position(|label| label.as_ref() == wanted);
    by_label.or_else(|| files.iter().position(|file| file == Path::new(wanted)))
}

/// The index of the baseline: the file that `wanted` names, or the first.
///
/// # Errors
/// When it names none.
pub fn baseline<'a>(
    wanted: Option<&str>,
    files: &[PathBuf],
    columns: impl Iterator<Item = &'a Column>,
) -> Result<usize> {
    let Some(wanted) = wanted else { return Ok(0) };
    let labels: Vec<&str> = columns.map(|column| column.info.label.as_str()).collect();
    match find(wanted, files, &labels) {
        Some(index) => Ok(index),
        None => bail!("--baseline: '{wanted}' is none of the files, which are called {}", labels.join(", ")),
    }
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
