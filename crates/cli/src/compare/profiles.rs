//! `syscost compare` of profiles: what traced programs call, side by side.

use super::super::error::usage;
use super::super::exit::Exit;
use super::super::messages::Notes;
use super::super::{result_files, terminal};
use super::args::CompareArgs;
use super::sides;
use analysis::compare::{ProfileColumn, compare_profiles};
use model::pattern::Pattern;
use report::{Format, profile_findings, profiles_document, write_answer};

use anyhow::{Result, anyhow};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Whether the first file is a profile: then all must be.
pub fn are_meant(files: &[PathBuf]) -> bool {
    files
        .first()
        .is_some_and(|file| file != Path::new("-") && store::is_profile(file))
}

pub fn run(args: &CompareArgs, notes: Notes, out: &mut dyn Write) -> Result<Exit> {
    let patterns = usage(
        args.only
            .iter()
            .map(|text| Pattern::new(text))
            .collect::<Result<Vec<_>>>(),
    )?;
    let takes =
        |call: &str| patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches_id(call));
    let (columns, baseline) = columns(args)?;
    let mut comparison = compare_profiles(&columns, baseline, takes);
    let none = || {
        anyhow!(
            "--only: no call matches {}; leave it out to see all",
            args.only.join(", ")
        )
    };
    usage(
        (!comparison.rows.is_empty() || args.only.is_empty())
            .then_some(())
            .ok_or_else(none),
    )?;
    if let Some(gate) = args.gate.gate() {
        comparison.gate(&gate);
    }
    let for_people = matches!(args.format, Format::Text | Format::Markdown);
    if let Some(margin) = args.threshold.or(for_people.then_some(0.0)) {
        comparison.keep_differing(margin, |_| false);
    }
    write_answer(
        &comparison,
        || profiles_document(&comparison),
        (args.format, terminal::screen()),
        out,
    )?;
    out.flush()?;
    args.gate.conclude(&profile_findings(&comparison), notes)
}

fn columns(args: &CompareArgs) -> Result<(Vec<ProfileColumn>, usize)> {
    let read = |file: &PathBuf| {
        Ok(ProfileColumn::new(
            "",
            &result_files::counted_profile(file)?,
        ))
    };
    let (files, versus, labels) = (&args.files[..], &args.versus[..], &args.labels[..]);
    let baseline = args.baseline.as_deref();
    if !versus.is_empty() {
        let read = files
            .iter()
            .chain(versus)
            .map(read)
            .collect::<Result<_>>()?;
        return sides::together(
            [files, versus],
            labels,
            baseline,
            read,
            ProfileColumn::group,
        );
    }
    result_files::check(files, labels)?;
    let mut columns = files.iter().map(read).collect::<Result<Vec<_>>>()?;
    let hosts: Vec<Option<String>> = columns
        .iter()
        .map(|column| column.info.host.clone())
        .collect();
    let labels = result_files::labels(files, labels, &hosts);
    let baseline = usage(result_files::baseline(
        baseline,
        files,
        labels.iter().map(String::as_str),
    ))?;
    columns
        .iter_mut()
        .zip(labels)
        .for_each(|(column, label)| column.info.label = label);
    Ok((columns, baseline))
}
