//! Result files given side by side: reading them, what they are called, and which of them is the baseline. For `compare`,
//! `report` and `rows`.

use super::error::{bail_usage, usage_error};
use analysis::compare::{Column, ProfileColumn};
use anyhow::Result;
use model::{Profile, Run, clean};
use report::Portrait;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use store::StoreError;
use sys::threads::in_order;

/// Characters of a host's or a file's name that a label keeps.
const LONGEST: usize = 24;

/// Too many, empty or repeated ones, and standard input given twice.
pub fn check_labels(files: &[PathBuf], labels: &[String]) -> Result<()> {
    if files.iter().filter(|file| is_input(file)).count() > 1 {
        bail_usage!("standard input ('-') can be read once only: write the other runs to files");
    }
    if labels.len() > files.len() {
        bail_usage!(
            "--label: {} labels for {} files: give at most one for each file",
            labels.len(),
            files.len()
        );
    }
    let mut seen = HashSet::new();
    for (index, label) in labels.iter().enumerate() {
        if label.trim().is_empty() {
            bail_usage!("--label: label {} is empty: give a name", index + 1);
        }
        if !seen.insert(label) {
            bail_usage!("--label: '{label}' is given twice: columns need different names");
        }
    }
    Ok(())
}

/// A sampled one is refused, because its shares cannot be compared.
pub fn counted_profile(path: &Path) -> Result<Profile> {
    let profile = store::read_profile(path)?;
    match profile.samples() {
        Some(_) => Err(usage_error!(
            "{}: the profile has shares of time but no counts of calls: trace without --sampled, or use 'syscost show'",
            path.display()
        )),
        None => Ok(profile),
    }
}

/// A run is condensed as soon as it was read, so that only the samples of those at work are in memory.
pub fn read<T: Send>(
    files: &[PathBuf],
    condense: impl Fn(usize, Run) -> T + Sync,
) -> Result<Vec<T>> {
    let mut condensed_runs = Vec::with_capacity(files.len());
    in_order(
        files.len(),
        |index| store::read(&files[index]).map(|run| condense(index, run)),
        |condensed| {
            condensed_runs.push(condensed?);
            Ok::<(), StoreError>(())
        },
    )?;
    Ok(condensed_runs)
}

pub trait Side {
    fn host(&self) -> Option<String>;
    fn label(&mut self) -> &mut String;
}

impl Side for Column {
    fn host(&self) -> Option<String> {
        self.info.host.name.clone()
    }

    fn label(&mut self) -> &mut String {
        &mut self.info.label
    }
}

impl Side for ProfileColumn {
    fn host(&self) -> Option<String> {
        self.info.host.clone()
    }

    fn label(&mut self) -> &mut String {
        &mut self.info.label
    }
}

impl Side for Portrait {
    fn host(&self) -> Option<String> {
        self.column.host()
    }

    fn label(&mut self) -> &mut String {
        self.column.label()
    }
}

/// Returns the index of the baseline.
pub fn label(
    read: &mut [impl Side],
    files: &[PathBuf],
    asked: &[String],
    wanted: Option<&str>,
) -> Result<usize> {
    let hosts: Vec<Option<String>> = read.iter().map(Side::host).collect();
    let labels = labels(files, asked, &hosts);
    let index = baseline(wanted, files, &labels)?;
    for (side, label) in read.iter_mut().zip(labels) {
        *side.label() = label;
    }
    Ok(index)
}

pub fn is_input(file: &Path) -> bool {
    file == Path::new("-")
}

/// The labels that were asked for; else the host's name or, if several hosts have it, the file's, numbered if that is not unique either.
pub fn labels(files: &[PathBuf], asked: &[String], hosts: &[Option<String>]) -> Vec<String> {
    fn stem(file: &Path) -> String {
        if is_input(file) {
            "stdin".to_string()
        } else {
            file.file_stem()
                .map_or("?".into(), |stem| stem.to_string_lossy().into_owned())
        }
    }

    let mut labels: Vec<String> = asked.to_vec();
    for (file, host) in files.iter().zip(hosts).skip(asked.len()) {
        let host = host.as_ref().filter(|name| !name.trim().is_empty());
        let only =
            host.filter(|name| hosts.iter().flatten().filter(|other| other == name).count() == 1);
        let wanted = shortened(&only.cloned().unwrap_or_else(|| stem(file)));
        let numbered = (2..).map(|number| format!("{wanted} #{number}"));
        let free = std::iter::once(wanted.clone())
            .chain(numbered)
            .find(|label| !labels.contains(label));
        labels.push(free.unwrap_or(wanted));
    }
    labels
}

pub fn shortened(name: &str) -> String {
    clean::cut(&clean::line(name), LONGEST)
}

/// The file that `wanted` names by its label, else by its path.
pub fn baseline(wanted: Option<&str>, files: &[PathBuf], labels: &[String]) -> Result<usize> {
    let Some(wanted) = wanted else { return Ok(0) };
    labels
        .iter()
        .position(|label| label == wanted)
        .or_else(|| by_path(wanted, files))
        .ok_or_else(|| {
            let labels = labels.join(", ");
            usage_error!(
                "--baseline: '{wanted}' is not one of the files, which are called {labels}"
            )
        })
}

pub fn by_path(path: &str, files: &[PathBuf]) -> Option<usize> {
    files.iter().position(|file| file == Path::new(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels_of(files: &[&str], asked: &[&str], hosts: &[Option<&str>]) -> Vec<String> {
        let files: Vec<PathBuf> = files.iter().map(PathBuf::from).collect();
        let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
        let hosts: Vec<Option<String>> =
            hosts.iter().map(|host| host.map(str::to_string)).collect();
        labels(&files, &asked, &hosts)
    }

    #[test]
    fn labels_differ_and_are_short() {
        assert_eq!(
            labels_of(&["a/x.json", "b/y.json"], &[], &[Some("vm"), Some("db")]),
            ["vm", "db"]
        );
        assert_eq!(
            labels_of(
                &["a/x.json", "b/y.json", "c/z.json"],
                &[],
                &[Some("vm"), Some("vm"), Some("db")]
            ),
            ["x", "y", "db"]
        );
        assert_eq!(
            labels_of(&["a/x.json", "b/x.json"], &["new"], &[None, None]),
            ["new", "x"]
        );
        assert_eq!(
            labels_of(&["a/x.json", "b/x.json", "-"], &[], &[None, None, None]),
            ["x", "x #2", "stdin"]
        );
        let long = labels_of(
            &["a", "b"],
            &[],
            &[Some(&"h".repeat(99)), Some("e\u{1b}[31m")],
        );
        assert_eq!(
            (long[0].chars().count(), long[1].as_str()),
            (24, "e\u{fffd}[31m")
        );
    }
}
