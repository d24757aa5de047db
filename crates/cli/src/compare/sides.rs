//! The columns of `syscost compare`: files, or with `--versus` the files of each side.

use super::args::CompareArgs;
use crate::error::bail_usage;
use crate::result_files::{Side, baseline, by_path, check_labels, label, shortened};
use anyhow::Result;
use std::path::{Path, PathBuf};

/// The baseline is the first, or the one that `--baseline` names by its label or a file.
pub fn columns<C: Side>(
    args: &CompareArgs,
    read: impl Fn(&[PathBuf]) -> Result<Vec<C>>,
    group: impl Fn(&str, Vec<C>) -> Option<C>,
) -> Result<(Vec<C>, usize)> {
    let (files, versus, wanted) = (&args.files, &args.versus, args.baseline.as_deref());
    let all = [&files[..], versus].concat();
    if all.len() < 2 {
        bail_usage!(
            "compare needs two files or more: name another one, or use 'syscost show' for one"
        );
    }
    if versus.is_empty() {
        check_labels(files, &args.labels)?;
        let mut columns = read(files)?;
        let baseline = label(&mut columns, files, &args.labels, wanted)?;
        return Ok((columns, baseline));
    }
    check_labels(&all, &[])?;
    check_labels(&[PathBuf::new(), PathBuf::new()], &args.labels)?;
    let mut first = read(&all)?;
    let second = first.split_off(files.len());
    let labels = labels([files, versus], &args.labels);
    let columns = labels
        .iter()
        .zip([first, second])
        .filter_map(|(label, files)| group(label, files))
        .collect();
    let by_file = wanted.and_then(|file| by_path(file, &all));
    let baseline = match by_file {
        Some(index) => usize::from(index >= files.len()),
        None => baseline(wanted, &[], &labels)?,
    };
    Ok((columns, baseline))
}

/// The labels that were asked for; else the directory of each side, the common beginning of its file names, or `old` and `new`.
fn labels(sides: [&[PathBuf]; 2], asked: &[String]) -> [String; 2] {
    fn different(labels: [Option<String>; 2]) -> Option<[String; 2]> {
        match labels {
            [Some(a), Some(b)] if a != b => Some([a, b]),
            _ => None,
        }
    }

    let from_paths = different(sides.map(directory)).or_else(|| different(sides.map(beginning)));
    let mut labels = from_paths
        .unwrap_or_else(|| ["old", "new"].map(String::from))
        .map(|label| shortened(&label));
    if labels[0] == labels[1] {
        labels = ["old", "new"].map(String::from);
    }
    for (label, asked) in labels.iter_mut().zip(asked) {
        label.clone_from(asked);
    }
    if labels[0] == labels[1] {
        labels[1] += " #2";
    }
    labels
}

fn directory(files: &[PathBuf]) -> Option<String> {
    let first = files.first()?.parent()?;
    let all = files.iter().all(|file| file.parent() == Some(first));
    if !all {
        return None;
    }
    first
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
}

/// Without digits and separators at its end.
fn beginning(files: &[PathBuf]) -> Option<String> {
    fn stem(file: &Path) -> Option<String> {
        file.file_stem()
            .map(|stem| stem.to_string_lossy().into_owned())
    }

    let stems = files
        .iter()
        .map(|file| stem(file))
        .collect::<Option<Vec<String>>>()?;
    let common = stems
        .iter()
        .skip(1)
        .fold(stems.first()?.clone(), |common, stem| {
            common
                .chars()
                .zip(stem.chars())
                .take_while(|(a, b)| a == b)
                .map(|(a, _)| a)
                .collect()
        });
    let text = if files.len() == 1 {
        &common
    } else {
        common.trim_end_matches(|c: char| !c.is_alphabetic())
    };
    if text.is_empty() {
        return None;
    }
    Some(text.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels_of(first: &[&str], second: &[&str], asked: &[&str]) -> [String; 2] {
        fn paths(names: &[&str]) -> Vec<PathBuf> {
            names.iter().map(PathBuf::from).collect()
        }

        let asked: Vec<String> = asked.iter().map(ToString::to_string).collect();
        labels([&paths(first), &paths(second)], &asked)
    }

    #[test]
    fn sides_are_called_after_what_their_files_have_in_common() {
        assert_eq!(
            labels_of(
                &["r/before/1.json", "r/before/2.json"],
                &["r/after/1.json"],
                &[]
            ),
            ["before", "after"]
        );
        assert_eq!(
            labels_of(
                &["old-1.json", "old-2.json"],
                &["new-1.json", "new-2.json"],
                &[]
            ),
            ["old", "new"]
        );
        assert_eq!(
            labels_of(&["main.json"], &["fix.json"], &[]),
            ["main", "fix"]
        );
        assert_eq!(
            labels_of(&["1.json", "2.json"], &["3.json", "4.json"], &[]),
            ["old", "new"]
        );
        assert_eq!(
            labels_of(&["a/1.json", "b/1.json"], &["a/2.json"], &["x"]),
            ["x", "new"]
        );
        assert_eq!(
            labels_of(&["-"], &["1.json"], &["same", "same"]),
            ["same", "same #2"]
        );
    }
}
