//! `syscost compare` of profiles: the calls of traced programs, side by side.

use super::args::CompareArgs;
use super::sides;
use crate::exit::Exit;
use crate::result_files::{counted_profile, is_input};
use crate::terminal;
use analysis::compare::{ProfileColumn, compare_profiles};
use report::{Format, profile_findings, profiles_document, write_answer};

use anyhow::Result;
use std::io::Write;
use std::path::PathBuf;

/// Whether the first file is a profile: then all must be.
pub fn are_meant(files: &[PathBuf]) -> bool {
    files
        .first()
        .is_some_and(|file| !is_input(file) && store::is_profile(file))
}

pub fn run(args: &CompareArgs, out: &mut dyn Write) -> Result<Exit> {
    let patterns = &args.only.patterns;
    let (columns, baseline) = sides::columns(args, read, ProfileColumn::group)?;
    let mut comparison = compare_profiles(&columns, baseline, |call| {
        patterns.is_empty() || patterns.iter().any(|pattern| pattern.matches_id(call))
    });
    args.only.check(!comparison.rows.is_empty(), "call")?;
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
        args.format,
        terminal::screen(),
        out,
    )?;
    out.flush()?;
    args.gate.conclude(&profile_findings(&comparison))
}

fn read(files: &[PathBuf]) -> Result<Vec<ProfileColumn>> {
    files
        .iter()
        .map(|file| Ok(ProfileColumn::new("", &counted_profile(file)?)))
        .collect()
}
